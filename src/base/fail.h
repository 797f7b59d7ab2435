/* SPDX-License-Identifier: MIT */
/*
 * A failure is a value: a kind, which decides the exit status, and one line of
 * text. It is filled in once, where the cause is known, and printed once, by
 * main(). It owns nothing and needs no freeing.
 */
#ifndef BASE_FAIL_H
#define BASE_FAIL_H

enum fail_kind {
	FAIL_NONE,
	FAIL_USAGE,       /* the command line is wrong */
	FAIL_CONFIG,      /* a file, a variable or a key's contents is wrong */
	FAIL_UNAVAILABLE, /* no server answers, or not enough of them */
	FAIL_REFUSED,     /* password, ACL, certificate */
	FAIL_INTERNAL     /* no fork, timer or memory on this machine */
};

struct fail {
	enum fail_kind kind;
	char text[400];
};

/* All return -1, so that a caller can `return fail(...)`. fail_sys() appends
 * ": " and the text of errno. */
int fail(struct fail *f, enum fail_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int fail_sys(struct fail *f, enum fail_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int fail_memory(struct fail *f);

#endif
