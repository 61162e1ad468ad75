/*
 * setup, edit mc - what sendmail.mc has to say for Tidemark.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/output.h"
#include "daemon.h"
#include "mc.h"
#include "plan_sendmail.h"
#include "sendmail_cf.h"
#include "setup.h"
#include "text.h"
#include "tidemark/settings/config.h"

/* The text with each call's options replaced where that is needed. */
static char *
edit_calls(const struct setup *s, const struct sm_conf *c, const char *text,
    bool *needed, int *code)
{
	char *new = NULL, *options, *raw;
	struct sm_daemon d;
	struct mc_call call;
	size_t length;
	FILE *f = open_memstream(&new, &length);

	if (f == NULL)
		return NULL;
	for (; *code == 0 && mc_next(text, "DAEMON_OPTIONS", &call);
	     text = call.end) {
		raw = setup_copy(call.arg[0], call.length[0]);
		sm_parse_daemon(&d, raw);
		options = sm_better(s, c, &d, needed, code);
		if (options == NULL)
			options = setup_format("%s", raw);
		(void)fprintf(f, "%.*s%s%.*s", (int)(call.arg[0] - text), text,
		    options,
		    (int)(call.end - call.arg[0] - (long)call.length[0]),
		    call.arg[0] + call.length[0]);
		free(options);
		free(raw);
	}
	(void)fputs(text, f);
	(void)fclose(f);
	return new;
}

/* Has the .mc a daemon of that name? */
static bool
stands_in(const char *mc, const char *name)
{
	struct mc_call call;
	struct sm_daemon d;
	bool same = false;

	for (; !same && mc_next(mc, "DAEMON_OPTIONS", &call); mc = call.end) {
		char *options = setup_copy(call.arg[0], call.length[0]);

		sm_parse_daemon(&d, options);
		same = d.name[0] != '\0' ? strcmp(d.name, name) == 0
					 : strncmp(name, "Daemon", 6) == 0;
		free(options);
	}
	return same;
}

/* A daemon that sendmail adds by itself gets a line of its own. */
static void
put_implied(FILE *f, const struct setup *s, const struct sm_conf *c,
    const char *options, bool *needed, int *code)
{
	struct sm_daemon d;
	char *text;

	sm_parse_daemon(&d, options);
	text = sm_better(s, c, &d, needed, code);
	if (text != NULL)
		(void)fprintf(f, "DAEMON_OPTIONS(`%s')dnl\n", text);
	free(text);
}

/* Daemons that sendmail adds; the last one unless it is told not to. */
static const char *const by_itself[] = { "Name=MTA", "Name=MTA-v4, Family=inet",
	"Name=MTA-v6, Family=inet6", "Port=587, Name=MSA, M=E" };

#define BY_ITSELF (sizeof by_itself / sizeof *by_itself)

static bool
cf_is_there(const struct sm_conf *cf)
{
	return cf->daemon_count > 0 && cf->daemon[0].line > 0;
}

/*
 * Did sendmail add it?  Without a .cf it will, unless the .mc says otherwise;
 * a .cf knows, also about files that the .mc includes.
 */
static bool
is_implied(const char *mc, const struct sm_conf *cf, size_t which)
{
	bool msa = which == BY_ITSELF - 1;
	struct mc_call call;
	size_t i;

	if (msa ? mc_has_feature(mc, "no_default_msa") || stands_in(mc, "MSA")
		: mc_next(mc, "DAEMON_OPTIONS", &call))
		return false;
	if (!cf_is_there(cf))
		return which == 0 || msa;
	for (i = 0; i < cf->daemon_count; i++)
		if (strcmp(cf->daemon[i].text, by_itself[which]) == 0)
			return true;
	return false;
}

static void
put_all_implied(FILE *f, const struct setup *s, const struct sm_conf *c,
    const char *mc, const struct sm_conf *cf, bool *needed, int *code)
{
	size_t i;

	for (i = 0; i < BY_ITSELF; i++) {
		if (!is_implied(mc, cf, i))
			continue;
		if (i == BY_ITSELF - 1)
			(void)fprintf(f, "FEATURE(`no_default_msa')dnl\n");
		put_implied(f, s, c, by_itself[i], needed, code);
	}
}

int
setup_tell_of_others(
    const struct setup *s, const char *mc, const struct sm_conf *cf)
{
	const struct sm_daemon *d;
	size_t i, k;
	int rc = 0;

	for (i = 0; cf_is_there(cf) && i < cf->daemon_count; i++) {
		d = &cf->daemon[i];
		for (k = 0; k < BY_ITSELF && strcmp(d->text, by_itself[k]) != 0;
		     k++)
			;
		if (k < BY_ITSELF || sm_has_ours(s, cf, sm_filters_of(cf, d)) ||
		    stands_in(mc, d->name))
			continue;
		complain("%s:%u: daemon %s has no filter of Tidemark, and no "
			 "DAEMON_OPTIONS in %s that can be read: change it by "
			 "hand, where it is",
		    s->cf, d->line, d->name, s->mc);
		rc = -1;
	}
	return rc;
}

/*
 * The filters that only sendmail.cf knows: of files that .mc includes.  Its
 * list for all daemons is the whole one; ours of the .mc may be a part.
 */
static void
add_filters(struct sm_conf *c, const struct sm_conf *cf)
{
	size_t i;

	for (i = 0; i < cf->filter_count; i++)
		if (sm_filter(c, cf->filter[i].name) == NULL &&
		    c->filter_count < SM_FILTERS_MAX)
			c->filter[c->filter_count++] = cf->filter[i];
	if (cf->filters[0] != '\0')
		memcpy(c->filters, cf->filters, sizeof c->filters);
}

char *
setup_edit_mc(const struct setup *s, const char *mc, const struct sm_conf *cf)
{
	bool needed[TIDE_PROFILES_MAX] = { false };
	static struct sm_conf c;
	char *edited, *lines = NULL, *implied = NULL, *new = NULL;
	const char *place;
	size_t length;
	int code = 0;
	FILE *f;

	mc_parse(&c, mc);
	add_filters(&c, cf);
	edited = edit_calls(s, &c, mc, needed, &code);
	f = open_memstream(&implied, &length);
	if (f != NULL && code == 0)
		put_all_implied(f, s, &c, mc, cf, needed, &code);
	if (f != NULL)
		(void)fclose(f);
	f = open_memstream(&lines, &length);
	if (f != NULL) {
		sm_put_filters(
		    f, s, needed, "MAIL_FILTER(`", "', `", "')dnl\n");
		(void)fclose(f);
	}
	if (code == 0 && edited != NULL && implied != NULL && lines != NULL) {
		place = mc_place(edited);
		new = setup_format("%.*s%s%s%s%s", (int)(place - edited),
		    edited, lines[0] != '\0' ? "dnl Tidemark\n" : "", lines,
		    implied, place);
	}
	free(edited);
	free(implied);
	free(lines);
	return new;
}
