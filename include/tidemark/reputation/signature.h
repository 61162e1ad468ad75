/*
 * signature - what a message is known by when it is met again: a hash of its
 * text, one of each attachment, and a sketch that survives small changes.
 *
 * A reader behind the text pipeline (text.h).  The recipients' own addresses
 * are taken out of the text first, so that copies to different people are
 * copies; what has too little text is not signed (every empty body would be
 * a copy of every other).
 */
#ifndef TIDEMARK_SIGNATURE_H
#define TIDEMARK_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

#define TIDE_SIGNED_FILES 16u /* attachments of a message, at most */
#define TIDE_SKETCH 64u	      /* smallest samples kept (bottom-k) */

struct tide_signatures {
	bool has_text; /* enough of it to be signed */
	struct tide_hash text;
	size_t files;
	struct tide_hash file[TIDE_SIGNED_FILES];
	size_t samples;
	uint64_t sample[TIDE_SKETCH]; /* ascending */
};

struct tide_signer;

struct tide_signer *tide_signer_new(const struct tide_hash_key *);
void tide_signer_free(struct tide_signer *);

/* The functions to hang behind a pipeline; arg is the signer. */
struct tide_text_sink tide_signer_sink(struct tide_signer *);

/* A new message; then its recipients, as addresses, before any text. */
void tide_signer_begin(struct tide_signer *);
void tide_signer_recipient(struct tide_signer *, const char *address);

/*
 * A header of the message, likewise before any text: those whom To, Cc and the
 * headers of delivery name are recipients, too.  So a message as it lies in a
 * mailbox is signed as it was on its way.
 */
void
tide_signer_header(struct tide_signer *, const char *name, const char *value);

/* All text has been seen. */
void tide_signer_end(struct tide_signer *, struct tide_signatures *);

#endif
