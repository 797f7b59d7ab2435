/* SPDX-License-Identifier: MIT */
/*
 * The real server that the small Redis is compared with: a connection to a unix
 * socket. Whatever goes wrong with it ends the program: bail().
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reply.h"
#include "base/words.h"

/* "Bail out! ...", and exit status 2. */
void __attribute__((noreturn, format(printf, 1, 2))) bail(const char *fmt, ...);

/* The server must be empty: it is flushed. */
void server_dial(const char *path);
void server_hang_up(void);

/* The words of the reply live until the next call. False: an error, in the
 * first word. */
bool server_ask(const struct words *request, struct words *reply);
/* The last reply in full: of more words than fit. */
const struct reply *server_whole(void);

/* Its clock: microseconds since 1970. */
int64_t server_us(void);

#endif
