/*
 * subject - whom something is to be forgotten about: an address, a domain, a
 * client or network, an account; and which keys (keys.h) are about it.
 *
 *   ann@example.org     ann@example.org, ann@example.org|NETWORK whatever the
 *                       network, auth:ann@example.org
 *   @example.org        the domain, and every address in it, as above
 *   192.0.2.7           the client; of IPv6 also its /64, as it is counted
 *   192.0.2.0/24        the network and all within
 *   auth:ann, KEY       that key
 *
 * Nothing here locks, blocks, allocates or keeps state.
 */
#ifndef TIDEMARK_SUBJECT_H
#define TIDEMARK_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"

enum tide_subject_kind {
	TIDE_SUBJECT_KEY,
	TIDE_SUBJECT_ADDRESS,
	TIDE_SUBJECT_DOMAIN,
	TIDE_SUBJECT_NETWORK
};

#define TIDE_SUBJECT_KEYS 3u

struct tide_subject {
	enum tide_subject_kind kind;
	struct tide_key key[TIDE_SUBJECT_KEYS]; /* its own names, as keys */
	unsigned keys;
	struct tide_net net; /* of a NETWORK */
};

/* What a person typed.  0, or -1 with a sentence: it is nobody in particular. */
int tide_subject_parse(struct tide_subject *, const struct tide_keys *,
    const char *text, struct tide_err *);

/* Is that key about it? */
bool
tide_subject_means(const struct tide_subject *, const char *key, size_t length);

/*
 * A key that was too long to be kept whole (keys.h) and begins as this address
 * does: its own from some network, or another's that begins so.
 */
bool tide_subject_may_mean(
    const struct tide_subject *, const char *key, size_t length);

/* Of a network: how the text of every key within begins; may be empty. */
void tide_subject_begins(const struct tide_subject *, struct tide_key *text);

#endif
