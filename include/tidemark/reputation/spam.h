/*
 * spam - signatures of reported spam, and of what was wrongly reported.
 *
 * Two filters: what is in the spam filter and not in the revocation filter is
 * spam.  Each is kept by generations; the oldest is forgotten when a new one
 * begins, so that old reports fade.
 *
 * A report puts in the hashes of the text and of the attachments, and each
 * pair of neighbours in the sketch.  A message is a near copy if enough of
 * its pairs are in one generation's spam filter and in no revocation filter.
 * Pairs are many and cheap: each may err now and then, half of them together
 * do not.  A revocation takes out the pairs of the revoked text, and with it
 * its near copies; what spam shares with it (a footer, a legal notice) counts
 * no longer, the rest does.
 *
 * Written by the collector alone; read by workers and tools.
 *
 * PROTOCOL spam: a generation begins while workers look.
 *  C1 target = epoch++; wait until every slot is outside or newer: whoever
 *     still read the generation that was forgotten last has left it
 *  C2 zero its place; number it                        relaxed
 *  C3 newest += 1                                      seq_cst
 *  W1 enter the epoch; n = newest                      seq_cst
 *  W2 look into generations n, n - 1, ... n - G + 1
 *  W3 leave
 * There is one place more than generations, so that C2 touches none that can
 * be met.  C3 is one store: with the new generation the oldest is gone, its
 * reports and its revocations at once.
 * Why:   as in addresses.h.  Without C1 a worker that still looks into the
 *        oldest could find a report whose revocation is zeroed already.
 * Crash: before C3 nothing has changed; the next collector begins at C1.
 * Test:  tests/race/t_spam.c
 */
#ifndef TIDEMARK_SPAM_H
#define TIDEMARK_SPAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/bloom.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"
#include "tidemark/base/err.h"
#include "tidemark/reputation/signature.h"

#define TIDE_SPAM_GENERATIONS 15u /* at most */
#define TIDE_SPAM_PLACES (TIDE_SPAM_GENERATIONS + 1)

#define TIDE_PAIRS (TIDE_SKETCH - 1)

struct tide_spam_shape {
	struct tide_bloom_shape exact; /* texts and files */
	struct tide_bloom_shape pairs; /* of sketches */
	uint32_t generations;
	uint32_t pad;
};

/* Sized for so many reported messages a generation. */
struct tide_spam_shape
tide_spam_size(uint64_t reports, double p, uint32_t generations);
bool tide_spam_sane(const struct tide_spam_shape *);

enum tide_spam_kind { TIDE_SPAM_REPORTED, TIDE_SPAM_REVOKED, TIDE_SPAM_KINDS };
enum tide_spam_part { TIDE_SPAM_EXACT, TIDE_SPAM_PAIRS, TIDE_SPAM_PARTS };

struct tide_spam_generation {
	_Atomic uint64_t number;
	_Atomic uint64_t began_ms; /* wall */
	_Atomic uint64_t messages[TIDE_SPAM_KINDS];
};

struct tide_spam_head {
	_Atomic uint64_t newest; /* 0: none yet */
	_Alignas(64) struct tide_spam_generation place[TIDE_SPAM_PLACES];
};

struct tide_spam {
	struct tide_spam_head *head;
	struct tide_spam_shape shape;
	char *filters;
};

size_t tide_spam_bytes(const struct tide_spam_shape *);
void tide_spam_attach(
    struct tide_spam *, void *region, const struct tide_spam_shape *);

/* The shape of a part, and its words in the place of a generation. */
const struct tide_bloom_shape *
tide_spam_part_shape(const struct tide_spam_shape *, enum tide_spam_part);
tide_bloom_word *tide_spam_words(const struct tide_spam *, uint64_t generation,
    enum tide_spam_kind, enum tide_spam_part);
struct tide_spam_generation *
tide_spam_generation(const struct tide_spam *, uint64_t number);
/* The oldest that is still met. */
uint64_t tide_spam_oldest(const struct tide_spam_shape *, uint64_t newest);

/* ---- looking ----------------------------------------------------------- */

enum tide_spam_how {
	TIDE_SPAM_NOT,
	TIDE_SPAM_TEXT,
	TIDE_SPAM_FILE,
	TIDE_SPAM_NEAR,
	TIDE_SPAM_HOWS
};

extern const char *const tide_spam_how_name[TIDE_SPAM_HOWS];

/* Of one signature, or of the sketch. */
struct tide_spam_trace {
	uint64_t reported; /* the newest generation that has it, 0 if none */
	uint64_t revoked;  /* likewise */
};

struct tide_spam_match {
	enum tide_spam_how how;
	uint64_t generation; /* in which it was reported */
	uint64_t began_ms;
	struct tide_spam_trace text, file[TIDE_SIGNED_FILES];
	unsigned met;	   /* pairs, in the generation that has most of them */
	unsigned met_gone; /* of them revoked */
	unsigned needed;   /* for a near copy; 0: there is no sketch */
};

/* Is it spam?  A tool passes no slot. */
bool tide_spam_test(const struct tide_spam *, tide_epoch *mine, tide_epoch *now,
    const struct tide_signatures *, struct tide_spam_match *);

/* ---- the collector ----------------------------------------------------- */

/* Into the newest generation, or the one so numbered. */
void tide_spam_put(struct tide_spam *, uint64_t generation, enum tide_spam_kind,
    const struct tide_signatures *);

/* C1 to C3.  -1: workers would not leave within wait_ms. */
int tide_spam_begin_generation(struct tide_spam *, const struct tide_workers *,
    uint64_t number, uint64_t began_ms, uint64_t wait_ms, struct tide_err *);

#endif
