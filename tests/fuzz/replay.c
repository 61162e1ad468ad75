/*
 * replay - a fuzz target without a fuzzer: its seeds, and a few hundred
 * changed copies of each, the same at every run.  t_NAME reads
 * tests/fuzz/seeds/NAME; run from the top of the tree.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"

#define COPIES 300
#define SEED_MAX 16384

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static char folder[256];

/* Bytes changed, a piece doubled, a piece dropped, the end lost. */
static size_t
change(uint8_t *data, size_t size, uint64_t *seed)
{
	uint64_t r = fixture_random(seed);
	size_t at, n;

	if (size < 2)
		return size;
	at = (r >> 8) % size;
	n = 1 + (r >> 40) % (size - at);
	switch (r % 4) {
	case 0:
		for (n = 1 + n % 8; n > 0; n--)
			data[fixture_random(seed) % size] =
			    (uint8_t)fixture_random(seed);
		return size;
	case 1:
		if (n > SEED_MAX - size)
			n = SEED_MAX - size;
		memmove(data + at + n, data + at, size - at);
		return size + n;
	case 2:
		memmove(data + at, data + at + n, size - at - n);
		return size - n;
	default:
		return at;
	}
}

static void
replay(const char *path, uint64_t *seed)
{
	static uint8_t copy[SEED_MAX];
	size_t size, n;
	uint8_t *data = fixture_slurp(path, &size), *exact;
	int i, k;

	CHECK_MSG(size <= SEED_MAX, "%s is too large", path);
	(void)LLVMFuzzerTestOneInput(data, size);
	for (i = 0; i < COPIES; i++) {
		memcpy(copy, data, size);
		n = size;
		for (k = 0; k <= i % 4; k++)
			n = change(copy, n, seed);
		exact = malloc(n > 0 ? n : 1); /* edges that ASan sees */
		memcpy(exact, copy, n);
		(void)LLVMFuzzerTestOneInput(exact, n);
		free(exact);
	}
	free(data);
}

static void
seeds_and_their_kin(void)
{
	DIR *d = opendir(folder);
	uint64_t seed = 1;
	struct dirent *e;
	unsigned count = 0;

	CHECK_MSG(d != NULL, "%s is not there", folder);
	while ((e = readdir(d)) != NULL) {
		char path[600];

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		replay(path, &seed);
		count++;
	}
	(void)closedir(d);
	CHECK(count > 0);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{ "seeds and their kin do no harm", seeds_and_their_kin }
	};
	const char *name = strrchr(argv[0], '/');

	(void)argc;
	name = name != NULL ? name + 1 : argv[0];
	(void)snprintf(folder, sizeof folder, "tests/fuzz/seeds/%s", name + 2);
	return check_main(cases, 1);
}
