/*
 * config_lists - is every word of a list one that the list can mean?
 *
 * Earlier versions took any word, and some of these were never met: a list
 * that does nothing looks like one that does.  Others could be forged.  Such a
 * word is left out with a complaint that lets a start go on.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "config_read.h"
#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/lists.h"

static const struct list {
	const char *key;
	size_t offset;	/* into struct tide_profile */
	unsigned takes; /* enum tide_word_kind, several */
	const char *needs;
} lists[] = {
	{ "allow", offsetof(struct tide_profile, allow),
	    TIDE_WORD_NETWORK | TIDE_WORD_ACCOUNT | TIDE_WORD_WITHIN,
	    "can be forged; write it with its network, such as "
	    "a@example.org|192.0.2.0/24, or name the account, auth:NAME, or "
	    "see allow_forgeable" },
	{ "allow_forgeable", offsetof(struct tide_profile, allow_forgeable),
	    TIDE_WORD_ADDRESS | TIDE_WORD_DOMAIN,
	    "is neither an address nor a @domain; it belongs into allow" },
	{ "protected_to", offsetof(struct tide_profile, protected_to),
	    TIDE_WORD_ADDRESS, "is not the address of a mailbox" },
	{ "protected_from", offsetof(struct tide_profile, protected_from),
	    TIDE_WORD_ADDRESS | TIDE_WORD_DOMAIN,
	    "is neither an address nor a @domain" },
};

/* Take a word over, or say why not. */
static bool
is_good(struct reading *r, const struct place *at, const struct list *l,
    const char *word)
{
	struct tide_list_word w;
	struct tide_err err;

	if (tide_list_word(word, &w, &err) < 0)
		tide_complain_passable(
		    r->complaints, at, "%s: %s", l->key, err.text);
	else if ((w.kind & l->takes) == 0)
		tide_complain_passable(
		    r->complaints, at, "%s: «%s» %s", l->key, word, l->needs);
	else
		return true;
	return false;
}

static void
check_list(struct reading *r, unsigned i, const struct list *l)
{
	const struct place *at =
	    tide_reading_place(r, IN_PROFILE + (int)i, l->key);
	char *words = (char *)&r->config->profile[i] + l->offset;
	char copy[TIDE_WORDS_MAX], *word, *rest = NULL;
	size_t n = 0;

	memcpy(copy, words, sizeof copy);
	memset(words, 0, TIDE_WORDS_MAX);
	for (word = strtok_r(copy, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest))
		if (is_good(r, at, l, word))
			n += (size_t)snprintf(words + n, TIDE_WORDS_MAX - n,
			    "%s%s", n > 0 ? " " : "", word);
}

void
tide_reading_check_lists(struct reading *r, unsigned profile)
{
	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
		check_list(r, profile, &lists[k]);
}
