/*
 * address - what an address is remembered as.
 */
#include <ctype.h>
#include <string.h>

#include "tidemark/base/hash.h"
#include "tidemark/keys/address.h"

#define ADDRESS_MAX 1024

/*
 * Without the brackets, in lower case.  Local parts may differ in case by
 * the letter of the standard; no postmaster has ever meant that by a
 * question.  The null sender stays "<>".  0 if it is empty or too long.
 */
static size_t
normalise(const char *address, char out[ADDRESS_MAX])
{
	size_t i, n;

	while (*address == ' ')
		address++;
	n = strlen(address);
	while (n > 0 && address[n - 1] == ' ')
		n--;
	if (n == 0 || n >= ADDRESS_MAX)
		return 0;
	if (n > 2 && address[0] == '<' && address[n - 1] == '>') {
		address++;
		n -= 2;
	}
	for (i = 0; i < n; i++)
		out[i] = (char)tolower((unsigned char)address[i]);
	return n;
}

size_t
tide_address_hashes(const struct tide_hash_key *key, const char *address,
    struct tide_hash out[2])
{
	char text[ADDRESS_MAX];
	size_t n = normalise(address, text);
	const char *at;

	if (n == 0)
		return 0;
	out[0] = tide_hash(key, text, n);
	at = memrchr(text, '@', n);
	if (at == NULL || at == text)
		return 1;
	out[1] = tide_hash(key, at, n - (size_t)(at - text));
	return 2;
}

bool
tide_address_question(
    const struct tide_hash_key *key, const char *address, struct tide_hash *out)
{
	char text[ADDRESS_MAX];
	size_t n = normalise(address, text);

	if (n == 0)
		return false;
	*out = tide_hash(key, text, n);
	return true;
}
