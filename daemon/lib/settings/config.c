/*
 * config - the settings, parsed.  See config.h.
 *
 * Loading starts from the defaults, reads the file line by line
 * (config_lines.c, config_keys.c), fills in what defaults by a profile's name
 * and checks that all fits together (config_check.c).
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_read.h"
#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/params.h"

#define COMPLAINTS_SHOWN 100

void
tide_complaints_free(struct tide_complaints *c)
{
	free(c->text);
	memset(c, 0, sizeof *c);
}

/* Without memory for the text the count still tells that all is not well. */
static void
append(struct tide_complaints *c, const char *line)
{
	size_t n = strlen(line);
	char *longer = realloc(c->text, c->length + n + 1);

	if (longer == NULL)
		return;
	memcpy(longer + c->length, line, n + 1);
	c->text = longer;
	c->length += n;
}

bool
tide_complaints_pass(const struct tide_complaints *c)
{
	return c->count == c->passable;
}

static void
add_complaint(struct tide_complaints *c, const struct place *at,
    const char *fmt, va_list ap)
{
	char line[32] = "";
	char *sentence = NULL;

	if (++c->count > COMPLAINTS_SHOWN)
		return;
	if (vasprintf(&sentence, fmt, ap) == -1)
		sentence = NULL;
	if (at->file != NULL) {
		(void)snprintf(line, sizeof line, ":%u: ", at->line);
		append(c, at->file);
		append(c, line);
	}
	append(c, sentence != NULL ? sentence : "out of memory");
	append(c, "\n");
	free(sentence);
}

void
tide_complain(
    struct tide_complaints *c, const struct place *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_complaint(c, at, fmt, ap);
	va_end(ap);
}

void
tide_complain_passable(
    struct tide_complaints *c, const struct place *at, const char *fmt, ...)
{
	va_list ap;

	c->passable++;
	va_start(ap, fmt);
	add_complaint(c, at, fmt, ap);
	va_end(ap);
}

/* "100 complaints are enough": a wrong file may be wrong in every line. */
static void
tell_rest(struct tide_complaints *c)
{
	char rest[64];

	if (c->count <= COMPLAINTS_SHOWN)
		return;
	(void)snprintf(
	    rest, sizeof rest, "and %u more\n", c->count - COMPLAINTS_SHOWN);
	append(c, rest);
}

static void
set_default(const struct tide_param *p, struct tide_config *c, unsigned i)
{
	char text[TIDE_PARAM_TEXT_MAX];
	struct tide_err err;

	(void)tide_param_default(p, c, i, text, sizeof text);
	/* a path too long leaves the socket empty, which the check finds */
	if (tide_param_set(p, tide_param_base(p, c, i), text, &err) == -1)
		assert(p->kind == TIDE_PARAM_SOCKET);
}

/* Give the i-th section of a kind the default of all that nobody set. */
static void
fill_section(struct tide_config *c, enum tide_param_section section, unsigned i,
    const struct place *set)
{
	for (size_t k = 0; k < tide_params_count; k++)
		if (tide_params[k].section == section &&
		    (set == NULL || set[k].file == NULL))
			set_default(&tide_params[k], c, i);
}

/* Cut short, it is longer than the check allows. */
static void
set_dir(char *dir, size_t size, const char *root, const char *name)
{
	memset(dir, 0, size);
	(void)snprintf(dir, size, "%s/%s", root, name);
}

void
tide_config_defaults(struct tide_config *c, const char *root)
{
	static const char *const built_in[] = { "external", "internal" };

	memset(c, 0, sizeof *c);
	fill_section(c, TIDE_OF_ALL, 0, NULL);
	if (root != NULL) {
		set_dir(c->runtime_dir, sizeof c->runtime_dir, root, "run");
		set_dir(c->state_dir, sizeof c->state_dir, root, "state");
		set_dir(c->log, sizeof c->log, root, "log");
	}
	for (; c->profiles < 2; c->profiles++) {
		struct tide_profile *p = &c->profile[c->profiles];

		(void)snprintf(
		    p->name, sizeof p->name, "%s", built_in[c->profiles]);
		fill_section(c, TIDE_OF_PROFILE, c->profiles, NULL);
	}
}

static void
end_reading(struct reading *r)
{
	for (size_t i = 0; i < r->names_count; i++)
		free(r->names[i]);
	free(r->names);
	free(r);
}

int
tide_config_load(
    struct tide_config *c, const char *path, struct tide_complaints *complaints)
{
	struct reading *r = calloc(1, sizeof *r);
	const struct place nowhere = { .file = NULL };

	memset(complaints, 0, sizeof *complaints);
	tide_config_defaults(c, NULL);
	if (r == NULL) {
		tide_complain(complaints, &nowhere, "out of memory");
		return -1;
	}
	r->config = c;
	r->complaints = complaints;
	tide_reading_file(r, NULL, path);
	for (unsigned i = 0; i < c->profiles; i++)
		fill_section(c, TIDE_OF_PROFILE, i, r->set[IN_PROFILE + i]);
	for (unsigned i = 0; i < c->policies; i++)
		fill_section(c, TIDE_OF_POLICY, i, r->set[IN_POLICY + i]);
	tide_reading_check(r);
	tell_rest(complaints);
	end_reading(r);
	return complaints->count == 0 ? 0 : -1;
}

void
tide_config_sources(
    const char *path, void (*each)(void *arg, const char *file), void *arg)
{
	struct reading *r = calloc(1, sizeof *r);
	struct tide_config *c = malloc(sizeof *c);
	struct tide_complaints complaints = { 0 };

	if (r != NULL && c != NULL) {
		tide_config_defaults(c, NULL);
		r->config = c;
		r->complaints = &complaints;
		tide_reading_file(r, NULL, path);
		for (size_t i = 0; i < r->names_count; i++)
			each(arg, r->names[i]);
		end_reading(r);
		r = NULL;
	}
	tide_complaints_free(&complaints);
	free(r);
	free(c);
}

int
tide_config_check(
    const struct tide_config *c, struct tide_complaints *complaints)
{
	struct reading *r = calloc(1, sizeof *r);
	struct tide_config copy = *c;
	const struct place nowhere = { .file = NULL };

	memset(complaints, 0, sizeof *complaints);
	if (r == NULL) {
		tide_complain(complaints, &nowhere, "out of memory");
		return -1;
	}
	r->config = &copy;
	r->complaints = complaints;
	tide_reading_check(r);
	free(r);
	return complaints->count == 0 ? 0 : -1;
}

const char *
tide_config_live(const struct tide_config *c, char *buf, size_t size)
{
	if (c->live_file[0] != '\0')
		(void)snprintf(buf, size, "%s", c->live_file);
	else
		(void)snprintf(buf, size, "%s/live.mdb", c->runtime_dir);
	return buf;
}

int
tide_config_profile(const struct tide_config *c, const char *name)
{
	for (unsigned i = 0; i < c->profiles; i++)
		if (strcmp(c->profile[i].name, name) == 0)
			return (int)i;
	return -1;
}

int
tide_config_policy(const struct tide_config *c, const char *name)
{
	for (unsigned i = 0; i < c->policies; i++)
		if (strcmp(c->policy[i].name, name) == 0)
			return (int)i;
	return -1;
}

bool
tide_config_has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	if (n == 0)
		return false;
	while (*words != '\0') {
		size_t length = strcspn(words, " ");

		if (length == n && memcmp(words, word, n) == 0)
			return true;
		words += length;
		words += strspn(words, " ");
	}
	return false;
}
