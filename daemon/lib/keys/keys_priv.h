/*
 * keys_priv - an address on its way to a key; private to keys*.c and
 * address.c.
 */
#ifndef KEYS_PRIV_H
#define KEYS_PRIV_H

#include <string.h>

#include "tidemark/keys/keys.h"

/*
 * A longer address is not taken apart; no mail server passes one on.  In the
 * text each byte may need a backslash, and a network may follow.
 */
#define ADDRESS_MAX 2048
#define TEXT_MAX (2 * ADDRESS_MAX + 128)

struct keytext {
	size_t length;
	char bytes[TEXT_MAX];
};

/* An address taken apart: the local part without its quotes. */
struct keyparts {
	struct keytext local, domain;
};

/* Append; what has no room is dropped. */
void tide_keytext_add(struct keytext *, const char *, size_t);
void tide_keytext_add_text(struct keytext *, const char *);

/* Append what is harmless, and a ? for each character that is not. */
void tide_keytext_clean(struct keytext *, const char *, size_t);

/* Remove n bytes at an offset. */
void tide_keytext_cut(struct keytext *, size_t at, size_t n);

/* Letters, digits, and all that may stand in a local part unquoted. */
bool tide_keytext_is_atom(const struct keytext *);

char tide_key_lower(char);
void tide_key_fold(char *, size_t);
bool tide_key_is_digit(char);
bool tide_key_is_hex(const char *, size_t);

/* Lower case, A-labels, no trailing dot, literals canonical. */
void tide_key_domain_normalise(struct keytext *);

/* The text without blanks and brackets around it, and without its route. */
const char *tide_key_address_trim(const char *, size_t *length);

/* False if it is null or too long to be taken apart. */
bool tide_key_address_split(const char *address, struct keyparts *);

/* The address as a text of any length. */
void tide_key_address_text(
    const struct tide_keys *, const char *address, struct keytext *);

/* BATV, SRS, VERP, tags and case off a local part that is an atom. */
void tide_key_local_reduce(const struct tide_key_rules *, struct keytext *);

/* The original's address out of an SRS local part; false if it is none. */
bool
tide_key_srs_original(const struct keytext *local, struct keytext *original);

void tide_key_verp_recipient(struct keytext *);
void tide_key_verp_serials(struct keytext *, enum tide_verp);

#endif
