/*
 * digest - a file's bytes to one keyed hash, in pieces.
 *
 * Text is carried with whatever line ends the mail server likes, and its last
 * one is often lost or added on the way.  So text is hashed as lines: CR LF
 * counts as LF, and line ends at the end do not count at all.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "text_priv.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

struct tide_digest {
	XXH3_state_t *state;
	struct tide_hash_key key;
	bool lines;
	bool cr;	/* one was seen, and nothing after it */
	uint64_t ends;	/* line ends that await what follows */
	uint64_t bytes; /* as they came */
};

struct tide_digest *
tide_digest_make(const struct tide_hash_key *key)
{
	struct tide_digest *d = calloc(1, sizeof *d);

	if (d == NULL)
		return NULL;
	d->key = *key;
	d->state = XXH3_createState();
	if (d->state == NULL) {
		free(d);
		return NULL;
	}
	tide_digest_reset(d, false);
	return d;
}

void
tide_digest_reset(struct tide_digest *d, bool lines)
{
	(void)XXH3_128bits_reset_withSecret(
	    d->state, d->key.secret, sizeof d->key.secret);
	d->lines = lines;
	d->cr = false;
	d->ends = d->bytes = 0;
}

void
tide_digest_free(struct tide_digest *d)
{
	if (d == NULL)
		return;
	(void)XXH3_freeState(d->state);
	free(d);
}

static void
release_ends(struct tide_digest *d)
{
	for (; d->ends > 0; d->ends--)
		(void)XXH3_128bits_update(d->state, "\n", 1);
	if (d->cr)
		(void)XXH3_128bits_update(d->state, "\r", 1);
	d->cr = false;
}

struct tide_hash
tide_digest_value(struct tide_digest *d, uint64_t *bytes)
{
	XXH128_hash_t h;

	if (d->cr)
		release_ends(d);
	h = XXH3_128bits_digest(d->state);
	*bytes = d->bytes;
	return (struct tide_hash){ .low = h.low64, .high = h.high64 };
}

/* ---- lines ------------------------------------------------------------- */

static void
add_lines(struct tide_digest *d, const char *p, size_t length)
{
	const char *end = p + length, *stop;

	while (p < end) {
		if (*p == '\n') {
			d->cr = false;
			d->ends++;
			p++;
			continue;
		}
		if (*p == '\r' && !d->cr) {
			d->cr = true;
			p++;
			continue;
		}
		release_ends(d);
		if (*p == '\r')
			continue;
		for (stop = p; stop < end && *stop != '\n' && *stop != '\r';)
			stop++;
		(void)XXH3_128bits_update(d->state, p, (size_t)(stop - p));
		p = stop;
	}
}

/* ---- the public side --------------------------------------------------- */

struct tide_digest *
tide_digest_new(const struct tide_hash_key *key)
{
	return tide_digest_make(key);
}

struct tide_digest *
tide_digest_new_lines(const struct tide_hash_key *key)
{
	struct tide_digest *d = tide_digest_make(key);

	if (d != NULL)
		tide_digest_reset(d, true);
	return d;
}

void
tide_digest_add(struct tide_digest *d, const void *bytes, size_t length)
{
	d->bytes += length;
	if (d->lines)
		add_lines(d, bytes, length);
	else
		(void)XXH3_128bits_update(d->state, bytes, length);
}

struct tide_hash
tide_digest_end(struct tide_digest *d)
{
	uint64_t bytes;
	struct tide_hash h = tide_digest_value(d, &bytes);

	tide_digest_free(d);
	return h;
}
