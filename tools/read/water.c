/*
 * water - sample, remember, work out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view_flow.h"
#include "water.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"

#define SMOOTH_S 15.0	   /* a rate is an average that forgets at this speed */
#define WEIGHT_LEAST 0.283 /* that of 5 seconds: 1 - exp(-5 / SMOOTH_S) */
#define SECONDS_LEAST 0.001
#define MISSED_MOST 3.0 /* drops that may fail to come by chance */

/* ---- sampling ---------------------------------------------------------- */

static struct water_item *
new_item(struct water *w)
{
	size_t more = w->room == 0 ? 1024 : w->room * 2;
	struct water_item *p;

	if (w->count == w->room) {
		p = realloc(w->item, more * sizeof *p);
		if (p == NULL)
			return NULL;
		w->item = p;
		w->room = more;
	}
	return &w->item[w->count++];
}

/* Another map: nothing that we remember is of it. */
static int
make_memos(struct water *w, const struct view *v)
{
	uint32_t n = v->flow.buckets + 1;

	if (w->memo != NULL && w->memos == n && w->maps == v->maps)
		return 0;
	free(w->memo);
	w->memo = calloc(n, sizeof *w->memo);
	w->memos = w->memo != NULL ? n : 0;
	w->maps = v->maps;
	w->round = 0;
	return w->memo != NULL ? 0 : -1;
}

/*
 * Drops since the last sample, from the marks: a level also leaks.  The first
 * drop of a new bucket only starts the clock.
 */
static double
drops_of(const struct water_memo *m, bool known, uint32_t mark, uint32_t floor)
{
	uint32_t from =
	    known && tide_mark_above(m->mark, floor) ? m->mark : floor;
	uint32_t drops = tide_mark_above(mark, from) ? (mark - from) >> 2 : 0;

	return known || drops == 0 ? drops : drops - 1;
}

static void
set_rate(struct water_item *i, const struct water_memo *m)
{
	double weight = fmax((double)m->weight, WEIGHT_LEAST);
	double rate = (double)m->sum / weight;

	/* who has sent a hundred at once, and stopped, is not on his way up */
	if (rate * (double)m->silent > MISSED_MOST)
		rate = MISSED_MOST / (double)m->silent;
	i->rate = (float)rate;
	/* n drops might as well have been sqrt(n) less */
	i->sure = (float)(rate - sqrt(rate / (weight * SMOOTH_S)));
}

static void
learn_rate(const struct water *w, struct water_item *i, uint32_t held,
    uint32_t mark, uint32_t floor)
{
	struct water_memo *m = &w->memo[i->bucket];
	bool known = m->held == held && m->round + 1 == w->round;
	bool over = ((mark | (known ? m->mark : 0)) & TIDE_MARK_OVF) != 0;
	double sum = known ? m->sum : 0, weight = known ? m->weight : 0;
	double drops = drops_of(m, known, mark, floor);
	double silent = known && drops == 0 ? m->silent + w->seconds : 0;

	if (w->round > 1 && !over) {
		sum = sum * w->keep + drops / w->seconds * (1 - w->keep);
		weight = weight * w->keep + 1 - w->keep;
	}
	*m = (struct water_memo){ .held = held,
		.mark = mark,
		.sum = (float)sum,
		.weight = (float)weight,
		.silent = (float)silent,
		.round = w->round };
	if (w->round > 1)
		set_rate(i, m);
	else
		i->rate = i->sure = NAN;
}

static void
work_out(struct water_item *i, const struct tide_class *c, uint32_t mark,
    uint64_t now_ms)
{
	uint32_t floor = atomic_load_explicit(&c->floor, memory_order_acquire);
	uint64_t ticked = atomic_load(&c->ticked_ms), gone;

	i->depth = atomic_load(&c->depth);
	i->leak_ms = atomic_load(&c->leak_ms);
	i->over = (mark & TIDE_MARK_OVF) != 0;
	i->level = i->over		   ? i->depth + 1
	    : tide_mark_above(mark, floor) ? (mark - floor) >> 2
					   : 0;
	gone = now_ms > ticked ? now_ms - ticked : 0;
	i->empty_ms = i->level * i->leak_ms;
	i->empty_ms -= gone < i->empty_ms ? gone : i->empty_ms;
}

/* False if it holds nothing. */
static bool
look_at(const struct water *w, const struct view *v, uint32_t bucket,
    struct water_item *i)
{
	const struct tide_flow *f = v->map->flow;
	const struct tide_bucket *b = &f->bucket[bucket];
	uint32_t mark = atomic_load_explicit(&b->mark, memory_order_relaxed);
	uint32_t held = *(const volatile uint32_t *)&b->class_string;
	const struct tide_class *c = &f->class[held >> 26];

	if ((mark & TIDE_MARK_DEAD) != 0 || (held & 0x3ffffff) == 0)
		return false;
	*i = (struct water_item){ .bucket = bucket,
		.class = (uint8_t)(held >> 26) };
	work_out(i, c, mark, w->sampled_ms);
	if (i->level == 0)
		return false;
	learn_rate(w, i, held, mark, atomic_load(&c->floor));
	return true;
}

int
water_sample(struct water *w, const struct view *v, uint64_t mono_ms)
{
	struct water_item one, *i;
	uint32_t b;

	if (make_memos(w, v) < 0)
		return -1;
	w->seconds =
	    fmax((double)(mono_ms - w->sampled_ms) / 1000, SECONDS_LEAST);
	w->keep = exp(-w->seconds / SMOOTH_S);
	w->sampled_ms = mono_ms;
	w->round++;
	w->count = 0;
	for (b = 1; b <= v->flow.buckets; b++) {
		if (!look_at(w, v, b, &one))
			continue;
		i = new_item(w);
		if (i == NULL)
			return -1;
		*i = one;
	}
	return 0;
}

void
water_free(struct water *w)
{
	free(w->item);
	free(w->memo);
	memset(w, 0, sizeof *w);
}

/* ---- one bucket -------------------------------------------------------- */

/* Drops a second that leak. */
static double
leak_of(const struct water_item *i)
{
	return 1000.0 / (double)i->leak_ms;
}

bool
water_rises(const struct water_item *i)
{
	return !i->over && i->leak_ms != 0 && !isnan(i->sure) &&
	    (double)i->sure > leak_of(i);
}

double
water_fill(const struct water_item *i)
{
	return i->depth > 0 ? (double)i->level / i->depth : 0;
}

double
water_time(const struct water_item *i)
{
	if (i->over || i->leak_ms == 0)
		return NAN;
	if (water_rises(i))
		return (i->depth + 1.0 - i->level) /
		    ((double)i->rate - leak_of(i)) * 1000;
	return (double)i->empty_ms;
}

const struct tide_limit *
water_limit(
    const struct view *v, const struct water_item *i, struct tide_class_id *id)
{
	if (!tide_class_describe(v->config.profiles, i->class, id))
		return NULL;
	return &v->config.profile[id->profile].group[id->group];
}

const char *
water_state(const struct view *v, const struct water_item *i)
{
	struct tide_class_id id;
	const struct tide_limit *l = water_limit(v, i, &id);

	return l == NULL || l->mode == TIDE_MODE_OFF || i->depth == 0 ? "off"
	    : i->over						      ? "over"
	    : i->level >= i->depth				      ? "full"
	    : water_rises(i)					      ? "rising"
			     : "leaking";
}

const char *
water_end(const struct view *v, const struct water_item *i)
{
	struct tide_class_id id;
	const struct tide_limit *l = water_limit(v, i, &id);

	return !i->over && !water_rises(i)		? "dry"
	    : l != NULL && l->mode == TIDE_MODE_ENFORCE ? "ban"
							: "over";
}

bool
water_key(const struct view *v, const struct water_item *i,
    char out[TIDE_BUCKET_KEY_MAX + 1])
{
	struct view_bucket b;

	if (!view_bucket(v, i->bucket, &b) || b.class != i->class)
		return false;
	memcpy(out, b.key, sizeof b.key);
	return true;
}

/* ---- all of them ------------------------------------------------------- */

/* Where its water stands now: between two leaks it sinks, too. */
static double
stands_at(const struct water_item *i)
{
	double drops = i->leak_ms > 0 ? (double)i->empty_ms / (double)i->leak_ms
				      : i->level;

	return i->over || i->depth == 0 || drops > i->depth ? 1
							    : drops / i->depth;
}

uint32_t
water_bins(const struct water *w, const struct view *v, int group,
    uint32_t *bins, unsigned n)
{
	struct tide_class_id id;
	uint32_t all = 0;
	unsigned at;
	size_t i;

	memset(bins, 0, n * sizeof *bins);
	for (i = 0; i < w->count; i++) {
		if (!tide_class_describe(
			v->config.profiles, w->item[i].class, &id) ||
		    (group >= 0 && id.group != (unsigned)group))
			continue;
		at = (unsigned)(stands_at(&w->item[i]) * n);
		bins[at < n ? at : n - 1]++;
		all++;
	}
	return all;
}
