/*
 * setup - Tidemark beside sendmail or Postfix: print what has to be changed,
 * change it, put it back, or find what is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../read/output.h"
#include "../tool.h"
#include "plan.h"
#include "setup.h"
#include "text.h"
#include "tidemark/settings/config.h"

enum what { PRINT, APPLY, UNDO, CHECK };

enum {
	OPT_APPLY = OPT_OWN,
	OPT_UNDO,
	OPT_CHECK,
	OPT_IF_UNCHANGED,
	OPT_MC,
	OPT_CF,
	OPT_MAIN,
	OPT_PROGRAM
};

static const struct option longs[] = {
	{ "apply", no_argument, NULL, OPT_APPLY },
	{ "undo", no_argument, NULL, OPT_UNDO },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "if-unchanged", no_argument, NULL, OPT_IF_UNCHANGED },
	{ "mc", required_argument, NULL, OPT_MC },
	{ "cf", required_argument, NULL, OPT_CF },
	{ "main-cf", required_argument, NULL, OPT_MAIN },
	{ "program", required_argument, NULL, OPT_PROGRAM },
	{ NULL, 0, NULL, 0 },
};

static void
choose(const struct tool *t, enum what *what, enum what new)
{
	if (*what != PRINT)
		tool_misused(t, "one of --apply, --undo and --check");
	*what = new;
}

static enum what
take_options(struct tool *t, struct setup *s)
{
	enum what what = PRINT;
	int c;

	while ((c = tool_getopt(t, "", longs)) != -1) {
		switch (c) {
		case OPT_APPLY:
			choose(t, &what, APPLY);
			break;
		case OPT_UNDO:
			choose(t, &what, UNDO);
			break;
		case OPT_CHECK:
			choose(t, &what, CHECK);
			break;
		case OPT_IF_UNCHANGED:
			s->all_or_nothing = true;
			break;
		case OPT_MC:
			s->mc = optarg;
			break;
		case OPT_CF:
			s->cf = optarg;
			break;
		case OPT_MAIN:
			s->main_dir = optarg;
			break;
		default:
			s->program = optarg;
			break;
		}
	}
	if (s->all_or_nothing && what != UNDO)
		tool_misused(t, "--if-unchanged belongs to --undo");
	return what;
}

/* Every path is an absolute one: of this machine, or of the tree below DIR. */
static void
check_paths(const struct tool *t, const struct setup *s)
{
	if (s->mc[0] != '/' || s->cf[0] != '/' || s->main_dir[0] != '/')
		tool_misused(t, "--mc, --cf and --main-cf take whole paths");
}

/* Tidemark's settings: of DIR, of the file named, or the built-in ones. */
static int
read_settings(struct setup *s, const struct tool *t, char **conf)
{
	struct tide_complaints complaints = { 0 };
	const char *path = s->root[0] == '\0' ? tool_config_path(t) : NULL;
	char *real;

	*conf = path != NULL ? realpath(path, NULL) : NULL;
	if (path != NULL && *conf == NULL)
		*conf = setup_format("%s", path);
	if (*conf == NULL)
		*conf = setup_format("%s", TIDE_CONF_PATH);
	s->conf = *conf;
	real = setup_real(s, s->conf);
	s->conf_there = access(real, R_OK) == 0;
	if (!s->conf_there && t->conf != NULL) {
		complain("%s cannot be read", t->conf);
		free(real);
		return -1;
	}
	tide_config_defaults(&s->config, NULL);
	s->conf_wrong = s->conf_there &&
	    tide_config_load(&s->config, real, &complaints) != 0 &&
	    !tide_complaints_pass(&complaints);
	tide_complaints_free(&complaints); /* --check tells of them */
	free(real);
	return 0;
}

static int
print_or_apply(struct setup *s, bool sendmail, bool apply)
{
	struct setup_plan plan = { .files = 0 };
	int rc;

	if (s->conf_wrong) /* whose sockets would be anybody's guess */
		complain("%s has mistakes (see tidemark configtest)%s", s->conf,
		    apply ? ": mend them first" : "; lines by what is right");
	if (s->conf_wrong && apply)
		return TOOL_ERROR;
	rc = sendmail ? setup_plan_sendmail(s, &plan, apply)
		      : setup_plan_postfix(s, &plan, apply);
	if (rc == 0 && apply)
		rc = plan_apply(s, sendmail ? "sendmail" : "postfix", &plan);
	if (rc == 0)
		plan_print(s, &plan, apply);
	plan_free(&plan);
	return rc == 0 ? TOOL_OK : TOOL_ERROR;
}

static int
undo(struct setup *s, const char *mta, bool sendmail)
{
	struct setup_plan after = { .files = 0 };
	bool any = false;
	int code = plan_undo(s, mta, &any);

	if (any && sendmail)
		plan_command(&after, "makes sendmail.cf of sendmail.mc",
		    "make -C /etc/mail");
	if (any) {
		plan_command(&after, "it has to read them again",
		    sendmail ? "systemctl restart sendmail" : "postfix reload");
		plan_command(&after, "if its unit or settings were among them",
		    "systemctl daemon-reload; systemctl restart tidemark");
		plan_print_commands(s, &after);
	}
	plan_free(&after);
	return code;
}

static int
check(struct setup *s, bool sendmail)
{
	int rc = sendmail ? setup_check_sendmail(s) : setup_check_postfix(s);

	return rc == 0 ? setup_verdict(s) : TOOL_ERROR;
}

int
run_setup(struct tool *t)
{
	static struct setup s = { .mc = "/etc/mail/sendmail.mc",
		.cf = "/etc/mail/sendmail.cf",
		.submit = "/etc/mail/submit.cf",
		.main_dir = "/etc/postfix" };
	static const char *const names[] = { "sendmail", "postfix", NULL };
	enum what what = take_options(t, &s);
	char *const *words = tool_arguments(t, 1);
	char *root = t->root != NULL ? realpath(t->root, NULL) : NULL, *conf;
	bool sendmail = strcmp(words[0], "sendmail") == 0;
	int code;

	(void)tool_choice(t, NULL, words[0], names);
	check_paths(t, &s);
	if (t->root != NULL && root == NULL)
		tool_misused(t, "there is no folder %s", t->root);
	s.tool = t;
	s.root = root != NULL && strcmp(root, "/") != 0 ? root : "";
	code = read_settings(&s, t, &conf) == 0 ? TOOL_OK : TOOL_ERROR;
	if (code == TOOL_OK && what == CHECK)
		code = check(&s, sendmail);
	else if (code == TOOL_OK && what == UNDO)
		code = undo(&s, words[0], sendmail);
	else if (code == TOOL_OK)
		code = print_or_apply(&s, sendmail, what == APPLY);
	free(conf);
	free(root);
	return code;
}
