/* SPDX-License-Identifier: MIT */
/*
 * What `top` shows of a census, and what the keys do to that: a line about the
 * servers, one about what is wrong or left out, a row for each lock, and a line
 * of help. Locks are drawn as old as they are by now: the lease of a holder
 * shrinks also while no server answers.
 */
#ifndef CLI_BOARD_H
#define CLI_BOARD_H

#include "cli/listing.h"
#include "cli/screen.h"

#define FILTER_MAX 64

struct board {
	struct census *census; /* borrowed */
	struct choice choice;
	char filter[FILTER_MAX];
	bool typing, helping, paused;
	bool settled;      /* all was looked at once */
	bool blocks;       /* the terminal knows Unicode's */
	struct instant at; /* what is shown is of then */
	int first;         /* lock on the screen */
	int page;          /* so many fit */
	const char *(*clock)(char *buf, size_t size); /* the time of day */
};

/* -1: no memory. */
int board_draw(struct board *b, struct screen *s);

/* false: it is to end. */
bool board_key(struct board *b, int key);

#endif
