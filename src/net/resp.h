/* SPDX-License-Identifier: MIT */
/*
 * RESP2 bytes. The only file that knows hiredis, and only its reader, which is
 * the same from 0.14 to 1.4. Sockets, time-outs and the clock
 * are ours: hiredis starts its time-out again after every signal, and leaks its
 * socket into a child that it execs.
 */
#ifndef NET_RESP_H
#define NET_RESP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/reply.h"
#include "base/words.h"

/* The most bytes of replies not taken yet. A whole reply may be longer, such as
 * a list of keys; but hiredis 1.2.0 crashes when it frees a nested one of
 * 4 MB. */
#define REPLY_MAX ((size_t)64 * 1024)
#define REPLY_WHOLE_MAX ((size_t)1024 * 1024)

struct resp; /* a reader */

/* `whole`: resp_whole() will be called. NULL: out of memory. */
struct resp *resp_open(bool whole);
void resp_close(struct resp *r);

/* -1: out of memory. Then, and after RESP_BROKEN and RESP_TOO_LONG, the reader
 * is unusable and the connection must be closed. */
int resp_feed(struct resp *r, const char *bytes, size_t n);
/* Whether it is full: take the replies before you feed it more. */
bool resp_is_full(const struct resp *r);

enum resp_got {
	RESP_NOTHING,
	RESP_REPLY,
	RESP_ERROR,
	RESP_BROKEN,
	RESP_TOO_LONG /* the next reply is */
};

/* Takes the next whole reply, flattened: the items of a list one level deep,
 * anything else as one word; nil is an empty word; an error is one word, its
 * text. The words are valid until the next call. */
enum resp_got resp_next(struct resp *r, struct words *out);

/* The last reply of resp_next() in full; NULL: out of memory. Valid as long as
 * the words, which are only its beginning. */
const struct reply *resp_whole(struct resp *r);

/* The most bytes that a request takes. */
size_t resp_room(const struct words *w);
/* Writes a request. Returns the number of bytes. */
size_t resp_format(const struct words *w, char *bytes);

/* "0.14.1": the version we were built with. */
const char *resp_built_with(void);
/* The file name of the library in use, as far as the loader tells it. */
void resp_running(char *buf, size_t size);

#endif
