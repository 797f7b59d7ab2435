/* SPDX-License-Identifier: MIT */
/*
 * A process of ours in our own process group that only notes which signals it
 * gets. A signal tells who sent it, but not whether it was sent to a process or
 * to its group; what this process got as well was sent to the group, and so
 * reached the command without us.
 *
 * The kernel signals the younger members of a group first. So when a signal to
 * the group has come to us, it has come to this process.
 */
#ifndef PROC_RECORDER_H
#define PROC_RECORDER_H

#include <stdbool.h>
#include <sys/types.h>

struct recorder {
	pid_t pid; /* our child; 0: there is none */
	int line;  /* its answers; valid if there is one */
};

/* Starts it, after the command: a signal that it gets has then reached the
 * command. It dies with us. If there can be none, every signal counts as sent
 * to us alone. */
void recorder_start(struct recorder *m);

/* Whether it got this signal from this process within the last second; each of
 * its signals counts once. If it does not answer soon, it is ended, and the
 * answer is no. */
bool recorder_got(struct recorder *m, int sig, pid_t sender);

/* Kills it, and leaves it to tree_kill() to reap it: it may hang in the kernel.
 */
void recorder_kill(struct recorder *m);

/* Kills and reaps it. */
void recorder_end(struct recorder *m);

#endif
