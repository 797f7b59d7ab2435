/* SPDX-License-Identifier: MIT */
/* A hold of which only the token is known. */
#include "lock/wire/token_op.h"

#include <string.h>

#include "lock/wire/lua.inc"

const char *token_op_sha(const struct token_op *g)
{
	return g->extend ? SHA_RENEW : SHA_RELEASE;
}

static void fill_unlock(const struct token_op *g, struct words *w)
{
	request_flag(w, RELEASE_PLAIN, false);
	request_text(w, RELEASE_RAISE, "0");
	request_text(w, RELEASE_LEAST, "0");
	request_flag(w, RELEASE_RAN, true);
	request_text(w, RELEASE_ONCE, "0");
	request_text(w, RELEASE_REVISION, "-1");
	request_text(w, RELEASE_MARK, "");
	request_flag(w, RELEASE_WITHHELD, false);
	request_text(w, RELEASE_ENTRY, "");
	request_text(w, RELEASE_UNLOCK, g->tell ? "1" : "2");
}

static void fill_extend(const struct token_op *g,
			struct script_scratch *scratch, struct words *w)
{
	request_flag(w, RENEW_PLAIN, false);
	request_number(w, RENEW_TTL, g->ttl_ms, scratch);
	request_text(w, RENEW_FAMILY, "");
	request_text(w, RENEW_SLOT, "0");
	request_text(w, RENEW_RAISE, "0");
	request_text(w, RENEW_ENDS, "0");
	request_text(w, RENEW_REPAIR, "0");
	request_text(w, RENEW_GUARD, "0");
}

void token_op_request(const struct token_op *g, const struct keys *keys, int db,
		      struct script_scratch *scratch, struct words *out)
{
	const struct request_head head = {.token = g->token,
					  .stands = "",
					  .number = g->extend ? NUMBER_OTHER
							      : NUMBER_LAST,
					  .alone = g->alone};

	if (g->extend) {
		request_begin(LUA_RENEW, sizeof(LUA_RENEW) - 1, keys,
			      RENEW_ARGS, db, &head, scratch, out);
		fill_extend(g, scratch, out);
	} else {
		request_begin(LUA_RELEASE, sizeof(LUA_RELEASE) - 1, keys,
			      RELEASE_ARGS, db, &head, scratch, out);
		fill_unlock(g, out);
	}
	request_end(out);
}

int token_op_read(const struct reply *r, bool *was, struct fail *why)
{
	const struct reply *word = reply_item(r, 0);

	*was = strcmp(word->bytes, "yes") == 0;
	if (reply_is(r, "[s]") && (*was || strcmp(word->bytes, "no") == 0))
		return 0;
	return request_misread(word->bytes, word->len, why);
}
