/* SPDX-License-Identifier: MIT */
/* The rights that a user needs on the servers. */
#include "cli/doctor/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/render.h"
#include "lock/wire/keys.h"
#include "lock/wire/rights.h"

#define LIST_MAX 600

const char *user_of(const struct facts *f, const char *none)
{
	if (f->user[0] != '\0' && strcmp(f->user, "default") != 0)
		return f->user;
	return f->ep->secret.user[0] ? f->ep->secret.user : none;
}

/* (an escaped name is not the name) */
const char *user_typed(const struct facts *f, char buf[USER_TYPED_MAX])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~@+:/";
	const char *user = user_of(f, "NAME");
	FILE *out = fmemopen(buf, USER_TYPED_MAX, "w");

	buf[0] = '\0';
	if (out && user[strspn(user, plain)] == '\0')
		(void)fputs(user, out);
	else if (out && !(user == f->user && strchr(user, '\\')))
		put_redis_word(out, user, strlen(user));
	else if (out)
		(void)fputs("NAME", out);
	if (!out || fclose(out) != 0)
		(void)snprintf(buf, USER_TYPED_MAX, "NAME");
	return buf;
}

static bool is_refused(const struct exam *e, const struct facts *f, int i)
{
	return f->refused & (uint64_t)1 << i &&
	       (rights[i].need & ~e->needs) == 0;
}

/* " zadd zrem": the refused commands that locks need. EVAL is a finding of its
 * own. */
static void list_missing(const struct exam *e, const struct facts *f,
			 const char *before, char list[LIST_MAX])
{
	size_t used = 0;

	list[0] = '\0';
	for (int i = 0; i < rights_n && used < LIST_MAX; i++)
		if (is_refused(e, f, i) && !rights[i].without &&
		    strcmp(rights[i].command, "eval") != 0)
			used += (size_t)snprintf(list + used, LIST_MAX - used,
						 " %s%s", before,
						 rights[i].command);
}

void check_rights(struct exam *e, const struct facts *f)
{
	bool works = f->no_eval.why.kind == FAIL_NONE;
	char missing[LIST_MAX], added[LIST_MAX], name[USER_TYPED_MAX];
	const char *user = user_of(f, "default");

	(void)user_typed(f, name);
	list_missing(e, f, "", missing);
	list_missing(e, f, "+", added);
	if (missing[0] != '\0')
		found(e, WRONG, f->name, "rights",
		      "user %s may not use:%s -> ACL SETUSER %s%s", user,
		      missing, name, added);
	else if (works && !f->tells_writes && strcmp(user, "default") != 0)
		found(e, NOTE, f->name, "rights",
		      "cannot tell whether user %s may use the commands that "
		      "write: before Redis 7, only a write can show that -> "
		      "compare ACL GETUSER %s with the line below",
		      user, name);
	else if (works)
		found(e, FINE, f->name, "rights",
		      "user %s may use all commands that redlock needs to hold "
		      "locks",
		      user);
	/* INFO is a finding of its own */
	for (int i = 0; i < rights_n; i++)
		if (is_refused(e, f, i) && rights[i].without &&
		    strcmp(rights[i].command, "info") != 0)
			found(e, NOTE, f->name, "rights",
			      "user %s may not use %s: %s -> ACL SETUSER %s "
			      "+%s",
			      user, rights[i].command, rights[i].without, name,
			      rights[i].command);
}

/* ---- the line ---- */

/* Escapes the special characters of a pattern; "?" replaces those that
 * redis-cli or an ACL cannot have. */
static void add_pattern(FILE *out, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = utf8_length(bytes + i, n - i);
		char c = bytes[i];

		if (strchr("*?[]\\", c) && c != '\0')
			(void)fprintf(out, "\\%c", c);
		else if ((unsigned char)c <= ' ' || c == 0x7f || c == '"' ||
			 c == '\'' || len == 0)
			(void)fputc('?', out);
		else
			(void)fwrite(bytes + i, 1, len, out);
		i += len > 1 ? len - 1 : 0;
	}
}

/* KEY and KEY:redlock:* */
static void add_key(FILE *out, const char *key)
{
	size_t n = strlen(key);
	struct keys k;

	if (keys_init(&k, key, n, "") < 0)
		return;
	(void)fputs(" ~", out);
	add_pattern(out, key, n);
	(void)fputs(" ~", out);
	add_pattern(out, k.part[PART_STATE], k.base);
	(void)fputc('*', out);
	keys_close(&k);
}

char *acl_line(const struct exam *e)
{
	char commands[LIST_MAX], user[USER_TYPED_MAX] = "NAME", *line = NULL;
	size_t n;
	FILE *out = open_memstream(&line, &n);

	if (!out)
		return NULL;
	if (e->n > 0)
		(void)user_typed(&e->facts[0], user);
	(void)fprintf(out, "ACL SETUSER %s on >PASSWORD", user);
	for (int i = 0; i < e->o->keys; i++)
		add_key(out, e->o->key[i]);
	if (e->o->keys == 0)
		(void)fputs(" ~KEY ~KEY:redlock:*", out);
	(void)fprintf(out, " %s",
		      rights_text(e->needs, commands, sizeof(commands)));
	if (fclose(out) == 0)
		return line;
	free(line);
	return NULL;
}

char *acl_line_looking(const struct exam *e)
{
	char user[USER_TYPED_MAX] = "NAME", *line = NULL;

	if (e->n > 0)
		(void)user_typed(&e->facts[0], user);
	return asprintf(&line, "ACL SETUSER %s +scan +info", user) < 0 ? NULL
								       : line;
}

const char *acl_line_sentinel(const struct exam *e)
{
	return e->needs & NEED_SENTINEL ? "ACL SETUSER NAME on >PASSWORD "
					  "+sentinel|get-master-addr-by-name "
					  "+sentinel|sentinels"
					: NULL;
}
