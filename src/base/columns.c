/* SPDX-License-Identifier: MIT */
/* How wide text is. */
#include "base/columns.h"

#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/units.h"

/* Blocks of Unicode, in order; all others are one column wide. */
static const struct {
	uint32_t first, last;
	int columns;
} blocks[] = {
	{0x300, 0x36f, 0},     {0x591, 0x5bd, 0},     {0x610, 0x61a, 0},
	{0x64b, 0x65f, 0},     {0x1100, 0x115f, 2},   {0x1ab0, 0x1aff, 0},
	{0x1dc0, 0x1dff, 0},   {0x20d0, 0x20ff, 0},   {0x231a, 0x231b, 2},
	{0x23e9, 0x23ec, 2},   {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},
	{0xa960, 0xa97f, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
	{0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},
	{0xfeff, 0xfeff, 0},   {0xff01, 0xff60, 2},   {0xffe0, 0xffe6, 2},
	{0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2},
	{0x20000, 0x3fffd, 2}, {0xe0100, 0xe01ef, 0},
};

/* The width of the first character; sets *len to its length. */
static int first_columns(const char *text, size_t left, size_t *len)
{
	uint32_t code;

	*len = utf8_length(text, left);
	if (*len <= 1) {
		*len = 1;
		return 1;
	}
	(void)utf8_code(text, left, &code);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		if (code >= blocks[i].first && code <= blocks[i].last)
			return blocks[i].columns;
	return 1;
}

size_t columns_fit(const char *text, int columns)
{
	size_t n = strlen(text), used = 0, len;

	while (used < n) {
		columns -= first_columns(text + used, n - used, &len);
		if (columns < 0)
			break;
		used += len;
	}
	return used;
}

int columns_of(const char *text)
{
	size_t n = strlen(text), used = 0, len;
	int columns = 0;

	while (used < n) {
		columns += first_columns(text + used, n - used, &len);
		used += len;
	}
	return columns;
}

int columns_at(int fd)
{
	struct winsize size = {0};

	return ioctl(fd, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
}
