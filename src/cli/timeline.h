/* SPDX-License-Identifier: MIT */
/*
 * The history of a lock as a picture: a row for each host, a bar for each hold,
 * a thin line in front of it while it waited. It is SVG for people who see it
 * on light or dark ground, in print, or by ear: how a hold ended is told by a
 * colour, by a letter above the bar, and in words.
 */
#ifndef CLI_TIMELINE_H
#define CLI_TIMELINE_H

#include <stdio.h>

#include "lock/history.h"

/* There is at least one hold. `shown`: the key, safe for a terminal. */
void timeline_draw(const struct history *h, const char *shown, FILE *f);

#endif
