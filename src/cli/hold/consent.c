/* SPDX-License-Identifier: MIT */
/* The user's consent to take a lock away. */
#include "cli/hold/consent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/askpass.h"
#include "cli/command.h"
#include "cli/show/block.h"

/* Line by line on standard error, like everything except answers. */
static void show(const struct query *query, const char *shown,
		 const struct snapshot *seen)
{
	char *text = NULL, *next, *line;
	size_t n = 0, skip = strlen(shown) + 2;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return;
	block_print(query, shown, seen, out);
	if (fclose(out) != 0)
		n = 0;
	/* the key stands before it already */
	for (line = n > skip ? text + skip : NULL; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		log_notice("holder", "%s", line);
	}
	free(text);
}

static int check_foreign(const struct opts *o, const struct view *v)
{
	for (int i = 0; i < v->holders && !o->foreign; i++) {
		const struct view_holder *h = &v->holder[i];

		if (h->how != HOLD_FOREIGN)
			continue;
		log_error("foreign",
			  "not a redlock lock (%s%s); --foreign deletes it "
			  "anyway",
			  strcmp(h->type, "string") == 0 ? "no holder record"
							 : "a ",
			  strcmp(h->type, "string") == 0 ? "" : h->type);
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

int consent_check(const char *key, const char *typed)
{
	if (strcmp(typed, key) == 0)
		return STATUS_OK;
	log_error("not-confirmed", "that is not the key; nothing was changed");
	return STATUS_USAGE;
}

static int confirm(const struct opts *o)
{
	char line[ASK_MAX];
	struct fail why;

	if (o->confirm)
		return STATUS_OK; /* it was right */
	if (!isatty(STDIN_FILENO)) {
		log_error("not-confirmed",
			  "to confirm, repeat the key: --confirm KEY; nothing "
			  "was changed");
		return STATUS_USAGE;
	}
	if (ask_line("To confirm, type the key again: ", line, &why) < 0) {
		log_error("failed", "%s", why.text);
		return status_of_kind(why.kind);
	}
	return consent_check(o->key[0], line);
}

int consent_get(const struct opts *o, const struct query *query,
		const char *shown, const struct snapshot *seen)
{
	int status;

	show(query, shown, seen);
	status = check_foreign(o, &seen->view);
	return status == STATUS_OK ? confirm(o) : status;
}
