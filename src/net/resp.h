/* SPDX-License-Identifier: MIT */
/*
 * RESP2 bytes: the one file that knows hiredis, and of it only the formatter
 * and the reader, which are the same from 0.14 to 1.4. Sockets, time-outs and
 * the clock are ours: hiredis starts its time-out again after every signal and
 * leaks its socket into an exec'ed child.
 */
#ifndef NET_RESP_H
#define NET_RESP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/reply.h"
#include "base/words.h"

/* Bytes of replies not yet taken. Whole ones may be longer: a list of keys,
 * say; but hiredis 1.2.0 crashes when it frees a nested one of 4 MB. */
#define REPLY_MAX ((size_t)64 * 1024)
#define REPLY_WHOLE_MAX ((size_t)1024 * 1024)

struct resp; /* a reader */

/* `whole`: resp_whole() is wanted. NULL: no memory. */
struct resp *resp_open(bool whole);
void resp_close(struct resp *r);

/* -1: no memory. After that the reader is dead and the connection must be
 * closed; so is it after RESP_BROKEN and RESP_TOO_LONG. */
int resp_feed(struct resp *r, const char *bytes, size_t n);
/* It has enough: take what there is before it is fed more. */
bool resp_is_full(const struct resp *r);

enum resp_got {
	RESP_NOTHING,
	RESP_REPLY,
	RESP_ERROR,
	RESP_BROKEN,
	RESP_TOO_LONG /* the next one */
};

/* The next whole reply, flattened: an array one level deep becomes its items,
 * anything else one word; nil is an empty word. An error's text is the one
 * word. The words live until the next call. */
enum resp_got resp_next(struct resp *r, struct words *out);

/* The reply that resp_next() returned last, in full; NULL: no memory. It lives
 * as long as the words, which are only what it begins with. */
const struct reply *resp_whole(struct resp *r);

/* A request as bytes: *bytes is malloc'ed by hiredis, free it with
 * resp_free(). Returns its length, or -1 when memory is short. */
long resp_format(const struct words *w, char **bytes);
void resp_free(char *bytes);

/* "0.14.1": what we were built with. */
const char *resp_built_with(void);
/* The file name of the library in use, as far as the loader tells. */
void resp_running(char *buf, size_t size);

#endif
