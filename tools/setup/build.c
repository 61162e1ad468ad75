/*
 * setup, build - sendmail.cf of a new sendmail.mc, made and tried in a folder
 * beside it before anything is changed.
 *
 * sendmail is asked in its test mode, which reads the whole file; what it
 * says of the new one and not of the old one counts.  It does not look at
 * filters in that mode: that is our own reading of the result.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../read/output.h"
#include "plan.h"
#include "plan_sendmail.h"
#include "sendmail_cf.h"
#include "setup.h"
#include "text.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"

/* A place to build in: as we name its files, and as the programs do. */
struct site {
	char *real;
	const char *tree; /* within real: without DIR */
};

static int
open_site(const struct setup *s, struct site *site)
{
	site->real = setup_format("%s%.*s/.tidemark-XXXXXX", s->root,
	    (int)(strrchr(s->cf, '/') - s->cf), s->cf);
	if (mkdtemp(site->real) == NULL) {
		complain("%s: %s", site->real, strerror(errno));
		return -1;
	}
	site->tree = site->real + strlen(s->root);
	return 0;
}

static char *
in_site(const struct site *site, bool below, const char *name)
{
	return setup_format("%s/%s", below ? site->tree : site->real, name);
}

static int
put(const struct site *site, const char *name, const char *text)
{
	char *path = in_site(site, false, name);
	struct tide_err err;
	int rc = tide_files_replace(path, text, strlen(text), 0600, &err);

	if (rc != 0)
		complain("%s", err.text);
	free(path);
	return rc;
}

static void
close_site(struct site *site)
{
	static const char *const names[] = { "old.mc", "new.mc", "old.cf",
		"new.cf" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		char *path = in_site(site, false, names[i]);

		(void)unlink(path);
		free(path);
	}
	(void)rmdir(site->real);
	free(site->real);
}

/* ---- m4 ---------------------------------------------------------------- */

static const char *
macros(const struct setup *s)
{
	static const char *const places[] = { "/usr/share/sendmail/cf",
		"/usr/share/sendmail-cf", "/usr/lib/sendmail-cf", NULL };

	return setup_which(s, places);
}

/*
 * Run it over a .mc of the site.  Most include cf.m4 themselves; for the
 * others it comes first.  NULL once it is said what m4 did not like.
 */
static char *
expand(const struct setup *s, const struct site *site, const char *name,
    const char *mc, char **says)
{
	static const char *const paths[] = { "/usr/bin/m4", "/usr/local/bin/m4",
		NULL };
	const char *m4 = setup_which(s, paths), *dir = macros(s);
	bool below = m4 != NULL && setup_runs_below(s, m4);
	char *file = in_site(site, below, name), *define, *first, *out;
	char *folder = setup_format("%s%.*s", below ? "" : s->root,
	    (int)(strrchr(s->mc, '/') - s->mc), s->mc);
	const char *argv[] = { m4 != NULL ? m4 : "m4", "-I", folder, NULL, NULL,
		NULL, NULL };
	size_t n = 3;
	int rc;

	define = setup_format(
	    "-D_CF_DIR_=%s%s/", below ? "" : s->root, dir != NULL ? dir : "");
	first = setup_format(
	    "%s%s/m4/cf.m4", below ? "" : s->root, dir != NULL ? dir : "");
	if (strstr(mc, "/cf.m4'") == NULL && dir != NULL) {
		argv[n++] = define;
		argv[n++] = first;
	}
	argv[n] = file;
	rc = setup_run(s, argv, &out, says);
	if (rc != 0) {
		complain("m4 %s: %s", s->mc, rc < 0 ? "there is no m4" : *says);
		free(out);
		out = NULL;
	}
	free(folder);
	free(first);
	free(define);
	free(file);
	return out;
}

/* The next line that is no comment and not empty; NULL at the end. */
static const char *
next_fact(const char *s)
{
	while (*s != '\0' && (*s == '#' || *s == '\n')) {
		s += strcspn(s, "\n");
		s += *s == '\n';
	}
	return *s != '\0' ? s : NULL;
}

/* Do both say the same to sendmail? */
static bool
same_facts(const char *a, const char *b, unsigned *line)
{
	const char *x = next_fact(a), *y = next_fact(b);
	size_t n;

	while (x != NULL && y != NULL) {
		n = strcspn(x, "\n");
		if (n != strcspn(y, "\n") || strncmp(x, y, n) != 0) {
			*line = setup_line_at(b, y);
			return false;
		}
		x = next_fact(x + n);
		y = next_fact(y + n);
	}
	*line = y != NULL ? setup_line_at(b, y) : 0;
	return x == NULL && y == NULL;
}

/* ---- sendmail ---------------------------------------------------------- */

/* What sendmail says when it reads that file; NULL if it cannot be asked. */
static char *
test_mode(const struct setup *s, const struct site *site, const char *name,
    int *status)
{
	static const char *const paths[] = { "/usr/libexec/sendmail/sendmail",
		"/usr/lib/sm.bin/sendmail", "/usr/sbin/sendmail.sendmail",
		NULL };
	const char *program =
	    s->program != NULL ? s->program : setup_which(s, paths);
	char *file, *option, *out, *err, *both, *at;
	const char *argv[4] = { program, NULL, "-bt", NULL };

	if (program == NULL)
		return NULL;
	file = in_site(site, setup_runs_below(s, program), name);
	option = setup_format("-C%s", file);
	argv[1] = option;
	*status = setup_run(s, argv, &out, &err);
	both = setup_format("%s%s", out, err);
	/* its own name and line numbers would make each line another one */
	while ((at = strstr(both, name)) != NULL)
		memset(at, '*', strlen(name));
	for (at = both; *at != '\0'; at++)
		if (isdigit((unsigned char)*at))
			*at = '#';
	free(out);
	free(err);
	free(option);
	free(file);
	return both;
}

/* Lines of `new' that are not in `old' are complaints. */
static int
compare(const struct setup *s, const char *old, char *new)
{
	char *line;
	int rc = 0;

	while ((line = setup_field(&new, "\n")) != NULL) {
		if (line[0] == '\0' || strstr(old, line) != NULL)
			continue;
		if (rc == 0)
			complain("sendmail does not like the %s that would "
				 "be:",
			    s->cf);
		complain("%s", line);
		rc = -1;
	}
	return rc;
}

static int
ask_sendmail(const struct setup *s, const struct site *site)
{
	int was = 0, is = 0, rc = 0;
	char *old = test_mode(s, site, "old.cf", &was);
	char *new = test_mode(s, site, "new.cf", &is);

	if (old == NULL || new == NULL || (was < 0 && is < 0))
		complain("no sendmail to read the new %s; taken as m4 made it",
		    s->cf);
	else if (is != was)
		complain(
		    "sendmail fails with the %s that would be: %s", s->cf, new);
	if (old != NULL && new != NULL && is != was)
		rc = -1;
	else if (old != NULL && new != NULL && is >= 0)
		rc = compare(s, old, new);
	free(old);
	free(new);
	return rc;
}

/* ---- our own reading --------------------------------------------------- */

static bool
daemon_is_fine(
    const struct setup *s, const struct sm_conf *c, const struct sm_daemon *d)
{
	const char *list = sm_filters_of(c, d);
	char *copy = setup_copy(list, strlen(list)), *rest = copy, *name;
	const struct sm_filter *f;
	bool ours = false, defined = true;

	while ((name = setup_field(&rest, ";,")) != NULL) {
		if (name[0] == '\0')
			continue;
		f = sm_filter(c, name);
		defined = defined && f != NULL;
		if (f == NULL)
			complain("%s: %s names a filter %s that nobody "
				 "defines",
			    s->mc, d->name, name);
		else
			ours = ours ||
			    setup_is_ours(
				s, name, setup_socket_path(f->socket));
	}
	free(copy);
	if (!ours)
		complain("daemon %s would still have no filter of Tidemark: "
			 "is its DAEMON_OPTIONS in a file that %s includes?  "
			 "Change it by hand",
		    d->name, s->mc);
	return ours && defined;
}

static int
read_it(const struct setup *s, const char *cf)
{
	static struct sm_conf c;
	size_t i;
	int rc = 0;

	sm_parse(&c, cf, strlen(cf));
	for (i = 0; i < c.daemon_count; i++)
		if (!daemon_is_fine(s, &c, &c.daemon[i]))
			rc = -1;
	return rc;
}

/* Debian's Makefile adds the .mc as a comment; so do we, where it has. */
static char *
with_trailer(const struct setup *s, char *cf, const char *old, const char *mc)
{
	char *head = setup_format("### %s ###\n", s->mc), *text = NULL;
	size_t length;
	FILE *f =
	    strstr(old, head) != NULL ? open_memstream(&text, &length) : NULL;

	if (f != NULL) {
		(void)fprintf(f, "%s%s", cf, head);
		for (; *mc != '\0'; mc += strcspn(mc, "\n"), mc += *mc == '\n')
			(void)fprintf(
			    f, "# %.*s\n", (int)strcspn(mc, "\n"), mc);
		(void)fclose(f);
		free(cf);
		cf = text;
	}
	free(head);
	return cf;
}

/* ---- all of it --------------------------------------------------------- */

static int
try(const struct setup *s, const struct site *site, const char *was,
    const char *is, const char *old_says, const char *new_says, const char *cf)
{
	unsigned line;

	if (!same_facts(was, cf, &line)) {
		complain("%s:%u is not what %s makes; build it first (make -C "
			 "/etc/mail), so that nothing else comes with our "
			 "change",
		    s->cf, line, s->mc);
		return -1;
	}
	if (new_says[0] != '\0' && old_says[0] == '\0') {
		complain("m4 does not like the %s that would be: %s", s->mc,
		    new_says);
		return -1;
	}
	if (read_it(s, is) != 0)
		return -1;
	if (put(site, "old.cf", cf) != 0 || put(site, "new.cf", is) != 0)
		return -1;
	return ask_sendmail(s, site);
}

int
setup_build_cf(const struct setup *s, struct setup_plan *p, const char *old,
    const char *new, const char *cf)
{
	char *was = NULL, *is = NULL, *old_says = NULL, *new_says = NULL;
	struct site site;
	int rc;

	if (cf == NULL) {
		complain("there is no %s yet: build it first (make -C "
			 "/etc/mail)",
		    s->cf);
		return -1;
	}
	if (open_site(s, &site) != 0)
		return -1;
	rc = put(&site, "old.mc", old);
	if (rc == 0)
		rc = put(&site, "new.mc", new);
	if (rc == 0)
		was = expand(s, &site, "old.mc", old, &old_says);
	if (was != NULL)
		is = expand(s, &site, "new.mc", new, &new_says);
	rc = was != NULL && is != NULL
	    ? try(s, &site, was, is, old_says, new_says, cf)
	    : -1;
	if (rc == 0) {
		is = with_trailer(s, is, cf, new);
		plan_file(p, setup_format("%s", s->cf), setup_format("%s", cf),
		    setup_format("%s", is), "as m4 makes it of sendmail.mc");
	}
	close_site(&site);
	free(was);
	free(is);
	free(old_says);
	free(new_says);
	return rc;
}
