/* SPDX-License-Identifier: MIT */
/* The arguments as the kernel shows them: one block of memory. */
#include "run/title.h"

#include <stdio.h>
#include <string.h>

static char *area;
static size_t room;

void title_init(int argc, char **argv)
{
	area = argv[0];
	for (int i = 0; i < argc && argv[i] == area + room; i++)
		room += strlen(argv[i]) + 1;
}

void title_set(const char *what, const char *whom)
{
	char text[256];

	if (room == 0)
		return;
	(void)snprintf(text, sizeof(text), "%s: %s", what, whom);
	memset(area, 0, room);
	(void)snprintf(area, room, "%s", text);
}
