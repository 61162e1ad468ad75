/*
 * recall - a question about content, ready to be put to one window after the
 * other.
 *
 * An excerpt is one text, or pieces of one with an unknown middle; how it was
 * aligned when it was remembered is not known, so every place is tried: 256 in
 * the default form (32 alignments, 8 positions), and up to the longest text of
 * the window in the classic one.  A place counts only if every block of the
 * excerpt, and every node of every level that lies wholly within it, is there.
 * Nothing that was remembered is ever missed; what is found by chance shrinks
 * with each block and each level.
 *
 * A message is the other kind of question: how much of it was seen?
 *
 * Prepared once, then only read.  Texts are normalised (text.h).
 */
#ifndef TIDEMARK_RECALL_H
#define TIDEMARK_RECALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/bloom.h"
#include "tidemark/settings/config.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"

#define TIDE_EXCERPT_MOST (16u << 10) /* bytes of all its pieces */
#define TIDE_PIECES_MOST 16u	      /* of an excerpt */
#define TIDE_RECALL_MOST (4u << 20)   /* bytes of a message's text */
#define TIDE_RECALL_PARTS_MOST 4096u  /* of a message */
#define TIDE_GUESSES_MOST 100000u     /* candidates for one gap */
#define TIDE_SHARE_LEAST 0.1	      /* of a message, to be worth a line */

enum tide_recall_kind {
	TIDE_RECALL_EXCERPT, /* parts are its pieces, in order */
	TIDE_RECALL_MESSAGE,
	TIDE_RECALL_FILE /* the digest of one */
};

struct tide_recall;

/* NULL if there is no memory. */
struct tide_recall *
tide_recall_new(const struct tide_hash_key *, enum tide_recall_kind);
void tide_recall_free(struct tide_recall *);

/* The next part; text for the part that is open; a file's digest. */
int tide_recall_part(struct tide_recall *, struct tide_err *);
int tide_recall_text(
    struct tide_recall *, const char *text, size_t length, struct tide_err *);
int tide_recall_file(struct tide_recall *, struct tide_hash, struct tide_err *);

/* A candidate for the one gap of an excerpt of two pieces. */
int tide_recall_guess(
    struct tide_recall *, const char *text, size_t length, struct tide_err *);

/*
 * All is said: can it be answered?  -1 with a sentence if not.  An excerpt too
 * short for a block can be asked for as a whole only: 1 then, and if it is
 * not found the sentence is the answer.
 */
int tide_recall_ready(struct tide_recall *, struct tide_err *);

/* It could be asked for as a whole only. */
bool tide_recall_is_short(const struct tide_recall *);

enum tide_recall_kind tide_recall_kind(const struct tide_recall *);
size_t tide_recall_guesses(const struct tide_recall *);

/* A window's content, as it lies in memory. */
struct tide_content {
	enum tide_memory form;
	struct tide_bloom_shape shape;
	const tide_bloom_word *words;
	uint64_t ones;
	uint64_t longest; /* blocks of the longest part (classic) */
	uint32_t profile[TIDE_PROFILES_MAX]; /* those that were used; 0: none */
};

struct tide_recollection {
	bool found;
	uint32_t profiles; /* a bit for each of content.profile, if known */
	bool whole;	   /* as a subject, a link or a short part */
	unsigned levels;   /* that agree: 1 is blocks alone */
	unsigned blocks;   /* of the excerpt, that agree */
	double chance;	   /* that a window like this has all of it by chance */
	uint64_t lookups;
	/* of pieces: bytes of text between the first two, modulo 256 in the
	 * default form; -1 if there is one piece */
	int64_t distance;
	double share; /* of a message's text */
	unsigned files, files_asked;
};

void tide_recall_look(const struct tide_recall *, const struct tide_content *,
    struct tide_recollection *);

/* The same for the whole excerpt with candidate number i in its gap. */
void tide_recall_look_guess(const struct tide_recall *, size_t i,
    const struct tide_content *, struct tide_recollection *);

#endif
