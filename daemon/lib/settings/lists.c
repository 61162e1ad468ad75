/*
 * lists - word by word.
 */
#include <stdio.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/lists.h"

#define ACCOUNT "auth:"
#define ACCOUNT_LENGTH (sizeof ACCOUNT - 1)

/* ---- what a word is ---------------------------------------------------- */

static int
read_account(const char *name, struct tide_list_word *w, struct tide_err *err)
{
	if (*name == '\0')
		return tide_err_set(err, "«" ACCOUNT "» has no name");
	if (strchr(name, '|') != NULL)
		return tide_err_set(err,
		    "«" ACCOUNT "%s»: an account is the same from everywhere; "
		    "leave out what follows the |",
		    name);
	w->kind = TIDE_WORD_ACCOUNT;
	(void)snprintf(w->who, sizeof w->who, "%s", name);
	return 0;
}

/* a@b or @b; "*@b" is no address, and would never be met. */
static int
read_sender(struct tide_list_word *w, struct tide_err *err)
{
	const char *at = strrchr(w->who, '@');
	struct tide_domain_rule rule;

	if (at == NULL)
		return tide_err_set(
		    err, "«%s» is neither an address nor a @domain", w->who);
	if (tide_domain_parse(at, &rule, err) < 0)
		return -1;
	if (strpbrk(w->who, "<>*") != NULL)
		return tide_err_set(err, "«%s» is no address%s%s", w->who,
		    w->who[0] == '*' ? "; a whole domain is written " : "",
		    w->who[0] == '*' ? at : "");
	w->kind = at == w->who ? TIDE_WORD_DOMAIN : TIDE_WORD_ADDRESS;
	return 0;
}

/* A local part may have a |, too. */
int
tide_list_word(const char *text, struct tide_list_word *w, struct tide_err *err)
{
	const char *bar = strrchr(text, '|'), *at = strrchr(text, '@');

	memset(w, 0, sizeof *w);
	if (strncmp(text, ACCOUNT, ACCOUNT_LENGTH) == 0)
		return read_account(text + ACCOUNT_LENGTH, w, err);
	if (bar < at)
		bar = NULL;
	if (at == NULL) {
		w->kind = TIDE_WORD_NETWORK;
		return tide_net_parse(text, &w->net, err);
	}
	(void)snprintf(w->who, sizeof w->who, "%.*s",
	    (int)(bar != NULL ? (size_t)(bar - text) : strlen(text)), text);
	if (read_sender(w, err) < 0)
		return -1;
	if (bar == NULL)
		return 0;
	w->kind = TIDE_WORD_WITHIN;
	if (tide_net_parse(bar + 1, &w->net, err) < 0)
		return -1;
	if (w->net.bits == (tide_ip_is_v4(&w->net.ip) ? 96 : 0))
		return tide_err_set(
		    err, "«%s» can be forged: that network is everybody", text);
	return 0;
}

/* ---- whom it means ----------------------------------------------------- */

static bool
is_client(const struct tide_list_word *w, const struct tide_listed *who)
{
	return who->client != NULL && tide_net_contains(&w->net, who->client);
}

static bool
is_account(const struct tide_list_word *w, const struct tide_listed *who)
{
	struct tide_key key;

	if (who->account == NULL)
		return false;
	tide_key_user(who->keys, w->who, &key);
	return tide_key_equal(&key, who->account);
}

static bool
is_sender(const struct tide_list_word *w, const struct tide_listed *who)
{
	const struct tide_key *theirs =
	    w->who[0] == '@' ? who->domain : who->address;
	struct tide_key key;

	if (theirs == NULL)
		return false;
	if (w->who[0] == '@')
		tide_key_domain(who->keys, w->who, &key);
	else
		tide_key_address(who->keys, w->who, &key);
	return tide_key_equal(&key, theirs);
}

/* What is no word at all means nobody; config_lists.c has told of it. */
static bool
is_about(const char *text, const struct tide_listed *who)
{
	struct tide_list_word w;
	struct tide_err err;

	if (tide_list_word(text, &w, &err) < 0)
		return false;
	switch (w.kind) {
	case TIDE_WORD_NETWORK:
		return is_client(&w, who);
	case TIDE_WORD_ACCOUNT:
		return is_account(&w, who);
	case TIDE_WORD_WITHIN:
		return is_client(&w, who) && is_sender(&w, who);
	default:
		return is_sender(&w, who);
	}
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

bool
tide_allows(const struct tide_profile *p, const struct tide_listed *who)
{
	struct tide_listed real = *who;

	if (who->account != NULL) /* its envelope proves nothing */
		real.address = real.domain = NULL;
	return tide_words_mean(p->allow, &real) ||
	    tide_words_mean(p->allow_forgeable, &real);
}
