/*
 * setup, postfix try - have postconf read new files in a folder of their own,
 * before anything is changed.  What it says of them and not of the old ones
 * counts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../read/output.h"
#include "postfix.h"
#include "setup.h"
#include "text.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"

struct attempt {
	const struct postfix *was;
	const char *main, *master; /* as they shall be */
};

/* What postconf says of a folder: names it does not know, syntax. */
static char *
postconf_says(const struct setup *s, const char *program, const char *dir)
{
	static const char *const how[] = { "-n", "-M", "-P" };
	char *all = setup_format("%s", ""), *more, *out, *err;
	size_t i;

	for (i = 0; i < sizeof how / sizeof *how; i++) {
		const char *argv[] = { program, "-c", dir, how[i], NULL };
		int rc = setup_run(s, argv, &out, &err);

		more = setup_format(
		    "%s%s%s", all, err, rc != 0 ? "postconf failed\n" : "");
		free(all);
		free(out);
		free(err);
		all = more;
	}
	return all;
}

static int
write_copy(const char *dir, const char *name, const char *text)
{
	char *path = setup_format("%s/%s", dir, name);
	struct tide_err err;
	int rc = tide_files_replace(path, text, strlen(text), 0644, &err);

	if (rc != 0)
		complain("%s", err.text);
	free(path);
	return rc;
}

static void
remove_copy(const char *dir)
{
	static const char *const names[] = { "main.cf", "master.cf" };
	size_t i;

	for (i = 0; i < 2; i++) {
		char *path = setup_format("%s/%s", dir, names[i]);

		(void)unlink(path);
		free(path);
	}
	(void)rmdir(dir);
}

/* -1 if postconf says of the copy what it did not say before. */
static int
try_copy(const struct setup *s, const struct attempt *a, const char *program,
    const char *dir)
{
	const char *seen =
	    setup_runs_below(s, program) ? dir + strlen(s->root) : dir;
	char *was, *is, *rest, *line;
	int rc = 0;

	if (write_copy(dir, "main.cf", a->was->text[MAIN_CF]) != 0 ||
	    write_copy(dir, "master.cf", a->was->text[MASTER_CF]) != 0)
		return -1;
	was = postconf_says(s, program, seen);
	if (write_copy(dir, "main.cf", a->main) != 0 ||
	    write_copy(dir, "master.cf", a->master) != 0)
		rc = -1;
	is = rest = postconf_says(s, program, seen);
	while (rc == 0 && (line = setup_field(&rest, "\n")) != NULL) {
		if (line[0] != '\0' && strstr(was, line) == NULL) {
			complain("postconf does not like it: %s", line);
			rc = -1;
		}
	}
	free(was);
	free(is);
	return rc;
}

int
postfix_try(const struct setup *s, const struct postfix *was, const char *main,
    const char *master)
{
	struct attempt a = { was, main, master };
	static const char *const paths[] = { "/usr/sbin/postconf",
		"/usr/local/sbin/postconf", NULL };
	const char *program =
	    s->program != NULL ? s->program : setup_which(s, paths);
	char *dir;
	int rc;

	if (program == NULL) {
		complain("no postconf to read the new files; taken as they "
			 "are");
		return 0;
	}
	dir = setup_format("%s%s/.tidemark-XXXXXX", s->root, s->main_dir);
	if (mkdtemp(dir) == NULL) {
		complain("%s: %s", dir, strerror(errno));
		free(dir);
		return -1;
	}
	rc = try_copy(s, &a, program, dir);
	remove_copy(dir);
	free(dir);
	return rc;
}
