/* SPDX-License-Identifier: MIT */
/* The listing, made and shown once. */
#ifndef CLI_SHOW_ONCE_H
#define CLI_SHOW_ONCE_H

#include "cli/query.h"

/* Looks at all locks and shows them as `list` does. -1: a server failed on the
 * way, and what only that server knows is missing. */
int listing_once(struct query *query, const struct opts *o, struct fail *why);

#endif
