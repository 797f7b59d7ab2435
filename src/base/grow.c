/* SPDX-License-Identifier: MIT */
/* Lists that grow. */
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

bool grow(void *list, int used, int *room, size_t size)
{
	int more = *room * 2 + 16;
	void *old, *at;

	if (used < *room)
		return true;
	/* a pointer to any type: no other way to read it is portable */
	memcpy(&old, list, sizeof(old));
	at = realloc(old, (size_t)more * size);
	if (!at)
		return false;
	memcpy(list, &at, sizeof(at));
	*room = more;
	/* cppcheck-suppress memleak; it is in the list */
	return true;
}
