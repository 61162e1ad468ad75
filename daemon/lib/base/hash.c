/*
 * hash - XXH3 under our key.
 */
#include <sys/random.h>
#include <xxhash.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"

_Static_assert(
    TIDE_HASH_KEY_SIZE >= XXH3_SECRET_SIZE_MIN, "XXH3 refuses shorter secrets");

int
tide_hash_key_draw(struct tide_hash_key *key, struct tide_err *err)
{
	if (getrandom(key->secret, sizeof key->secret, 0) !=
	    (ssize_t)sizeof key->secret)
		return tide_err_errno(err, "drawing a hash key");
	return 0;
}

struct tide_hash
tide_hash(const struct tide_hash_key *key, const void *data, size_t size)
{
	XXH128_hash_t h = XXH3_128bits_withSecret(
	    data, size, key->secret, sizeof key->secret);

	return (struct tide_hash){ .low = h.low64, .high = h.high64 };
}

uint64_t
tide_hash_check(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}
