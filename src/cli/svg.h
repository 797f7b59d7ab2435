/* SPDX-License-Identifier: MIT */
/* What a picture in SVG is written with. */
#ifndef CLI_SVG_H
#define CLI_SVG_H

#include <stdio.h>

/* Formats, and writes it as text of an element or of an attribute: whatever
 * bytes come in, the document stays well-formed. What goes in must be safe for
 * a terminal (format_bytes()). */
void svg_say(FILE *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* How wide it is, about, in letters: the wide scripts have two for each. */
int svg_width(const char *text);

/* As much of it as so many letters, with "..." for the rest. Returns buf. */
#define SVG_CUT 160
const char *svg_cut(const char *text, int letters, char buf[SVG_CUT]);

#endif
