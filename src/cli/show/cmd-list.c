/* SPDX-License-Identifier: MIT */
/* All locks that are held or waited for, once. */
#include "base/log.h"
#include "cli/command.h"
#include "cli/show/listing.h"
#include "cli/show/once.h"
#include "cli/render.h"

static int list(const struct opts *o)
{
	static struct query query;
	struct fail why;
	int status = STATUS_OK;

	if (o->json && o->prometheus) {
		log_error("usage",
			  "--json and --prometheus cannot be combined");
		return STATUS_USAGE;
	}
	if (query_open(&query, o, &why) < 0 ||
	    listing_once(&query, o, &why) < 0) {
		log_error("failed", "%s", why.text);
		status = status_of_kind(why.kind);
	}
	query_close(&query);
	return render_end(status);
}

const struct command cmd_list = {
	.name = "list",
	.usage = "[OPTIONS] [PATTERN]",
	.summary = "Shows the locks that are held or waited for",
	.example = {"redlock list 'deploy*'", "redlock list --held --json"},
	.by = BY_LIST,
	.operands = OPERANDS_PATTERN,
	.run = list,
};
