/*
 * question - parse, match.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../read/ask_key.h"
#include "../read/view.h"
#include "question.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
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

/*
 * A key that is the same under any hash key can be made here; one that ends in
 * a piece of a hash is asked for.
 */
static void
make_key(const struct view *v, const char *text,
    void (*make)(const struct tide_keys *, const char *, struct tide_key *),
    struct tide_key *key)
{
	static const struct tide_hash_key one, other = { { 1 } };
	struct tide_key_rules rules;
	struct tide_keys keys = { .rules = &rules, .secret = &other };
	const char *name = strncmp(text, "auth:", 5) == 0 ? text + 5 : text;
	struct tide_key again;

	tide_key_rules_defaults(&rules);
	make(&keys, name, &again);
	keys.secret = &one;
	make(&keys, name, key);
	if (!tide_key_equal(key, &again))
		(void)ask_key(&v->config, text, key);
}

static void
ask_address(struct question *q, const struct view *v, const char *text)
{
	make_key(v, text, tide_key_address, &q->address);
	q->domain[0] = '@';
	tide_domain_of(text, q->domain + 1);
}

void
question_ask(struct question *q, const struct view *v, const char *text)
{
	struct tide_key k;

	memset(q, 0, sizeof *q);
	q->text = text;
	question_add(q, text);
	if (strncmp(text, "auth:", 5) == 0) {
		make_key(v, text, tide_key_user, &k);
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
		ask_address(q, v, text);
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
