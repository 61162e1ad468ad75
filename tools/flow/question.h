/*
 * question - whom does one ask about?  A key as a person has it, and which
 * keys of the map, bans and decisions are meant by it.
 */
#ifndef TOOLS_QUESTION_H
#define TOOLS_QUESTION_H

#include "../read/view.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"
#include "tidemark/shared/ring.h"

#define QUESTION_KEYS 4

struct question {
	const char *text;
	struct tide_key key[QUESTION_KEYS]; /* these exactly */
	unsigned keys;
	struct tide_key address; /* and this with any network; "" if none */
	char domain[TIDE_DOMAIN_MAX + 1]; /* "@...", its own bans are meant */
	bool whole_domain;		  /* and everybody in it */
	bool has_ip;
	struct tide_ip ip;
	bool is_name; /* of a message or session, if anything */
};

void question_ask(struct question *, const struct view *, const char *text);

/* Ask about this key, too. */
void question_add(struct question *, const char *key);

bool question_means_key(const struct question *, const char *key);
bool question_means_ban(const struct question *, const struct tide_ban *);
bool
question_means_decision(const struct question *, const struct tide_decision *);

#endif
