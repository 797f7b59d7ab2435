/* SPDX-License-Identifier: MIT */
/* Names a process, so that its descendants know it again. */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include <stdbool.h>

#define PROCESS_ID_SIZE 17

/* This process: a hash of its number, its start time, its PID namespace and the
 * boot of the machine, so that no other process has it. It does not tell any of
 * them. "" if /proc does not show them. */
void process_id(char id[PROCESS_ID_SIZE]);

/* Whether the process with this id is alive, and our parent or its parent and
 * so on. Asks /proc, which may hide processes of others: then false. */
/* (Only the thread that waits may call it.) */
bool process_is_ancestor(const char *id);

#endif
