/*
 * allowance - what the account of a message may still send: its tokens, how
 * many different recipients it has written to, and from how many clients.
 *
 * Taken at each recipient that would be accepted, so that no number of
 * connections gets more than the burst; given back for a message that came to
 * nothing.  Nothing is taken from whoever is on the allow list.  postmaster
 * and abuse cost, but are never refused.
 */
#ifndef MILTER_ALLOWANCE_H
#define MILTER_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "charge.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/settings/allowance.h"

/* Of the message that is going on. */
struct allowance {
	bool tokens, distinct, clients;		 /* at work for it */
	struct tide_take take;			 /* of one recipient */
	struct tide_take also[TIDE_TOKENS_ALSO]; /* under further limits */
	uint32_t alsos;
	struct tide_hash sketch;  /* the account's different recipients */
	struct tide_hash origins; /* its sketch of different clients */
	struct tide_hash client;  /* that the message comes from */
	uint32_t paid;		  /* recipients taken for */
	uint32_t refused;	  /* recipients */
};

/* At MAIL, after charge_sender(). */
void allowance_begin(struct allowance *, const struct charge *,
    const char *sender, const char *user);

/* How large the message will be, if its client has said so; else 0. */
void allowance_size(struct allowance *, uint64_t bytes);

/* A recipient that would be accepted.  What stands against it: if nothing,
 * it is paid for. */
struct tide_shortage
allowance_recipient(struct allowance *, const char *recipient);

/* So many recipients, or all there are, came to nothing. */
void allowance_give_back(struct allowance *, uint32_t recipients);

/* What was paid stays paid. */
void allowance_keep(struct allowance *);

/* For the log: " tokens=37", or "". */
const char *allowance_show(const struct allowance *, char *, size_t);

/* The overrides were published anew. */
void allowance_forget_overrides(void);

#endif
