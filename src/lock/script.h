/* SPDX-License-Identifier: MIT */
/*
 * The scripts (src/lua): a question becomes a request, a reply an answer.
 *
 * They have 5 to 13 kB, and are called by their hash (EVALSHA: a hand-over is a
 * tenth shorter). A server that does not know one gets it whole (EVAL), and
 * knows it from then on.
 */
#ifndef LOCK_SCRIPT_H
#define LOCK_SCRIPT_H

#include <stdbool.h>

#include "base/fail.h"
#include "base/words.h"
#include "lock/keys.h"
#include "lock/lease.h"

/* What others may see of a holder or waiter. Any field may be "". Borrowed
 * strings. */
enum about {
	ABOUT_HOST,
	ABOUT_PID,
	ABOUT_USER,
	ABOUT_COMMAND,
	ABOUT_REASON,
	ABOUT_CI,
	ABOUT_COUNT
};

struct holder {
	const char *about[ABOUT_COUNT];
};

const char *script_about_name(enum about field); /* "host", "pid", ... */

/* How a client stands in line: "TTL SLOTS FLAGS\nhost ...\npid ...\n" (flags:
 * see standing() in src/lua/share.lua): one text per client, never changed, for
 * the scripts find it again by its bytes. */
#define ABOUT_MAX 128 /* bytes of a field, with its terminator */
#define STANDING_SIZE (ABOUT_COUNT * (ABOUT_MAX + 8) + 32)
void script_standing(const struct lease_conf *conf, const struct holder *who,
		     char text[STANDING_SIZE]);

/* Its end alone: "host ...\npid ...\n". */
void script_about(const struct holder *who, char text[STANDING_SIZE]);

/* Numbers as text, so that a request may borrow them. */
struct script_scratch {
	char number[6][24];
	char value[40]; /* what the lock holds */
	char db[12];
};

/* How the request of any script begins, up to its KEYS, and how it ends:
 * between them come its own arguments. */
void script_begin(const char *lua, size_t len, struct keys *keys, int slot,
		  struct words *out);
void script_end(int db, struct script_scratch *scratch, struct words *out);

/* The request lives as long as its arguments. */
void script_request(const struct ask *ask, const struct lease_conf *conf,
		    struct keys *keys, const char *token, const char *standing,
		    int db, struct script_scratch *scratch, struct words *out);

/* A release tells what became of the hold, too (see story_text()); "": there
 * was none, or it is nobody's business. */
void script_tell(const struct ask *ask, const char *story,
		 struct words *request);

/* Calls the script by its hash instead. */
void script_by_hash(const struct ask *ask, struct words *request);

/* Who has the lock, as told by a busy answer, or who has our place in line:
 * text safe for a terminal. */
struct sight {
	bool seen;     /* anything was told at all */
	bool lost;     /* nobody has it, but data were lost: see lease.h */
	bool guarded;  /* likewise, but the server has just been started */
	bool foreign;  /* no holder record: another program's lock */
	char type[16]; /* not a string but this; else "" */
	char token[140];
	char about[ABOUT_COUNT][ABOUT_MAX];
	int readers;     /* so many, of whom this is one; 0: it does not read */
	int64_t since;   /* seconds since 1970, server time; 0: unknown */
	int64_t pttl_ms; /* -1: no expiry */
};

/* 0: `out` (and, when somebody has the lock, `sight`) is filled. -1: `why`
 * is, without the node's name. */
int script_answer(enum verb verb, const struct words *reply, struct answer *out,
		  struct sight *sight, struct fail *why);

#endif
