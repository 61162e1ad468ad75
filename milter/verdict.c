/*
 * verdict - facts to answer.
 */
#include "tidemark/config.h"

#include "verdict.h"

static struct verdict
accept_for(const char *reason)
{
	return (struct verdict){ .answer = ANSWER_ACCEPT, .reason = reason };
}

/* The postmaster chose what happens when Tidemark cannot do its work. */
static struct verdict
answer_for_error(uint32_t on_error)
{
	switch (on_error) {
	case TIDE_ON_ERROR_TEMPFAIL:
		return (struct verdict){ .answer = ANSWER_TEMPFAIL,
			.reason = "error",
			.code = "451",
			.status = "4.3.0",
			.text = "Mail filter is temporarily unable to work; "
				"please try again later" };
	case TIDE_ON_ERROR_REJECT:
		return (struct verdict){ .answer = ANSWER_REJECT,
			.reason = "error",
			.code = "554",
			.status = "5.3.0",
			.text = "Mail filter is unable to work" };
	default:
		return accept_for("error");
	}
}

struct verdict
verdict_reach(const struct facts *f)
{
	if (f->bypassed)
		return accept_for("bypass");
	if (!f->map_usable)
		return answer_for_error(f->on_error);
	return accept_for("-");
}

const char *
verdict_name(enum verdict_answer answer)
{
	switch (answer) {
	case ANSWER_TEMPFAIL:
		return "tempfail";
	case ANSWER_REJECT:
		return "reject";
	default:
		return "accept";
	}
}
