/*
 * allowance - what the account of a message may still send: its tokens, how
 * many different recipients it has written to, and from how many clients.
 *
 * Taken at each recipient that would be accepted, so that no number of
 * connections gets more than the burst; given back for a message that came to
 * nothing, but for what has come back by itself since.  Nothing is taken from whoever is on the allow list.  postmaster
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
	bool tokens, distinct, clients;		      /* at work for it */
	struct tide_take limit[1 + TIDE_TOKENS_ALSO]; /* the first is shown */
	uint32_t limits;
	uint64_t cost;		  /* of the next recipient, in thousandths */
	struct tide_hash sketch;  /* the account's different recipients */
	struct tide_hash origins; /* its sketch of different clients */
	struct tide_hash client;  /* that the message comes from */
	bool by_client;		  /* charged, as there is no room */
	bool sketch_by_client;
	uint64_t sum;	 /* thousandths that they have paid */
	uint32_t paid;	 /* recipients, each with what it paid: */
	uint32_t *price; /* the worker's, from message to message */
	uint32_t room;
	uint32_t refused; /* recipients */
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

/*
 * So many recipients, or all there are, came to nothing.  Which ones the mail
 * server does not say: those that paid least.
 */
void allowance_give_back(struct allowance *, uint32_t recipients);

/* What was paid stays paid. */
void allowance_keep(struct allowance *);

/* The message is over. */
void allowance_clear(struct allowance *);

/* For the log: " tokens=37", or "". */
const char *allowance_show(const struct allowance *, char *, size_t);

/* The overrides were published anew. */
void allowance_forget_overrides(void);

#endif
