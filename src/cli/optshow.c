/* SPDX-License-Identifier: MIT */
/* The options that are in force, and where each comes from. */
#include "cli/optshow.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/units.h"
#include "cli/optrows.h"
#include "net/parse.h"
#include "proc/signals.h"

static void show(const struct opts *o, const struct opt_row *r,
		 const struct given *g, const char *value, FILE *out)
{
	char shown[400], buf[200];

	(void)fprintf(out, "%s = %s  (%s)\n", r->name,
		      format_bytes(value, strlen(value), shown, sizeof(shown)),
		      opt_where(o, g, buf));
}

static int64_t stored(const struct opts *o, const struct opt_row *r)
{
	const char *at = (const char *)o + r->at;

	if (r->size == sizeof(bool))
		return *(const bool *)at;
	if (r->size == sizeof(int))
		return *(const int *)at;
	return *(const int64_t *)at;
}

static void duration_text(const struct opt_row *r, int64_t ms, char *buf,
			  size_t size)
{
	if (ms == INT64_MAX)
		(void)snprintf(buf, size, "forever");
	else if (ms == 0 && r->lo > 0)
		(void)snprintf(buf, size, "not set");
	else
		(void)format_limit(ms, buf, size);
}

/* The value as it would be written, or "not set". */
static void default_text(const struct opts *o, const struct opt_row *r,
			 char *buf, size_t size)
{
	const char *text = NULL, *words = r->value;
	char name[SIGNAL_TEXT];
	int64_t n;

	if (r->shape == TEXT || r->shape == PATH) {
		memcpy(&text, (const char *)o + r->at, sizeof(text));
		(void)snprintf(buf, size, "%s", text ? text : "not set");
		return;
	}
	n = stored(o, r);
	if (r->shape == SWITCH)
		(void)snprintf(buf, size, "%s", n == r->lo ? "yes" : "no");
	else if (r->shape == GUARD)
		(void)snprintf(buf, size, "auto");
	else if (r->shape == DURATION)
		duration_text(r, n, buf, size);
	else if (r->shape == NUMBER && n < r->lo)
		(void)snprintf(buf, size, "not set");
	else if (r->shape == SIGNAL)
		(void)snprintf(buf, size, "%s",
			       signal_text((int)n, name) + strlen("SIG"));
	else if (r->shape == NUMBER || r->shape == SLOTS)
		(void)snprintf(buf, size, "%lld", (long long)n);
	for (; r->shape == WORD && n > 0; n--)
		words += strcspn(words, "|") + 1;
	if (r->shape == WORD)
		(void)snprintf(buf, size, "%.*s", (int)strcspn(words, "|"),
			       words);
}

void opt_show_defaults(const struct opts *o, FILE *out)
{
	for (int i = 0; i < opt_rows_n; i++) {
		const struct opt_row *r = &opt_rows[i];
		bool given = r->typed || r->shape == URL;
		char text[400];

		for (int k = 0; k < opt_rows_n; k++)
			given |= opt_rows[k].at == r->at &&
				 o->given[k].source != FROM_NOWHERE;
		if (given)
			continue;
		default_text(o, r, text, sizeof(text));
		(void)fprintf(out, "%s = %s  (default)\n", r->name, text);
	}
}

void opt_show(const struct opts *o, FILE *out)
{
	for (int i = 0; i < opt_rows_n; i++) {
		const struct given *g = &o->given[i];
		const struct opt_row *r = &opt_rows[i];
		char masked[160];

		if (g->source == FROM_NOWHERE ||
		    r->at == offsetof(struct opts, show) ||
		    r->at == offsetof(struct opts, config))
			continue;
		if (r->shape != URL)
			show(o, r, g, g->value, out);
		for (int k = 0; r->shape == URL && k < o->urls; k++)
			show(o, r, &o->url_from[k],
			     endpoint_masked(o->url[k], masked), out);
	}
}
