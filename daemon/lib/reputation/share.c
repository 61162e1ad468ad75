/*
 * share - pack, check and unpack what neighbours exchange.
 */
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/share.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"

#define LEVEL 3 /* of compression: the cells are mostly zeros */

static const char purpose[] = "tidemark share";

uint64_t
tide_share_generation(uint64_t ms, uint64_t span_ms)
{
	return span_ms > 0 ? ms / span_ms : ms;
}

int
tide_share_alloc(struct tide_share *s, const struct tide_counting_shape *shape,
    struct tide_err *err)
{
	size_t bytes = tide_counting_bytes(shape);
	unsigned i;

	memset(s, 0, sizeof *s);
	s->head.shape = *shape;
	for (i = 0; i < TIDE_SHARE_PARTS; i++) {
		s->words[i] = calloc(1, bytes);
		if (s->words[i] == NULL) {
			tide_share_free(s);
			return tide_err_errno(err, "room for counts");
		}
	}
	return 0;
}

void
tide_share_free(struct tide_share *s)
{
	unsigned i;

	for (i = 0; i < TIDE_SHARE_PARTS; i++) {
		free(s->words[i]);
		s->words[i] = NULL;
	}
	free(s->report);
	s->report = NULL;
}

/* ---- reports ----------------------------------------------------------- */

void
tide_shared_report_make(struct tide_shared_report *r, uint64_t number,
    uint64_t at_ms, uint32_t kind, const struct tide_signatures *s)
{
	memset(r, 0, sizeof *r);
	r->number = number;
	r->at_ms = at_ms;
	r->kind = kind;
	r->has_text = s->has_text;
	r->files = (uint32_t)s->files;
	r->samples = (uint32_t)s->samples;
	r->text = s->text;
	memcpy(r->file, s->file, s->files * sizeof *s->file);
	memcpy(r->sample, s->sample, s->samples * sizeof *s->sample);
}

bool
tide_shared_report_read(
    const struct tide_shared_report *r, struct tide_signatures *s)
{
	memset(s, 0, sizeof *s);
	if (r->number == 0 || r->kind >= TIDE_SPAM_KINDS || r->has_text > 1 ||
	    r->files > TIDE_SIGNED_FILES || r->samples > TIDE_SKETCH)
		return false;
	s->has_text = r->has_text == 1;
	s->files = r->files;
	s->samples = r->samples;
	s->text = r->text;
	memcpy(s->file, r->file, sizeof s->file);
	memcpy(s->sample, r->sample, sizeof s->sample);
	return true;
}

static void
drop_reports(struct tide_share *s, uint64_t until)
{
	uint64_t i, kept = 0;

	for (i = 0; i < s->head.reports; i++)
		if (s->report[i].number > until)
			s->report[kept++] = s->report[i];
	s->head.reports = kept;
}

/* ---- deltas ------------------------------------------------------------ */

static const uint64_t *
words_of(const struct tide_share *s, uint64_t generation)
{
	unsigned i;

	for (i = 0; i < s->head.parts; i++)
		if (s->head.generation[i] == generation)
			return s->words[i];
	return NULL;
}

void
tide_share_subtract(struct tide_share *s, const struct tide_share *base)
{
	size_t k, n = tide_counting_bytes(&s->head.shape) / 8;
	const uint64_t *old;
	unsigned i;

	for (i = 0; i < s->head.parts; i++) {
		old = words_of(base, s->head.generation[i]);
		if (old != NULL)
			s->head.builds_on |= 1ull << i;
		for (k = 0; old != NULL && k < n; k++)
			if (s->words[i][k] == old[k])
				s->words[i][k] = 0;
	}
	drop_reports(s, base->head.reports_until);
}

/* ---- compression ------------------------------------------------------- */

void *
tide_share_squeeze(
    const void *words, size_t bytes, size_t *size, struct tide_err *err)
{
	size_t room = ZSTD_compressBound(bytes);
	void *packed = malloc(room);

	if (packed == NULL) {
		(void)tide_err_errno(err, "compressing counts");
		return NULL;
	}
	*size = ZSTD_compress(packed, room, words, bytes, LEVEL);
	if (!ZSTD_isError(*size))
		return packed;
	(void)tide_err_set(
	    err, "compressing counts: %s", ZSTD_getErrorName(*size));
	free(packed);
	return NULL;
}

int
tide_share_unsqueeze(void *words, size_t bytes, const void *packed, size_t size,
    struct tide_err *err)
{
	size_t n = ZSTD_decompress(words, bytes, packed, size);

	if (ZSTD_isError(n) || n != bytes)
		return tide_err_set(err, "its content cannot be read");
	return 0;
}

/* ---- the file ---------------------------------------------------------- */

size_t
tide_share_most(const struct tide_counting_shape *s, uint64_t reports)
{
	return sizeof(struct tide_share_head) +
	    TIDE_SHARE_PARTS *
	    (sizeof(uint64_t) + ZSTD_compressBound(tide_counting_bytes(s))) +
	    sizeof(uint64_t) +
	    ZSTD_compressBound(
		(size_t)reports * sizeof(struct tide_shared_report)) +
	    TIDE_SEAL_SIZE;
}

static uint64_t
head_check(const struct tide_share_head *h)
{
	return tide_hash_check(h, offsetof(struct tide_share_head, check));
}

/* Each part: its packed size, then itself. */
static int
add_part(char *file, size_t *at, const void *words, size_t bytes,
    struct tide_err *err)
{
	size_t size;
	uint64_t length;
	void *packed = tide_share_squeeze(words, bytes, &size, err);

	if (packed == NULL)
		return -1;
	length = size;
	memcpy(file + *at, &length, sizeof length);
	memcpy(file + *at + sizeof length, packed, size);
	*at += sizeof length + size;
	free(packed);
	return 0;
}

/* Of the head as it will be, and of what lies behind it. */
static void
seal_file(struct tide_share_head *h, const struct tide_hash_key *key,
    char *file, size_t at)
{
	h->magic = TIDE_SHARE_MAGIC;
	h->format = TIDE_SHARE_FORMAT;
	h->packed = at - sizeof *h;
	h->packed_check = tide_hash_check(file + sizeof *h, at - sizeof *h);
	h->check = head_check(h);
	memcpy(file, h, sizeof *h);
	tide_hash_key_seal(key, purpose, file, at, (uint8_t *)file + at);
}

void *
tide_share_pack(struct tide_share *s, const struct tide_hash_key *key,
    size_t *size, struct tide_err *err)
{
	struct tide_share_head *h = &s->head;
	char *file = malloc(tide_share_most(&h->shape, h->reports));
	size_t at = sizeof *h, bytes = tide_counting_bytes(&h->shape);
	unsigned i;

	if (file == NULL) {
		(void)tide_err_errno(err, "an export");
		return NULL;
	}
	for (i = 0; i < h->parts; i++) {
		if (add_part(file, &at, s->words[i], bytes, err) < 0) {
			free(file);
			return NULL;
		}
	}
	if (h->reports > 0 &&
	    add_part(file, &at, s->report,
		(size_t)h->reports * sizeof *s->report, err) < 0) {
		free(file);
		return NULL;
	}
	seal_file(h, key, file, at);
	*size = at + TIDE_SEAL_SIZE;
	return file;
}

static int
check_seal(const struct tide_share_head *h, size_t size,
    const struct tide_hash_key *key, struct tide_err *err)
{
	const uint8_t *is = (const uint8_t *)h + size - TIDE_SEAL_SIZE;
	uint8_t want[TIDE_SEAL_SIZE];

	tide_hash_key_seal(key, purpose, h, size - TIDE_SEAL_SIZE, want);
	if (sodium_memcmp(is, want, sizeof want) != 0)
		return tide_err_set(err,
		    "has a seal that is not of our hash key: somebody without "
		    "it has made or changed this file");
	return 0;
}

static int
check_format(const struct tide_share_head *h, bool sealed, struct tide_err *err)
{
	if (h->format == TIDE_SHARE_FORMAT ||
	    (h->format == TIDE_SHARE_UNSEALED && !sealed))
		return 0;
	if (h->format == TIDE_SHARE_UNSEALED)
		return tide_err_set(err,
		    "has no seal: it comes from a Tidemark before 0.3; "
		    "upgrade that server and export anew");
	return tide_err_set(
	    err, "is of format %u, not %u", h->format, TIDE_SHARE_FORMAT);
}

/* Bytes behind the header, but for the seal. */
static size_t
packed_size(const struct tide_share_head *h, size_t size)
{
	size_t seal = h->format == TIDE_SHARE_UNSEALED ? 0 : TIDE_SEAL_SIZE;

	size -= sizeof *h;
	return size > seal ? size - seal : 0;
}

static int
check_key(const struct tide_share_head *h, size_t size,
    const struct tide_share_ours *ours, struct tide_err *err)
{
	if (h->fingerprint != ours->fingerprint)
		return tide_err_set(err,
		    "was made with another hash key: servers that exchange "
		    "counts share one (tidemark export --key)");
	return check_seal(h, size, ours->key, err);
}

static int
check_settings(const struct tide_share_head *h,
    const struct tide_share_ours *ours, struct tide_err *err)
{
	const struct tide_counting_shape *a = &h->shape, *b = &ours->shape;

	if (a->cells != b->cells || a->positions != b->positions ||
	    a->bits != b->bits)
		return tide_err_set(err,
		    "has %llu cells of %u bits and k = %u, not %llu of %u and "
		    "%u: bulk_keys, bulk_error or bulk_bits differ",
		    (unsigned long long)a->cells, a->bits, a->positions,
		    (unsigned long long)b->cells, b->bits, b->positions);
	if (h->span_ms != ours->span_ms)
		return tide_err_set(err,
		    "counts by generations of %llu s, not %llu: bulk_span "
		    "differs",
		    (unsigned long long)h->span_ms / 1000,
		    (unsigned long long)ours->span_ms / 1000);
	if (h->origin == ours->origin)
		return tide_err_set(err, "is our own");
	return 0;
}

int
tide_share_check(const struct tide_share_head *h, size_t size,
    const struct tide_share_ours *ours, struct tide_err *err)
{
	size_t packed;

	if (size < sizeof *h)
		return tide_err_set(err, "is no export, or truncated");
	if (h->magic != TIDE_SHARE_MAGIC)
		return tide_err_set(err, "is no export of Tidemark's");
	if (check_format(h, ours != NULL, err) < 0)
		return -1;
	if (h->check != head_check(h))
		return tide_err_set(err, "its header is damaged");
	packed = packed_size(h, size);
	if (h->packed != packed)
		return tide_err_set(err, "is %s",
		    h->packed > packed ? "truncated" : "too long");
	if (h->packed_check != tide_hash_check(h + 1, packed))
		return tide_err_set(err, "is damaged");
	if (h->parts > TIDE_SHARE_PARTS || h->reports > TIDE_SHARE_REPORTS ||
	    h->origin == 0 || h->sequence == 0 || h->since >= h->sequence)
		return tide_err_set(err, "contradicts itself");
	if (ours == NULL)
		return 0;
	return check_key(h, size, ours, err) < 0 ? -1
						 : check_settings(h, ours, err);
}

struct rest {
	const char *at;
	size_t left;
};

static int
read_part(struct rest *r, void *to, size_t bytes, struct tide_err *err)
{
	uint64_t length;

	if (r->left < sizeof length)
		return tide_err_set(err, "contradicts itself");
	memcpy(&length, r->at, sizeof length);
	r->at += sizeof length;
	r->left -= sizeof length;
	if (length > r->left)
		return tide_err_set(err, "contradicts itself");
	if (tide_share_unsqueeze(to, bytes, r->at, (size_t)length, err) < 0)
		return -1;
	r->at += length;
	r->left -= (size_t)length;
	return 0;
}

static int
read_reports(struct tide_share *s, struct rest *r, struct tide_err *err)
{
	size_t bytes = (size_t)s->head.reports * sizeof *s->report;
	struct tide_signatures ignored;
	uint64_t i;

	if (bytes == 0)
		return 0;
	s->report = malloc(bytes);
	if (s->report == NULL)
		return tide_err_errno(err, "room for reports");
	if (read_part(r, s->report, bytes, err) < 0)
		return -1;
	for (i = 0; i < s->head.reports; i++)
		if (!tide_shared_report_read(&s->report[i], &ignored) ||
		    s->report[i].number > s->head.reports_until)
			return tide_err_set(err, "contradicts itself");
	return 0;
}

static int
read_parts(struct tide_share *s, struct rest r, struct tide_err *err)
{
	size_t bytes = tide_counting_bytes(&s->head.shape);
	unsigned i;

	for (i = 0; i < s->head.parts; i++)
		if (read_part(&r, s->words[i], bytes, err) < 0)
			return -1;
	if (read_reports(s, &r, err) < 0)
		return -1;
	return r.left == 0 ? 0 : tide_err_set(err, "contradicts itself");
}

int
tide_share_unpack(struct tide_share *s, const void *file, size_t size,
    const struct tide_share_ours *ours, struct tide_err *err)
{
	struct tide_share_head h;

	memset(s, 0, sizeof *s);
	if (tide_share_check(file, size, ours, err) < 0)
		return -1;
	memcpy(&h, file, sizeof h);
	if (!tide_counting_sane(&h.shape))
		return tide_err_set(err, "contradicts itself");
	if (tide_share_alloc(s, &h.shape, err) < 0)
		return -1;
	s->head = h;
	if (read_parts(s,
		(struct rest){
		    (const char *)file + sizeof h, packed_size(&h, size) },
		err) == 0)
		return 0;
	tide_share_free(s);
	return -1;
}
