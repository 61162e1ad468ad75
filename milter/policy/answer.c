/*
 * policy_answer - verdict to action.
 */
#include <stdio.h>

#include "answer.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/settings/config.h"

static int
soften(const struct tide_policy *p, enum policy_state state,
    const struct tide_verdict *v, char *out)
{
	if (p->action == TIDE_POLICY_HOLD)
		return snprintf(out, POLICY_ANSWER_MAX,
		    "action=HOLD %s: %s\n\n", v->reason, v->text);
	if (state == POLICY_END)
		return snprintf(out, POLICY_ANSWER_MAX, "action=DUNNO\n\n");
	return snprintf(out, POLICY_ANSWER_MAX, "action=PREPEND %s: %s; %s\n\n",
	    p->prepend_header, v->reason, v->text);
}

size_t
policy_answer(const struct tide_policy *p, enum policy_state state,
    const struct tide_verdict *v, char out[POLICY_ANSWER_MAX])
{
	int n;

	if (v->answer == TIDE_REPLY_ACCEPT)
		n = snprintf(out, POLICY_ANSWER_MAX, "action=DUNNO\n\n");
	else if (p->action != TIDE_POLICY_REFUSE)
		n = soften(p, state, v, out);
	else if (v->answer == TIDE_REPLY_TEMPFAIL)
		n = snprintf(out, POLICY_ANSWER_MAX,
		    "action=DEFER_IF_PERMIT %s %s\n\n", v->status, v->text);
	else
		n = snprintf(out, POLICY_ANSWER_MAX, "action=%s %s %s\n\n",
		    v->code, v->status, v->text);
	return n < POLICY_ANSWER_MAX ? (size_t)n : POLICY_ANSWER_MAX - 1;
}
