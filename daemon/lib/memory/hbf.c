/*
 * hbf - shapes and elements.
 */
#include <math.h>
#include <string.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"

struct tide_bloom_shape
tide_hbf_shape(enum tide_memory form, uint64_t bytes, double error)
{
	const double ln2 = 0.69314718055994530942;
	struct tide_bloom_shape s = {
		.bits = 64, .positions = 1, .capacity = 1
	};
	double k;

	if (form == TIDE_MEMORY_CLASSIC)
		return (struct tide_bloom_shape){ .bits = TIDE_CLASSIC_BITS,
			.positions = TIDE_CLASSIC_POSITIONS,
			.capacity = TIDE_CLASSIC_SATURATION };
	if (form == TIDE_MEMORY_OFF)
		return s;
	s.bits = bytes * 8 / TIDE_BLOOM_GRAIN * TIDE_BLOOM_GRAIN;
	if (s.bits < TIDE_BLOOM_GRAIN)
		s.bits = TIDE_BLOOM_GRAIN;
	k = round(-log2(error));
	s.positions = k < 1	       ? 1
	    : k > TIDE_BLOOM_POSITIONS ? TIDE_BLOOM_POSITIONS
				       : (uint32_t)k;
	s.capacity =
	    (uint64_t)((double)s.bits * ln2 * ln2 / -log(error)); /* at 1/2 */
	if (s.capacity == 0)
		s.capacity = 1;
	return s;
}

uint32_t
tide_hbf_profile(const char *name)
{
	uint32_t tag = (uint32_t)tide_hash_check(name, strlen(name));

	return tag != 0 ? tag : 1;
}

struct tide_hash
tide_hbf_pair(const struct tide_hash_key *key, struct tide_hash left,
    struct tide_hash right)
{
	const struct tide_hash children[2] = { left, right };

	return tide_hash(key, children, sizeof children);
}

/* ---- elements ---------------------------------------------------------- */

/* The kinds stand where a level would. */
enum { WHOLE = 0x40, A_FILE = 0x41 };

/* The finaliser of splitmix64: every bit in moves half of those out. */
static inline uint64_t
scatter(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/*
 * The content is 128 bits under our key already; its place only has to lead
 * to other bits, for which a full hash would be too dear: an excerpt is tried
 * in hundreds of places.
 */
static inline struct tide_hash
place(struct tide_hash content, uint32_t profile, uint32_t level, uint64_t at)
{
	uint64_t where = (at << 8 | level) * 0x9e3779b97f4a7c15ull +
	    profile * 0xc2b2ae3d27d4eb4full;

	return (struct tide_hash){ .low = scatter(content.low ^ where),
		.high = scatter(content.high + (where << 32 | where >> 32)) };
}

struct tide_hash
tide_hbf_element(enum tide_memory form, uint32_t profile,
    struct tide_hash content, unsigned level, uint64_t first)
{
	if (form == TIDE_MEMORY_CLASSIC)
		return place(content, 0, level, first >> level);
	return place(content, profile, level, first % TIDE_HBF_CLASSES);
}

struct tide_hash
tide_hbf_whole(
    enum tide_memory form, uint32_t profile, struct tide_hash content)
{
	return place(
	    content, form == TIDE_MEMORY_CLASSIC ? 0 : profile, WHOLE, 0);
}

struct tide_hash
tide_hbf_file(enum tide_memory form, uint32_t profile, struct tide_hash digest)
{
	return place(
	    digest, form == TIDE_MEMORY_CLASSIC ? 0 : profile, A_FILE, 0);
}
