/* SPDX-License-Identifier: MIT */
/* JSON. */
#include "base/json.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

/* RFC 3339 has no name for it. */
#define YEAR_10000_MS 253402300800000

static void quoted(FILE *f, const char *bytes, size_t n, bool *exact)
{
	*exact = true;
	(void)fputc('"', f);
	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)bytes[i];
		uint32_t code;
		size_t len = utf8_code(bytes + i, n - i, &code);

		if (c == '"' || c == '\\')
			(void)fprintf(f, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			(void)fprintf(f, "\\u%04x", c);
		else if (utf8_length(bytes + i, n - i) > 0)
			(void)fwrite(bytes + i, 1, len, f);
		else if (len > 0) /* bytes that a terminal must not see */
			(void)fprintf(f, "\\u%04x", (unsigned int)code);
		else
			*exact = false, (void)fputs("\\ufffd", f);
		i += len > 0 ? len : 1;
	}
	(void)fputc('"', f);
}

static void name_of(struct json *j, const char *name, const char *more)
{
	(void)fprintf(j->f, "%c\"%s%s\":", j->inside ? ',' : '{', name, more);
	j->inside = true;
}

static void base64(FILE *f, const char *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)bytes;

	(void)fputc('"', f);
	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;

		v |= i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0;
		v |= i + 2 < n ? p[i + 2] : 0;
		(void)fputc(digits[v >> 18], f);
		(void)fputc(digits[v >> 12 & 63], f);
		(void)fputc(i + 1 < n ? digits[v >> 6 & 63] : '=', f);
		(void)fputc(i + 2 < n ? digits[v & 63] : '=', f);
	}
	(void)fputc('"', f);
}

void json_bytes(struct json *j, const char *name, const char *bytes, size_t n)
{
	bool exact;

	name_of(j, name, "");
	quoted(j->f, bytes, n, &exact);
	if (exact)
		return;
	name_of(j, name, "_b64");
	base64(j->f, bytes, n);
}

void json_text(struct json *j, const char *name, const char *text)
{
	bool exact;

	name_of(j, name, "");
	quoted(j->f, text, strlen(text), &exact);
}

void json_number(struct json *j, const char *name, int64_t value)
{
	name_of(j, name, "");
	(void)fprintf(j->f, "%" PRId64, value);
}

void json_open(struct json *j, const char *name)
{
	name_of(j, name, "");
	j->inside = false;
}

void json_close(struct json *j)
{
	(void)fputs(j->inside ? "}" : "{}", j->f);
	j->inside = true;
}

void json_bool(struct json *j, const char *name, bool value)
{
	name_of(j, name, "");
	(void)fputs(value ? "true" : "false", j->f);
}

void json_null(struct json *j, const char *name)
{
	name_of(j, name, "");
	(void)fputs("null", j->f);
}

void json_list(struct json *j, const char *name)
{
	name_of(j, name, "");
	(void)fputc('[', j->f);
	j->inside = false;
}

void json_item(struct json *j)
{
	if (j->inside)
		(void)fputc(',', j->f);
	j->inside = false;
}

void json_word(struct json *j, const char *text)
{
	bool exact;

	json_item(j);
	quoted(j->f, text, strlen(text), &exact);
	j->inside = true;
}

void json_end(struct json *j)
{
	(void)fputc(']', j->f);
	j->inside = true;
}

void json_time(struct json *j, const char *name, int64_t ms)
{
	char text[40];

	if (ms > 0 && ms < YEAR_10000_MS)
		json_text(j, name, wall_stamp(ms, text, sizeof(text)));
	else
		json_null(j, name);
}

void json_left(struct json *j, const char *name, int64_t ms)
{
	if (ms < 0)
		json_null(j, name);
	else
		json_number(j, name, ms);
}
