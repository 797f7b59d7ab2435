/* SPDX-License-Identifier: MIT */
/* Twins. Read twin.h first. */
#include "twin.h"

#include <stdlib.h>
#include <string.h>

#include "lock/wire/lua.inc"
#include "server.h"

static const char *const scripts[] = {LUA_ACQUIRE, LUA_RENEW, LUA_RELEASE,
				      LUA_FORCE};
#define SCRIPTS (sizeof(scripts) / sizeof(scripts[0]))

void twin_must_fit(const char *name, const struct redis_edit *edits)
{
	bool fits[TWIN_EDITS] = {false};

	for (size_t i = 0; i < SCRIPTS; i++) {
		int found[TWIN_EDITS] = {0};
		size_t len;

		free(redis_edited(edits, scripts[i], strlen(scripts[i]), &len,
				  found));
		for (int k = 0; edits[k].from; k++) {
			fits[k] |= found[k] > 0;
			if (found[k] > 1)
				bail("the twin \"%s\" fits two places: %s",
				     name, edits[k].from);
		}
	}
	for (int k = 0; edits[k].from; k++)
		if (!fits[k])
			bail("the twin \"%s\" does not fit the scripts: %s",
			     name, edits[k].from);
}
