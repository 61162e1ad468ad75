/*
 * window - what passed in a span of time: one Bloom filter of senders, one of
 * recipients, one of content (hbf.h).  Two windows of the map take turns;
 * workers fill the open one.
 */
#ifndef TIDEMARK_WINDOW_H
#define TIDEMARK_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "tidemark/map/map.h"

enum tide_filter {
	TIDE_FILTER_SENDERS,
	TIDE_FILTER_RECIPIENTS,
	TIDE_FILTER_CONTENT,
	TIDE_FILTERS
};

/* What one message leaves behind. */
struct tide_traces {
	const struct tide_hash *sender; /* the address and its domain */
	size_t senders;
	const struct tide_hash *recipient;
	size_t recipients;
	unsigned profile;		 /* its index */
	const struct tide_harvest *text; /* NULL: it was not read */
	bool cut;			 /* and not all of it */
	uint64_t wire;			 /* bytes of the message */
};

/*
 * The worker's burst: all of a message into one window.  False if the map is
 * no longer in use (the worker then has to attach anew) or not yet (no window
 * is open: nothing that is put into it would ever be sealed).  Never blocks.
 */
bool tide_window_remember(
    struct tide_map *, struct tide_slot *mine, const struct tide_traces *);

/* The shape and the words of one of a window's filters. */
const struct tide_bloom_shape *
tide_window_shape(const struct tide_map *, enum tide_filter);
tide_bloom_word *tide_window_words(
    const struct tide_map *, const struct tide_window *, enum tide_filter);

/* How many elements were new to it. */
uint64_t tide_window_elements(const struct tide_window *, enum tide_filter);

/* Has the window got as many elements as it was sized for? */
bool tide_window_is_full(const struct tide_map *, const struct tide_window *);

#endif
