/* SPDX-License-Identifier: MIT */
/* A hold of which only the token is known. */
#include "lock/wire/token_op.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lock/wire/lua.inc"

const char *token_op_sha(const struct token_op *g)
{
	return g->extend ? SHA_EXTEND : SHA_UNLOCK;
}

/* Larger than the round of any grant. */
#define ROUND_ANY "1000"

static void add_unlock(const struct token_op *g, struct words *out)
{
	words_add_text(out, "0"); /* fence */
	words_add_text(out, g->alone ? "1" : "0");
	words_add_text(out, "");  /* how it stands */
	words_add_text(out, "0"); /* not in line */
	words_add_text(out, "1"); /* it was held */
	words_add_text(out, "");  /* whom it joined */
	for (int i = 0; i < 4; i++)
		words_add_text(out, "0");
	words_add_text(out, ROUND_ANY);
	words_add_text(out, g->tell ? "1" : "0");
}

static void add_extend(const struct token_op *g, struct script_scratch *scratch,
		       struct words *out)
{
	(void)snprintf(scratch->number[0], sizeof(scratch->number[0]),
		       "%" PRId64, g->ttl_ms);
	words_add_text(out, scratch->number[0]);
	words_add_text(out, "0"); /* fence */
	words_add_text(out, "0"); /* do not heal */
	for (int i = 0; i < 2; i++)
		words_add_text(out, ""); /* how it stands, and where */
	words_add_text(out, "0");
	words_add_text(out, "-1");
	words_add_text(out, "-1");
	words_add_text(out, g->alone ? "1" : "0");
	words_add_text(out, "0"); /* round */
}

void token_op_request(const struct token_op *g, struct keys *keys, int db,
		      struct script_scratch *scratch, struct words *out)
{
	const char *lua = g->extend ? LUA_EXTEND : LUA_UNLOCK;

	script_begin(lua, strlen(lua), keys, 0, out);
	words_add_text(out, g->token);
	if (g->extend)
		add_extend(g, scratch, out);
	else
		add_unlock(g, out);
	script_end(db, scratch, out);
}

int token_op_read(const struct reply *r, bool *was, struct fail *why)
{
	const struct reply *word = reply_item(r, 0);

	*was = strcmp(word->bytes, "yes") == 0;
	if (*was || strcmp(word->bytes, "no") == 0)
		return 0;
	return fail(why, FAIL_UNAVAILABLE,
		    "unexpected reply from redlock's script");
}
