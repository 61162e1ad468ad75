/*
 * nearest - "did you mean?" by edit distance.
 */
#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "tidemark/base/nearest.h"

#define WORD_MAX 48 /* nobody mistypes longer names by accident */
#define FAR SIZE_MAX

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int
same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * Insertions, deletions, replacements and swaps of neighbours that lead from a
 * to b.  row[i % 3][j] is the distance of the first i letters from the first j.
 */
static size_t
distance(const char *a, const char *b)
{
	size_t row[3][WORD_MAX + 1], n = strlen(a), m = strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
		return FAR;
	for (size_t i = 0; i <= n; i++) {
		size_t *now = row[i % 3], *last = row[(i + 2) % 3];

		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			if (i == 0) {
				now[j] = j;
				continue;
			}
			now[j] = least(last[j], now[j - 1]) + 1;
			now[j] = least(
			    now[j], last[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
			    same(a[i - 2], b[j - 1]))
				now[j] =
				    least(now[j], row[(i + 1) % 3][j - 2] + 1);
		}
	}
	return row[n % 3][m];
}

const char *
tide_nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t length = strlen(word), limit = length < 6 ? 1 : length / 3;
	const char *best = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(word, candidates[i]);

		if (length >= 3 && d != FAR && d > 1 &&
		    strncasecmp(word, candidates[i], length) == 0)
			d = 1;
		if (d < limit || (d == limit && best == NULL)) {
			best = candidates[i];
			limit = d;
		}
	}
	return best;
}
