/*
 * health - windows, spam addresses, reported spam, bulk counts.
 */
#include "../read/view.h"
#include "health.h"
#include "tidemark/base/bloom.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/spam.h"

#define EVERY_MS 3000u

static struct health_filter *
add(struct health *h, const char *name)
{
	struct health_filter *f = &h->filter[h->filters];

	if (h->filters + 1 < HEALTH_FILTERS)
		h->filters++;
	*f = (struct health_filter){
		.name = name, .holds = NO_COUNT, .capacity = NO_COUNT
	};
	return f;
}

static void
read_addresses(struct health *h, const struct view *v)
{
	const struct tide_addresses *a = v->map->addresses;
	const struct tide_addresses_copy *now;
	struct health_filter *f;
	tide_bloom_word *words;
	uint64_t filled;

	now = tide_addresses_now(a, &words);
	if (now == NULL)
		return;
	filled = tide_list_filled(&a->shape, words);
	f = add(h, "spam addresses");
	f->since_ms = atomic_load(&now->loaded_ms);
	f->holds = atomic_load(&now->elements);
	f->capacity = a->shape.bloom.capacity;
	f->fill = (double)filled / (double)a->shape.bloom.bits;
	f->error = tide_bloom_error(&a->shape.bloom, filled);
}

static void
read_generation(struct health *h, const struct tide_spam *m, uint64_t number)
{
	const struct tide_spam_generation *g = tide_spam_generation(m, number);
	const struct tide_bloom_shape *shape = &m->shape.exact;
	struct health_filter *f;
	uint64_t ones;

	if (atomic_load(&g->number) != number)
		return;
	ones = tide_bloom_ones(shape,
	    tide_spam_words(m, number, TIDE_SPAM_REPORTED, TIDE_SPAM_EXACT));
	f = add(h, "reported spam");
	f->number = number;
	f->since_ms = atomic_load(&g->began_ms);
	f->holds = atomic_load(&g->messages[TIDE_SPAM_REPORTED]);
	f->capacity = m->shape.pairs.capacity / TIDE_PAIRS;
	f->fill = (double)ones / (double)shape->bits;
	f->error = tide_bloom_error(shape, ones);
}

static void
read_spam(struct health *h, const struct view *v)
{
	const struct tide_spam *m = v->map->spam;
	uint64_t g, newest = atomic_load(&m->head->newest);

	for (g = newest; g > 0 && g >= tide_spam_oldest(&m->shape, newest); g--)
		read_generation(h, m, g);
}

static void
read_counts(
    struct health *h, const struct view *v, const char *name, unsigned array)
{
	const struct tide_bulk *b = v->map->bulk;
	const struct tide_counting_shape *s = &b->filter.shape;
	uint64_t since = atomic_load(&b->head->since_ms[array]);
	uint64_t used = tide_counting_used(s, b->own[array]);
	struct health_filter *f;

	if (since == 0)
		return;
	f = add(h, name);
	f->since_ms = since;
	f->fill = (double)used / (double)s->cells;
	f->error = tide_counting_error(s, used);
}

static void
read_bulk(struct health *h, const struct view *v)
{
	uint64_t turn = atomic_load(&v->map->bulk->head->turn);

	if (turn == 0)
		return;
	read_counts(h, v, "bulk counts", turn >> 1 & 1);
	if ((turn & 1) != 0)
		read_counts(h, v, "bulk counts before", ~(turn >> 1) & 1);
}

void
health_read(struct health *h, const struct view *v, uint64_t mono_ms)
{
	if (h->read_ms != 0 && h->maps == v->maps &&
	    mono_ms - h->read_ms < EVERY_MS)
		return;
	h->read_ms = mono_ms;
	h->maps = v->maps;
	view_window(v, 0, &h->window[0]);
	view_window(v, 1, &h->window[1]);
	h->filters = 0;
	read_addresses(h, v);
	read_spam(h, v);
	read_bulk(h, v);
}
