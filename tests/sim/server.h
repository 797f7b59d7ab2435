/* SPDX-License-Identifier: MIT */
/*
 * The real server that a simulated one is compared with: a connection to a unix
 * socket; or several, where several nodes are one Cluster. Whatever goes wrong
 * with it ends the program: bail().
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/words.h"
#include "lock/core/lease.h"

#define SAID_COUNT (SAID_NO + 1)

/* "Bail out! ...", and exit status 2. */
void __attribute__((noreturn, format(printf, 1, 2))) bail(const char *fmt, ...);

#define SERVERS_MAX 4

/* The server must be empty: the tests flush it. It is the one that is asked,
 * until the next is dialled, or the i-th is taken again. */
void server_dial(const char *path);
void server_take(int i);
void server_hang_up(void); /* all */

/* The words of the reply live until the next call. False: an error, in the
 * first word. */
bool server_ask(const struct words *request, struct words *reply);

/* Its clock: microseconds since 1970. */
int64_t server_us(void);
/* For so long it is up, in whole seconds. */
int64_t server_uptime_us(void);
void server_run_id(char id[41]);

extern const char *const said_names[SAID_COUNT];

/* Tells how often each answer came up, without an end of line. True: all did,
 * save those of the bits in `never`, which cannot. A test in which some answer
 * never comes up has not tested it. */
bool all_said(const uint64_t seen[SAID_COUNT], unsigned int never);

#endif
