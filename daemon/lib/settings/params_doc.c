/*
 * params_doc - the table of settings as configuration, sample and manual.
 */
#include <stdio.h>
#include <string.h>

#include "tidemark/settings/config.h"
#include "tidemark/settings/params.h"

#define COLUMNS 76

/* ---- tide_params_write --------------------------------------------------- */

/* Quotes only where the parser would take blanks or a comment off. */
static void
write_key(FILE *f, const char *mark, const char *name, const char *value)
{
	size_t n = strlen(value);
	bool quote = n > 0 &&
	    (value[0] == ' ' || value[0] == '#' || value[n - 1] == ' ' ||
		strstr(value, " #") != NULL || strstr(value, "\t") != NULL);

	(void)fprintf(f, "%s%s =%s", mark, name, n > 0 ? " " : "");
	(void)fprintf(f, quote ? "\"%s\"\n" : "%s\n", value);
}

static void
write_section(FILE *f, const struct tide_config *c,
    enum tide_param_section section, unsigned index, bool differences)
{
	char value[TIDE_PARAM_TEXT_MAX];

	for (size_t i = 0; i < tide_params_count; i++) {
		const struct tide_param *p = &tide_params[i];

		if (p->section != section ||
		    (differences && tide_param_is_default(p, c, index)))
			continue;
		write_key(f, "", p->name,
		    tide_param_show(p, c, index, value, sizeof value));
	}
}

void
tide_params_write(FILE *f, const struct tide_config *c, bool differences)
{
	unsigned profiles = c->profiles;

	write_section(f, c, TIDE_OF_ALL, 0, differences);
	if (differences && tide_profiles_are_default(c))
		profiles = 0;
	for (unsigned i = 0; i < profiles; i++) {
		(void)fprintf(f, "\n[profile %s]\n", c->profile[i].name);
		write_section(f, c, TIDE_OF_PROFILE, i, differences);
	}
	for (unsigned i = 0; i < c->policies; i++) {
		(void)fprintf(f, "\n[policy %s]\n", c->policy[i].name);
		write_section(f, c, TIDE_OF_POLICY, i, differences);
	}
}

/* ---- tide_params_sample -------------------------------------------------- */

/* A paragraph of comment, broken at blanks. */
static void
write_comment(FILE *f, const char *text)
{
	size_t column = 0, n;

	for (; *text != '\0'; text += n, text += strspn(text, " ")) {
		n = strcspn(text, " ");
		if (column > 0 && column + 1 + n > COLUMNS) {
			(void)fputc('\n', f);
			column = 0;
		}
		(void)fprintf(
		    f, "%s%.*s", column == 0 ? "# " : " ", (int)n, text);
		column += n + 1;
	}
	(void)fputc('\n', f);
}

/* What may be said and when it counts: "From 1 to 4096; needs a restart." */
static void
write_limits(FILE *f, const struct tide_param *p)
{
	char line[256] = "";
	size_t at = 0;

	if (p->least != NULL)
		at = (size_t)snprintf(
		    line, sizeof line, "%s to %s. ", p->least, p->most);
	for (size_t i = 0; p->choices != NULL && p->choices[i] != NULL; i++)
		at += (size_t)snprintf(line + at, sizeof line - at, "%s%s",
		    p->choices[i], p->choices[i + 1] != NULL ? ", " : ". ");
	if (p->change == TIDE_CHANGE_RESTART)
		at += (size_t)snprintf(
		    line + at, sizeof line - at, "Needs a restart.");
	if (at > 0)
		write_comment(f, line);
}

static void
sample_section(FILE *f, const struct tide_config *c,
    enum tide_param_section section, unsigned index, bool help)
{
	char value[TIDE_PARAM_TEXT_MAX];

	for (size_t i = 0; i < tide_params_count; i++) {
		const struct tide_param *p = &tide_params[i];

		if (p->section != section)
			continue;
		if (p->topic != NULL)
			(void)fprintf(f, "\n# ---- %s ----\n", p->topic);
		if (help) {
			(void)fputc('\n', f);
			write_comment(f, p->help);
			write_limits(f, p);
		}
		write_key(f, "#", p->name,
		    tide_param_default(p, c, index, value, sizeof value));
	}
}

void
tide_params_sample(FILE *f)
{
	struct tide_config c;

	tide_config_defaults(&c, NULL);
	write_comment(f,
	    "Tidemark's configuration; see tidemark.conf(5). "
	    "Every setting stands here with its default, commented out. "
	    "Check a change with: tidemark configtest");
	sample_section(f, &c, TIDE_OF_ALL, 0, true);
	(void)fprintf(f, "\n# ---- Profiles ----\n\n");
	write_comment(f,
	    "A profile is a socket for the mail server and how the mail "
	    "that comes through it is treated. These two are built in; "
	    "once a [profile NAME] stands in a file, only those in the "
	    "files count.");
	for (unsigned i = 0; i < c.profiles; i++) {
		(void)fprintf(f, "\n#[profile %s]\n", c.profile[i].name);
		sample_section(f, &c, TIDE_OF_PROFILE, i, i == 0);
	}
	(void)fprintf(f, "\n# ---- Policy servers ----\n\n");
	write_comment(f,
	    "A policy server is a socket that Postfix asks at each recipient "
	    "and at the end of a message (check_policy_service). There is none "
	    "unless a section says so.");
	(void)snprintf(c.policy[0].name, sizeof c.policy[0].name, "submission");
	(void)fprintf(f, "\n#[policy %s]\n", c.policy[0].name);
	sample_section(f, &c, TIDE_OF_POLICY, 0, true);
	(void)fprintf(f, "\n# ---- More files ----\n\n");
	write_comment(f,
	    "Read in the order of their names. "
	    "Each starts outside any section.");
	(void)fprintf(f, "include conf.d/*.conf\n");
}

/* ---- tide_params_man ----------------------------------------------------- */

static void
man_word(FILE *f, const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (word[i] == '\\')
			(void)fputs("\\e", f);
		else if (word[i] == '"')
			(void)fputs("\\(dq", f);
		else
			(void)fputc(word[i], f);
}

/* Text for roff: a sentence starts a line, no line is longer than COLUMNS. */
static void
man_text(FILE *f, const char *text)
{
	size_t column = 0, n;
	char last = '.';

	for (; *text != '\0'; text += n, text += strspn(text, " ")) {
		n = strcspn(text, " ");
		if (column > 0 && (last == '.' || column + 1 + n > COLUMNS)) {
			(void)fputc('\n', f);
			column = 0;
		}
		if (column > 0)
			(void)fputc(' ', f);
		else if (*text == '.' || *text == '\'')
			(void)fputs("\\&", f); /* not a request */
		man_word(f, text, n);
		column += n + 1;
		last = text[n - 1];
	}
	(void)fputc('\n', f);
}

static void
man_param(FILE *f, const struct tide_param *p)
{
	(void)fprintf(f, ".It Ic %s No = Ar %s\n", p->name,
	    tide_param_kind_name(p->kind));
	man_text(f, p->help);
	if (p->choices != NULL) {
		(void)fprintf(f, "One of");
		for (size_t i = 0; p->choices[i] != NULL; i++)
			(void)fprintf(f, "\n.Cm %s%s", p->choices[i],
			    p->choices[i + 1] != NULL ? " ," : " .\n");
	}
	if (p->least != NULL)
		(void)fprintf(f, "From %s to %s.\n", p->least, p->most);
	if (p->fallback[0] != '\0')
		(void)fprintf(f, "Default:\n.Li %s .\n", p->fallback);
	if (p->change == TIDE_CHANGE_RESTART)
		(void)fprintf(f, "A change needs a restart.\n");
}

void
tide_params_man(FILE *f)
{
	static const char *const title[TIDE_PARAM_SECTIONS] = {
		"Global settings", "Settings of a profile",
		"Settings of a policy server"
	};

	for (unsigned s = 0; s < TIDE_PARAM_SECTIONS; s++) {
		(void)fprintf(f, ".Ss %s\n.Bl -tag -width Ds\n", title[s]);
		for (size_t i = 0; i < tide_params_count; i++)
			if (tide_params[i].section == s)
				man_param(f, &tide_params[i]);
		(void)fprintf(f, ".El\n");
	}
}
