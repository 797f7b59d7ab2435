/* SPDX-License-Identifier: MIT */
/* The arguments as the kernel shows them, in one block of memory. */
#include "proc/title.h"

#include <stdlib.h>
#include <string.h>

static char *area, *copy;
static size_t room;

char **title_init(int argc, char **argv)
{
	size_t size = 0, at = 0;
	char **ours;

	area = argv[0];
	for (int i = 0; i < argc; i++) {
		if (argv[i] == area + room)
			room += strlen(argv[i]) + 1;
		size += strlen(argv[i]) + 1;
	}
	ours = malloc(((size_t)argc + 1) * sizeof(*ours) + size);
	if (!ours)
		return NULL;
	copy = (char *)(ours + argc + 1);
	for (int i = 0; i < argc; i++) {
		size_t n = strlen(argv[i]) + 1;

		ours[i] = memcpy(copy + at, argv[i], n);
		at += n;
	}
	ours[argc] = NULL;
	return ours;
}

void title_hide(const char *from, size_t n)
{
	if (room > 0 && from >= copy && from + n <= copy + room)
		memset(area + (from - copy), '*', n);
}

/* In a process that was just forked: no stdio. */
void title_set(const char *what, const char *whose)
{
	const char *const parts[] = {what, ": ", whose};
	size_t at = 0;

	if (room == 0)
		return;
	memset(area, 0, room);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (const char *c = parts[i]; *c && at + 1 < room; c++)
			area[at++] = *c;
}
