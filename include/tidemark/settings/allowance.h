/*
 * allowance - a burst and the rate at which it comes back, as a setting has
 * them and as flow/tokens.h counts them: in ticks of 1/1024 ms.
 */
#ifndef TIDEMARK_ALLOWANCE_H
#define TIDEMARK_ALLOWANCE_H

#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/base/units.h"

#define TIDE_TOKENS_TICKS 1024u /* in a millisecond */
#define TIDE_TOKENS_BURST_MAX 1000000u
#define TIDE_TOKENS_DEPTH_MAX (1ull << 50) /* ticks from empty to full */

/* beta and rho, worked into ticks. */
struct tide_allowance {
	uint64_t burst; /* beta, tokens; 0: nothing ever passes */
	uint64_t token; /* ticks that one token takes to come back */
	uint64_t depth; /* ticks from empty to full */
};

/* 0, or -1 with a sentence if the settings are out of range. */
int tide_allowance_make(struct tide_allowance *, uint64_t burst,
    struct tide_rate, struct tide_err *);

/* How long it takes from empty to full, rounded up. */
uint64_t tide_allowance_depth_ms(const struct tide_allowance *);

#define TIDE_TOKENS_ALSO 4u

/*
 * Further limits on an account, a word each: BURST:RATE, such as 20:20/1h.
 * How many, or -1 with a sentence.
 */
int tide_tokens_also(const char *words,
    struct tide_allowance also[TIDE_TOKENS_ALSO], struct tide_err *);

#endif
