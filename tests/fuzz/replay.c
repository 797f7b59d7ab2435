/* SPDX-License-Identifier: MIT */
/*
 * replay [DIR]: a fuzz target without a fuzzer. Every file of DIR
 * ($srcdir/tests/fuzz/NAME), then $MUTATIONS (20,000) mutations of them, the
 * same each time. A target that aborts prints no plan, and so has failed.
 */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>

#include "../unit/tap.h"
#include "fuzz.h"

#define SEEDS_MAX 1000
#define INPUT_MAX 4096

struct input {
	uint8_t bytes[INPUT_MAX];
	size_t n;
};

static struct input seeds[SEEDS_MAX];
static int seeds_n;

static uint64_t state = 88172645463325252U;

static size_t below(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n > 0 ? (size_t)(state >> 11) % n : 0;
}

static int is_file(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void read_seeds(const char *dir)
{
	struct dirent **list;
	int n = scandir(dir, &list, is_file, alphasort);

	for (int i = 0; i < n; i++) {
		char path[PATH_MAX + sizeof(list[0]->d_name) + 1];
		FILE *f;

		(void)snprintf(path, sizeof(path), "%s/%s", dir,
			       list[i]->d_name);
		f = fopen(path, "rb");
		if (f && seeds_n < SEEDS_MAX) {
			struct input *s = &seeds[seeds_n++];

			s->n = fread(s->bytes, 1, sizeof(s->bytes), f);
		}
		if (f)
			(void)fclose(f);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/* `n` bytes of *from in place of `gone` bytes of *to, as far as has room. */
static void replace(struct input *to, size_t at, size_t gone,
		    const uint8_t *from, size_t n)
{
	static uint8_t copy[INPUT_MAX];

	gone = gone < to->n - at ? gone : to->n - at;
	if (to->n - gone + n > INPUT_MAX)
		return;
	memcpy(copy, from, n);
	memmove(to->bytes + at + n, to->bytes + at + gone, to->n - at - gone);
	memcpy(to->bytes + at, copy, n);
	to->n = to->n - gone + n;
}

/* One change: a byte, or a piece of this or of another input, is put in, put
 * over another one, or taken out. */
static void mutate(struct input *in)
{
	static const uint8_t telling[] =
		"@@//::??&&==%%,,[]#.-_+0169 \n\x01\x7f\xff";
	const struct input *other =
		below(2) ? in : &seeds[below((size_t)seeds_n)];
	size_t at = below(in->n + 1), from = below(other->n);
	size_t some = below(other->n - from + 1), few = below(8);
	uint8_t any = (uint8_t)below(256);

	switch (below(6)) {
	case 0:
		replace(in, at, below(2), &any, 1);
		break;
	case 1:
	case 2:
		replace(in, at, below(2), &telling[below(sizeof(telling))], 1);
		break;
	case 3:
		replace(in, at, few, &any, 0);
		break;
	case 4:
		replace(in, at, few, other->bytes + from, some);
		break;
	case 5:
		replace(in, at, in->n, other->bytes + from, other->n - from);
		break;
	}
}

int main(int argc, char **argv)
{
	const char *top = getenv("srcdir"), *many = getenv("MUTATIONS");
	int mutations = many ? atoi(many) : 20000;
	static struct input in;
	char dir[PATH_MAX];

	(void)snprintf(dir, sizeof(dir), "%s/tests/fuzz/%s", top ? top : ".",
		       fuzz_name);
	read_seeds(argc > 1 ? argv[1] : dir);
	if (!ok(seeds_n > 0, "there are inputs to begin with"))
		return done();
	for (int i = 0; i < seeds_n; i++)
		(void)LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].n);
	ok(true, "%s: %d inputs hold", fuzz_name, seeds_n);
	for (int i = 0; i < mutations; i++) {
		in = seeds[below((size_t)seeds_n)];
		for (size_t k = below(4) + 1; k > 0; k--)
			mutate(&in);
		(void)LLVMFuzzerTestOneInput(in.bytes, in.n);
	}
	ok(mutations > 0, "%s: %d mutations of them hold", fuzz_name,
	   mutations);
	return done();
}
