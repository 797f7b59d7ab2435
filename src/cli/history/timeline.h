/* SPDX-License-Identifier: MIT */
/*
 * The history of a lock as an SVG picture: a row for each host, a bar for each
 * hold, a thin line before it while it waited. People may see it on light or
 * dark ground or in print, or hear it: how a hold ended is told by a colour, by
 * a letter above the bar, and in words.
 */
#ifndef CLI_HISTORY_TIMELINE_H
#define CLI_HISTORY_TIMELINE_H

#include <stdio.h>

#include "lock/wire/history.h"

/* There must be at least one hold. `shown`: the key, safe for a terminal. */
void timeline_draw(const struct history *h, const char *shown, FILE *f);

#endif
