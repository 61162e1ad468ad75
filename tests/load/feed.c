/*
 * feed - replay mailboxes through a milter, as a mail server would.
 *
 * Data (the end line) goes to stdout, talk to stderr.  Exit 0 if no message
 * failed and no connection was lost, 1 if some did, 2 for wrong usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "replay.h"

enum { CONNECTIONS_MAX = 300, QID_PREFIX_MAX = 40 };

static const char usage[] =
    "usage: feed -s SOCKET [options] MAILBOX...\n"
    "  -s SOCKET           local:PATH or inet:PORT[@HOST]\n"
    "  -c CONNECTIONS      at once, up to 300 (1)\n"
    "  -n MESSAGES         in all, going round the mailboxes (each once);\n"
    "                      0: until INT or TERM\n"
    "  -m MESSAGES         per connection (1)\n"
    "  -r RATE             messages a second, in all (no limit)\n"
    "  -t SECONDS          limit of every wait (30)\n"
    "  --daemon NAME       {daemon_name} (MTA-ext)\n"
    "  --client ADDRESS    where the mail comes from (192.0.2.25)\n"
    "  --auth USER         {auth_authen} (none)\n"
    "  --size BYTES        announced as SIZE= with MAIL (none)\n"
    "  --qid-prefix P      of the queue ids (from time and process id)\n"
    "  --acked FILE        add \"qid from to,to\" per acknowledged message\n"
    "  --unique            queue id in front of each sender and recipient\n"
    "  --retry             dial again when a connection is lost\n"
    "  --together          open all connections before the first message\n"
    "  --abort             give each message up after its recipients\n"
    "  --unknown           the mail server knows none of the recipients\n"
    "  --replies           refused recipients and why, on stderr\n"
    "  --json              the end line as JSON\n"
    "  --quiet             nothing but the end line\n";

static const struct option longs[] = {
	{ "daemon", required_argument, NULL, 'D' },
	{ "client", required_argument, NULL, 'C' },
	{ "auth", required_argument, NULL, 'A' },
	{ "size", required_argument, NULL, 'Z' },
	{ "qid-prefix", required_argument, NULL, 'P' },
	{ "acked", required_argument, NULL, 'K' },
	{ "unique", no_argument, NULL, 'U' },
	{ "retry", no_argument, NULL, 'R' },
	{ "together", no_argument, NULL, 'T' },
	{ "abort", no_argument, NULL, 'B' },
	{ "unknown", no_argument, NULL, 'N' },
	{ "replies", no_argument, NULL, 'S' },
	{ "json", no_argument, NULL, 'J' },
	{ "quiet", no_argument, NULL, 'Q' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static _Noreturn void
wrong(const char *what, const char *why)
{
	fprintf(stderr, "feed: %s: %s\n", what, why);
	exit(2);
}

static long
whole(const char *s, long min, long max)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(s, &end, 10);
	if (errno || end == s || *end || n < min || n > max)
		wrong(s, "not a number in range");
	return n;
}

static double
positive(const char *s)
{
	char *end;
	double d = strtod(s, &end);

	if (end == s || *end || !(d > 0))
		wrong(s, "not a positive number");
	return d;
}

static int
open_list(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0)
		wrong(path, strerror(errno));
	return fd;
}

static const char *
prefix(const char *p)
{
	if (strlen(p) > QID_PREFIX_MAX ||
	    p[strspn(p,
		"abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")])
		wrong(p, "a queue id has letters and digits, 40 at most");
	return p;
}

/* The options with one letter, and the values of the long ones. */
static bool
set_value(struct replay_plan *plan, int option, const char *value)
{
	switch (option) {
	case 's':
		plan->socket = value;
		return true;
	case 'c':
		plan->connections = (int)whole(value, 1, CONNECTIONS_MAX);
		return true;
	case 'n':
		plan->messages = whole(value, 0, INT32_MAX);
		return true;
	case 'm':
		plan->per_connection = whole(value, 1, INT32_MAX);
		return true;
	case 'r':
		plan->rate = positive(value);
		return true;
	case 't':
		plan->timeout_ms = (int)whole(value, 1, 3600) * 1000;
		return true;
	case 'D':
		plan->daemon = value;
		return true;
	case 'C':
		plan->client = value;
		return true;
	case 'A':
		plan->user = value;
		return true;
	case 'Z':
		plan->size = value;
		return true;
	case 'P':
		plan->qid_prefix = prefix(value);
		return true;
	case 'K':
		plan->acked_fd = open_list(value);
		return true;
	default:
		return false;
	}
}

static bool
set_flag(struct replay_plan *plan, int option, bool *json)
{
	switch (option) {
	case 'U':
		return plan->unique = true;
	case 'R':
		return plan->retry = true;
	case 'T':
		return plan->together = true;
	case 'B':
		return plan->abort = true;
	case 'N':
		return plan->unknown = plan->abort = true;
	case 'S':
		return plan->replies = true;
	case 'J':
		return *json = true;
	case 'Q':
		return plan->quiet = true;
	default:
		return false;
	}
}

static void
options(int argc, char **argv, struct replay_plan *plan, bool *json)
{
	int o;

	while (
	    (o = getopt_long(argc, argv, "s:c:n:m:r:t:h", longs, NULL)) != -1) {
		if (o == 'h') {
			fputs(usage, stdout);
			exit(0);
		}
		if (!set_value(plan, o, optarg) && !set_flag(plan, o, json)) {
			fputs(usage, stderr);
			exit(2);
		}
	}
	if (!plan->socket || optind == argc) {
		fputs(usage, stderr);
		exit(2);
	}
}

static void
on_signal(int sig)
{
	(void)sig;
	replay_stop();
}

static void
stop_on_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

int
main(int argc, char **argv)
{
	char qid[QID_PREFIX_MAX];
	struct replay_plan plan = { .connections = 1,
		.messages = -1,
		.per_connection = 1,
		.daemon = "MTA-ext",
		.client = "192.0.2.25",
		.qid_prefix = qid,
		.acked_fd = -1,
		.timeout_ms = 30000 };
	struct mailbox box = { 0 };
	struct tally sum = { 0 };
	const char *why;
	bool json = false, good;
	double start;

	snprintf(qid, sizeof qid, "f%lxp%lx", (unsigned long)time(NULL),
	    (unsigned long)getpid());
	options(argc, argv, &plan, &json);
	for (int i = optind; i < argc; i++)
		if (!mailbox_read(&box, argv[i], &why))
			wrong(argv[i], why);
	if (plan.messages < 0)
		plan.messages = (long)box.n;
	stop_on_signals();
	start = tally_now();
	if (!replay_run(&plan, &box, &sum))
		wrong("threads", "cannot start as many");
	tally_print(&sum, tally_now() - start, json, stdout);
	good = fflush(stdout) == 0 && sum.failed == 0 && sum.lost == 0;
	tally_free(&sum);
	mailbox_free(&box);
	return good ? 0 : 1;
}
