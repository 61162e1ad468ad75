/*
 * lists - is somebody on a list of addresses, @domains, accounts, client
 * addresses and networks, such as allow?
 *
 * A word of a list is one of
 *
 *	192.0.2.7, 192.0.2.0/24		a client, a network
 *	auth:NAME			an authenticated account
 *	a@b, @b				a sender's address, a domain
 *	a@b|192.0.2.0/24, @b|192.0.2.7	the same, in that network only
 *
 * Anybody can write a@b into an envelope: which kinds a list takes is the
 * list's own affair, and config_lists.c leaves the others out of it.  Words
 * become keys as the mail's own addresses do, so that spelling is no matter.
 */
#ifndef TIDEMARK_LISTS_H
#define TIDEMARK_LISTS_H

#include <stdbool.h>

#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

enum tide_word_kind {
	TIDE_WORD_NETWORK = 1,
	TIDE_WORD_ACCOUNT = 2,
	TIDE_WORD_ADDRESS = 4,
	TIDE_WORD_DOMAIN = 8,
	TIDE_WORD_WITHIN = 16 /* address or domain, in a network */
};

struct tide_list_word {
	enum tide_word_kind kind;
	char who[TIDE_WORDS_MAX]; /* NAME, a@b or @b; "" for a network */
	struct tide_net net;	  /* of a network, and of one within it */
};

/* 0, or -1 with a sentence. */
int
tide_list_word(const char *text, struct tide_list_word *, struct tide_err *);

/* Whom a word of a list may mean; NULL where it is not known. */
struct tide_listed {
	const struct tide_keys *keys;	/* that theirs were made with */
	const struct tide_key *account; /* tide_key_user */
	const struct tide_key *address; /* tide_key_address */
	const struct tide_key *domain;	/* tide_key_domain */
	const struct tide_ip *client;
};

/* Is one of the space-separated words about them? */
bool tide_words_mean(const char *words, const struct tide_listed *);

/*
 * By the profile's allow and allow_forgeable: is nothing ever charged to them?
 * An account is what it logged in as, and comes from where it comes from;
 * what it writes into the envelope does not count.
 */
bool tide_allows(const struct tide_profile *, const struct tide_listed *);

#endif
