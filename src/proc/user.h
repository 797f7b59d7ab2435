/* SPDX-License-Identifier: MIT */
/*
 * Whether the user of a hold by hand is still there, judged by our standard
 * input and output. A terminal that goes away sends SIGHUP. A connection (ssh,
 * docker exec, a CI step) only leaves pipes or sockets with nobody at the other
 * end.
 */
#ifndef PROC_USER_H
#define PROC_USER_H

#include <stdbool.h>

struct user {
	int in;  /* to poll for a hang-up; -1: nothing tells whether the user
		    is there. So with /dev/null, a file, a terminal, or SIGHUP
		    ignored (nohup) */
	int out; /* refers to standard output, and keeps none of its readers
		    waiting for an end of file; -1: it says nothing */
	bool out_is_pipe;
};

/* Call it while standard output is the one we were started with. The
 * descriptors stay open until we exit. */
void user_open(struct user *u);

/* Whether the user has gone: standard input has hung up, and nobody can read
 * standard output. Never waits. */
bool user_gone(const struct user *u);

#endif
