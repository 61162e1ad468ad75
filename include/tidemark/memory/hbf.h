/*
 * hbf - the hierarchical Bloom filter: what a text leaves behind, so that an
 * excerpt of it is found again.
 *
 * Normalised text (text.h) is cut into blocks of 32 bytes from the beginning
 * of its part.  Each is an element at level 0; two neighbours together are
 * one at level 1, two of those one at level 2, and so on; a node's hash is
 * made of its children's.  All levels are elements of one filter, each as
 * (content, level, position), so that blocks seen in different places do not
 * add up to an excerpt.  What an incomplete last block holds is found only as
 * a whole: a part of at most 63 bytes - a subject, a link - is an element of
 * its own kind, and so is the digest of a file.
 *
 * Two forms:
 *   classic  as first published: 65,536 bits, 4 positions, full at 4,369
 *            elements; the position is the node's number within its level.
 *            Every position has to be tried, up to the longest text seen.
 *   default  the position is that of the node's first block modulo 8, the
 *            filter is sized from a budget and an error, and the profile that
 *            the message came through is part of every element.
 */
#ifndef TIDEMARK_HBF_H
#define TIDEMARK_HBF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

#define TIDE_BLOCK 32u	       /* bytes of normalised text */
#define TIDE_HBF_CLASSES 8u    /* positions told apart by the default form */
#define TIDE_HBF_LEVELS 24u    /* of a tree over 512 MiB */
#define TIDE_WHOLE_MOST 63u    /* bytes of a part found as a whole */
#define TIDE_EXCERPT_LEAST 63u /* holds a block, whatever the alignment */

#define TIDE_CLASSIC_BITS 65536u
#define TIDE_CLASSIC_POSITIONS 4u
#define TIDE_CLASSIC_SATURATION 4369u

enum tide_memory { TIDE_MEMORY_OFF, TIDE_MEMORY_DEFAULT, TIDE_MEMORY_CLASSIC };

/* The filter of one window.  Off has the smallest there is. */
struct tide_bloom_shape
tide_hbf_shape(enum tide_memory, uint64_t bytes, double error);

/* A profile as elements know it: never 0, and the same in every map. */
uint32_t tide_hbf_profile(const char *name);

/* ---- elements ---------------------------------------------------------- */

/* The content of a node from those of its children. */
struct tide_hash tide_hbf_pair(const struct tide_hash_key *,
    struct tide_hash left, struct tide_hash right);

/* A node in its place: `first` is the number of its first block. */
struct tide_hash tide_hbf_element(enum tide_memory, uint32_t profile,
    struct tide_hash content, unsigned level, uint64_t first);

/* A short part as a whole; a file's digest. */
struct tide_hash
tide_hbf_whole(enum tide_memory, uint32_t profile, struct tide_hash content);
struct tide_hash
tide_hbf_file(enum tide_memory, uint32_t profile, struct tide_hash digest);

/* ---- samples of a message ---------------------------------------------- */

/* Most elements that one message may leave: about a megabyte of text. */
#define TIDE_SAMPLES_MOST 65536u

struct tide_samples;

/*
 * Gathers one message after the other, as a sink of the text pipeline, in a
 * buffer that grows up to `most` elements.  NULL if there is no memory.
 */
struct tide_samples *
tide_samples_new(const struct tide_hash_key *, enum tide_memory, size_t most);
void tide_samples_free(struct tide_samples *);

/* Forget the last message; the next one comes through this profile. */
void tide_samples_begin(struct tide_samples *, uint32_t profile);

/* Where the text goes. */
struct tide_text_sink tide_samples_sink(struct tide_samples *);

struct tide_harvest {
	const struct tide_hash *element;
	size_t elements;
	uint64_t text;	  /* bytes of it */
	uint64_t longest; /* blocks of the longest part */
	bool cut;	  /* something found no room */
};

/* What was gathered; valid until the next message begins. */
struct tide_harvest tide_samples_harvest(const struct tide_samples *);

#endif
