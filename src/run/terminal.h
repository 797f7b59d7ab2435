/* SPDX-License-Identifier: MIT */
/*
 * The settings of the terminal: a command that is killed while it reads a
 * password, or is an editor, leaves them as they suited it.
 */
#ifndef RUN_TERMINAL_H
#define RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
	bool known; /* false: standard input is no terminal */
	struct termios settings;
};

/* As they are now. */
void terminal_save(struct terminal *t);

/* Sets them again, if we are in the foreground of our terminal. Does not wait
 * for what is still to be written there. */
void terminal_restore(const struct terminal *t);

/* Of our terminal: the group in the foreground; -1: we have none. */
pid_t terminal_foreground(void);

/* Puts `group` there, if ours is, and it still exists. */
void terminal_hand_to(pid_t group);

#endif
