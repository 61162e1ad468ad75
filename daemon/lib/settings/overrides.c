/*
 * overrides - read map files.  Publishing and looking up stand in
 * overrides_published.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overrides_order.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/units.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/allowance.h"
#include "tidemark/settings/overrides.h"

#define OVERRIDES_MOST 1000000u
#define WORDS 3

int
tide_overrides_compare(const void *a, const void *b)
{
	const struct tide_override *one = a, *other = b;

	if (one->profile != other->profile)
		return one->profile < other->profile ? -1 : 1;
	if (one->is_net != other->is_net)
		return one->is_net < other->is_net ? -1 : 1;
	if (one->is_net)
		return memcmp(&one->net, &other->net, sizeof one->net);
	return strncmp(one->key, other->key, sizeof one->key);
}

/*
 * Long keys end in a hash by a secret that is not known here: they cannot be
 * named.
 */
static int
parse_key(const char *word, struct tide_override *o, struct tide_err *err)
{
	static const struct tide_hash_key no_secret;
	struct tide_key_rules rules;
	const struct tide_keys keys = { &rules, &no_secret };
	struct tide_key key = { 0 };

	tide_key_rules_defaults(&rules);
	if (strlen(word) > TIDE_KEY_MAX)
		return tide_err_set(err,
		    "a key has at most %d characters, "
		    "not %zu",
		    TIDE_KEY_MAX, strlen(word));
	if (strncmp(word, "auth:", 5) == 0)
		tide_key_user(&keys, word + 5, &key);
	else if (strchr(word, '|') != NULL)
		tide_key_text(&keys, word, &key);
	else if (word[0] == '@')
		tide_key_domain(&keys, word, &key);
	else if (strchr(word, '@') != NULL)
		tide_key_address(&keys, word, &key);
	else if (tide_net_parse(word, &o->net, err) == 0)
		o->is_net = 1;
	else
		return tide_err_set(err,
		    "«%.64s» is no key, such as auth:user, "
		    "user@example.org, @example.org or 192.0.2.0/24",
		    word);
	memcpy(o->key, key.text, sizeof o->key);
	return 0;
}

static int
parse_words(char *word[WORDS], struct tide_override *o, struct tide_err *err)
{
	struct tide_rate rate;
	uint64_t burst;

	if (parse_key(word[0], o, err) < 0 ||
	    tide_count_parse(word[1], &burst, err) < 0 ||
	    tide_rate_parse(word[2], &rate, err) < 0)
		return -1;
	return tide_allowance_make(&o->allowance, burst, rate, err);
}

/* 1: an override; 0: a line that says nothing. */
static int
parse_line(char *line, struct tide_override *o, struct tide_err *err)
{
	char *word[WORDS + 1], *save = NULL;
	size_t n = 0;

	for (word[0] = strtok_r(line, " \t\r\n", &save); word[n] != NULL;
	     word[n] = strtok_r(NULL, " \t\r\n", &save)) {
		if (word[n][0] == '#')
			break;
		if (++n > WORDS)
			break;
	}
	if (n == 0)
		return 0;
	if (n != WORDS)
		return tide_err_set(
		    err, "a line has three words: KEY BURST RATE");
	return parse_words(word, o, err) < 0 ? -1 : 1;
}

static int
add(struct tide_overrides *all, const struct tide_override *o,
    struct tide_err *err)
{
	struct tide_override *list = all->list;

	if (all->count == OVERRIDES_MOST)
		return tide_err_set(
		    err, "more than %u overrides", OVERRIDES_MOST);
	/* grown whenever the count reaches a power of two */
	if ((all->count & (all->count - 1)) == 0) {
		list = realloc(list,
		    (all->count == 0 ? 1 : all->count * 2) * sizeof *list);
		if (list == NULL)
			return tide_err_errno(err, "no room for overrides");
		all->list = list;
	}
	list[all->count++] = *o;
	return 0;
}

static int
read_lines(struct tide_overrides *all, FILE *f, const char *path,
    unsigned profile, struct tide_err *err)
{
	struct tide_err why;
	unsigned number = 0;
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	while (rc == 0 && getline(&line, &room, f) > 0) {
		struct tide_override o;
		int said;

		memset(&o, 0, sizeof o);
		o.profile = profile;
		number++;
		said = parse_line(line, &o, &why);
		if (said < 0 || (said > 0 && add(all, &o, &why) < 0))
			rc = tide_err_set(
			    err, "%s:%u: %s", path, number, why.text);
	}
	if (rc == 0 && ferror(f))
		rc = tide_err_errno(err, "%s", path);
	free(line);
	return rc;
}

static int
sort(struct tide_overrides *all, const char *path, struct tide_err *err)
{
	char net[TIDE_KEY_MAX + 1];
	struct tide_key key;
	size_t i;

	if (all->count == 0)
		return 0;
	qsort(all->list, all->count, sizeof *all->list, tide_overrides_compare);
	for (i = 1; i < all->count; i++) {
		const struct tide_override *o = &all->list[i];

		if (tide_overrides_compare(o - 1, o) != 0)
			continue;
		tide_key_net(&o->net, &key);
		(void)snprintf(net, sizeof net, "%s", key.text);
		return tide_err_set(err, "%s: %s is there twice", path,
		    o->is_net ? net : o->key);
	}
	return 0;
}

int
tide_overrides_read(struct tide_overrides *all, const char *path,
    unsigned profile, struct tide_err *err)
{
	FILE *f = fopen(path, "re");
	int rc;

	if (f == NULL)
		return tide_err_errno(err, "%s", path);
	rc = read_lines(all, f, path, profile, err);
	(void)fclose(f);
	return rc < 0 ? rc : sort(all, path, err);
}
