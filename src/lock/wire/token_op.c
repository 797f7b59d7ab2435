/* SPDX-License-Identifier: MIT */
/* A hold of which only the token is known. */
#include "lock/wire/token_op.h"

#include <string.h>

#include "lock/wire/lua.inc"

const char *token_op_sha(const struct token_op *g)
{
	return g->extend ? SHA_EXTEND : SHA_UNLOCK;
}

/* What stands as "" is found out by find.lua. */
static void fill_unlock(const struct token_op *g, struct words *w)
{
	request_flag(w, RELEASE_PLAIN, false);
	request_text(w, RELEASE_FENCE, "0");
	request_flag(w, RELEASE_ALONE, g->alone);
	request_text(w, RELEASE_STANDS, "");
	request_flag(w, RELEASE_QUEUED, false);
	request_flag(w, RELEASE_RAN, true);
	request_text(w, RELEASE_OUTER, "");
	request_flag(w, RELEASE_JOINED, false);
	request_text(w, RELEASE_LONGEST, "0");
	request_text(w, RELEASE_LEAST, "0");
	request_text(w, RELEASE_HELD, "0");
	request_text(w, RELEASE_ONCE, "0");
	request_text(w, RELEASE_MARK, "");
	request_flag(w, RELEASE_WITHHELD, false);
	request_text(w, RELEASE_NUMBER, "0");
	request_flag(w, RELEASE_ENTRY, g->tell); /* see unlock.lua */
}

static void fill_extend(const struct token_op *g,
			struct script_scratch *scratch, struct words *w)
{
	request_flag(w, CONFIRM_PLAIN, false);
	request_number(w, CONFIRM_TTL, g->ttl_ms, scratch);
	request_text(w, CONFIRM_FENCE, "0");
	request_text(w, CONFIRM_SEEN, "0"); /* do not heal */
	request_text(w, CONFIRM_STANDS, "");
	request_text(w, CONFIRM_VALUE, "");
	request_flag(w, CONFIRM_JOINED, false);
	request_text(w, CONFIRM_LONGEST, "0");
	request_text(w, CONFIRM_ENDS, "-1");
	request_text(w, CONFIRM_GUARD, "-1");
	request_flag(w, CONFIRM_ALONE, g->alone);
	request_text(w, CONFIRM_NUMBER, "0");
}

void token_op_request(const struct token_op *g, struct keys *keys, int db,
		      struct script_scratch *scratch, struct words *out)
{
	const char *lua = g->extend ? LUA_EXTEND : LUA_UNLOCK;

	request_begin(lua, strlen(lua), keys, 0,
		      g->extend ? CONFIRM_ARGS : RELEASE_ARGS, db, scratch,
		      out);
	request_text(out, RELEASE_TOKEN, g->token);
	if (g->extend)
		fill_extend(g, scratch, out);
	else
		fill_unlock(g, out);
	request_end(out);
}

int token_op_read(const struct reply *r, bool *was, struct fail *why)
{
	const struct reply *word = reply_item(r, 0);

	*was = strcmp(word->bytes, "yes") == 0;
	if (reply_is(r, "[s]") && (*was || strcmp(word->bytes, "no") == 0))
		return 0;
	return fail(why, FAIL_UNAVAILABLE,
		    "unexpected reply from redlock's script");
}
