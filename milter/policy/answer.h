/*
 * policy_answer - a verdict in Postfix's words.  A pure function.
 */
#ifndef MILTER_POLICY_ANSWER_H
#define MILTER_POLICY_ANSWER_H

#include <stddef.h>

#include "request.h"
#include "tidemark/settings/config.h"
#include "tidemark/flow/verdict.h"

#define POLICY_ANSWER_MAX 320

/*
 * "action=...\n\n"; its length.
 *
 * A refusal for now becomes DEFER_IF_PERMIT, so that a refusal for good by a
 * later restriction still counts.  No header can be prepended at the end of
 * the message: where that was chosen, the message passes without.
 */
size_t policy_answer(const struct tide_policy *, enum policy_state,
    const struct tide_verdict *, char[POLICY_ANSWER_MAX]);

#endif
