/* SPDX-License-Identifier: MIT */
/*
 * Random requests, each played on two sides, which must answer the same and
 * have the same stored afterwards. Both print TAP and return the exit status.
 */
#ifndef SIM_COMPARE_H
#define SIM_COMPARE_H

#include <stdint.h>

/* redis.c against the server at this socket. It must be empty, and is flushed
 * on the way. */
int compare_server(const char *socket, uint64_t steps, uint64_t seed);

/* The scripts with their short cut (src/lua/plain.lua) against the same scripts
 * without it, both on redis.c. */
int compare_plain(uint64_t steps, uint64_t seed);
/* Each broken twin of the short cut is noticed within so many steps. */
int compare_plain_twins(uint64_t steps);

#endif
