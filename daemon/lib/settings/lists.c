/*
 * lists - word by word.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/lists.h"

static bool
is_about(const char *word, const struct tide_listed *who)
{
	struct tide_err err;
	struct tide_net net;

	if (word[0] == '@')
		return who->domain != NULL &&
		    strcasecmp(word, who->domain->text) == 0;
	if (strchr(word, '@') != NULL)
		return who->address != NULL &&
		    strcasecmp(word, who->address->text) == 0;
	return who->client != NULL && tide_net_parse(word, &net, &err) == 0 &&
	    tide_net_contains(&net, who->client);
}

bool
tide_words_mean(const char *words, const struct tide_listed *who)
{
	char copy[TIDE_WORDS_MAX], *word, *save = NULL;

	(void)snprintf(copy, sizeof copy, "%s", words);
	for (word = strtok_r(copy, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save))
		if (is_about(word, who))
			return true;
	return false;
}
