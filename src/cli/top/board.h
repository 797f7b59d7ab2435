/* SPDX-License-Identifier: MIT */
/*
 * What `top` shows of a scan: a line about the servers, one about what is wrong
 * or left out, a row for each lock, and a line of help. Locks are drawn with
 * their present age: a holder's remaining lease shrinks even while no server
 * answers.
 */
#ifndef CLI_TOP_BOARD_H
#define CLI_TOP_BOARD_H

#include "cli/show/listing.h"
#include "cli/top/screen.h"

#define FILTER_MAX 64

struct board {
	struct scan *scan; /* borrowed */
	struct choice choice;
	char filter[FILTER_MAX];
	bool typing, helping, paused;
	bool settled;      /* everything has been looked at once */
	bool blocks;       /* the terminal can show Unicode blocks */
	struct instant at; /* the time of what is shown */
	int first;         /* index of the first lock on the screen */
	int page;          /* number of locks that fit */
	const char *(*clock)(char *buf, size_t size); /* the time of day */
};

/* -1: out of memory. */
int board_draw(struct board *b, struct screen *s);

#endif
