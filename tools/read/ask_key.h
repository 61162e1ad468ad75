/*
 * ask_key - what needs the daemon's hash key, asked of the daemon.
 */
#ifndef TOOLS_READ_ASK_KEY_H
#define TOOLS_READ_ASK_KEY_H

#include "ask.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

/*
 * The key that is meant by a text, as it stands in the map.  Long keys end in
 * a piece of a hash, which the daemon has to say.  -1 once complained.
 */
int ask_key(const struct tide_config *, const char *text, struct tide_key *);

/* What tells the daemon's hash key from others; -1 once complained. */
int ask_fingerprint(const struct tide_config *, uint64_t *);

/* Which senders are on the list of spam addresses? */
#define ASK_LISTED_MOST 24u /* in one request */
struct listed {
	int form; /* which of its forms; -1: it is not */
	char as[TIDE_KEY_MAX + 1];
};
/* On a connection that is open; -1 once complained. */
int ask_listed(
    struct ask *, const char *const *sender, unsigned n, struct listed *found);

#endif
