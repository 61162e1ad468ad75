/*
 * window - the worker's burst into the open window.
 *
 * PROTOCOL window: see epoch.h; `current` is control.current, the number of
 * the open window, and number % 2 its region.  The burst (W3) sets bits and
 * counts; the collector's side is in sealer.c.
 */
#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/pages.h"
#include "tidemark/shared/slots.h"

const struct tide_bloom_shape *
tide_window_shape(const struct tide_map *map, enum tide_filter which)
{
	const struct tide_map_head *h = map->head;

	switch (which) {
	case TIDE_FILTER_SENDERS:
		return &h->senders;
	case TIDE_FILTER_RECIPIENTS:
		return &h->recipients;
	default:
		return &h->content;
	}
}

/* One after the other behind the window's own page, each on a page. */
tide_bloom_word *
tide_window_words(const struct tide_map *map, const struct tide_window *w,
    enum tide_filter which)
{
	size_t at = TIDE_PAGE;
	unsigned i;

	for (i = 0; i < (unsigned)which; i++)
		at += tide_pages(tide_bloom_bytes(tide_window_shape(map, i)));
	return (tide_bloom_word *)((char *)w + at);
}

uint64_t
tide_window_elements(const struct tide_window *w, enum tide_filter which)
{
	const _Atomic uint64_t *const counts[TIDE_FILTERS] = { &w->senders,
		&w->recipients, &w->content };

	return atomic_load_explicit(counts[which], memory_order_relaxed);
}

static uint64_t
add_all(struct tide_map *map, struct tide_window *w, enum tide_filter which,
    const struct tide_hash *hash, size_t n)
{
	const struct tide_bloom_shape *shape = tide_window_shape(map, which);
	tide_bloom_word *words = tide_window_words(map, w, which);
	uint64_t fresh = 0;
	size_t i;

	for (i = 0; i < n; i++)
		fresh += tide_bloom_add(shape, words, hash[i]);
	return fresh;
}

static void
add(_Atomic uint64_t *to, uint64_t n)
{
	if (n > 0)
		atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static void
raise(_Atomic uint64_t *to, uint64_t n)
{
	uint64_t old = atomic_load_explicit(to, memory_order_relaxed);

	while (old < n &&
	    !atomic_compare_exchange_weak_explicit(
		to, &old, n, memory_order_relaxed, memory_order_relaxed))
		;
}

/*
 * What a question needs to know of the window goes in before the bits: a
 * profile or a length that is not noted is not tried.
 */
static void
add_content(
    struct tide_map *map, struct tide_window *w, const struct tide_traces *t)
{
	uint64_t fresh;

	add(&w->wire, t->wire);
	if (t->text == NULL || map->head->memory == TIDE_MEMORY_OFF) {
		add(&w->unread, 1);
		return;
	}
	atomic_fetch_or_explicit(&w->profiles,
	    1ull << t->profile % TIDE_PROFILES_MAX, memory_order_relaxed);
	raise(&w->longest, t->text->longest);
	fresh = add_all(
	    map, w, TIDE_FILTER_CONTENT, t->text->element, t->text->elements);
	add(&w->content, fresh);
	add(&w->text, t->text->text);
	add(&w->cut, t->cut || t->text->cut);
	tide_count(map->counters, TIDE_COUNT_SAMPLES_NEW, fresh);
}

static void
burst(struct tide_map *map, struct tide_window *w, const struct tide_traces *t)
{
	uint64_t senders, recipients;

	senders = add_all(map, w, TIDE_FILTER_SENDERS, t->sender, t->senders);
	recipients = add_all(
	    map, w, TIDE_FILTER_RECIPIENTS, t->recipient, t->recipients);
	add_content(map, w, t);
	add(&w->messages, 1);
	add(&w->senders, senders);
	add(&w->recipients, recipients);
	tide_count(map->counters, TIDE_COUNT_SENDERS_NEW, senders);
	tide_count(map->counters, TIDE_COUNT_RECIPIENTS_NEW, recipients);
}

bool
tide_window_remember(struct tide_map *map, struct tide_slot *mine,
    const struct tide_traces *traces)
{
	uint64_t number;
	bool open;

	tide_epoch_enter(&mine->epoch, &map->control->epoch); /* W1 */
	number = tide_epoch_current(&map->control->current);  /* W2 */
	open = number != 0 && number != TIDE_MAP_RETIRED;
	if (open)
		burst(map, map->window[number % 2], traces); /* W3 */
	tide_epoch_leave(&mine->epoch);			     /* W4 */
	return open;
}

bool
tide_window_is_full(const struct tide_map *map, const struct tide_window *w)
{
	unsigned i;

	for (i = 0; i < TIDE_FILTERS; i++)
		if (tide_window_elements(w, i) >=
		    tide_window_shape(map, i)->capacity)
			return true;
	return false;
}
