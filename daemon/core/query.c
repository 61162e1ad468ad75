/*
 * query - look into every window of the time asked for, and into the times
 * between them.
 *
 * The map's windows are read first, the archive after them: a window that is
 * sealed meanwhile is in the archive before its bits go, so whatever we miss
 * in the map we find there.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/checkpoint.h"
#include "tidemark/query.h"

struct span {
	uint64_t from_ms, until_ms;
};

struct asking {
	const struct tide_question *q;
	struct tide_answer *a;
	struct tide_hash hash[TIDE_FILTERS];
	bool wanted[TIDE_FILTERS];
	struct span *span; /* what the windows cover */
	size_t spans;
	struct tide_txn *txn;
	bool no_memory;
	bool damaged; /* a record behind this one's end is: */
	uint64_t known_ms;
	struct tide_lapse lapse[TIDE_LAPSES]; /* not yet in the archive */
	unsigned lapses;
};

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
		return "max_workers was reached and connections had to wait";
	case TIDE_LAPSE_DAMAGE:
		return "a stored record is damaged";
	default:
		return "unknown";
	}
}

/* ---- collecting -------------------------------------------------------- */

/* One more element for a growing array; NULL (and a note) if there is no
 * room. */
static void *
grow(struct asking *k, void *array, size_t *n, size_t size)
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

static void
add_span(struct asking *k, uint64_t from_ms, uint64_t until_ms)
{
	struct span *s = grow(k, k->span, &k->spans, sizeof *s);

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

static void
add_gap(struct asking *k, uint64_t from_ms, uint64_t until_ms, uint32_t kind)
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
	g = grow(k, k->a->gap, &k->a->gaps, sizeof *g);
	if (g == NULL)
		return;
	k->a->gap = g;
	g[k->a->gaps - 1] = (struct tide_gap){
		.from_ms = from_ms, .until_ms = until_ms, .kind = kind
	};
}

static void
add_hit(struct asking *k, const struct tide_window_record *r, double error,
    bool sealed)
{
	struct tide_hit *h = grow(k, k->a->hit, &k->a->hits, sizeof *h);

	if (h == NULL)
		return;
	k->a->hit = h;
	h[k->a->hits - 1] = (struct tide_hit){ .number = r->number,
		.from_ms = r->from_ms,
		.until_ms = r->until_ms,
		.error = error,
		.sealed = sealed };
}

static bool
is_asked(const struct asking *k, const struct tide_window_record *r)
{
	return r->from_ms <= k->a->until_ms && r->until_ms >= k->a->since_ms;
}

static bool
was_hit(const struct asking *k, uint64_t number)
{
	size_t i;

	for (i = 0; i < k->a->hits; i++)
		if (k->a->hit[i].number == number)
			return true;
	return false;
}

/* The chance that a window says yes to what it never saw. */
static double
chance(const struct asking *k, const struct tide_window_record *r)
{
	double right = 1;
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++)
		if (k->wanted[i])
			right *= 1 - tide_bloom_error(&r->shape[i], r->ones[i]);
	return 1 - right;
}

/* ---- windows in memory: of the map, or of a checkpoint ------------------ */

static void
note_window(struct asking *k, const struct tide_window_record *r, bool found,
    bool sealed)
{
	double error = chance(k, r);

	k->a->windows++;
	k->a->error = 1 - (1 - k->a->error) * (1 - error);
	if (found)
		add_hit(k, r, error, sealed);
}

/* Every filter asked for has it. */
static bool
look_into_words(const struct asking *k, struct tide_window_record *r,
    tide_bloom_word *const words[TIDE_FILTERS])
{
	bool found = true;
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++) {
		r->ones[i] = tide_bloom_ones(&r->shape[i], words[i]);
		if (k->wanted[i] &&
		    !tide_bloom_has(&r->shape[i], words[i], k->hash[i]))
			found = false;
	}
	return found;
}

static bool
is_filled(const struct tide_window *w)
{
	uint32_t state = atomic_load(&w->state);

	return state == TIDE_WINDOW_OPEN || state == TIDE_WINDOW_SEALING;
}

/*
 * Look where workers are writing: bits are only ever added.  If the window is
 * cleared under our eyes, it is in the archive, where we look next.
 */
static void
look_into_live(
    struct asking *k, const struct tide_map *map, const struct tide_window *w)
{
	struct tide_window_record r = { .number = atomic_load(&w->number),
		.from_ms = atomic_load(&w->opened_ms),
		.until_ms = atomic_load(&w->closed_ms),
		.shape = {
		    *tide_window_shape(map, 0), *tide_window_shape(map, 1) } };
	tide_bloom_word *const words[TIDE_FILTERS] = {
		tide_window_words(map, w, 0), tide_window_words(map, w, 1)
	};
	bool filled = is_filled(w), found = look_into_words(k, &r, words);

	if (!filled || !is_filled(w) || atomic_load(&w->number) != r.number)
		return;
	if (r.until_ms < r.from_ms) /* open: it covers up to now */
		r.until_ms =
		    k->q->now_ms > r.from_ms ? k->q->now_ms : r.from_ms;
	add_span(k, r.from_ms, r.until_ms);
	if (is_asked(k, &r))
		note_window(k, &r, found, false);
}

static void
look_into_map(struct asking *k, const struct tide_map *map)
{
	look_into_live(k, map, map->window[0]);
	look_into_live(k, map, map->window[1]);
}

/* One that cannot be read covers nothing: its time is a gap by itself. */
static void
look_into_checkpoint(struct asking *k, struct tide_archive *archive)
{
	struct tide_checkpoint c;
	struct tide_err err;
	unsigned i;

	if (tide_checkpoint_load(archive, &c, &err) <= 0)
		return;
	for (i = 0; i < c.windows; i++) {
		struct tide_window_record *r = &c.record[i];
		tide_bloom_word *const words[TIDE_FILTERS] = {
			(tide_bloom_word *)c.words[i][0],
			(tide_bloom_word *)c.words[i][1]
		};

		add_span(k, r->from_ms, r->until_ms);
		if (is_asked(k, r))
			note_window(k, r, look_into_words(k, r, words), false);
	}
	tide_checkpoint_free(&c);
}

/* ---- windows of the archive -------------------------------------------- */

static int
lookup(const struct asking *k, const struct tide_window_record *r)
{
	int answer = 1;
	unsigned i;

	for (i = 0; i < TIDE_FILTERS && answer == 1; i++)
		if (k->wanted[i])
			answer = tide_archive_lookup(k->txn, r, i, k->hash[i]);
	return answer;
}

/* Records that cannot be read were of some time between their neighbours. */
static void
note_damage(struct asking *k, uint64_t next_ms)
{
	if (!k->damaged)
		return;
	k->damaged = false;
	if (k->known_ms < next_ms)
		add_gap(k, k->known_ms, next_ms, TIDE_LAPSE_DAMAGE);
	else
		add_gap(k, next_ms, k->known_ms, TIDE_LAPSE_DAMAGE);
}

static int
look_into_record(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct asking *k = arg;
	struct tide_window_record r;
	int found;

	(void)key;
	(void)err;
	if (tide_window_record_read(value, &r) == NULL) {
		k->damaged = true;
		return 0;
	}
	note_damage(k, r.from_ms);
	k->known_ms = r.until_ms;
	if (!is_asked(k, &r)) {
		add_span(k, r.from_ms, r.until_ms);
		return 0;
	}
	found = lookup(k, &r);
	if (found < 0)
		add_gap(k, r.from_ms, r.until_ms, TIDE_LAPSE_DAMAGE);
	note_window(k, &r, found == 1 && !was_hit(k, r.number), true);
	add_span(k, r.from_ms, r.until_ms);
	return 0;
}

static int
note_lapse(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct asking *k = arg;
	struct tide_lapse lapse;

	(void)key;
	(void)err;
	if (!tide_lapse_read(value, &lapse)) /* of whatever time */
		add_gap(k, 0, UINT64_MAX, TIDE_LAPSE_DAMAGE);
	else if (lapse.until_ms >= k->a->since_ms &&
	    lapse.from_ms <= k->a->until_ms)
		add_gap(k, lapse.from_ms, lapse.until_ms, lapse.kind);
	return 0;
}

/* ---- what nothing covers ----------------------------------------------- */

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

static void
find_gaps(struct asking *k)
{
	uint64_t seen;
	size_t i;

	if (is_moment(k) && is_covered(k, k->a->since_ms))
		return;
	if (k->spans > 0)
		qsort(k->span, k->spans, sizeof *k->span, by_start);
	seen = k->a->since_ms;
	for (i = 0; i < k->spans && seen < k->a->until_ms; i++) {
		if (k->span[i].from_ms > seen)
			add_gap(k, seen, k->span[i].from_ms, 0);
		if (k->span[i].until_ms > seen)
			seen = k->span[i].until_ms;
	}
	add_gap(k, seen, k->a->until_ms, 0);
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
static void
copy_lapses(struct asking *k, const struct tide_acceptor *from)
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
			add_gap(k, k->lapse[i].from_ms, k->lapse[i].until_ms,
			    k->lapse[i].kind);
}

/* The acceptor reports a time of being down only when it is up again. */
static void
note_absence(struct asking *k, const struct tide_acceptor *a)
{
	uint64_t beat = atomic_load(&a->pulse_wall_ms);
	pid_t pid = (pid_t)atomic_load(&a->pid);

	if (atomic_load(&a->listening) == 0 || pid <= 0 ||
	    (kill(pid, 0) < 0 && errno == ESRCH) ||
	    beat + TIDE_ACCEPTOR_SILENT_MS < k->q->now_ms)
		add_gap(k, beat, k->q->now_ms, TIDE_LAPSE_DOWN);
}

static int
by_time(const void *a, const void *b)
{
	const struct tide_gap *x = a, *y = b;

	return x->from_ms < y->from_ms ? -1 : x->from_ms > y->from_ms;
}

static int
hits_by_time(const void *a, const void *b)
{
	const struct tide_hit *x = a, *y = b;

	return x->from_ms < y->from_ms ? -1 : x->from_ms > y->from_ms;
}

/* ---- the question ------------------------------------------------------ */

static int
oldest_window(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tide_window_record r;
	uint64_t *since = arg;

	(void)key;
	(void)err;
	if (tide_window_record_read(value, &r) != NULL && r.from_ms < *since)
		*since = r.from_ms;
	return 0;
}

/* As far back as anything is remembered. */
static uint64_t
beginning(struct asking *k, struct tide_err *err)
{
	uint64_t since = k->q->now_ms;
	size_t i;

	for (i = 0; i < k->spans; i++)
		if (k->span[i].from_ms < since)
			since = k->span[i].from_ms;
	(void)tide_txn_walk(k->txn, TIDE_TABLE_WINDOWS, tide_bytes("", 0),
	    oldest_window, &since, err);
	return since;
}

static int
prepare(struct asking *k, const struct tide_hash_key *key, struct tide_err *err)
{
	const char *address[TIDE_FILTERS] = { k->q->from, k->q->to };
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++) {
		k->wanted[i] = address[i] != NULL;
		if (k->wanted[i] &&
		    !tide_address_question(key, address[i], &k->hash[i]))
			return tide_err_set(
			    err, "«%s» is no address", address[i]);
	}
	if (!k->wanted[0] && !k->wanted[1])
		return tide_err_set(err, "nothing is asked: give from or to");
	k->a->since_ms = k->q->has_since ? k->q->since_ms : 0;
	k->a->until_ms =
	    k->q->until_ms < k->q->now_ms ? k->q->until_ms : k->q->now_ms;
	if (k->a->since_ms > k->a->until_ms)
		return tide_err_set(err,
		    "the time asked for ends before it "
		    "begins");
	return 0;
}

static int
ask_archive(
    struct asking *k, struct tide_archive *archive, struct tide_err *err)
{
	int rc;

	k->txn = tide_txn_begin(archive->store, false, err);
	if (k->txn == NULL)
		return -1;
	if (!k->q->has_since)
		k->a->since_ms = beginning(k, err);
	if (k->a->since_ms > k->a->until_ms)
		k->a->since_ms = k->a->until_ms;
	rc = tide_txn_walk(k->txn, TIDE_TABLE_WINDOWS, tide_bytes("", 0),
	    look_into_record, k, err);
	note_damage(k, UINT64_MAX);
	if (rc == 0)
		rc = tide_txn_walk(k->txn, TIDE_TABLE_LAPSES, tide_bytes("", 0),
		    note_lapse, k, err);
	tide_txn_abort(k->txn);
	return rc;
}

int
tide_query(struct tide_archive *archive, const struct tide_map *map,
    const struct tide_question *q, struct tide_answer *a, struct tide_err *err)
{
	struct asking k = { .q = q, .a = a };
	int rc;

	memset(a, 0, sizeof *a);
	rc = prepare(&k, &archive->key, err);
	if (rc == 0 && map != NULL) {
		copy_lapses(&k, map->acceptor);
		look_into_map(&k, map);
	}
	if (rc == 0 && map == NULL)
		look_into_checkpoint(&k, archive);
	if (rc == 0)
		rc = ask_archive(&k, archive, err);
	if (rc == 0 && map != NULL) {
		note_waiting(&k);
		note_absence(&k, map->acceptor);
	}
	if (rc == 0)
		find_gaps(&k);
	free(k.span);
	if (rc == 0 && k.no_memory)
		rc = tide_err_set(err, "no memory left for the answer");
	if (rc < 0) {
		tide_answer_free(a);
		return -1;
	}
	if (a->gaps > 0)
		qsort(a->gap, a->gaps, sizeof *a->gap, by_time);
	merge_gaps(a);
	if (a->hits > 0)
		qsort(a->hit, a->hits, sizeof *a->hit, hits_by_time);
	return 0;
}

void
tide_answer_free(struct tide_answer *a)
{
	free(a->hit);
	free(a->gap);
	memset(a, 0, sizeof *a);
}

enum tide_verdict
tide_answer_verdict(const struct tide_answer *a)
{
	if (a->hits > 0)
		return TIDE_FOUND;
	return a->gaps > 0 ? TIDE_NOT_COVERED : TIDE_ABSENT;
}
