/*
 * share - the file in which a server's own counts, and its reports of spam,
 * travel to its neighbours.
 *
 * A header, then the parts, one behind the other, compressed (zstd).  A part
 * is one generation of own counts: an array of cells as it lies in memory
 * (little endian, counting.h).  Never what neighbours have told: a count that
 * comes back by way of a third server would be counted twice.
 *
 * A whole file has all words; a delta has only the words that have changed
 * since the export it names, and 0 for the others.  Both hold the cells as
 * they are, not a difference: the receiver keeps a replica of each origin's
 * cells and raises it to what the file says, cell by cell.  So nothing is
 * added twice however often it is told, a cell at its most needs no special
 * case, and after a loss at the origin a whole file does what deltas do.
 * What differences would do: an insert raises only the least cells, so a
 * key's cells grow unevenly, and the least of a difference falls short.
 *
 * Reports and revocations travel as the signatures that were put into the
 * filters, not as filters: putting them in is the OR of what they set, needs
 * no common sizes, and they fade by the receiver's generations.  They are
 * numbered; a delta has those behind the last one of the export it names.
 *
 * A generation is told by its number since 1970: spans are aligned to the
 * clock, so that servers with one bulk_span turn together (bulk.h).
 *
 * At its end a file has a seal (BLAKE2b) under the shared hash key: who has
 * seen a file but not the key can make or change none.  Checksums alone, which
 * say what is wrong with a file that suffered on its way, anybody can compute.
 *
 * Prints nothing, opens nothing: bytes in, bytes out.
 */
#ifndef TIDEMARK_SHARE_H
#define TIDEMARK_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "tidemark/reputation/counting.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/signature.h"

#define TIDE_SHARE_MAGIC 0x6572616873646974ull /* "tidshare" */
#define TIDE_SHARE_FORMAT 2u
#define TIDE_SHARE_UNSEALED 1u	  /* of 0.2: still among our own exports */
#define TIDE_SHARE_REPORTS 65536u /* in one file; older ones stay behind */
#define TIDE_SHARE_PARTS 2u	  /* this generation and the one before */

struct tide_share_head {
	uint64_t magic;
	uint32_t format;
	uint32_t parts;
	uint64_t fingerprint; /* of the hash key */
	uint64_t origin;      /* the server's random number, never 0 */
	uint64_t sequence;    /* of the export, from 1 */
	uint64_t since;	      /* the export it is a delta to; 0: whole */
	uint64_t made_ms;     /* wall */
	uint64_t span_ms;     /* bulk_span */
	struct tide_counting_shape shape;
	uint64_t generation[TIDE_SHARE_PARTS]; /* since 1970; 0: none */
	uint64_t reports;		       /* behind the parts */
	uint64_t reports_until; /* number of the last one there is */
	uint64_t builds_on;	/* a bit for each part that `since` had, too */
	uint64_t packed;	/* bytes that follow, but for the seal */
	uint64_t packed_check;	/* XXH3 of them */
	uint64_t check;		/* XXH3 of all before it */
};
_Static_assert(sizeof(struct tide_share_head) == 152, "no padding");

/* What must agree. */
struct tide_share_ours {
	const struct tide_hash_key *key;
	uint64_t fingerprint, origin, span_ms;
	struct tide_counting_shape shape;
};

/* A report of spam, or its revocation, as it was made. */
struct tide_shared_report {
	uint64_t number; /* at its origin, growing */
	uint64_t at_ms;	 /* wall */
	uint32_t kind;	 /* enum tide_spam_kind */
	uint32_t has_text;
	uint32_t files;
	uint32_t samples;
	struct tide_hash text;
	struct tide_hash file[TIDE_SIGNED_FILES];
	uint64_t sample[TIDE_SKETCH];
};
_Static_assert(
    sizeof(struct tide_shared_report) == 48 + 16 * 16 + 64 * 8, "no padding");

void tide_shared_report_make(struct tide_shared_report *, uint64_t number,
    uint64_t at_ms, uint32_t kind, const struct tide_signatures *);
/* Back; false if that is no report. */
bool tide_shared_report_read(
    const struct tide_shared_report *, struct tide_signatures *);

/* One side's counts and reports; all memory is its own. */
struct tide_share {
	struct tide_share_head head;
	uint64_t *words[TIDE_SHARE_PARTS];
	struct tide_shared_report *report; /* head.reports of them */
};

uint64_t tide_share_generation(uint64_t ms, uint64_t span_ms);

/* Room for the words of all parts, zeroed; -1 if there is none. */
int tide_share_alloc(
    struct tide_share *, const struct tide_counting_shape *, struct tide_err *);
void tide_share_free(struct tide_share *);

/*
 * What has changed since `base`, in place: other words become 0.  A
 * generation that base does not have stays whole.  Reports that base had go.
 */
void tide_share_subtract(struct tide_share *, const struct tide_share *base);

/* The file, to be freed; NULL with a sentence.  Fills in checks and seal. */
void *tide_share_pack(struct tide_share *, const struct tide_hash_key *,
    size_t *size, struct tide_err *);

/* The largest file there can be, with so many reports. */
size_t tide_share_most(const struct tide_counting_shape *, uint64_t reports);

/*
 * A header and what follows it: whole, sealed, of our sizes?  Without `ours`
 * only whether it is whole: the seal is not looked at.
 */
int tide_share_check(const struct tide_share_head *, size_t size,
    const struct tide_share_ours *, struct tide_err *);

/* Read a file: checked, and unpacked into words of its own. */
int tide_share_unpack(struct tide_share *, const void *file, size_t size,
    const struct tide_share_ours *, struct tide_err *);

/* An array of cells, compressed: to be freed. */
void *tide_share_squeeze(
    const void *words, size_t bytes, size_t *size, struct tide_err *);
int tide_share_unsqueeze(void *words, size_t bytes, const void *packed,
    size_t size, struct tide_err *);

#endif
