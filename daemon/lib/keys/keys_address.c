/*
 * keys_address - an envelope address taken apart and put together again.
 *
 * What comes back has one spelling: <"abc"@D>, @relay:abc@d and abc@d. are
 * all abc@d.  Quotes stay where they are needed, and are set where they were
 * forgotten.
 */
#include <inttypes.h>
#include <stdio.h>

#include "keys_priv.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"

#define OVERLONG_SHOWN 64

static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Where the address begins after a source route "@a,@b:"; NULL: no route. */
static const char *
after_route(const char *s, const char *end)
{
	bool literal = false;

	if (s == end || *s != '@')
		return NULL;
	for (; s < end && *s != '"'; s++) {
		if (*s == '[')
			literal = true;
		else if (*s == ']')
			literal = false;
		else if (*s == ':' && !literal)
			return s + 1 < end ? s + 1 : NULL;
	}
	return NULL;
}

const char *
tide_key_address_trim(const char *s, size_t *length)
{
	const char *end = s + strlen(s), *rest;

	for (;;) {
		while (s < end && is_blank(*s))
			s++;
		while (s < end && is_blank(end[-1]))
			end--;
		if (end - s >= 2 && *s == '<' && end[-1] == '>') {
			s++;
			end--;
			continue;
		}
		rest = after_route(s, end);
		if (rest == NULL)
			break;
		s = rest;
	}
	*length = (size_t)(end - s);
	return s;
}

/*
 * The @ before the domain: the last one outside of quotes.  *quotes tells
 * whether the quotes close; if they do not, they are letters like others.
 */
static const char *
find_at(const char *s, size_t n, bool *quotes)
{
	const char *at = NULL, *end = s + n, *p;
	bool inside = false;

	for (p = s; p < end; p++) {
		if (*p == '\\' && p + 1 < end)
			p++;
		else if (*p == '"')
			inside = !inside;
		else if (*p == '@' && !inside)
			at = p;
	}
	*quotes = !inside;
	return inside ? memrchr(s, '@', n) : at;
}

/* The local part as meant: without quotes and backslashes. */
static void
unquote(struct keytext *t, const char *s, size_t n)
{
	const char *end = s + n;

	for (; s < end; s++) {
		if (*s == '"')
			continue;
		if (*s == '\\' && s + 1 < end)
			s++;
		tide_keytext_add(t, s, 1);
	}
}

bool
tide_key_address_split(const char *address, struct keyparts *parts)
{
	struct keytext t;
	const char *end, *at;
	size_t n;
	bool quotes;

	t.length = 0;
	address = tide_key_address_trim(address, &n);
	if (n == 0 || n > ADDRESS_MAX)
		return false;
	tide_keytext_clean(&t, address, n);
	end = t.bytes + t.length;
	at = find_at(t.bytes, t.length, &quotes);
	if (at == NULL)
		at = end;
	parts->local.length = parts->domain.length = 0;
	if (quotes)
		unquote(&parts->local, t.bytes, (size_t)(at - t.bytes));
	else
		tide_keytext_add(
		    &parts->local, t.bytes, (size_t)(at - t.bytes));
	if (at < end)
		tide_keytext_add(
		    &parts->domain, at + 1, (size_t)(end - at - 1));
	tide_key_domain_normalise(&parts->domain);
	return true;
}

static void
add_quoted(struct keytext *t, const struct keytext *local)
{
	size_t i;

	tide_keytext_add(t, "\"", 1);
	for (i = 0; i < local->length; i++) {
		if (local->bytes[i] == '"' || local->bytes[i] == '\\')
			tide_keytext_add(t, "\\", 1);
		tide_keytext_add(t, local->bytes + i, 1);
	}
	tide_keytext_add(t, "\"", 1);
}

/* Not taken apart: how it begins, and a hash of all. */
static void
add_overlong(
    const struct tide_keys *keys, struct keytext *t, const char *s, size_t n)
{
	struct tide_hash h = tide_hash(keys->secret, s, n);
	char tail[24];

	tide_keytext_add(t, "~", 1);
	tide_keytext_clean(t, s, OVERLONG_SHOWN);
	snprintf(tail, sizeof tail, "~%016" PRIx64, h.low);
	tide_keytext_add_text(t, tail);
}

void
tide_key_address_text(
    const struct tide_keys *keys, const char *address, struct keytext *t)
{
	struct keyparts parts;
	size_t n;

	if (!tide_key_address_split(address, &parts)) {
		address = tide_key_address_trim(address, &n);
		if (n == 0)
			tide_keytext_add_text(t, "<>");
		else
			add_overlong(keys, t, address, n);
		return;
	}
	if (tide_keytext_is_atom(&parts.local)) {
		tide_key_local_reduce(keys->rules, &parts.local);
		tide_keytext_add(t, parts.local.bytes, parts.local.length);
	} else {
		if (keys->rules->fold_local)
			tide_key_fold(parts.local.bytes, parts.local.length);
		add_quoted(t, &parts.local);
	}
	tide_keytext_add(t, "@", 1);
	tide_keytext_add(t, parts.domain.bytes, parts.domain.length);
}
