/* SPDX-License-Identifier: MIT */
/*
 * The names of a lock's companion keys: redlock:{TAG}:<part>:KEY, all in the
 * lock's own Cluster slot.
 *
 * TAG is the key's hash tag if it has one, else the key itself. A key with a
 * "}" but without a hash tag can be neither. It gets the shortest tag of
 * lower-case letters that falls in its slot, the first in alphabetical order.
 * Never change that rule: two versions of redlock must agree on the names.
 */
#ifndef LOCK_WIRE_KEYS_H
#define LOCK_WIRE_KEYS_H

#include <stddef.h>
#include <stdint.h>

#define KEY_MAX 65536
#define SLOTS_MAX 1000

/* The parts that a client names, in the order in which the scripts want them
 * (src/lua/keys.lua); the first ones go with every request, PART_NONE with
 * those to a Cluster. The scripts derive what belongs to other clients or slots
 * from the name of the state. */
enum key_part {
	PART_STATE,
	PART_QUEUE,
	PART_ALIVE,
	PART_GRANT,   /* of our token */
	PART_SHARERS, /* of our token */
	PART_ONCE,
	PART_LOG,
	PART_NONE, /* no key has this name */
	PART_COUNT
};

struct keys {
	const char *lock; /* the user's key; borrowed */
	size_t lock_len;
	char *part[PART_COUNT]; /* owned; one allocation, freed by keys_close */
	size_t part_len[PART_COUNT];
	size_t prefix; /* length of "redlock:{TAG}:" */
	/* --slots: the lock of a slot other than 0 */
	int slot;
	char *slot_lock;
	size_t slot_lock_len;
};

/* The token is part of some of the names. Returns 0, or -1 when out of
 * memory; then there is nothing to free. */
int keys_init(struct keys *k, const char *key, size_t len, const char *token);
void keys_close(struct keys *k);

/* Names the lock of this slot, 1..SLOTS_MAX-1. Does not allocate. */
void keys_slot(struct keys *k, int slot);

enum key_name {
	NAME_OTHER, /* none of these */
	NAME_STATE,
	NAME_SLOT, /* the lock of a slot */
	NAME_QUEUE,
	NAME_SHARERS,
	NAME_ALIVE,
	NAME_LOG,
	KEY_NAMES /* how many */
};

struct key_read {
	enum key_name kind;
	int slot;        /* NAME_SLOT; else 0 */
	const char *key; /* the lock; points into the name */
	size_t len;
};

/* Takes apart what follows "redlock:{TAG}:" in a name. */
enum key_name keys_read(const char *from, size_t len, struct key_read *out);

/* What the name of a companion key says about its lock. */
enum trace {
	TRACE_NONE,   /* nothing, or it is not a companion key */
	TRACE_HELD,   /* a client holds it, or has held it */
	TRACE_QUEUED, /* a client may wait for it */
	TRACE_PAST    /* it has a history */
};

/* Finds KEY in such a name: *key points into the name. If the tag is not the
 * one we would choose for KEY, the name is not a companion key. */
enum trace keys_trace(const char *name, size_t len, const char **key,
		      size_t *key_len);
/* A pattern for SCAN that matches every name for which keys_trace() returns
 * something other than TRACE_NONE. */
#define KEYS_TRACES "redlock:{*}:[lqs]*"
/* The same, without those for TRACE_PAST. */
#define KEYS_PRESENT "redlock:{*}:[qs]*"

/* The Cluster slot of a key, 0..16383 (CRC16/XMODEM of its hash tag). */
uint16_t key_slot(const char *key, size_t len);

#endif
