/* SPDX-License-Identifier: MIT */
/*
 * The names of a lock's companion keys. They begin with the lock's own key, so
 * that a user who has the rights for the keys of a prefix has them for these;
 * and they are in its Cluster slot:
 *   job        job:redlock:{job}:PART
 *   {a}b       {a}b:redlock:PART               it has a hash tag of its own
 *
 * A key with a stray brace has no such tag. It gets the shortest one of
 * lower-case letters that makes it the same slot, the first in alphabetical
 * order:
 *   a}b, a{b   a}b:redlock:{TAG}:PART
 *   a{}b       redlock:{TAG}:a{}b::PART        a name that begins with "{}" has
 *                                              no tag, whatever follows
 * Never change these rules: two versions of redlock must agree on the names.
 */
#ifndef LOCK_WIRE_KEYS_H
#define LOCK_WIRE_KEYS_H

#include <stddef.h>
#include <stdint.h>

#define KEY_MAX 65536
#define SLOTS_MAX 1000

/* The parts, in the order in which the scripts want them: src/lua/start.lua. */
enum key_part {
	PART_STATE, /* a client holds it, or has held it */
	PART_QUEUE, /* a client may wait for it */
	PART_GRANT, /* of our token */
	PART_LOG,   /* it has a history */
	PART_COUNT,
	PART_NONE = PART_COUNT
};

struct keys {
	const char *lock; /* the user's key; borrowed */
	size_t lock_len;
	char *part[PART_COUNT]; /* owned; one allocation, freed by keys_close */
	size_t part_len[PART_COUNT];
	size_t base; /* length of what they all begin with, before PART */
};

/* The token is part of some of the names. Returns 0, or -1 when out of
 * memory; then there is nothing to free. */
int keys_init(struct keys *k, const char *key, size_t len, const char *token);
void keys_close(struct keys *k);

struct key_read {
	const char *key; /* the lock; points into the name */
	size_t len;
};

/* Takes apart the name of a companion key, but for one of a token. PART_NONE:
 * it is not the one that we would choose for that lock. */
enum key_part keys_read(const char *name, size_t len, struct key_read *out);

/* A pattern for SCAN that matches every name of a companion key. */
#define KEYS_TRACES "*redlock:*"
/* The same, without those for PART_LOG. */
#define KEYS_PRESENT "*redlock:*[^g]"

/* The Cluster slot of a key, 0..16383 (CRC16/XMODEM of its hash tag). */
uint16_t key_slot(const char *key, size_t len);

#endif
