/*
 * policy - play Postfix's policy client: a script on stdin, or a load.
 *
 * Script, a line each; answers on stdout, a line each:
 *   STATE INSTANCE [NAME=VALUE ...]   ask; user, from, to, client, count,
 *                                     size, qid, anything else as it is
 *   send TEXT      raw bytes, with \n; no answer is awaited
 *   flood LINES    of them, and no end
 *   hear           the answer to them
 *   dial           a new connection (the first is there); close ends one
 * "closed" and "late" stand for an answer that did not come.
 *
 * Load (-n): messages over connections, each asked at RCPT, DATA and
 * END-OF-MESSAGE; a line of figures at the end.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "policy_client.h"

enum { CONNECTIONS_MAX = 300 };

static const char usage[] =
    "usage: policy -s SOCKET [-t SECONDS] [-n MESSAGES [options]] [<SCRIPT]\n"
    "  -s SOCKET       local:PATH or inet:PORT[@HOST]\n"
    "  -t SECONDS      limit of every wait (30)\n"
    "  -n MESSAGES     in all: a load instead of a script\n"
    "  -c CONNECTIONS  at once (1)\n"
    "  -r RECIPIENTS   per message (1)\n"
    "  -u USERS        accounts, taken in turn (100)\n"
    "  -o              ask at RCPT only\n";

static struct {
	const char *socket;
	int timeout_ms;
	long messages, recipients, users;
	int connections;
	bool only_rcpt;
} o = { .timeout_ms = 30000, .connections = 1, .recipients = 1, .users = 100 };

/* ---- a script ---------------------------------------------------------- */

static void
show(const struct policy_wire *w, enum policy_result r)
{
	(void)printf("%s\n",
	    r == POLICY_ANSWERED     ? w->text
		: r == POLICY_CLOSED ? "closed"
				     : "late");
	(void)fflush(stdout);
}

static void
set(struct policy_ask *a, char *word, char *more, size_t size)
{
	char *value = strchr(word, '=');
	size_t n = strlen(more);

	if (value == NULL)
		return;
	*value++ = '\0';
	if (strcmp(word, "user") == 0)
		a->user = value;
	else if (strcmp(word, "from") == 0)
		a->sender = value;
	else if (strcmp(word, "to") == 0)
		a->recipient = value;
	else if (strcmp(word, "client") == 0)
		a->client = value;
	else if (strcmp(word, "qid") == 0)
		a->queue_id = value;
	else if (strcmp(word, "count") == 0)
		a->count = atol(value);
	else if (strcmp(word, "size") == 0)
		a->size = atol(value);
	else
		(void)snprintf(more + n, size - n, "%s=%s\n", word, value);
}

static void
ask(struct policy_wire *w, char *state, char *rest)
{
	struct policy_ask a = { .state = state };
	char text[POLICY_ASK_MAX], more[2048] = "", *save = NULL, *word;
	enum policy_result r;

	a.instance = strtok_r(rest, " ", &save);
	for (word = strtok_r(NULL, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save))
		set(&a, word, more, sizeof more);
	a.more = more;
	r = policy_send(w, text, policy_compose(&a, text));
	show(w, r == POLICY_ANSWERED ? policy_hear(w) : r);
}

static void
send_raw(struct policy_wire *w, const char *text)
{
	char byte;

	for (; *text != '\0'; text++) {
		byte = *text;
		if (byte == '\\' && text[1] == 'n') {
			byte = '\n';
			text++;
		} else if (byte == '\\' && text[1] == '0') {
			byte = '\0';
			text++;
		}
		(void)policy_send(w, &byte, 1);
	}
}

static void
flood(struct policy_wire *w, long lines)
{
	char line[64];
	long i;

	for (i = 0; i < lines; i++) {
		int n = snprintf(line, sizeof line,
		    "name%ld=0123456789012345678901234567890\n", i);

		if (policy_send(w, line, (size_t)n) != POLICY_ANSWERED)
			return;
	}
}

static void
step(struct policy_wire *w, char *line)
{
	char *rest = line + strcspn(line, " ");

	if (*rest != '\0')
		*rest++ = '\0';
	if (strcmp(line, "dial") == 0) {
		policy_hang_up(w);
		if (!policy_dial(w, o.socket, o.timeout_ms))
			(void)puts("nobody there");
	} else if (strcmp(line, "close") == 0) {
		policy_hang_up(w);
	} else if (strcmp(line, "send") == 0) {
		send_raw(w, rest);
	} else if (strcmp(line, "flood") == 0) {
		flood(w, atol(rest));
	} else if (strcmp(line, "hear") == 0) {
		show(w, policy_hear(w));
	} else if (line[0] != '\0' && line[0] != '#') {
		ask(w, line, rest);
	}
}

static int
play(void)
{
	struct policy_wire w;
	static char line[200000];

	if (!policy_dial(&w, o.socket, o.timeout_ms)) {
		(void)fprintf(stderr, "policy: nobody at %s\n", o.socket);
		return 1;
	}
	while (fgets(line, sizeof line, stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		step(&w, line);
	}
	policy_hang_up(&w);
	return fflush(stdout) == 0 ? 0 : 1;
}

/* ---- a load ------------------------------------------------------------ */

struct asker {
	pthread_t thread;
	int number;
	long requests, refused, lost;
	uint32_t *ns; /* of each request */
};

static uint64_t
now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool
ask_one(struct asker *k, struct policy_wire *w, struct policy_ask *a)
{
	char text[POLICY_ASK_MAX];
	size_t n = policy_compose(a, text);
	uint64_t t0 = now_ns(), took;

	if (policy_send(w, text, n) != POLICY_ANSWERED ||
	    policy_hear(w) != POLICY_ANSWERED) {
		k->lost++;
		return false;
	}
	took = now_ns() - t0;
	k->ns[k->requests++] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
	k->refused += strncasecmp(w->text, "action=DUNNO", 12) != 0;
	return true;
}

static bool
ask_message(struct asker *k, struct policy_wire *w, long number)
{
	char instance[64], user[64], to[64];
	struct policy_ask a = { .instance = instance,
		.user = user,
		.recipient = to,
		.state = "RCPT",
		.size = 2048 };
	long i;

	(void)snprintf(instance, sizeof instance, "%x.%x.%lx.0",
	    (unsigned)getpid(), (unsigned)k->number, number);
	(void)snprintf(user, sizeof user, "user%ld", number % o.users);
	for (i = 0; i < o.recipients; i++) {
		(void)snprintf(to, sizeof to, "r%ld.%ld@to.test", number, i);
		if (!ask_one(k, w, &a))
			return false;
	}
	if (o.only_rcpt)
		return true;
	a.count = o.recipients;
	a.queue_id = "4ABCDEF123";
	if (o.recipients > 1)
		a.recipient = "";
	a.state = "DATA";
	if (!ask_one(k, w, &a))
		return false;
	a.state = "END-OF-MESSAGE";
	return ask_one(k, w, &a);
}

static void *
ask_all(void *arg)
{
	struct asker *k = arg;
	struct policy_wire w;
	long i;

	if (!policy_dial(&w, o.socket, o.timeout_ms)) {
		k->lost++;
		return NULL;
	}
	for (i = k->number; i < o.messages; i += o.connections)
		if (!ask_message(k, &w, i))
			break;
	policy_hang_up(&w);
	return NULL;
}

static int
by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int
report(struct asker *k, double seconds)
{
	long n = 0, refused = 0, lost = 0;
	uint32_t *all;
	int i;

	for (i = 0; i < o.connections; i++)
		n += k[i].requests;
	all = calloc((size_t)n + 1, sizeof *all);
	if (all == NULL)
		return 1;
	n = 0;
	for (i = 0; i < o.connections; i++) {
		memcpy(all + n, k[i].ns, (size_t)k[i].requests * sizeof *all);
		n += k[i].requests;
		refused += k[i].refused;
		lost += k[i].lost;
	}
	qsort(all, (size_t)n, sizeof *all, by_size);
	(void)printf("requests=%ld refused=%ld lost=%ld seconds=%.3f "
		     "requests/s=%.0f p50_us=%.1f p99_us=%.1f\n",
	    n, refused, lost, seconds, (double)n / seconds,
	    n > 0 ? all[n / 2] / 1e3 : 0, n > 0 ? all[n * 99 / 100] / 1e3 : 0);
	free(all);
	return lost == 0 ? 0 : 1;
}

static int
load(void)
{
	static struct asker k[CONNECTIONS_MAX];
	size_t each = (size_t)(o.messages / o.connections + 1) *
	    (size_t)(o.recipients + 2);
	uint64_t t0 = now_ns();
	int i, rc;

	for (i = 0; i < o.connections; i++) {
		k[i].number = i;
		k[i].ns = calloc(each, sizeof *k[i].ns);
		if (k[i].ns == NULL ||
		    pthread_create(&k[i].thread, NULL, ask_all, &k[i]) != 0)
			return 1;
	}
	for (i = 0; i < o.connections; i++)
		(void)pthread_join(k[i].thread, NULL);
	rc = report(k, (double)(now_ns() - t0) / 1e9);
	for (i = 0; i < o.connections; i++)
		free(k[i].ns);
	return rc;
}

int
main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:t:n:c:r:u:o")) != -1) {
		if (c == 's')
			o.socket = optarg;
		else if (c == 't')
			o.timeout_ms = atoi(optarg) * 1000;
		else if (c == 'n')
			o.messages = atol(optarg);
		else if (c == 'c')
			o.connections = atoi(optarg);
		else if (c == 'r')
			o.recipients = atol(optarg);
		else if (c == 'u')
			o.users = atol(optarg);
		else if (c == 'o')
			o.only_rcpt = true;
		else
			optind = argc + 1;
	}
	if (optind != argc || o.socket == NULL || o.connections < 1 ||
	    o.connections > CONNECTIONS_MAX || o.users < 1) {
		(void)fputs(usage, stderr);
		return 2;
	}
	return o.messages > 0 ? load() : play();
}
