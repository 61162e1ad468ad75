/*
 * query gaps - the times of which an answer cannot speak: what no window
 * covers, and the lapses.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "query_priv.h"
#include "tidemark/archive/archive.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/map.h"

const char *
tide_gap_reason(uint32_t kind)
{
	switch (kind) {
	case 0:
		return "nothing is stored of this time";
	case TIDE_LAPSE_DOWN:
		return "Tidemark was not accepting connections";
	case TIDE_LAPSE_CRASH:
		return "a worker died within its connection";
	case TIDE_LAPSE_ERROR:
		return "a worker could not remember and answered by on_error";
	case TIDE_LAPSE_FULL:
		return "connections had to wait for a worker";
	case TIDE_LAPSE_DAMAGE:
		return "a stored record is damaged";
	case TIDE_LAPSE_CUT:
		return "not all of a message's text was remembered";
	case TIDE_LAPSE_UNREAD:
		return "mail passed whose text was not to be remembered";
	case TIDE_LAPSE_STOPPED:
		return "the question was stopped before it came to this";
	case TIDE_LAPSE_CLOCK:
		return "the clock was set: mail may be found under the time "
		       "it showed before";
	default:
		return "unknown";
	}
}

/* One more element for a growing array; NULL (and a note) if there is no
 * room. */
void *
tide_asking_grow(struct asking *k, void *array, size_t *n, size_t size)
{
	char *bigger = array;

	if ((*n & (*n - 1)) == 0) { /* 0, 1, 2, 4, 8 ... */
		bigger = realloc(array, (*n == 0 ? 1 : *n * 2) * size);
		if (bigger == NULL) {
			k->no_memory = true;
			return NULL;
		}
	}
	(*n)++;
	return bigger;
}

void
tide_asking_span(struct asking *k, uint64_t from_ms, uint64_t until_ms)
{
	struct span *s = tide_asking_grow(k, k->span, &k->spans, sizeof *s);

	if (s == NULL)
		return;
	k->span = s;
	s[k->spans - 1] = (struct span){ from_ms, until_ms };
}

/* Is a moment asked for rather than a time? */
static bool
is_moment(const struct asking *k)
{
	return k->a->since_ms == k->a->until_ms;
}

void
tide_asking_gap(
    struct asking *k, uint64_t from_ms, uint64_t until_ms, uint32_t kind)
{
	struct tide_gap *g;

	if (from_ms < k->a->since_ms)
		from_ms = k->a->since_ms;
	if (until_ms > k->a->until_ms)
		until_ms = k->a->until_ms;
	if (from_ms > until_ms)
		return;
	if (kind == 0 && from_ms == until_ms && !is_moment(k))
		return; /* two windows that meet */
	g = tide_asking_grow(k, k->a->gap, &k->a->gaps, sizeof *g);
	if (g == NULL)
		return;
	k->a->gap = g;
	g[k->a->gaps - 1] = (struct tide_gap){
		.from_ms = from_ms, .until_ms = until_ms, .kind = kind
	};
}

/* Records that cannot be read were of some time between their neighbours. */
void
tide_asking_damage(struct asking *k, uint64_t next_ms)
{
	if (!k->damaged)
		return;
	k->damaged = false;
	if (k->known_ms < next_ms)
		tide_asking_gap(k, k->known_ms, next_ms, TIDE_LAPSE_DAMAGE);
	else
		tide_asking_gap(k, next_ms, k->known_ms, TIDE_LAPSE_DAMAGE);
}

int
tide_asking_lapse(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct asking *k = arg;
	struct tide_lapse lapse;

	(void)key;
	(void)err;
	if (!tide_lapse_read(value, &lapse)) /* of whatever time */
		tide_asking_gap(k, 0, UINT64_MAX, TIDE_LAPSE_DAMAGE);
	else if (lapse.until_ms >= k->a->since_ms &&
	    lapse.from_ms <= k->a->until_ms)
		tide_asking_gap(k, lapse.from_ms, lapse.until_ms, lapse.kind);
	return 0;
}

static int
by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->from_ms < y->from_ms ? -1 : x->from_ms > y->from_ms;
}

static bool
is_covered(const struct asking *k, uint64_t at_ms)
{
	size_t i;

	for (i = 0; i < k->spans; i++)
		if (k->span[i].from_ms <= at_ms && at_ms <= k->span[i].until_ms)
			return true;
	return false;
}

/* Nobody has missed what is still to come. */
static void
find_gaps(struct asking *k)
{
	uint64_t seen,
	    end = k->a->until_ms < k->q->now_ms ? k->a->until_ms : k->q->now_ms;
	size_t i;

	if (is_moment(k) && is_covered(k, k->a->since_ms))
		return;
	if (k->spans > 0)
		qsort(k->span, k->spans, sizeof *k->span, by_start);
	seen = k->a->since_ms;
	for (i = 0; i < k->spans && seen < end; i++) {
		if (k->span[i].from_ms > seen)
			tide_asking_gap(k, seen,
			    k->span[i].from_ms < end ? k->span[i].from_ms : end,
			    0);
		if (k->span[i].until_ms > seen)
			seen = k->span[i].until_ms;
	}
	tide_asking_gap(k, seen, end, 0);
}

/*
 * Where the question ends: now, or with what was stored while the clock stood
 * ahead of that.  What was noted before that was known is cut.
 */
static int
find_end(struct asking *k, struct tide_err *err)
{
	uint64_t end = k->q->now_ms;
	struct tide_answer *a = k->a;
	size_t i, kept = 0;

	for (i = 0; i < k->spans; i++)
		if (k->span[i].until_ms > end)
			end = k->span[i].until_ms;
	if (end < a->until_ms)
		a->until_ms = end;
	if (a->since_ms > a->until_ms)
		return tide_err_set(
		    err, "the time asked for ends before it begins");
	for (i = 0; i < a->gaps; i++) {
		if (a->gap[i].until_ms > a->until_ms)
			a->gap[i].until_ms = a->until_ms;
		if (a->gap[i].from_ms <= a->until_ms)
			a->gap[kept++] = a->gap[i];
	}
	a->gaps = kept;
	return 0;
}

/* Neighbours of one kind are one gap to a reader. */
static void
merge_gaps(struct tide_answer *a)
{
	size_t i, kept = 0;

	for (i = 1; i < a->gaps; i++) {
		if (a->gap[i].kind == a->gap[kept].kind &&
		    a->gap[i].from_ms <= a->gap[kept].until_ms) {
			if (a->gap[i].until_ms > a->gap[kept].until_ms)
				a->gap[kept].until_ms = a->gap[i].until_ms;
		} else {
			a->gap[++kept] = a->gap[i];
		}
	}
	if (a->gaps > 0)
		a->gaps = kept + 1;
}

/*
 * Lapses on their way from the acceptor to the archive.  Copied before the
 * archive is read: what the archivist takes meanwhile is found there.
 */
void
tide_asking_copy_lapses(struct asking *k, const struct tide_acceptor *from)
{
	uint64_t tail = atomic_load(&from->lapse_tail);
	uint64_t head = atomic_load(&from->lapse_head);

	for (; tail < head && k->lapses < TIDE_LAPSES; tail++)
		k->lapse[k->lapses++] = from->lapse[tail % TIDE_LAPSES];
}

static void
note_waiting(struct asking *k)
{
	unsigned i;

	for (i = 0; i < k->lapses; i++)
		if (k->lapse[i].until_ms >= k->a->since_ms &&
		    k->lapse[i].from_ms <= k->a->until_ms)
			tide_asking_gap(k, k->lapse[i].from_ms,
			    k->lapse[i].until_ms, k->lapse[i].kind);
}

#define DOWN TIDE_LAPSE_DOWN

/* By the clock that nobody sets. */
static uint64_t
since_beat(const struct tide_question *q, const struct tide_acceptor *a)
{
	uint64_t beat = atomic_load(&a->pulse_ms);

	return q->mono_ms > beat ? q->mono_ms - beat : 0;
}

/* The acceptor reports a time of being down only when it is up again. */
static void
note_absence(struct asking *k, const struct tide_acceptor *a)
{
	uint64_t beat = atomic_load(&a->pulse_wall_ms), now = k->q->now_ms;
	uint64_t silent = now > beat ? now - beat : 0;
	pid_t pid = (pid_t)atomic_load(&a->pid);

	if (k->q->mono_ms != 0)
		silent = since_beat(k->q, a);
	if (atomic_load(&a->listening) != 0 && pid > 0 &&
	    (kill(pid, 0) == 0 || errno != ESRCH) &&
	    silent <= TIDE_ACCEPTOR_SILENT_MS)
		return;
	tide_asking_gap(k, now > silent ? now - silent : 0, now, DOWN);
	if (beat + silent > now + TIDE_CLOCK_SLACK_MS ||
	    beat + silent + TIDE_CLOCK_SLACK_MS < now) /* the clock was set */
		tide_asking_gap(k, beat, beat + silent, DOWN);
}

static int
by_time(const void *a, const void *b)
{
	const struct tide_gap *x = a, *y = b;

	return x->from_ms < y->from_ms ? -1 : x->from_ms > y->from_ms;
}

int
tide_asking_finish(
    struct asking *k, const struct tide_map *map, struct tide_err *err)
{
	if (find_end(k, err) < 0)
		return -1;
	if (map != NULL) {
		note_waiting(k);
		note_absence(k, map->acceptor);
	}
	find_gaps(k);
	if (k->a->gaps > 0)
		qsort(k->a->gap, k->a->gaps, sizeof *k->a->gap, by_time);
	merge_gaps(k->a);
	return 0;
}
