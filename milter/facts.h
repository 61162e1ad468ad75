/*
 * facts - what is known at any point of a message, for the verdict.
 */
#ifndef MILTER_FACTS_H
#define MILTER_FACTS_H

#include "tidemark/flow/verdict.h"
#include "tidemark/settings/config.h"

struct tide_facts facts_now(void);

/* Is there a ban?  Then it is a fact. */
bool facts_ban(struct tide_facts *);

/* That group's bucket has no room, or TIDE_GROUPS: nothing is the matter. */
void facts_over(struct tide_facts *, enum tide_group);

/* Does mail with this verdict go on, be it held or marked? */
bool facts_pass(const struct tide_verdict *);

#endif
