/* SPDX-License-Identifier: MIT */
/*
 * Durations and numbers as people write them, and back.
 *
 * A duration is digits with an optional fraction and a unit (ms s m h d), or
 * several of these together ("1h30m"). A bare number means seconds, as for
 * flock, timeout and sleep. Nothing else is accepted: no sign, no exponent, no
 * hexadecimal, no blank.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Returns milliseconds, or -1 if the text is not a duration or exceeds 10,000
 * days. A positive duration below 1 ms counts as 1 ms. */
int64_t parse_duration(const char *text);

/* Returns a decimal number within lo..hi, or -1 (lo >= 0). */
int64_t parse_number(const char *text, int64_t lo, int64_t hi);

/* Times and numbers that a server tells may be forged. They are limited where
 * they come in: a duration or a date in ms to 30,000 years, which can be
 * multiplied by 1000 and added without overflow. */
#define AGES_MS ((int64_t)1000000000000000)
int64_t at_most(int64_t n, int64_t most);

/* "29.4s", "1h30m", for people. Returns buf. */
const char *format_duration(int64_t ms, char *buf, size_t size);

/* The same, but in whole seconds below a minute: "0s", "29s", "1h30m". */
const char *format_seconds(int64_t ms, char *buf, size_t size);

/* As a user types it: "30m", "1h30m", "1m30s", "1.5s". */
const char *format_limit(int64_t ms, char *buf, size_t size);

/* The length of the well-formed UTF-8 sequence at `bytes` (1 for ASCII), or 0;
 * *code is its code point. */
size_t utf8_code(const char *bytes, size_t left, uint32_t *code);

/* The same, but also 0 for what steers a terminal or is invisible: C1 controls,
 * direction marks and overrides, line separators, joiners, and spaces without a
 * width. */
size_t utf8_length(const char *bytes, size_t left);

/* Copies n bytes as printable text, with \xHH for what a terminal must not see,
 * and cut with "..." if it does not fit. UTF-8 and backslashes are kept:
 * printable text is unchanged. Returns buf. */
const char *format_bytes(const char *bytes, size_t n, char *buf, size_t size);

/* The text as one word of a shell's command line, which can be pasted: in
 * quotes where a shell needs them. NULL: it does not fit, or a terminal must
 * not see it. */
const char *format_word(const char *text, char *buf, size_t size);

/* Copies a link, with "***" for user and password. What does not fit is cut,
 * even within a character. Returns buf. */
const char *mask_link(const char *link, char *buf, size_t size);

/* Without stdio, whose pages a process that was just forked would have to copy,
 * and which takes long. Each ends what it writes with '\0' and returns where
 * that is; the caller has made room. */
char *add_text(char *to, const char *text);
char *add_number(char *to, int64_t n); /* up to 20 bytes, and the '\0' */
char *add_hash(char *to, uint64_t n);  /* 16 hexadecimal digits */

#endif
