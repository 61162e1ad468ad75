/*
 * keys_priv - an address on its way to a key; private to keys*.c.
 */
#ifndef CORE_KEYS_PRIV_H
#define CORE_KEYS_PRIV_H

#include <string.h>

#include "tidemark/keys.h"

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
void keytext_add(struct keytext *, const char *, size_t);
void keytext_add_text(struct keytext *, const char *);

/* Append what is harmless, and a ? for each character that is not. */
void keytext_clean(struct keytext *, const char *, size_t);

/* Remove n bytes at an offset. */
void keytext_cut(struct keytext *, size_t at, size_t n);

/* Bytes of the printable UTF-8 character at s (n left); 0 if it is none. */
size_t keytext_character(const char *s, size_t n);

/* Letters, digits, and all that may stand in a local part unquoted. */
bool keytext_is_atom(const struct keytext *);

char key_lower(char);
void key_fold(char *, size_t);
bool key_is_digit(char);
bool key_is_hex(const char *, size_t);

/* Lower case, A-labels, no trailing dot, literals canonical. */
void key_domain_normalise(struct keytext *);

/* The text without blanks and brackets around it, and without its route. */
const char *key_address_trim(const char *, size_t *length);

/* False if it is null or too long to be taken apart. */
bool key_address_split(const char *address, struct keyparts *);

/* The address as a text of any length. */
void key_address_text(
    const struct tide_keys *, const char *address, struct keytext *);

/* BATV, SRS, VERP, tags and case off a local part that is an atom. */
void key_local_reduce(const struct tide_key_rules *, struct keytext *);

/* The original's address out of an SRS local part; false if it is none. */
bool key_srs_original(const struct keytext *local, struct keytext *original);

void key_verp_recipient(struct keytext *);
void key_verp_serials(struct keytext *, enum tide_verp);

#endif
