/* SPDX-License-Identifier: MIT */
/* Another client's hold. Read admin.h first. */
#include "lock/wire/admin.h"

#include <string.h>

#include "lock/wire/lua.inc"

/* An ordinary renewal or release, but for what its last lines say. */
void token_op_request(struct request *r, const struct token_op *op,
		      const struct keys *keys, int db)
{
	const struct lease_conf conf = {.nodes = op->alone ? 1 : 2,
					.ttl_ms = op->ttl_ms};
	const struct ask ask = {.verb = op->extend ? VERB_CONFIRM
						   : VERB_RELEASE,
				.seq = op->extend ? NUMBER_OTHER : NUMBER_LAST,
				.release.ran = true};

	request_ask(r, &ask, &conf, keys, op->token, "", db);
	if (op->extend) {
		request_flag(r, RENEW_PLAIN, false);
		request_text(r, RENEW_FAMILY, "");
	} else {
		request_flag(r, RELEASE_PLAIN, false);
		request_text(r, RELEASE_UNLOCK, op->tell ? "1" : "2");
	}
}

int token_op_read(const struct reply *r, bool *was, struct fail *why)
{
	const struct reply *word = reply_item(r, 0);

	*was = strcmp(word->bytes, "yes") == 0 ||
	       strcmp(word->bytes, "healed") == 0;
	if (reply_is(r, "[s]") && (*was || strcmp(word->bytes, "no") == 0))
		return 0;
	return request_misread(word->bytes, word->len, why);
}

void force_request(struct request *r, const struct force *f,
		   const struct keys *keys, int db)
{
	static const char *const steps[] = {[FORCE_ASK] = "ask",
					    [FORCE_TAKE] = "take",
					    [FORCE_FOREIGN] = "foreign",
					    [FORCE_MARKS] = "marks",
					    [FORCE_OPEN] = "open"};
	const struct request_head head = {.token = "force",
					  .identity = "",
					  .seen = f->seen,
					  .longest_ms = f->ttl_ms,
					  .alone = f->alone};

	request_begin(r, SCRIPT_FORCE, keys, db, &head);
	request_text(r, FORCE_STEP, steps[f->step]);
	request_number(r, FORCE_SLOT, f->slot);
	request_bytes(r, FORCE_FAMILY, f->who, f->who_len);
	request_text(r, FORCE_MEMBER, f->member ? f->member : "");
	request_number(r, FORCE_GRACE, f->grace_ms);
	request_text(r, FORCE_BY, f->by);
	request_text(r, FORCE_ENTRY, f->entry);
	request_end(r);
}

int force_read(enum force_step step, const struct reply *r,
	       struct force_answer *out, struct fail *why)
{
	static const char *const said[] = {[FORCED_YES] = "yes",
					   [FORCED_NO] = "no",
					   [FORCED_FOREIGN] = "foreign"};
	const struct reply *word = reply_item(r, 0);

	for (int i = 0; i <= FORCED_FOREIGN && reply_is(r, "[ss]"); i++) {
		if (strcmp(word->bytes, said[i]) != 0)
			continue;
		*out = (struct force_answer){
			.said = (enum forced)i,
			.ms = reply_ms(reply_item(r, 2), 0)};
		if (step == FORCE_ASK)
			out->asked = reply_ms(reply_item(r, 3), 0);
		return 0;
	}
	return request_misread(word->bytes, word->len, why);
}
