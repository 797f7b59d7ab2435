/* SPDX-License-Identifier: MIT */
/* What the command finds in its environment, and REDLOCK_HELD in it. */
#include "cli/hold/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ident.h"
#include "base/units.h"
#include "lock/wire/keys.h"
#include "lock/wire/record.h"

static uint64_t hash(const char *text)
{
	return hash_bytes(text, strlen(text));
}

const char *held_token(const struct granted *g, const struct lease_outer *outer)
{
	return g->joined && !g->reads ? outer->token : g->token;
}

/* Writes the word for a lock granted for ttl_ms. Returns its length. */
static size_t held_word(const struct granted *g,
			const struct lease_outer *outer, int64_t ttl_ms,
			const char *key, const char *url,
			char word[HELD_WORD_MAX])
{
	const int64_t numbers[] = {
		g->fence, g->slot, g->reads,
		g->joined && outer->ttl_ms > ttl_ms ? outer->ttl_ms : ttl_ms};
	char *end = add_text(word, held_token(g, outer));

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		end = add_number(add_text(end, ":"), numbers[i]);
	end = add_hash(add_text(end, ":"), hash(key));
	end = add_hash(add_text(end, ":"), hash(url));
	return (size_t)(end - word);
}

enum {
	WORD_TOKEN,
	WORD_FENCE,
	WORD_SLOT,
	WORD_READS,
	WORD_TTL,
	WORD_KEY,
	WORD_URL
};
#define WORD_FIELDS (WORD_URL + 1)
#define HASH_LEN 16

/* false: redlock did not write this. */
static int read_word(char *text, char *field[WORD_FIELDS],
		     struct lease_outer *out)
{
	int64_t slot, reads;

	for (int i = 0; i < WORD_FIELDS; i++) {
		field[i] = strsep(&text, ":");
		if (!field[i])
			return -1;
	}
	if (text || strlen(field[WORD_TOKEN]) != TOKEN_SIZE - 1)
		return -1;
	*out = (struct lease_outer){
		.fence = parse_number(field[WORD_FENCE], 0, INT64_MAX / 2),
		.ttl_ms = parse_number(field[WORD_TTL], 0, INT64_MAX / 4)};
	slot = parse_number(field[WORD_SLOT], 0, SLOTS_MAX - 1);
	/* not 0 or 1 alone: an older redlock wrote the number of its readers */
	reads = parse_number(field[WORD_READS], 0, INT64_MAX / 2);
	if (out->fence < 0 || reads < 0 || out->ttl_ms < 0 || slot < 0)
		return -1;
	out->reads = reads > 0;
	out->slot = (int)slot;
	memcpy(out->token, field[WORD_TOKEN], TOKEN_SIZE);
	return 0;
}

static bool is_hash_of(const char *field, const char *text)
{
	char its[HASH_LEN + 1];

	(void)snprintf(its, sizeof(its), "%016" PRIx64, hash(text));
	return strcmp(field, its) == 0;
}

/* The first word for this key, preferably on this server. */
void held_find(const char *words, const char *key, const char *url,
	       struct lease_outer *out)
{
	*out = (struct lease_outer){0};
	for (; words && *words && !out->here; words += strspn(words, " ")) {
		size_t n = strcspn(words, " ");
		char text[HELD_WORD_MAX], *field[WORD_FIELDS];
		struct lease_outer its;

		if (n < sizeof(text)) {
			memcpy(text, words, n);
			text[n] = '\0';
			if (read_word(text, field, &its) == 0 &&
			    is_hash_of(field[WORD_KEY], key)) {
				its.here = is_hash_of(field[WORD_URL], url);
				if (its.here || out->token[0] == '\0')
					*out = its;
			}
		}
		words += n;
	}
}

static char *variable(const char *name, const char *value)
{
	size_t n = strlen(name) + strlen(value) + 2;
	char *text = malloc(n);

	if (text)
		(void)snprintf(text, n, "%s=%s", name, value);
	return text;
}

/* The entry of the environment that says that `name` is our pid; or NULL. */
static const char *names_us(const char *name)
{
	const char *value = getenv(name);
	char us[16];

	(void)snprintf(us, sizeof(us), "%d", (int)getpid());
	return value && strcmp(value, us) == 0 ? value - strlen(name) - 1
					       : NULL;
}

/* Takes over what the user gave us. With some variables systemd tells a process
 * that it means this one, not its children: the command, which is there in our
 * place. LISTEN_PIDFDID says the same as LISTEN_PID, which is enough. Returns
 * the number of entries. */
static size_t pass_on(struct variables *v)
{
	static const char *const names[] = {"LISTEN_PID", "WATCHDOG_PID",
					    "SYSTEMD_EXEC_PID"};
	const char *ours[OWN_PIDS], *other = getenv("LISTEN_PIDFDID");
	size_t used = 0;

	for (int k = 0; k < OWN_PIDS; k++)
		ours[k] = names_us(names[k]);
	if (other)
		other = ours[0] ? other - strlen("LISTEN_PIDFDID=") : NULL;
	for (char **e = environ; *e; e++) {
		char *entry = variable_is_given(*e) || *e == other ? NULL : *e;

		for (int k = 0; k < OWN_PIDS; k++) {
			if (*e != ours[k])
				continue;
			entry = v->own_pid[v->own_pids++];
			(void)snprintf(entry, OWN_PID_SIZE, "%s=", names[k]);
		}
		if (entry)
			v->envp[used++] = entry;
	}
	return used;
}

/* Variables that are not known yet come last. */
int variables_init(struct variables *v, const char *key, const char *url,
		   const char *names, struct fail *why)
{
	const char *outer = getenv("REDLOCK_HELD");
	const char *name = getenv("REDLOCK_SLOT_NAME");
	size_t n = 0, used, size;

	while (environ[n])
		n++;
	size = sizeof("REDLOCK_HELD=") + (size_t)HELD_WORD_MAX * LOCKS_MAX +
	       (outer ? strlen(outer) : 0);
	v->envp = malloc((n + VARIABLES_N + 1) * sizeof(*v->envp));
	v->held = malloc(size);
	if (!v->envp || !v->held)
		return fail_memory(why);
	used = pass_on(v);
	v->envp[used++] = variable("REDLOCK_KEY", key);
	v->envp[used++] = variable("REDLOCK_URL", url);
	if (!v->envp[used - 1] || !v->envp[used - 2])
		return fail_memory(why);
	(void)snprintf(v->fences, sizeof(v->fences), "REDLOCK_FENCES=");
	(void)snprintf(v->held, size, "REDLOCK_HELD=");
	v->envp[used++] = v->held;
	v->envp[used++] = v->token;
	v->envp[used++] = v->fence;
	v->envp[used++] = v->slot;
	v->envp[used++] = v->fences;
	v->names = names;
	if (names || (name && strlen(name) <= SLOT_NAME_MAX)) {
		(void)snprintf(v->slot_name, sizeof(v->slot_name),
			       "REDLOCK_SLOT_NAME=%s", names ? "" : name);
		v->slot_name_at = &v->envp[used];
		v->envp[used++] = v->slot_name;
	}
	v->envp[used] = NULL;
	return 0;
}

/* Where the next word of a variable goes, behind a blank unless it is the
 * first. */
static char *next_word(char *variable)
{
	char *end = variable + strlen(variable);

	if (end[-1] != '=')
		*end++ = ' ';
	return end;
}

void variables_add(struct variables *v, const struct granted *its,
		   const struct lease_outer *outer, int64_t ttl_ms,
		   const char *key, const char *url)
{
	(void)add_number(next_word(v->fences), its->fence);
	(void)held_word(its, outer, ttl_ms, key, url, next_word(v->held));
}

/* Without names of its own, a run that joins a hold has the slot of that. */
static void name_slot(struct variables *v, const struct granted *first)
{
	const char *name = v->names;
	size_t len;

	if (!v->slot_name_at)
		return;
	if (!name) {
		if (!first->joined)
			*v->slot_name_at = NULL;
		return;
	}
	name = slot_name(name, first->slot, &len);
	if (!name) /* of a hold around us, with more slots */
		*v->slot_name_at = NULL;
	else
		(void)snprintf(next_word(v->slot_name), SLOT_NAME_MAX + 1,
			       "%.*s", (int)len, name);
}

/* Our parents still hold their other keys. */
void variables_end(struct variables *v, const struct granted *first,
		   const char *token)
{
	const char *outer = getenv("REDLOCK_HELD");

	if (outer)
		memcpy(next_word(v->held), outer, strlen(outer) + 1);
	if (first) {
		(void)add_text(add_text(v->token, "REDLOCK_TOKEN="), token);
		(void)add_number(add_text(v->fence, "REDLOCK_FENCE="),
				 first->fence);
		(void)add_number(add_text(v->slot, "REDLOCK_SLOT="),
				 first->slot);
		name_slot(v, first);
		return;
	}
	/* no lock: the variables from here on mean nothing */
	for (char **e = v->envp; *e; e++)
		if (*e == v->token)
			*e = NULL;
}
