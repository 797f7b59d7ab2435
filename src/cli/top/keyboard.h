/* SPDX-License-Identifier: MIT */
/* What the keys of `top` do: they change what its board shows. */
#ifndef CLI_TOP_KEYBOARD_H
#define CLI_TOP_KEYBOARD_H

#include "cli/top/board.h"

/* Takes a key, as screen_key() returns it. false: `top` is to end. */
bool keyboard_take(struct board *b, int key);

#endif
