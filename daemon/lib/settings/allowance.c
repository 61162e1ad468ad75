/*
 * allowance - from people's units to ticks; further limits, from words.
 */
#include <stdio.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
#include "tidemark/settings/allowance.h"
#include "tidemark/settings/config.h"

int
tide_allowance_make(struct tide_allowance *a, uint64_t burst,
    struct tide_rate rate, struct tide_err *err)
{
	char text[TIDE_UNITS_MAX];

	if (burst > TIDE_TOKENS_BURST_MAX)
		return tide_err_set(err,
		    "a burst of %llu tokens is too large "
		    "(at most %u)",
		    (unsigned long long)burst, TIDE_TOKENS_BURST_MAX);
	*a = (struct tide_allowance){ .burst = burst };
	if (burst == 0)
		return 0;
	if (rate.count == 0 || rate.period_ms == 0 ||
	    rate.period_ms > TIDE_TOKENS_DEPTH_MAX / TIDE_TOKENS_TICKS)
		return tide_err_set(err,
		    "tokens must come back at some rate, "
		    "such as 100/d");
	if (rate.count > rate.period_ms)
		return tide_err_set(err, "%s is too fast (at most 1k/s)",
		    tide_rate_show(rate, text, sizeof text));
	a->token = ((rate.period_ms * TIDE_TOKENS_TICKS) + rate.count - 1) /
	    rate.count;
	if (a->token > TIDE_TOKENS_DEPTH_MAX / burst)
		return tide_err_set(err,
		    "a burst of %llu takes longer than 34 "
		    "years to come back at %s",
		    (unsigned long long)burst,
		    tide_rate_show(rate, text, sizeof text));
	a->depth = burst * a->token;
	return 0;
}

uint64_t
tide_allowance_depth_ms(const struct tide_allowance *a)
{
	return a->depth / TIDE_TOKENS_TICKS + 1;
}

static int
read_word(char *word, struct tide_allowance *a, struct tide_err *err)
{
	char *colon = strchr(word, ':');
	struct tide_rate rate;
	uint64_t burst;

	if (colon == NULL)
		return tide_err_set(
		    err, "«%s» is no limit such as 20:20/1h", word);
	*colon = '\0';
	if (tide_count_parse(word, &burst, err) < 0 ||
	    tide_rate_parse(colon + 1, &rate, err) < 0)
		return -1;
	return tide_allowance_make(a, burst, rate, err);
}

int
tide_tokens_also(const char *words,
    struct tide_allowance also[TIDE_TOKENS_ALSO], struct tide_err *err)
{
	char copy[TIDE_WORDS_MAX], *word, *save = NULL;
	unsigned n = 0;

	(void)snprintf(copy, sizeof copy, "%s", words);
	for (word = strtok_r(copy, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		if (n == TIDE_TOKENS_ALSO)
			return tide_err_set(err,
			    "there are at most %u further limits",
			    TIDE_TOKENS_ALSO);
		if (read_word(word, &also[n++], err) < 0)
			return -1;
	}
	return (int)n;
}
