/*
 * address - what an address is remembered as.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "keys_priv.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/address.h"
#include "tidemark/keys/keys.h"

/*
 * Without the brackets, in lower case.  Local parts may differ in case by
 * the letter of the standard; no postmaster has ever meant that by a
 * question.  The null sender stays "<>".  0 if it is empty or too long.
 */
static size_t
normalise(const char *address, char out[TIDE_ADDRESS_MAX])
{
	size_t i, n;

	while (*address == ' ')
		address++;
	n = strlen(address);
	while (n > 0 && address[n - 1] == ' ')
		n--;
	if (n == 0 || n >= TIDE_ADDRESS_MAX)
		return 0;
	if (n > 2 && address[0] == '<' && address[n - 1] == '>') {
		address++;
		n -= 2;
	}
	for (i = 0; i < n; i++)
		out[i] = (char)tolower((unsigned char)address[i]);
	out[n] = '\0';
	return n;
}

static bool
is_ascii(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text >= 0x80)
			return false;
	return true;
}

/* "@relay:a@b" is delivered as a@b. */
static size_t
settle_route(char text[TIDE_ADDRESS_MAX], size_t n)
{
	size_t whole = n;
	const char *rest = tide_key_address_trim(text, &n);

	if (n == 0)
		return whole;
	memmove(text, rest, n);
	text[n] = '\0';
	return n;
}

/*
 * So are "a"@b and \a@b.  Quotes that do not close, or that are needed, stay:
 * the hash of such a text is its own.
 */
static size_t
settle_quotes(char text[TIDE_ADDRESS_MAX], size_t n)
{
	const char *at = memrchr(text, '@', n), *p = text;
	struct keytext plain = { .length = 0 };
	bool inside = false;

	if (at == NULL || strpbrk(text, "\"\\") == NULL)
		return n;
	for (; p < at; p++) {
		if (*p == '"') {
			inside = !inside;
			continue;
		}
		if (*p == '\\' && p + 1 < at)
			p++;
		tide_keytext_add(&plain, p, 1);
	}
	if (inside || !tide_keytext_is_atom(&plain))
		return n;
	memmove(text + plain.length, at, n - (size_t)(at - text) + 1);
	memcpy(text, plain.bytes, plain.length);
	return plain.length + strlen(text + plain.length);
}

/* One spelling for its domain: a name of it, however it is written. */
static size_t
settle_domain(char text[TIDE_ADDRESS_MAX], size_t n)
{
	char name[TIDE_DOMAIN_MAX];
	char *at = memrchr(text, '@', n);
	size_t before, length;

	if (at == NULL)
		return n;
	before = (size_t)(at - text) + 1;
	while (n > before + 1 && text[n - 1] == '.')
		n--;
	text[n] = '\0';
	if (is_ascii(at))
		return n;
	tide_domain_of(at, name);
	length = strlen(name);
	if (length == 0 || before + length >= TIDE_ADDRESS_MAX)
		return n;
	memcpy(text + before, name, length + 1);
	return before + length;
}

/*
 * And one for its local part: letters beyond ASCII in lower case, composed.
 * What is not UTF-8, or would be too long, stays as it is.
 */
static size_t
settle_local(char text[TIDE_ADDRESS_MAX], size_t n)
{
	const char *at = memrchr(text, '@', n);
	size_t local = at != NULL ? (size_t)(at - text) : n, rest = n - local;
	utf8proc_uint8_t *folded = NULL;
	utf8proc_ssize_t length;

	if (is_ascii(text))
		return n;
	length = utf8proc_map((const utf8proc_uint8_t *)text,
	    (utf8proc_ssize_t)local, &folded,
	    UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
	if (length > 0 && (size_t)length + rest < TIDE_ADDRESS_MAX) {
		memmove(text + length, text + local, rest + 1);
		memcpy(text, folded, (size_t)length);
		n = (size_t)length + rest;
	}
	free(folded);
	return n;
}

/* An address has one spelling, whoever writes it. */
static size_t
settle(char text[TIDE_ADDRESS_MAX], size_t n)
{
	if (n == 0 || strcmp(text, "<>") == 0)
		return n;
	n = settle_quotes(text, settle_route(text, n));
	return settle_local(text, settle_domain(text, n));
}

size_t
tide_address_hashes(const struct tide_hash_key *key, const char *address,
    struct tide_hash out[2])
{
	char text[TIDE_ADDRESS_MAX];
	size_t n = normalise(address, text);
	const char *at;

	if (n > 0)
		n = settle(text, n);
	if (n == 0)
		return 0;
	out[0] = tide_hash(key, text, n);
	at = memrchr(text, '@', n);
	if (at == NULL || at == text)
		return 1;
	out[1] = tide_hash(key, at, n - (size_t)(at - text));
	return 2;
}

size_t
tide_address_question(const struct tide_hash_key *key, const char *address,
    struct tide_hash out[2])
{
	char text[TIDE_ADDRESS_MAX], older[TIDE_ADDRESS_MAX];
	size_t was = normalise(address, older), n;

	if (was == 0)
		return 0;
	memcpy(text, older, was + 1);
	n = settle(text, was);
	out[0] = tide_hash(key, text, n);
	if (n == was && memcmp(text, older, n) == 0)
		return 1;
	out[1] = tide_hash(key, older, was);
	return 2;
}
