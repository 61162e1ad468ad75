/*
 * setup, diff - the differences of two texts, line by line.
 *
 * What both begin and end with is cut off first; in between the longest
 * common sequence is looked for by the plain table, as configuration files
 * are short.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/output.h"
#include "plan.h"
#include "text.h"

#define AROUND 2	      /* lines of context */
#define TABLE_MAX (16u << 20) /* past it, all of it is taken for changed */

struct lines {
	const char **at; /* one more than there are: the end */
	size_t count;
};

static struct lines
split(const char *text)
{
	struct lines l = { setup_grow(NULL, 1, sizeof *l.at), 0 };

	l.at[0] = text;
	while (*text != '\0') {
		text += strcspn(text, "\n");
		text += *text == '\n';
		l.at = setup_grow(l.at, l.count + 2, sizeof *l.at);
		l.at[++l.count] = text;
	}
	return l;
}

static bool
same(const struct lines *a, size_t i, const struct lines *b, size_t k)
{
	size_t n = (size_t)(a->at[i + 1] - a->at[i]);

	return n == (size_t)(b->at[k + 1] - b->at[k]) &&
	    memcmp(a->at[i], b->at[k], n) == 0;
}

static void
put(FILE *f, char sign, const struct lines *l, size_t i)
{
	size_t n = (size_t)(l->at[i + 1] - l->at[i]);
	enum tone t = sign == '+' ? TONE_GOOD
	    : sign == '-'	  ? TONE_BAD
				  : TONE_PLAIN;

	if (n > 0 && l->at[i][n - 1] == '\n')
		n--;
	(void)fprintf(f, "%s%c%.*s%s\n", f == stdout ? tone(t) : "", sign,
	    (int)n, l->at[i], f == stdout ? tone(TONE_PLAIN) : "");
}

/* From the end: the longest common sequence of what is left from i, k on. */
static uint32_t *
fill(const struct lines *a, size_t i0, size_t n, const struct lines *b,
    size_t k0, size_t m)
{
	uint32_t *t;
	size_t i, k;

	if ((n + 1) * (m + 1) > TABLE_MAX)
		return NULL;
	t = calloc((n + 1) * (m + 1), sizeof *t);
	for (i = n; t != NULL && i-- > 0;) {
		for (k = m; k-- > 0;) {
			uint32_t down = t[(i + 1) * (m + 1) + k];
			uint32_t right = t[i * (m + 1) + k + 1];

			t[i * (m + 1) + k] = same(a, i0 + i, b, k0 + k)
			    ? t[(i + 1) * (m + 1) + k + 1] + 1
			    : down > right ? down
					   : right;
		}
	}
	return t;
}

/* The middle: marks each line of a and b that is not common to both. */
static void
mark(const struct lines *a, size_t i0, size_t n, bool *gone,
    const struct lines *b, size_t k0, size_t m, bool *come)
{
	uint32_t *t = fill(a, i0, n, b, k0, m);
	size_t i = 0, k = 0;

	while (i < n || k < m) {
		if (t != NULL && i < n && k < m && same(a, i0 + i, b, k0 + k)) {
			i++;
			k++;
		} else if (i < n &&
		    (k == m || t == NULL ||
			t[(i + 1) * (m + 1) + k] >= t[i * (m + 1) + k + 1])) {
			gone[i0 + i++] = true;
		} else {
			come[k0 + k++] = true;
		}
	}
	free(t);
}

static bool
near(const bool *flags, size_t count, size_t i)
{
	size_t k = i > AROUND ? i - AROUND : 0;

	for (; k <= i + AROUND && k < count; k++)
		if (flags[k])
			return true;
	return false;
}

static void
put_all(FILE *f, const struct lines *a, const bool *gone, const struct lines *b,
    const bool *come)
{
	size_t i = 0, k = 0;
	bool apart = true;

	while (i < a->count || k < b->count) {
		if (i < a->count && gone[i]) {
			put(f, '-', a, i++);
			apart = false;
		} else if (k < b->count && come[k]) {
			put(f, '+', b, k++);
			apart = false;
		} else {
			bool shown =
			    near(gone, a->count, i) || near(come, b->count, k);

			if (shown && apart && i > 0)
				(void)fprintf(f, "@@ line %zu @@\n", i + 1);
			if (shown)
				put(f, ' ', a, i);
			apart = !shown;
			i++;
			k++;
		}
	}
}

void
plan_diff(FILE *f, const char *old, const char *new)
{
	struct lines a = split(old), b = split(new);
	bool *gone = calloc(a.count + 1, 1), *come = calloc(b.count + 1, 1);
	size_t head = 0, tail = 0;

	while (head < a.count && head < b.count && same(&a, head, &b, head))
		head++;
	while (tail < a.count - head && tail < b.count - head &&
	    same(&a, a.count - 1 - tail, &b, b.count - 1 - tail))
		tail++;
	if (gone != NULL && come != NULL) {
		mark(&a, head, a.count - head - tail, gone, &b, head,
		    b.count - head - tail, come);
		put_all(f, &a, gone, &b, come);
	}
	free(gone);
	free(come);
	free(a.at);
	free(b.at);
}
