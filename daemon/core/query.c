/*
 * query - look into every window of the time asked for, and into the times
 * between them.
 *
 * The map's windows are read first, the archive after them: a window that is
 * sealed meanwhile is in the archive before its bits go, so whatever we miss
 * in the map we find there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query_priv.h"
#include "tidemark/checkpoint.h"

/* ---- collecting -------------------------------------------------------- */

static void
add_hit(struct asking *k, const struct tide_window_record *r, double error,
    bool sealed)
{
	struct tide_hit *h =
	    tide_asking_grow(k, k->a->hit, &k->a->hits, sizeof *h);

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
	tide_asking_span(k, r.from_ms, r.until_ms);
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

		tide_asking_span(k, r->from_ms, r->until_ms);
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
	tide_asking_damage(k, r.from_ms);
	k->known_ms = r.until_ms;
	if (!is_asked(k, &r)) {
		tide_asking_span(k, r.from_ms, r.until_ms);
		return 0;
	}
	found = lookup(k, &r);
	if (found < 0)
		tide_asking_gap(k, r.from_ms, r.until_ms, TIDE_LAPSE_DAMAGE);
	note_window(k, &r, found == 1 && !was_hit(k, r.number), true);
	tide_asking_span(k, r.from_ms, r.until_ms);
	return 0;
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
	tide_asking_damage(k, UINT64_MAX);
	if (rc == 0)
		rc = tide_txn_walk(k->txn, TIDE_TABLE_LAPSES, tide_bytes("", 0),
		    tide_asking_lapse, k, err);
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
		tide_asking_copy_lapses(&k, map->acceptor);
		look_into_map(&k, map);
	} else if (rc == 0) {
		look_into_checkpoint(&k, archive);
	}
	if (rc == 0)
		rc = ask_archive(&k, archive, err);
	if (rc == 0)
		tide_asking_finish(&k, map);
	free(k.span);
	if (rc == 0 && k.no_memory)
		rc = tide_err_set(err, "no memory left for the answer");
	if (rc < 0) {
		tide_answer_free(a);
		return -1;
	}
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
