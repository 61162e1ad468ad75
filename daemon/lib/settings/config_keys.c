/*
 * config_keys - a "[section]" line, and "key = value".
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "config_read.h"
#include "tidemark/base/err.h"
#include "tidemark/base/nearest.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/params.h"

#define BLANK " \t"

/* ---- sections ------------------------------------------------------------ */

static bool
good_name(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n >= TIDE_NAME_MAX || !isalnum((unsigned char)*name))
		return false;
	for (; *name != '\0'; name++)
		if (!isalnum((unsigned char)*name) &&
		    strchr("_-", *name) == NULL)
			return false;
	return true;
}

/* The section of the profile so named, made if there is none yet. */
static int
open_profile(struct reading *r, const struct place *at, const char *name)
{
	struct tide_config *c = r->config;
	struct tide_profile *p;
	int i;

	if (!r->own_profiles) {
		r->own_profiles = true;
		c->profiles = 0;
		memset(c->profile, 0, sizeof c->profile);
	}
	i = tide_config_profile(c, name);
	if (i >= 0)
		return IN_PROFILE + i;
	if (c->profiles == TIDE_PROFILES_MAX) {
		tide_complain(r->complaints, at,
		    "[profile %s] is one too many; at most %d profiles", name,
		    TIDE_PROFILES_MAX);
		memset(r->set[IN_EXCESS], 0, sizeof r->set[IN_EXCESS]);
		return IN_EXCESS;
	}
	p = &c->profile[c->profiles];
	(void)snprintf(p->name, sizeof p->name, "%s", name);
	r->header[IN_PROFILE + c->profiles] = *at;
	return IN_PROFILE + (int)c->profiles++;
}

/* The keys of one too many are not looked at. */
static int
open_policy(struct reading *r, const struct place *at, const char *name)
{
	struct tide_config *c = r->config;
	struct tide_policy *p;
	int i = tide_config_policy(c, name);

	if (i >= 0)
		return IN_POLICY + i;
	if (c->policies == TIDE_POLICIES_MAX) {
		tide_complain(r->complaints, at,
		    "[policy %s] is one too many; at most %d policy servers",
		    name, TIDE_POLICIES_MAX);
		return IN_UNKNOWN;
	}
	p = &c->policy[c->policies];
	(void)snprintf(p->name, sizeof p->name, "%s", name);
	r->header[IN_POLICY + c->policies] = *at;
	return IN_POLICY + (int)c->policies++;
}

static int
unknown_section(struct reading *r, const struct place *at, const char *word)
{
	static const char *const known[] = { "profile", "policy" };
	const char *meant = tide_nearest(word, known, 2);

	if (meant != NULL)
		tide_complain(r->complaints, at,
		    "unknown section «%s»; did you mean «%s»?", word, meant);
	else
		tide_complain(r->complaints, at,
		    "unknown section «%s»; sections are [profile NAME] and "
		    "[policy NAME]",
		    word);
	return IN_UNKNOWN;
}

void
tide_reading_section(struct reading *r, struct source *s, char *line)
{
	char *word = line + 1 + strspn(line + 1, BLANK);
	char *close = strchr(line, ']'), *name;
	bool policy;

	s->section = IN_UNKNOWN;
	if (close == NULL || close[1] != '\0') {
		tide_complain(r->complaints, &s->at,
		    close == NULL ? "the closing «]» is missing"
				  : "nothing may follow the «]»");
		return;
	}
	while (close > word && strchr(BLANK, close[-1]) != NULL)
		close--;
	*close = '\0';
	name = word + strcspn(word, BLANK);
	if (*name != '\0')
		*name++ = '\0';
	name += strspn(name, BLANK);
	policy = strcmp(word, "policy") == 0;
	if (!policy && strcmp(word, "profile") != 0)
		s->section = unknown_section(r, &s->at, word);
	else if (*name == '\0')
		tide_complain(
		    r->complaints, &s->at, "[%s NAME] needs a name", word);
	else if (!good_name(name))
		tide_complain(r->complaints, &s->at,
		    "«%s» is no name for a %s: at most %d letters, "
		    "digits, «-» and «_»",
		    name, word, TIDE_NAME_MAX - 1);
	else if (policy)
		s->section = open_policy(r, &s->at, name);
	else
		s->section = open_profile(r, &s->at, name);
}

/* ---- keys ---------------------------------------------------------------- */

enum tide_param_section
tide_reading_kind(int section)
{
	if (section == IN_GLOBALS)
		return TIDE_OF_ALL;
	return section >= IN_POLICY && section < IN_EXCESS ? TIDE_OF_POLICY
							   : TIDE_OF_PROFILE;
}

/* It is known, but in another kind of section. */
static bool
belongs_elsewhere(struct reading *r, const struct source *s, const char *key)
{
	static const char *const where[TIDE_PARAM_SECTIONS] = {
		"«%s» is global; it must stand before the first section",
		"«%s» belongs into a [profile NAME] section",
		"«%s» belongs into a [policy NAME] section"
	};

	for (unsigned k = 0; k < TIDE_PARAM_SECTIONS; k++) {
		if (tide_param_find(key, k) == NULL)
			continue;
		tide_complain(r->complaints, &s->at, where[k], key);
		return true;
	}
	return false;
}

static void
unknown_key(struct reading *r, const struct source *s, const char *key)
{
	const char *names[TIDE_PARAMS_MAX], *meant;
	size_t n = 0;

	if (belongs_elsewhere(r, s, key))
		return;
	for (size_t i = 0; i < tide_params_count; i++)
		if (tide_params[i].section == tide_reading_kind(s->section))
			names[n++] = tide_params[i].name;
	meant = tide_nearest(key, names, n);
	if (meant != NULL)
		tide_complain(r->complaints, &s->at,
		    "unknown key «%s»; did you mean «%s»?", key, meant);
	else
		tide_complain(r->complaints, &s->at, "unknown key «%s»", key);
}

char *
tide_reading_value(struct reading *r, const struct source *s, char *text)
{
	size_t n = strlen(text);
	bool quoted = n >= 2 && text[0] == '"' && text[n - 1] == '"';

	if (quoted) {
		text[n - 1] = '\0';
		text++;
	}
	if (strchr(text, '"') == NULL)
		return text;
	tide_complain(r->complaints, &s->at,
	    "double quotes may only stand around the whole value");
	return NULL;
}

static void
assign(struct reading *r, struct source *s, const struct tide_param *p,
    char *value)
{
	struct place *set = &r->set[s->section][p - tide_params];
	void *base = r->config;
	struct tide_err err;

	if (set->file != NULL) {
		tide_complain(r->complaints, &s->at,
		    "«%s» was already set at %s:%u", p->name, set->file,
		    set->line);
		return;
	}
	*set = s->at;
	if (s->section == IN_EXCESS)
		base = &r->excess;
	else if (s->section >= IN_POLICY)
		base = &r->config->policy[s->section - IN_POLICY];
	else if (s->section != IN_GLOBALS)
		base = &r->config->profile[s->section - IN_PROFILE];
	value = tide_reading_value(r, s, value);
	set->bad = value == NULL;
	if (value != NULL && tide_param_set(p, base, value, &err) == -1) {
		set->bad = true;
		tide_complain(
		    r->complaints, &s->at, "%s: %s", p->name, err.text);
	}
}

void
tide_reading_key(struct reading *r, struct source *s, char *line)
{
	const struct tide_param *p;
	char *equals = strchr(line, '='), *value = equals + 1;

	while (equals > line && strchr(BLANK, equals[-1]) != NULL)
		equals--;
	*equals = '\0';
	value += strspn(value, BLANK);
	if (s->section == IN_UNKNOWN)
		return;
	if (*line == '\0') {
		tide_complain(
		    r->complaints, &s->at, "a key is missing before the «=»");
		return;
	}
	p = tide_param_find(line, tide_reading_kind(s->section));
	if (p == NULL)
		unknown_key(r, s, line);
	else
		assign(r, s, p, value);
}
