/* SPDX-License-Identifier: MIT */
/* Twins. Read twin.h first. */
#include "twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/wire/lua.inc"
#include "server.h"

static const struct {
	const char *name, *text;
} scripts[] = {{"ACQUIRE", LUA_ACQUIRE}, {"RENEW", LUA_RENEW},
	       {"RELEASE", LUA_RELEASE}, {"FORCE", LUA_FORCE},
	       {"INSPECT", LUA_INSPECT}, {"HISTORY", LUA_HISTORY},
	       {"RIGHTS", LUA_RIGHTS},   {"RIGHTS_WRITE", LUA_RIGHTS_WRITE},
	       {"IDLE", LUA_IDLE}};
#define SCRIPTS (sizeof(scripts) / sizeof(scripts[0]))

void twin_must_fit(const char *name, const struct redis_edit *edits)
{
	bool fits[TWIN_EDITS] = {false};

	for (size_t i = 0; i < SCRIPTS; i++) {
		int found[TWIN_EDITS] = {0};
		size_t len;

		free(redis_edited(edits, scripts[i].text,
				  strlen(scripts[i].text), &len, found));
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

char *twin_text(const char *path)
{
	char *text = NULL;
	size_t room = 0;
	FILE *f = fopen(path, "r");

	if (!f)
		return NULL;
	if (getdelim(&text, &room, '\0', f) <= 0) {
		free(text);
		text = NULL;
	}
	(void)fclose(f);
	return text;
}

void twin_use(const char *dir)
{
	for (size_t i = 0; i < SCRIPTS; i++) {
		char path[512], *text;

		(void)snprintf(path, sizeof(path), "%s/%s", dir,
			       scripts[i].name);
		text = twin_text(path);
		if (text)
			redis_instead(scripts[i].text, text);
	}
}
