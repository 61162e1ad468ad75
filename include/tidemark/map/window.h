/*
 * window - what passed in a span of time: one Bloom filter of senders, one of
 * recipients, one of content (hbf.h).  Two windows of the map take turns;
 * workers fill the open one.
 */
#ifndef TIDEMARK_WINDOW_H
#define TIDEMARK_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"

struct tide_map;
struct tide_slot;
struct tide_harvest; /* memory/hbf.h */

enum tide_filter {
	TIDE_FILTER_SENDERS,
	TIDE_FILTER_RECIPIENTS,
	TIDE_FILTER_CONTENT,
	TIDE_FILTERS
};

enum tide_window_state {
	TIDE_WINDOW_IDLE, /* zeroed, waiting for its turn */
	TIDE_WINDOW_OPEN,
	TIDE_WINDOW_SEALING, /* closed or closing; not yet in the archive */
	TIDE_WINDOW_CLEARING /* in the archive; being zeroed */
};

struct tide_window {
	_Atomic uint32_t state; /* enum tide_window_state */
	_Atomic uint32_t overfilled;
	_Atomic uint64_t v02_number; /* where 0.2 had what control.h has */
	_Atomic uint64_t v02_opened_ms;
	_Atomic uint64_t v02_closed_ms;
	_Alignas(64) _Atomic uint64_t messages;
	_Atomic uint64_t senders; /* elements that were new */
	_Atomic uint64_t recipients;
	_Atomic uint64_t content;
	_Atomic uint64_t cut;	   /* messages of which a part was left out */
	_Atomic uint64_t unread;   /* and all of the text */
	_Atomic uint64_t wire;	   /* bytes of mail */
	_Atomic uint64_t text;	   /* and of text in it */
	_Atomic uint64_t longest;  /* blocks of the longest part */
	_Atomic uint64_t profiles; /* a bit for each that was used */
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
