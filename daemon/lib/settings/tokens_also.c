/*
 * tokens also - further limits, from words of the configuration.
 */
#include <stdio.h>
#include <string.h>

#include "tidemark/settings/config.h"
#include "tidemark/flow/tokens.h"

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
