/*
 * keys_domain - one spelling for a domain.
 *
 * Names with non-ASCII letters become A-labels by libidn2 (IDNA2008 with the
 * mappings of UTS 46), as a resolver would have them; what it refuses stays
 * as it is.  This is the one file that knows libidn2.
 */
#include <idn2.h>

#include "keys_priv.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"

static bool
is_ascii(const struct keytext *t)
{
	size_t i;

	for (i = 0; i < t->length; i++)
		if ((unsigned char)t->bytes[i] >= 0x80)
			return false;
	return true;
}

static void
to_ascii(struct keytext *t)
{
	char name[4 * TIDE_DOMAIN_MAX], *out = NULL;

	if (is_ascii(t) || t->length >= sizeof name)
		return;
	memcpy(name, t->bytes, t->length);
	name[t->length] = '\0';
	if (idn2_lookup_u8((uint8_t *)name, (uint8_t **)&out,
		IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) != IDN2_OK)
		return;
	t->length = 0;
	tide_keytext_add_text(t, out);
	idn2_free(out);
}

/* Lower case, and a ? for what no domain has (extra: but for these). */
static void
launder(char *s, size_t n, const char *extra)
{
	tide_key_fold(s, n);
	for (; n > 0; n--, s++) {
		if ((*s >= 'a' && *s <= 'z') || tide_key_is_digit(*s) ||
		    (unsigned char)*s >= 0x80)
			continue;
		if (strchr("-._", *s) == NULL && strchr(extra, *s) == NULL)
			*s = '?';
	}
}

static void
drop_dots(struct keytext *t)
{
	while (t->length > 0 && t->bytes[t->length - 1] == '.')
		t->length--;
}

static bool
is_literal(const struct keytext *t)
{
	return t->length >= 2 && t->bytes[0] == '[' &&
	    t->bytes[t->length - 1] == ']';
}

static void
normalise_literal(struct keytext *t)
{
	struct tide_ip ip;
	struct tide_key key;

	t->bytes[t->length - 1] = '\0';
	if (!tide_ip_parse(t->bytes + 1, &ip)) {
		t->bytes[t->length - 1] = ']';
		launder(t->bytes + 1, t->length - 2, ":");
		return;
	}
	tide_key_client(&ip, 128, &key);
	t->length = 0;
	tide_keytext_add_text(t, tide_ip_is_v4(&ip) ? "[" : "[ipv6:");
	tide_keytext_add(t, key.text, key.length);
	tide_keytext_add(t, "]", 1);
}

void
tide_key_domain_normalise(struct keytext *t)
{
	drop_dots(t);
	if (is_literal(t)) {
		normalise_literal(t);
		return;
	}
	launder(t->bytes, t->length, "");
	to_ascii(t);
	launder(t->bytes, t->length, ""); /* what a mapping brought in */
	drop_dots(t);
}

/* "" if it is longer than domains are. */
static void
copy_out(const struct keytext *t, char out[TIDE_DOMAIN_MAX])
{
	size_t n = t->length < TIDE_DOMAIN_MAX ? t->length : 0;

	memcpy(out, t->bytes, n);
	out[n] = '\0';
}

void
tide_domain_of(const char *address, char out[TIDE_DOMAIN_MAX])
{
	struct keyparts parts;

	parts.domain.length = 0;
	tide_key_address_split(address, &parts);
	copy_out(&parts.domain, out);
}

int
tide_domain_parse(
    const char *text, struct tide_domain_rule *rule, struct tide_err *err)
{
	struct keytext t;
	char name[TIDE_DOMAIN_MAX];

	t.length = 0;
	if (*text != '@' && *text != '.')
		return tide_err_set(err,
		    "«%s» is no domain: write @example.org for it, .example.org for all below it",
		    text);
	tide_keytext_clean(&t, text + 1, strnlen(text + 1, ADDRESS_MAX));
	tide_key_domain_normalise(&t);
	copy_out(&t, name);
	if (*name == '\0' || *name == '.' || strchr(name, '?') != NULL)
		return tide_err_set(
		    err, "«%s» is no domain that mail could have", text);
	rule->below = *text == '.';
	memcpy(rule->name, name, sizeof name);
	return 0;
}

bool
tide_domain_matches(const struct tide_domain_rule *rule, const char *domain)
{
	size_t n = strlen(domain), of = strlen(rule->name);

	if (!rule->below)
		return strcmp(domain, rule->name) == 0;
	return n > of + 1 && domain[n - of - 1] == '.' &&
	    strcmp(domain + n - of, rule->name) == 0;
}
