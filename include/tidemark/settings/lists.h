/*
 * lists - is somebody on a list of addresses, @domains, client addresses and
 * networks, such as allow?
 */
#ifndef TIDEMARK_LISTS_H
#define TIDEMARK_LISTS_H

#include <stdbool.h>

#include "tidemark/keys/keys.h"

/* Whom a word of a list may mean; NULL where it is not known. */
struct tide_listed {
	const struct tide_key *address; /* tide_key_address */
	const struct tide_key *domain;	/* tide_key_domain */
	const struct tide_ip *client;
};

/* Is one of the space-separated words about them? */
bool tide_words_mean(const char *words, const struct tide_listed *);

#endif
