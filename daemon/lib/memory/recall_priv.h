/*
 * recall_priv - between recall.c, which prepares a question, recall_excerpt.c
 * and recall_message.c, which put it to a window.
 */
#ifndef MEMORY_RECALL_PRIV_H
#define MEMORY_RECALL_PRIV_H

#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"

#define ALIGNED_LEVELS 4u /* 0 to 3: their place follows from the class */
#define PHASES (TIDE_BLOCK * TIDE_HBF_CLASSES) /* places modulo 256 bytes */

#define TESTS_MOST 8u

/* A stretch of text and the hashes of all nodes that may lie in it. */
struct stretch {
	char *text;
	size_t length, room;
	unsigned levels;			 /* with at least one node */
	struct tide_hash *node[TIDE_HBF_LEVELS]; /* by level, by offset */
	struct tide_hash whole;
	unsigned least;		     /* lookups that a place takes, and how */
	unsigned places[TESTS_MOST]; /* many places take so many more */
};

struct guess {
	char *text;
	size_t length;
};

struct tide_recall {
	struct tide_hash_key key;
	enum tide_recall_kind kind;
	struct stretch *part;
	size_t parts;
	uint64_t length; /* of all parts */
	struct tide_hash *file;
	size_t files;
	struct guess *guess;
	size_t guesses;
	bool is_short;
};

/* Nodes of that level in n bytes of text, at any offset. */
size_t tide_stretch_nodes(size_t length, unsigned level);

/* Hash it, up to that many levels; -1 without memory. */
int tide_stretch_hash(
    struct stretch *, const struct tide_hash_key *, unsigned levels);
void tide_stretch_free(struct stretch *);

/* Under how many profiles everything has to be tried. */
unsigned tide_content_profiles(const struct tide_content *);

bool tide_content_has(const struct tide_content *, struct tide_recollection *,
    struct tide_hash element);

void tide_look_for_excerpt(const struct stretch *, size_t pieces,
    const struct tide_content *, struct tide_recollection *);
void tide_look_for_message(const struct tide_recall *,
    const struct tide_content *, struct tide_recollection *);

#endif
