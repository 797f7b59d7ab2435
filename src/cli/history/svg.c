/* SPDX-License-Identifier: MIT */
/* Text in SVG. */
#include "cli/history/svg.h"

#include <stdarg.h>
#include <string.h>

#include "base/units.h"

/* Hangul, Han, kana, their punctuation, and everything beyond the first
 * plane. */
#define WIDE_FROM "\xe1\x84\x80" /* U+1100 */

static size_t letter_length(const char *p)
{
	size_t len = utf8_length(p, strlen(p));

	return len > 0 ? len : 1;
}

static void put_letter(FILE *f, const char *p, size_t len)
{
	static const struct {
		const char *from, *to;
	} said[] = {{"&", "&amp;"},
		    {"<", "&lt;"},
		    {">", "&gt;"},
		    {"\"", "&quot;"},
		    /* two code points that XML does not allow */
		    {"\xef\xbf\xbe", "\xef\xbf\xbd"},
		    {"\xef\xbf\xbf", "\xef\xbf\xbd"}};

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (strlen(said[i].from) == len &&
		    memcmp(p, said[i].from, len) == 0) {
			(void)fputs(said[i].to, f);
			return;
		}
	(void)fwrite(p, 1, len, f);
}

void svg_say(FILE *f, const char *fmt, ...)
{
	char text[2048], safe[2048];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* the text may have been cut within a letter */
	(void)format_bytes(text, strlen(text), safe, sizeof(safe));
	for (const char *p = safe; *p; p += letter_length(p))
		put_letter(f, p, letter_length(p));
}

static int letters_of(const char *p, size_t len)
{
	return len >= 3 && memcmp(p, WIDE_FROM, 3) >= 0 ? 2 : 1;
}

int svg_width(const char *text)
{
	int width = 0;

	for (const char *p = text; *p; p += letter_length(p))
		width += letters_of(p, letter_length(p));
	return width;
}

const char *svg_cut(const char *text, int letters, char buf[SVG_CUT])
{
	size_t used = 0;
	int width = 0;

	if (svg_width(text) <= letters && strlen(text) < SVG_CUT)
		return memcpy(buf, text, strlen(text) + 1);
	for (const char *p = text; *p; p += letter_length(p)) {
		size_t len = letter_length(p);

		width += letters_of(p, len);
		if (width > letters - 1 || used + len + 4 > SVG_CUT)
			break;
		memcpy(buf + used, p, len);
		used += len;
	}
	(void)snprintf(buf + used, SVG_CUT - used, "\xe2\x80\xa6");
	return buf;
}
