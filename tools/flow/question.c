/*
 * question - parse, match.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../read/view.h"
#include "question.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/shared/ring.h"

#define IPV6_CLIENT 64 /* as the milter counts clients */

/* ---- asking ------------------------------------------------------------ */

void
question_add(struct question *q, const char *text)
{
	struct tide_key *k;
	unsigned i;

	for (i = 0; i < q->keys; i++)
		if (strcmp(q->key[i].text, text) == 0)
			return;
	if (q->keys == QUESTION_KEYS || text[0] == '\0' ||
	    strcmp(text, "<>") == 0 || strlen(text) > TIDE_KEY_MAX)
		return;
	k = &q->key[q->keys++];
	(void)snprintf(k->text, sizeof k->text, "%s", text);
	k->length = (uint8_t)strlen(k->text);
}

static void
ask_address(struct question *q, const struct tide_keys *keys, const char *text)
{
	tide_key_address(keys, text, &q->address);
	q->domain[0] = '@';
	tide_domain_of(text, q->domain + 1);
}

void
question_ask(struct question *q, const struct view *v, const char *text)
{
	struct tide_key_rules rules;
	struct tide_keys keys = { .rules = &rules, .secret = v->map->key };
	struct tide_key k;

	memset(q, 0, sizeof *q);
	q->text = text;
	tide_key_rules_defaults(&rules);
	question_add(q, text);
	if (strncmp(text, "auth:", 5) == 0) {
		tide_key_user(&keys, text + 5, &k);
		question_add(q, k.text);
	} else if (tide_ip_parse(text, &q->ip)) {
		q->has_ip = true;
		tide_key_client(&q->ip, IPV6_CLIENT, &k);
		question_add(q, k.text);
	} else if (text[0] == '@') {
		q->whole_domain = true;
		q->domain[0] = '@';
		tide_domain_of(text, q->domain + 1);
	} else if (strchr(text, '@') != NULL && strchr(text, '|') == NULL) {
		ask_address(q, &keys, text);
	} else {
		q->is_name =
		    strchr(text, '|') == NULL && strchr(text, '/') == NULL;
	}
}

/* ---- matching ---------------------------------------------------------- */

/* "a@b|network" is a's, whatever the network; so is "a@b". */
static bool
is_of_address(const struct question *q, const char *key)
{
	size_t n = q->address.length;

	return n > 0 && strncmp(key, q->address.text, n) == 0 &&
	    (key[n] == '\0' || key[n] == '|');
}

static bool
is_in_domain(const struct question *q, const char *key)
{
	size_t n = strlen(q->domain), length = strcspn(key, "|");

	return q->whole_domain && length >= n &&
	    strncasecmp(key + length - n, q->domain, n) == 0;
}

bool
question_means_key(const struct question *q, const char *key)
{
	unsigned i;

	for (i = 0; i < q->keys; i++)
		if (strcmp(q->key[i].text, key) == 0)
			return true;
	return is_of_address(q, key) || is_in_domain(q, key);
}

bool
question_means_ban(const struct question *q, const struct tide_ban *ban)
{
	struct tide_net net;
	struct tide_err err;

	if (question_means_key(q, ban->key) ||
	    (q->domain[0] != '\0' && strcasecmp(q->domain, ban->key) == 0))
		return true;
	return q->has_ip && strchr(ban->key, '@') == NULL &&
	    tide_net_parse(ban->key, &net, &err) == 0 &&
	    tide_net_contains(&net, &q->ip);
}

bool
question_means_decision(const struct question *q, const struct tide_decision *d)
{
	return (d->qid[0] != '\0' && strcmp(d->qid, q->text) == 0) ||
	    strcasecmp(d->session, q->text) == 0 ||
	    question_means_key(q, d->sender) ||
	    question_means_key(q, d->client);
}
