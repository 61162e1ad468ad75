/*
 * forget - have the daemon remove what it knows about somebody, and say what
 * cannot be removed, one by one, with the time at which it goes by itself.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "order.h"
#include "read/json.h"
#include "read/output.h"
#include "tool.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/line.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"

/* ---- words ------------------------------------------------------------- */

static const struct word {
	const char *what;
	const char *text;  /* singular, as far as it takes an s */
	const char *after; /* and then */
} gone_words[] = {
	{ "buckets", "bucket", "" },
	{ "bans", "ban", ", with how often it was made" },
	{ "allowances", "allowance", "" },
	{ "estimates", "estimate", " of different recipients or clients" },
	{ "decisions", "decision", " (tidemark tail)" },
	{ "exceptions", "exception", "" },
	{ "listed", "place", " in the list of spam addresses" },
};

static const struct word left_words[] = {
	{ "windows",
	    "windows of mail that passed hold it, probably: only a hash under "
	    "the secret key, which answers when asked and names nobody",
	    "" },
	{ "listed",
	    "the list of spam addresses holds it, and cannot give it back: "
	    "load the list anew without it, or use addresses_form = counting",
	    "" },
	{ "accounts",
	    "allowances under names that nothing else has named (of accounts, "
	    "of networks it wrote from) are fingerprints: they fall free when "
	    "they are full again",
	    "" },
	{ "estimates",
	    "estimates of others, to whom or from whom it wrote, have counted "
	    "it: they name nobody",
	    "" },
	{ "reasons",
	    "reasons of other bans or exceptions name it: lift and make them "
	    "anew",
	    "" },
	{ "settings", "lines of the configuration name it: edit them", "" },
	{ "workers",
	    "workers are in the middle of a session and may know it until "
	    "that ends",
	    "" },
	{ "memory",
	    "a bucket's name waits in the live map for a worker that does not "
	    "end, or a ban is just being made: run this again",
	    "" },
	{ "readers",
	    "the archive's free room could not be overwritten while somebody "
	    "(a backup?) reads an older state of it: run this again",
	    "" },
	{ "records", "records about others have it as a part of theirs", "" },
	{ "long",
	    "names too long to be kept whole begin as it does, and may be its "
	    "own: see tidemark bucket list and tidemark banned, and forget "
	    "each as it stands there",
	    "" },
	{ "egress",
	    "entries about who may reach which mail server are about it: "
	    "tidemark egress deny del, tidemark egress permit del",
	    "" },
};

static struct word
find_word(const struct word *words, size_t n, const char *what)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(words[i].what, what) == 0)
			return words[i];
	return (struct word){ what, what, "" };
}

/* ---- telling ----------------------------------------------------------- */

static struct {
	bool dry;
	bool asking; /* what goes is shown first; the rest comes later */
	bool unban;  /* bans made by hand, too */
	uint64_t gone, by_hand;
} so_far;

static void
say_gone(const struct tool *t, const char *what, uint64_t count)
{
	const struct word w =
	    find_word(gone_words, sizeof gone_words / sizeof *gone_words, what);
	struct json j;

	so_far.gone += count;
	if (t->json) {
		j = json_record(stdout, so_far.dry ? "would-forget" : "forgot");
		json_text(&j, "what", what);
		json_number(&j, "count", count);
		json_record_end(&j);
	} else if (count > 0) {
		printf("%s %llu %s%s%s\n", so_far.dry ? "would go:" : "gone:",
		    (unsigned long long)count, w.text, plural(count), w.after);
	}
}

static void
say_left(const struct tool *t, const char *what, const char *text,
    uint64_t count, uint64_t until_ms)
{
	char when[SHOW_MAX];
	struct json j;

	if (t->json) {
		j = json_record(stdout, "left");
		json_text(&j, "what", what);
		json_number(&j, "count", count);
		json_time(&j, "until", until_ms);
		json_text(&j, "text", text);
		json_record_end(&j);
		return;
	}
	printf("left: ");
	if (count > 1)
		printf("%llu times: ", (unsigned long long)count);
	printf("%s", text);
	if (until_ms != 0)
		printf("; until %s at the latest",
		    show_moment(until_ms, when, sizeof when));
	printf("\n");
}

static void
take_line(const struct tool *t, const struct tide_line *line)
{
	const char *what = tide_line_get(line, "what");
	uint64_t count = tide_line_number(line, "count", 0);

	if (what == NULL)
		return;
	so_far.by_hand += tide_line_number(line, "by_hand", 0);
	if (strcmp(line->word, "gone") == 0)
		say_gone(t, what, count);
	else if (strcmp(line->word, "left") == 0 && !so_far.asking)
		say_left(t, what,
		    find_word(left_words,
			sizeof left_words / sizeof *left_words, what)
			.text,
		    count, tide_line_number(line, "until_ms", 0));
}

/* ---- what the daemon has no hand in ------------------------------------ */

static void
say_log(const struct tool *t, const struct tide_config *c, const char *key)
{
	char text[TIDE_PATH_MAX + 512];

	if (strcmp(c->log, "syslog") == 0)
		(void)snprintf(text, sizeof text,
		    "the system's log keeps its lines: grep -F '%.200s' "
		    "/var/log/mail.log*, or journalctl -t tidemark-milter -t "
		    "tidemark-collector | grep -F '%.200s'",
		    key, key);
	else if (strcmp(c->log, "stderr") == 0)
		(void)snprintf(text, sizeof text,
		    "whoever reads the daemon's stderr may keep its lines: "
		    "journalctl -u tidemark | grep -F '%.200s'",
		    key);
	else
		(void)snprintf(text, sizeof text,
		    "the log keeps its lines: grep -F '%.200s' %.250s*", key,
		    c->log);
	say_left(t, "log", text, 1, 0);
}

/* Beside the archive: what restore or a damage has put aside. */
static void
say_aside(const struct tool *t, const char *dir)
{
	static const char *const marks[] = { "before-restore-", ".damaged",
		".restoring" };
	char text[2 * TIDE_PATH_MAX + 128];
	const struct dirent *e;
	DIR *d = opendir(dir);
	unsigned i;

	while (d != NULL && (e = readdir(d)) != NULL) {
		for (i = 0; i < sizeof marks / sizeof *marks; i++) {
			if (strstr(e->d_name, marks[i]) == NULL)
				continue;
			(void)snprintf(text, sizeof text,
			    "an older state is kept in %s/%.255s: remove it "
			    "when it is not needed",
			    dir, e->d_name);
			say_left(t, "aside", text, 1, 0);
		}
	}
	if (d != NULL)
		(void)closedir(d);
}

static void
say_elsewhere(const struct tool *t, const char *key)
{
	struct tide_config config, running;
	char dir[TIDE_PATH_MAX];
	uint64_t generation;
	struct tide_err err;

	if (tool_places(t, &config) < 0)
		return;
	if (tide_config_published(
		config.runtime_dir, &running, &generation, &err) == 0)
		config = running;
	say_log(t, &config, key);
	say_aside(t, config.state_dir);
	say_aside(t, config.runtime_dir);
	if (config.live_file[0] != '\0') {
		tide_files_dirname(config.live_file, dir, sizeof dir);
		say_aside(t, dir);
	}
	if (config.ban_hook[0] != '\0')
		say_left(t, "hook",
		    "ban_hook was told of its bans, and may have kept that", 1,
		    0);
	say_left(t, "cores",
	    "core files of programs that crashed, and swap, may hold it: "
	    "coredumpctl list",
	    1, 0);
	say_left(t, "backups",
	    "backups (tidemark backup) hold what was known when they were "
	    "made",
	    1, 0);
	say_left(t, "exports",
	    "other servers keep what was exported to them: counts and "
	    "signatures, no addresses",
	    1, 0);
}

/* ---- the command ------------------------------------------------------- */

static int
finish_telling(const struct tool *t, const char *key)
{
	if (so_far.dry && so_far.by_hand > 0 && !so_far.unban)
		complain("%llu of these bans were made by hand: nothing will "
			 "be done while they stand, or without --unban",
		    (unsigned long long)so_far.by_hand);
	say_elsewhere(t, key);
	if (so_far.gone > 0)
		return TOOL_OK;
	if (!t->json)
		printf("nothing that could be removed was known\n");
	return TOOL_NO;
}

static struct order order = { .each = take_line };

static int
give(const struct tool *t, const char *key)
{
	struct tide_line_out request;

	so_far.gone = 0;
	tide_line_start(&request, "forget");
	tide_line_add(&request, "key", key);
	if (so_far.dry)
		tide_line_add_number(&request, "dry", 1);
	if (so_far.unban)
		tide_line_add_number(&request, "unban", 1);
	return order_give(t, &order, &request);
}

/* It cannot be undone: a person sees what goes, and is asked. */
static int
ask_first(const struct tool *t, const char *key)
{
	char answer[16] = "";
	int code;

	so_far.dry = so_far.asking = true;
	code = give(t, key);
	so_far.dry = so_far.asking = false;
	if (code != TOOL_OK)
		return TOOL_ERROR;
	(void)fflush(stdout);
	(void)fprintf(stderr, "Forget %s, for good", key);
	if (so_far.by_hand > 0)
		(void)fprintf(stderr, ", and lift %llu ban%s made by hand",
		    (unsigned long long)so_far.by_hand, plural(so_far.by_hand));
	(void)fprintf(stderr, "? [y/N] ");
	if (fgets(answer, sizeof answer, stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y')) {
		so_far.unban = true;
		return TOOL_OK;
	}
	complain("nothing was done");
	return TOOL_NO;
}

int
run_forget(struct tool *t)
{
	static const struct option longs[] = {
		{ "dry-run", no_argument, NULL, OPT_OWN },
		{ "yes", no_argument, NULL, OPT_OWN + 1 },
		{ "unban", no_argument, NULL, OPT_OWN + 2 },
		{ NULL, 0, NULL, 0 },
	};
	bool ask = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
	const char *key;
	int c, code = TOOL_OK;

	while ((c = tool_getopt(t, "", longs)) != -1) {
		so_far.dry |= c == OPT_OWN;
		ask &= c != OPT_OWN + 1;
		so_far.unban |= c == OPT_OWN + 2;
	}
	key = tool_arguments(t, 1)[0];
	if (ask && !so_far.dry && !t->json)
		code = ask_first(t, key);
	if (code != TOOL_OK)
		return code;
	code = give(t, key);
	if (code == TOOL_OK)
		return finish_telling(t, key);
	if (code == TOOL_ERROR && order.sent && !so_far.dry)
		complain("run this again: a part of it may not be done");
	return TOOL_ERROR; /* 1 is: nothing was known */
}
