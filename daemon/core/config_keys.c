/*
 * config_keys - a "[section]" line, and "key = value".
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "config_read.h"
#include "tidemark/nearest.h"

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

static int
unknown_section(struct reading *r, const struct place *at, const char *word)
{
	static const char *const known[] = { "profile" };

	if (tide_nearest(word, known, 1) != NULL)
		tide_complain(r->complaints, at,
		    "unknown section «%s»; did you mean «profile»?", word);
	else
		tide_complain(r->complaints, at,
		    "unknown section «%s»; sections are [profile NAME]", word);
	return IN_UNKNOWN;
}

void
tide_reading_section(struct reading *r, struct source *s, char *line)
{
	char *word = line + 1 + strspn(line + 1, BLANK);
	char *close = strchr(line, ']'), *name;

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
	if (strcmp(word, "profile") != 0)
		s->section = unknown_section(r, &s->at, word);
	else if (*name == '\0')
		tide_complain(
		    r->complaints, &s->at, "[profile NAME] needs a name");
	else if (!good_name(name))
		tide_complain(r->complaints, &s->at,
		    "«%s» is no name for a profile: at most %d letters, "
		    "digits, «-» and «_»",
		    name, TIDE_NAME_MAX - 1);
	else
		s->section = open_profile(r, &s->at, name);
}

/* ---- keys ---------------------------------------------------------------- */

static void
unknown_key(struct reading *r, const struct source *s, const char *key)
{
	bool of_profile = s->section != IN_GLOBALS;
	const char *names[TIDE_PARAMS_MAX], *meant;
	size_t n = 0;

	for (size_t i = 0; i < tide_params_count; i++)
		if (tide_params[i].of_profile == of_profile)
			names[n++] = tide_params[i].name;
	meant = tide_nearest(key, names, n);
	if (tide_param_find(key, !of_profile) != NULL)
		tide_complain(r->complaints, &s->at,
		    of_profile ? "«%s» is global; it must stand before the "
				 "first section"
			       : "«%s» belongs into a [profile NAME] section",
		    key);
	else if (meant != NULL)
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
	p = tide_param_find(line, s->section != IN_GLOBALS);
	if (p == NULL)
		unknown_key(r, s, line);
	else
		assign(r, s, p, value);
}
