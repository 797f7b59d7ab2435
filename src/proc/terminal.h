/* SPDX-License-Identifier: MIT */
/*
 * The settings of our terminal, whatever standard input is. A command that is
 * killed while it reads a password or edits a file leaves its own settings
 * behind.
 */
#ifndef PROC_TERMINAL_H
#define PROC_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
	bool known; /* false: we have no terminal */
	bool front; /* our group was in the foreground */
	struct termios settings;
};

/* Saves the current settings. */
void terminal_save(struct terminal *t);

/* Restores them if we are in the foreground of our terminal. If the foreground
 * group has no process left, takes its place, if that was ours before. Does not
 * wait for pending output. */
void terminal_restore(const struct terminal *t);

/* The foreground group of our terminal; -1: we have no terminal. */
pid_t terminal_foreground(void);

/* Moves `group` to the foreground, if ours is there and it still exists. */
void terminal_hand_to(pid_t group);

#endif
