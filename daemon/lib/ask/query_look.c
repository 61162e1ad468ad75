/*
 * query look - into the windows: those of the map, of a checkpoint, of the
 * archive.
 */
#include <stdlib.h>
#include <string.h>

#include "query_priv.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"

/* What a look into one window has brought. */
struct look {
	bool found;
	double error; /* that a window says yes to what it never saw */
	struct tide_recollection content;
};

/* One chance or the other; small ones do not drown in the difference from 1 */
static double
either(double a, double b)
{
	return a + b - a * b;
}

/* ---- collecting -------------------------------------------------------- */

/* The profiles it came through; else, all that mail came through. */
static void
note_profiles(const struct tide_window_record *r, const struct look *l,
    struct tide_hit *h)
{
	unsigned i;

	h->certain = l->content.profiles != 0;
	for (i = 0; i < TIDE_PROFILES_MAX; i++)
		if (!h->certain || (l->content.profiles >> i & 1) != 0)
			h->tag[i] = r->profile[i];
}

static void
add_hit(struct asking *k, const struct tide_window_record *r,
    const struct look *l, bool sealed)
{
	struct tide_hit *h =
	    tide_asking_grow(k, k->a->hit, &k->a->hits, sizeof *h);

	if (h == NULL)
		return;
	k->a->hit = h;
	h += k->a->hits - 1;
	*h = (struct tide_hit){ .number = r->number,
		.from_ms = r->from_ms,
		.until_ms = r->until_ms,
		.error = l->error,
		.sealed = sealed,
		.content = l->content };
	if (k->q->recall != NULL)
		note_profiles(r, l, h);
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

static void
note_window(struct asking *k, const struct tide_window_record *r,
    const struct look *l, bool sealed)
{
	k->a->windows++;
	k->a->error = either(k->a->error, l->error);
	if (l->found)
		add_hit(k, r, l, sealed);
}

/* False: enough. */
static bool
go_on(struct asking *k)
{
	if (!k->a->stopped && k->q->go_on != NULL &&
	    !k->q->go_on(k->q->arg, k->done, k->windows))
		k->a->stopped = true;
	return !k->a->stopped;
}

/* ---- content ----------------------------------------------------------- */

static void
try_guesses(struct asking *k, const struct tide_window_record *r,
    const struct tide_content *c)
{
	struct tide_recollection found;
	struct tide_fit *f;
	size_t i;

	for (i = 0; i < tide_recall_guesses(k->q->recall); i++) {
		if (i % 64 == 0 && !go_on(k))
			return;
		tide_recall_look_guess(k->q->recall, i, c, &found);
		k->a->lookups += found.lookups;
		if (!found.found)
			continue;
		f = tide_asking_grow(k, k->a->fit, &k->a->fits, sizeof *f);
		if (f == NULL)
			return;
		k->a->fit = f;
		f[k->a->fits - 1] = (struct tide_fit){ .guess = i,
			.window = r->number,
			.levels = found.levels,
			.error = found.chance };
	}
}

/* Of what was not remembered no window can speak. */
static void
note_uncovered(struct asking *k, const struct tide_window_record *r)
{
	if (r->unread > 0)
		tide_asking_gap(k, r->from_ms, r->until_ms, TIDE_LAPSE_UNREAD);
	if (r->cut > 0)
		tide_asking_gap(k, r->from_ms, r->until_ms, TIDE_LAPSE_CUT);
}

static void
look_for_content(struct asking *k, const struct tide_window_record *r,
    const tide_bloom_word *words, struct look *l)
{
	struct tide_content c = { .form = r->memory,
		.shape = r->shape[TIDE_FILTER_CONTENT],
		.words = words,
		.ones = r->ones[TIDE_FILTER_CONTENT],
		.longest = r->longest };

	memcpy(c.profile, r->profile, sizeof c.profile);
	tide_recall_look(k->q->recall, &c, &l->content);
	k->a->lookups += l->content.lookups;
	l->found = l->content.found;
	l->error = either(l->error, l->content.chance);
	if (!l->found)
		note_uncovered(k, r);
	else if (tide_recall_guesses(k->q->recall) > 0)
		try_guesses(k, r, &c);
}

/* ---- windows in memory: of the map, or of a checkpoint ------------------ */

/* Each hash looked for may be there by chance. */
static double
add_error(const struct asking *k, const struct tide_window_record *r,
    unsigned which, double error)
{
	size_t h;

	for (h = 0; h < k->hashes[which]; h++)
		error = either(
		    error, tide_bloom_error(&r->shape[which], r->ones[which]));
	return error;
}

static bool
has_address(const struct asking *k, const struct tide_window_record *r,
    unsigned which, const tide_bloom_word *words)
{
	size_t h;

	for (h = 0; h < k->hashes[which]; h++)
		if (tide_bloom_has(&r->shape[which], words, k->hash[which][h]))
			return true;
	return false;
}

/* Every filter asked for has it. */
static struct look
look_into_words(struct asking *k, struct tide_window_record *r,
    tide_bloom_word *const words[TIDE_FILTERS])
{
	struct look l = { .found = true };
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++) {
		if (!k->wanted[i])
			continue;
		r->ones[i] = tide_bloom_ones(&r->shape[i], words[i]);
		if (i == TIDE_FILTER_CONTENT)
			break;
		l.error = add_error(k, r, i, l.error);
		if (!has_address(k, r, i, words[i]))
			l.found = false;
	}
	if (l.found && k->q->recall != NULL)
		look_for_content(k, r, words[TIDE_FILTER_CONTENT], &l);
	return l;
}

static bool
is_filled(const struct tide_window *w)
{
	uint32_t state = atomic_load(&w->state);

	return state == TIDE_WINDOW_OPEN || state == TIDE_WINDOW_SEALING;
}

/*
 * An open window covers up to now; if the clock was set since it was looked
 * after (sealer_clock.c), up to what the clock showed before.
 */
static void
date_open(const struct asking *k, struct tide_window_record *r)
{
	uint64_t now = k->q->now_ms;

	if (k->clock.stepped)
		now = k->clock.before_ms;
	else
		r->from_ms = tide_clock_earliest(&k->clock, r->from_ms, now);
	r->until_ms = now > r->from_ms ? now : r->from_ms;
}

/* Is the time asked for that the clock shows since it was set just now? */
static bool
has_strays(const struct asking *k)
{
	return k->clock.stepped && k->clock.after_ms <= k->a->until_ms &&
	    k->q->now_ms >= k->a->since_ms;
}

/*
 * Look where workers are writing: bits are only ever added.  If the window is
 * cleared under our eyes, it is in the archive, where we look next.
 */
static void
look_into_live(struct asking *k, const struct tide_map *map, unsigned which)
{
	const struct tide_window *w = map->window[which];
	const struct tide_window_times *t = &map->control->window[which];
	struct tide_window_record r = { .number = atomic_load(&t->number),
		.from_ms = atomic_load(&t->opened_ms),
		.until_ms = atomic_load(&t->closed_ms) };
	tide_bloom_word *words[TIDE_FILTERS];
	size_t gaps = k->a->gaps;
	bool filled = is_filled(w);
	struct look l;
	unsigned i;
	bool open;

	for (i = 0; i < TIDE_FILTERS; i++) {
		r.shape[i] = *tide_window_shape(map, i);
		words[i] = tide_window_words(map, w, i);
	}
	tide_window_describe(&r, w, map->head);
	open = r.until_ms < r.from_ms;
	if (open)
		date_open(k, &r);
	if (!is_asked(k, &r) && !(open && has_strays(k))) {
		if (filled)
			tide_asking_span(k, r.from_ms, r.until_ms);
		return;
	}
	l = look_into_words(k, &r, words);
	if (!filled || !is_filled(w) || atomic_load(&t->number) != r.number) {
		k->a->gaps = gaps; /* what it said was half of the truth */
		return;
	}
	tide_asking_span(k, r.from_ms, r.until_ms);
	note_window(k, &r, &l, false);
}

void
tide_asking_map(struct asking *k, const struct tide_map *map)
{
	struct tide_moment now = { k->q->now_ms, k->q->boot_ms };
	struct tide_moment then = { atomic_load(&map->control->seen_wall_ms),
		atomic_load(&map->control->seen_boot_ms) };

	if (now.boot_ms != 0 && then.boot_ms != 0)
		k->clock = tide_clock_between(then, now);
	else
		k->clock.after_ms = UINT64_MAX;
	if (has_strays(k))
		tide_asking_gap(
		    k, k->clock.after_ms, now.wall_ms, TIDE_LAPSE_CLOCK);
	look_into_live(k, map, 0);
	look_into_live(k, map, 1);
}

/* One that cannot be read covers nothing: its time is a gap by itself. */
void
tide_asking_checkpoint(struct asking *k, struct tide_archive *archive)
{
	struct tide_checkpoint c;
	struct tide_err err;
	unsigned i, f;

	if (tide_checkpoint_load(archive, &c, &err) <= 0)
		return;
	for (i = 0; i < c.windows; i++) {
		struct tide_window_record *r = &c.record[i];
		tide_bloom_word *words[TIDE_FILTERS];
		struct look l;

		for (f = 0; f < TIDE_FILTERS; f++)
			words[f] = (tide_bloom_word *)c.words[i][f];
		tide_asking_span(k, r->from_ms, r->until_ms);
		if (!is_asked(k, r))
			continue;
		l = look_into_words(k, r, words);
		note_window(k, r, &l, false);
	}
	tide_checkpoint_free(&c);
}

/* ---- windows of the archive -------------------------------------------- */

/* The window's content, in memory; NULL if it cannot be had. */
static const tide_bloom_word *
load_content(struct asking *k, const struct tide_window_record *r)
{
	size_t size = tide_bloom_bytes(&r->shape[TIDE_FILTER_CONTENT]);
	uint64_t *more;

	if (size > k->room) {
		more = realloc(k->words, size);
		if (more == NULL) {
			k->no_memory = true;
			return NULL;
		}
		k->words = more;
		k->room = size;
	}
	if (tide_archive_load(k->txn, r, TIDE_FILTER_CONTENT, k->words) < 0)
		return NULL;
	return (const tide_bloom_word *)k->words;
}

/* 1 probably, 0 certainly not, -1 it cannot be read. */
static int
lookup_address(
    struct asking *k, const struct tide_window_record *r, unsigned which)
{
	int answer = 0;
	size_t h;

	for (h = 0; h < k->hashes[which] && answer == 0; h++)
		answer =
		    tide_archive_lookup(k->txn, r, which, k->hash[which][h]);
	return answer;
}

static int
lookup(struct asking *k, const struct tide_window_record *r, struct look *l)
{
	const tide_bloom_word *words;
	unsigned i;
	int answer = 1;

	for (i = 0; i < TIDE_FILTER_CONTENT && answer == 1; i++) {
		if (!k->wanted[i])
			continue;
		l->error = add_error(k, r, i, l->error);
		answer = lookup_address(k, r, i);
	}
	if (answer != 1 || k->q->recall == NULL)
		return answer;
	words = load_content(k, r);
	if (words == NULL)
		return -1;
	look_for_content(k, r, words, l);
	return l->found;
}

static void
look_into_stored(struct asking *k, const struct tide_window_record *r)
{
	struct look l = { .error = 0 };
	int found;

	if (was_hit(k, r->number)) /* in the map, a moment ago */
		return;
	if (!go_on(k)) {
		tide_asking_gap(k, r->from_ms, r->until_ms, TIDE_LAPSE_STOPPED);
		return;
	}
	found = lookup(k, r, &l);
	if (found < 0)
		tide_asking_gap(k, r->from_ms, r->until_ms, TIDE_LAPSE_DAMAGE);
	l.found = found == 1;
	note_window(k, r, &l, true);
}

int
tide_asking_record(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct asking *k = arg;
	struct tide_window_record r;

	(void)key;
	(void)err;
	k->done++;
	if (tide_window_record_read(value, &r) == NULL) {
		k->damaged = true;
		return 0;
	}
	tide_asking_damage(k, r.from_ms);
	k->known_ms = r.until_ms;
	tide_asking_span(k, r.from_ms, r.until_ms);
	if (is_asked(k, &r))
		look_into_stored(k, &r);
	return 0;
}
