/* SPDX-License-Identifier: MIT */
/* Patterns. */
#include "base/glob.h"

struct pattern {
	const unsigned char *at, *end;
};

/* Matches "abc]", after the "["; the "]" may be missing. Moves *p past it. */
static bool in_class(struct pattern *p, unsigned char c)
{
	bool negated = p->at < p->end && *p->at == '^', found = false;

	for (p->at += negated; p->at < p->end && *p->at != ']'; p->at++) {
		size_t left = (size_t)(p->end - p->at);
		unsigned char from = p->at[0], to;

		if (from == '\\' && left >= 2) {
			from = to = *++p->at;
		} else if (left >= 3 && p->at[1] == '-') {
			to = p->at[2];
			p->at += 2;
		} else {
			to = from;
		}
		found |= (from <= c && c <= to) || (to <= c && c <= from);
	}
	if (p->at < p->end)
		p->at++;
	return found != negated;
}

/* Matches one byte against anything but a star. */
static bool one_matches(struct pattern *p, unsigned char c)
{
	unsigned char wanted;

	if (p->at == p->end)
		return false;
	wanted = *p->at++;
	if (wanted == '?')
		return true;
	if (wanted == '[')
		return in_class(p, c);
	if (wanted == '\\' && p->at < p->end)
		wanted = *p->at++;
	return wanted == c;
}

/* When a byte does not match, only the last star needs to take more: whatever
 * an earlier star could take as well, the last one can take too. */
bool glob_match(const char *pattern, size_t pattern_len, const char *text,
		size_t len)
{
	const unsigned char *t = (const unsigned char *)text, *end = t + len;
	const unsigned char *retry =
		NULL; /* back there, with one byte more for the star */
	struct pattern p = {(const unsigned char *)pattern,
			    (const unsigned char *)pattern + pattern_len};
	struct pattern behind = p; /* the star */

	while (t < end) {
		if (p.at < p.end && *p.at == '*') {
			p.at++;
			behind = p;
			retry = t;
		} else if (one_matches(&p, *t)) {
			t++;
		} else if (retry) {
			p = behind;
			t = ++retry;
		} else {
			return false;
		}
	}
	while (p.at < p.end && *p.at == '*')
		p.at++;
	return p.at == p.end;
}
