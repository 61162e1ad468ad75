/*
 * sketch - roll, mix, keep the smallest.
 */
#include <string.h>

#include "sketch.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/signature.h"

void
tide_sketch_key(struct sketch *s, const struct tide_hash_key *key)
{
	static const char purpose[] = "sketch";
	struct tide_hash h = tide_hash(key, purpose, sizeof purpose);
	unsigned i;

	s->factor = h.low | 1;
	s->seed = h.high;
	s->last = 1;
	for (i = 1; i < SHINGLE; i++)
		s->last *= s->factor;
}

void
tide_sketch_begin(struct sketch *s)
{
	s->samples = 0;
	tide_sketch_part(s);
}

void
tide_sketch_part(struct sketch *s)
{
	s->filled = s->at = 0;
	s->roll = 0;
}

static uint64_t
mix(uint64_t h)
{
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	return h ^ h >> 31;
}

static void
keep(struct sketch *s, uint64_t sample)
{
	size_t i = s->samples;

	while (i > 0 && s->sample[i - 1] > sample)
		i--;
	if (i > 0 && s->sample[i - 1] == sample)
		return;
	if (s->samples < TIDE_SKETCH)
		s->samples++;
	memmove(s->sample + i + 1, s->sample + i,
	    (s->samples - i - 1) * sizeof *s->sample);
	s->sample[i] = sample;
}

/* Every byte counts from 1, so that none is lost at a shingle's start. */
void
tide_sketch_text(struct sketch *s, const char *text, size_t length)
{
	uint64_t sample;
	uint8_t old;

	for (; length > 0; text++, length--) {
		old = s->window[s->at];
		s->window[s->at] = (uint8_t)*text;
		s->at = (s->at + 1) % SHINGLE;
		if (s->filled == SHINGLE)
			s->roll -= (old + 1ull) * s->last;
		else
			s->filled++;
		s->roll = s->roll * s->factor + (uint8_t)*text + 1ull;
		if (s->filled < SHINGLE)
			continue;
		sample = mix(s->roll ^ s->seed);
		if (s->samples < TIDE_SKETCH ||
		    sample < s->sample[TIDE_SKETCH - 1])
			keep(s, sample);
	}
}
