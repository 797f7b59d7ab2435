/* SPDX-License-Identifier: MIT */
/* The locks that a scan has found. */
#include "cli/show/locks.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/units.h"

#define SHOWN_MAX 256
/* The most locks that we remember, and bytes of their keys. */
#define KEPT_MAX 100000
#define KEPT_BYTES_MAX ((size_t)32 << 20)

bool lockset_in_use(const struct lock_seen *l)
{
	return l->known && (l->holders > 0 || l->in_line > 0);
}

static void free_lock(struct lock_seen *l)
{
	free(l->key);
	free(l->shown);
	free(l);
}

static void keep_name(void *lock)
{
	(void)lock; /* s->lock owns it */
}

int lockset_by_key(const void *a, const void *b)
{
	const struct lock_seen *x = a, *y = b;
	size_t n = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->key, y->key, n);

	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

static struct lock_seen *make_lock(const char *key, size_t len)
{
	struct lock_seen *l = calloc(1, sizeof(*l));
	char shown[SHOWN_MAX];

	if (!l)
		return NULL;
	l->key = malloc(len);
	l->len = len;
	l->shown = strdup(format_bytes(key, len, shown, sizeof(shown)));
	if (!l->key || !l->shown) {
		free_lock(l);
		return NULL;
	}
	memcpy(l->key, key, len);
	return l;
}

static int add_lock(struct lockset *s, struct lock_seen *l)
{
	if (!grow(&s->lock, s->locks, &s->room, sizeof(struct lock_seen *)) ||
	    !tsearch(l, &s->names, lockset_by_key))
		return -1;
	s->lock[s->locks++] = l;
	s->bytes += l->len;
	return 0;
}

void lockset_close(struct lockset *s)
{
	tdestroy(s->names, keep_name);
	for (int i = 0; i < s->locks; i++)
		free_lock(s->lock[i]);
	free(s->lock);
	*s = (struct lockset){0};
}

int lockset_add(struct lockset *s, const char *key, size_t len, bool past)
{
	const struct lock_seen like = {.key = (char *)(uintptr_t)key,
				       .len = len};
	struct lock_seen *l, *const *known;

	known = tfind(&like, &s->names, lockset_by_key);
	if (known) {
		(*known)->past |= past;
		return 0;
	}
	if (s->locks >= KEPT_MAX || s->bytes + len > KEPT_BYTES_MAX) {
		s->overfull = true;
		return 0;
	}
	l = make_lock(key, len);
	if (l)
		l->past = past;
	if (l && add_lock(s, l) == 0)
		return 0;
	if (l)
		free_lock(l);
	return -1;
}

void lockset_forget_free(struct lockset *s)
{
	int kept = 0;

	for (int i = 0; i < s->locks; i++) {
		struct lock_seen *l = s->lock[i];

		if (!l->known || lockset_in_use(l)) {
			s->lock[kept++] = l;
			continue;
		}
		(void)tdelete(l, &s->names, lockset_by_key);
		s->bytes -= l->len;
		free_lock(l);
	}
	s->locks = kept;
}
