/* SPDX-License-Identifier: MIT */
/* Who we are: the token of an acquisition, this host. */
#ifndef BASE_IDENT_H
#define BASE_IDENT_H

#include <stddef.h>
#include <stdint.h>

#define TOKEN_SIZE 37 /* a UUID as text, with its NUL */
#define HOST_SIZE 65

/* A new random token (libuuid). One per acquisition, never used again. */
void token_generate(char token[TOKEN_SIZE]);

/* This machine's name; "?" if it has none. */
void host_name(char host[HOST_SIZE]);

/* The kernel's name for the time since this machine was started; -1 and "" if
 * /proc does not show it. */
#define BOOT_ID_SIZE 37
int boot_id(char id[BOOT_ID_SIZE]);

/* FNV-1a of these bytes: tells names apart, but is no defense against
 * forgery. */
uint64_t hash_bytes(const char *bytes, size_t n);

#endif
