/* SPDX-License-Identifier: MIT */
/* Edit distance over short names. */
#include "base/suggest.h"

#include <string.h>

#define SUGGEST_MAX 63 /* longer than all our names */

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* The number of typos from a to b. No byte takes part in two swaps, so only the
 * last three rows of the table are needed. */
static int slips(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int rows[3][SUGGEST_MAX + 1];

	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = (int)j;
	for (size_t i = 1; i <= a_len; i++) {
		int *row = rows[i % 3];
		const int *above = rows[(i + 2) % 3];
		const int *before = rows[(i + 1) % 3];

		row[0] = (int)i;
		for (size_t j = 1; j <= b_len; j++) {
			int x = lower(a[i - 1]), y = lower(b[j - 1]);

			row[j] = least(above[j - 1] + (x != y),
				       least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && x == lower(b[j - 2]) &&
			    y == lower(a[i - 2]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

/* The shortest name that begins with what was typed: two letters or more. */
static const char *begun(const char *typed, size_t len,
			 const char *const *names, int n)
{
	const char *found = NULL;

	for (int i = 0; len >= 2 && i < n; i++)
		if (strlen(names[i]) <= SUGGEST_MAX &&
		    strncmp(names[i], typed, len) == 0 &&
		    (!found || strlen(names[i]) < strlen(found)))
			found = names[i];
	return found;
}

const char *suggest(const char *typed, size_t len, const char *const *names,
		    int n)
{
	int fewest = len < 3 ? 2 : (int)(len / 3) + 1;
	const char *found = NULL;

	if (len == 0 || len > SUGGEST_MAX)
		return NULL;
	found = begun(typed, len, names, n);
	if (found)
		return found;
	for (int i = 0; i < n; i++) {
		size_t name_len = strlen(names[i]);
		size_t longer = len > name_len ? len : name_len;
		int far;

		/* each extra byte is a typo */
		if (name_len > SUGGEST_MAX ||
		    2 * longer - len - name_len >= (size_t)fewest)
			continue;
		far = slips(typed, len, names[i], name_len);
		/* words with nothing in common are not close, however short */
		if (far < fewest && (size_t)far < longer) {
			fewest = far;
			found = names[i];
		}
	}
	return found;
}
