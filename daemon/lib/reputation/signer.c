/*
 * signer - from normalised text to signatures.
 *
 * Signed is what is read: text parts, in their order.  Headers differ with
 * every copy, and link targets often carry the recipient's number; neither is
 * signed.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "sketch.h"
#include "strip.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/text/text.h"

/*
 * A dozen words.  Below that there are greetings, signatures and "see
 * attachment", which everybody sends.
 */
#define TEXT_LEAST 64u

/* Bytes; smaller are cards, signatures and the spacers of newsletters. */
#define FILE_LEAST 1024u

struct tide_signer {
	struct tide_hash_key key; /* XXH3 keeps a pointer to it */
	XXH3_state_t *hash;
	uint64_t length; /* of text signed */
	bool reading;	 /* a text part is open */
	struct strip strip;
	struct sketch sketch;
	size_t files;
	struct tide_hash file[TIDE_SIGNED_FILES];
};

/* ---- behind the pipeline ----------------------------------------------- */

static void
sign(void *arg, const char *text, size_t length)
{
	struct tide_signer *s = arg;

	(void)XXH3_128bits_update(s->hash, text, length);
	tide_sketch_text(&s->sketch, text, length);
	s->length += length;
}

static void
on_begin(void *arg, const struct tide_part *part)
{
	struct tide_signer *s = arg;

	s->reading = part->kind == TIDE_PART_TEXT;
	tide_sketch_part(&s->sketch);
}

static void
on_text(void *arg, const char *text, size_t length)
{
	struct tide_signer *s = arg;

	if (s->reading)
		tide_strip_text(&s->strip, text, length);
}

static void
on_end(void *arg, const struct tide_part *part)
{
	struct tide_signer *s = arg;

	(void)part;
	if (s->reading)
		tide_strip_end(&s->strip);
	s->reading = false;
}

static void
on_file(void *arg, const struct tide_part *part, struct tide_hash hash,
    uint64_t bytes)
{
	struct tide_signer *s = arg;

	(void)part;
	if (bytes >= FILE_LEAST && s->files < TIDE_SIGNED_FILES)
		s->file[s->files++] = hash;
}

struct tide_text_sink
tide_signer_sink(struct tide_signer *s)
{
	return (struct tide_text_sink){ .arg = s,
		.begin = on_begin,
		.text = on_text,
		.end = on_end,
		.file = on_file };
}

/* ---- a message --------------------------------------------------------- */

struct tide_signer *
tide_signer_new(const struct tide_hash_key *key)
{
	struct tide_signer *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->key = *key;
	s->hash = XXH3_createState();
	if (s->hash == NULL) {
		free(s);
		return NULL;
	}
	s->strip.emit = sign;
	s->strip.arg = s;
	tide_sketch_key(&s->sketch, key);
	tide_signer_begin(s);
	return s;
}

void
tide_signer_free(struct tide_signer *s)
{
	if (s == NULL)
		return;
	(void)XXH3_freeState(s->hash);
	free(s);
}

/* A text is no address: what stands before it keeps their hashes apart. */
void
tide_signer_begin(struct tide_signer *s)
{
	static const char purpose[] = "text";

	(void)XXH3_128bits_reset_withSecret(
	    s->hash, s->key.secret, sizeof s->key.secret);
	(void)XXH3_128bits_update(s->hash, purpose, sizeof purpose);
	tide_strip_begin(&s->strip);
	tide_sketch_begin(&s->sketch);
	s->length = 0;
	s->reading = false;
	s->files = 0;
}

void
tide_signer_recipient(struct tide_signer *s, const char *address)
{
	tide_strip_recipient(&s->strip, address);
}

void
tide_signer_header(struct tide_signer *s, const char *name, const char *value)
{
	static const char *const names[] = { "To", "Cc", "Delivered-To",
		"X-Original-To", "Envelope-To" };
	static const char between[] = " \t\r\n,;:<>()\"";
	char address[512];
	unsigned i = 0;
	size_t n;

	while (
	    i < sizeof names / sizeof *names && strcasecmp(name, names[i]) != 0)
		i++;
	if (i == sizeof names / sizeof *names)
		return;
	for (; *value != '\0'; value += n) {
		value += strspn(value, between);
		n = strcspn(value, between);
		if (n == 0 || n >= sizeof address ||
		    memchr(value, '@', n) == NULL)
			continue;
		memcpy(address, value, n);
		address[n] = '\0';
		tide_strip_recipient(&s->strip, address);
	}
}

void
tide_signer_end(struct tide_signer *s, struct tide_signatures *out)
{
	XXH128_hash_t h;

	memset(out, 0, sizeof *out);
	out->files = s->files;
	memcpy(out->file, s->file, s->files * sizeof *s->file);
	if (s->length < TEXT_LEAST)
		return;
	h = XXH3_128bits_digest(s->hash);
	out->has_text = true;
	out->text = (struct tide_hash){ .low = h.low64, .high = h.high64 };
	out->samples = s->sketch.samples;
	memcpy(out->sample, s->sketch.sample,
	    s->sketch.samples * sizeof *s->sketch.sample);
}
