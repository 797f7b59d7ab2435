/* SPDX-License-Identifier: MIT */
/* Writes the text of an SVG picture. */
#ifndef CLI_HISTORY_SVG_H
#define CLI_HISTORY_SVG_H

#include <stdio.h>

/* Formats, and writes the result as text of an element or an attribute. The
 * document stays well-formed whatever the bytes are. They must be safe for a
 * terminal (format_bytes()). */
void svg_say(FILE *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Its approximate width in letters; a wide character counts as two. */
int svg_width(const char *text);

/* Cuts it to that many letters, with "..." for the rest. Returns buf. */
#define SVG_CUT 160
const char *svg_cut(const char *text, int letters, char buf[SVG_CUT]);

#endif
