/*
 * recall message - how much of a message's text has been seen?
 *
 * Nothing is assumed of where a stretch of it stood: a near-copy has a line
 * more or less, and everything after it is aligned anew.  At every byte a
 * block is tried in every position, and counts if its neighbour agrees.  (The
 * classic form has too many positions for that: there, blocks are tried where
 * they stand.)
 */
#include <math.h>
#include <stdlib.h>

#include "recall_priv.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"

/* A part under one profile. */
struct reading {
	const struct stretch *s;
	const struct tide_content *c;
	uint32_t profile;
	struct tide_recollection *a;
	uint64_t pairs; /* of neighbours that agree, none counted twice */
};

static bool
block_is_there(const struct reading *r, size_t at, uint64_t position)
{
	return tide_content_has(r->c, r->a,
	    tide_hbf_element(
		r->c->form, r->profile, r->s->node[0][at], 0, position));
}

/* From a pair on, as far as blocks agree: the end of what was seen. */
static size_t
follow(const struct reading *r, size_t at, uint64_t position)
{
	size_t n = tide_stretch_nodes(r->s->length, 0);

	do {
		at += TIDE_BLOCK;
		position++;
	} while (at < n && block_is_there(r, at, position));
	return at;
}

/* The end of the stretch that begins here, or 0. */
static size_t
seen_from(const struct reading *r, size_t at)
{
	size_t n = tide_stretch_nodes(r->s->length, 0);
	uint64_t from = 0, end = TIDE_HBF_CLASSES, position;

	if (at + TIDE_BLOCK >= n)
		return 0; /* no neighbour */
	if (r->c->form == TIDE_MEMORY_CLASSIC) {
		if (at % TIDE_BLOCK != 0)
			return 0;
		from = at / TIDE_BLOCK;
		end = from + 1;
	}
	for (position = from; position < end; position++)
		if (block_is_there(r, at, position) &&
		    block_is_there(r, at + TIDE_BLOCK, position + 1))
			return follow(r, at + TIDE_BLOCK, position + 1);
	return 0;
}

/* Bytes of the part that were seen. */
static uint64_t
read_blocks(struct reading *r)
{
	size_t n = tide_stretch_nodes(r->s->length, 0), at = 0, end;
	uint64_t seen = 0;

	while (at < n) {
		end = seen_from(r, at);
		if (end == 0) {
			at++;
			continue;
		}
		seen += end - at;
		r->pairs += (end - at) / (2 * TIDE_BLOCK);
		at = end;
	}
	/* what is left of a part's last block was never remembered */
	if (seen > 0 && r->s->length - seen < TIDE_BLOCK)
		seen = r->s->length;
	return seen;
}

static uint64_t
read_part(struct reading *r)
{
	if (r->s->length > TIDE_WHOLE_MOST)
		return read_blocks(r);
	if (!tide_content_has(r->c, r->a,
		tide_hbf_whole(r->c->form, r->profile, r->s->whole)))
		return 0;
	r->pairs++;
	return r->s->length;
}

static uint64_t
read_all(const struct tide_recall *q, struct reading *r)
{
	uint64_t seen = 0;
	size_t i;

	r->pairs = 0;
	for (i = 0; i < q->parts; i++) {
		r->s = &q->part[i];
		seen += read_part(r);
	}
	return seen;
}

/* That at least n things happen, of which `mean` are expected. */
static double
at_least(uint64_t n, double mean)
{
	double term = exp(-mean), below = 0;
	uint64_t i;

	if (n == 0)
		return 1;
	for (i = 0; i < n && i < 1000; i++) {
		below += term;
		term *= mean / (double)(i + 1);
	}
	/* far out, the difference from 1 drowns: the first term has it all */
	return 1 - below > 1e-12 ? 1 - below : term < 1 ? term : 1;
}

static double
chance_of_message(
    const struct tide_recall *q, const struct tide_content *c, uint64_t pairs)
{
	double error = tide_bloom_error(&c->shape, c->ones);
	double tries = c->form == TIDE_MEMORY_CLASSIC
	    ? (double)q->length / TIDE_BLOCK
	    : (double)(tide_content_profiles(c) * TIDE_HBF_CLASSES * q->length);
	uint64_t least = (uint64_t)ceil(
	    TIDE_SHARE_LEAST * (double)q->length / (2 * TIDE_BLOCK));

	/* of a window that has less: that it would have had enough */
	return at_least(pairs > least ? pairs : least, tries * error * error);
}

void
tide_look_for_message(const struct tide_recall *q, const struct tide_content *c,
    struct tide_recollection *a)
{
	struct reading r = { .c = c, .a = a };
	uint64_t seen, best = 0, pairs = 0;
	unsigned p;

	for (p = 0; p < TIDE_PROFILES_MAX; p++) {
		r.profile = c->profile[p];
		if (c->form == TIDE_MEMORY_CLASSIC ? p > 0 : r.profile == 0)
			continue;
		seen = read_all(q, &r);
		if ((double)seen >= TIDE_SHARE_LEAST * (double)q->length)
			a->profiles |= 1u << p;
		if (seen > best) {
			best = seen;
			pairs = r.pairs;
		}
	}
	a->share = q->length > 0 ? (double)best / (double)q->length : 0;
	a->blocks = (unsigned)(best / TIDE_BLOCK);
	a->chance = chance_of_message(q, c, pairs);
}
