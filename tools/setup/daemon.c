/*
 * setup, daemon - see daemon.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/output.h"
#include "daemon.h"
#include "text.h"
#include "tidemark/settings/config.h"

/* ---- names of filters -------------------------------------------------- */

/* The filter that has the profile's socket, or the name it shall have. */
static int
filter_for(const struct setup *s, const struct sm_conf *c, int profile,
    char *name, size_t size)
{
	const char *want = s->config.profile[profile].socket;
	const struct sm_filter *f;
	size_t i;

	for (i = 0; i < c->filter_count; i++) {
		f = &c->filter[i];
		if (setup_same_socket(f->socket, want)) {
			(void)snprintf(name, size, "%s", f->name);
			return 0;
		}
	}
	setup_filter_name(s, profile, name, size);
	f = sm_filter(c, name);
	if (f == NULL)
		return 1; /* to be defined */
	complain("%s: %s is defined with S=%s, but profile %s has %s; mend "
		 "one of them first",
	    s->mc, name, f->socket, s->config.profile[profile].name, want);
	return -1;
}

static int
profile_of(const struct setup *s, const struct sm_daemon *d)
{
	int profile = setup_profile_by_name(s, d->name);

	return profile >= 0 ? profile : setup_profile_for(s, sm_is_internal(d));
}

bool
sm_has_ours(const struct setup *s, const struct sm_conf *c, const char *list)
{
	char *copy = setup_copy(list, strlen(list)), *rest = copy, *name;
	const struct sm_filter *f;
	bool has = false;

	while (!has && (name = setup_field(&rest, ";,")) != NULL) {
		f = sm_filter(c, name);
		has = setup_is_ours(
		    s, name, f != NULL ? setup_socket_path(f->socket) : NULL);
	}
	free(copy);
	return has;
}

/* ---- a daemon ---------------------------------------------------------- */

/* a, b; c -> a;b;c */
static void
put_list(FILE *f, const char *list, bool *any)
{
	char *copy = setup_copy(list, strlen(list)), *rest = copy, *name;

	while ((name = setup_field(&rest, ";,")) != NULL) {
		if (name[0] != '\0')
			(void)fprintf(f, "%s%s", *any ? ";" : "", name);
		*any = *any || name[0] != '\0';
	}
	free(copy);
}

/* Its options without the list of filters, and what a comma cut off it. */
static void
put_others(FILE *f, const char *options)
{
	bool behind = false, any = false;
	size_t n;

	for (;; options += n + 1) {
		const char *is;

		n = strcspn(options, ",");
		is = memchr(options, '=', n);
		if (is != NULL)
			behind = options[strspn(options, " \t\n")] == 'I' ||
			    options[strspn(options, " \t\n")] == 'i';
		if (!behind && n > 0) {
			(void)fprintf(
			    f, "%s%.*s", any ? "," : "", (int)n, options);
			any = true;
		}
		if (options[n] == '\0')
			return;
	}
}

char *
sm_better(const struct setup *s, const struct sm_conf *c,
    const struct sm_daemon *d, bool *needed, int *code)
{
	const char *list = sm_filters_of(c, d);
	int profile = profile_of(s, d);
	char name[SM_NAME_MAX], *text = NULL;
	bool any = false, ours;
	size_t length;
	FILE *f;

	ours = sm_has_ours(s, c, list) || sm_has_ours(s, c, d->lost);
	if (ours && d->lost[0] == '\0')
		return NULL;
	if (profile < 0 ||
	    (!ours &&
		(*code = filter_for(s, c, profile, name, sizeof name)) < 0)) {
		*code = -1;
		return NULL;
	}
	f = open_memstream(&text, &length);
	if (f == NULL)
		return NULL;
	put_others(f, d->text);
	(void)fprintf(f, ", InputMailFilters=");
	put_list(f, list, &any);
	put_list(f, d->lost, &any);
	if (!ours) {
		put_list(f, name, &any);
		needed[profile] = needed[profile] || *code == 1;
	}
	*code = 0;
	(void)fclose(f);
	return text;
}

void
sm_put_filters(FILE *f, const struct setup *s, const bool *needed,
    const char *before, const char *between, const char *after)
{
	int internal = s->config.profiles > 1 ? setup_profile_for(s, true) : -1;
	char name[SM_NAME_MAX];
	unsigned i;

	for (i = 0; i < s->config.profiles; i++) {
		if (!needed[i])
			continue;
		setup_filter_name(s, (int)i, name, sizeof name);
		(void)fprintf(f, "%s%s%sS=%s, %sT=C:10s;S:30s;R:30s;E:60s%s",
		    before, name, between, s->config.profile[i].socket,
		    (int)i == internal ? "F=T, " : "", after);
	}
}
