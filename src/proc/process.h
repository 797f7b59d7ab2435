/* SPDX-License-Identifier: MIT */
/* Names a process, so that its descendants know it again. */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#define PROCESS_ID_SIZE 17

/* This process: a hash of its number, its start time, its PID namespace and the
 * boot of the machine, so that no other process has it. It does not tell any of
 * them. "" if /proc does not show them. */
void process_id(char id[PROCESS_ID_SIZE]);

/* Forks a process that goes on alone after we have ended. Returns 0 there, and
 * -1 if it cannot be made. An outer redlock does not take it for a process that
 * its command has left behind. */
pid_t process_leave(void);
/* What becomes of that process, or of one whose parent has died: it lets go of
 * all that is not its own (descriptors, directory, session, name), so that
 * nobody waits for it, and ends by a signal that comes from now on. */
void process_let_go(void);

/* Whether the process with this id is alive, and our parent or its parent and
 * so on. Asks /proc, which may hide processes of others: then false. */
/* (Only the thread that waits may call it.) */
bool process_is_ancestor(const char *id);

#endif
