/* SPDX-License-Identifier: MIT */
/* Another client's lock. */
#include "lock/wire/force.h"

#include <string.h>

#include "lock/wire/lua.inc"

const char *force_sha(void)
{
	return SHA_FORCE;
}

void force_request(const struct force *f, const struct keys *keys, int db,
		   struct script_scratch *scratch, struct words *out)
{
	static const char *const steps[] = {[FORCE_ASK] = "ask",
					    [FORCE_TAKE] = "take",
					    [FORCE_FOREIGN] = "foreign",
					    [FORCE_OPEN] = "open"};

	const struct request_head head = {.token = "force",
					  .stands = "",
					  .seen = f->seen,
					  .longest_ms = f->ttl_ms,
					  .alone = f->alone};

	request_begin(LUA_FORCE, sizeof(LUA_FORCE) - 1, keys, FORCE_ARGS, db,
		      &head, scratch, out);
	request_text(out, FORCE_STEP, steps[f->step]);
	request_number(out, FORCE_SLOT, f->slot, scratch);
	request_bytes(out, FORCE_FAMILY, f->who, f->who_len);
	request_number(out, FORCE_GRACE, f->grace_ms, scratch);
	request_text(out, FORCE_BY, f->by);
	request_text(out, FORCE_ENTRY, f->entry);
	request_end(out);
}

int force_read(enum force_step step, const struct reply *r,
	       struct force_answer *out, struct fail *why)
{
	static const struct {
		const char *word;
		enum forced said;
	} forms[] = {
		{"yes", FORCED_YES},
		{"no", FORCED_NO},
		{"foreign", FORCED_FOREIGN},
	};
	const struct reply *word = reply_item(r, 0);

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!reply_is(r, "[ss]") ||
		    strcmp(word->bytes, forms[i].word) != 0)
			continue;
		*out = (struct force_answer){
			.said = forms[i].said,
			.ms = reply_ms(reply_item(r, 2), 0)};
		if (step == FORCE_ASK)
			out->asked = reply_ms(reply_item(r, 3), 0);
		return 0;
	}
	return request_misread(word->bytes, word->len, why);
}
