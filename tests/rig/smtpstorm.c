/*
 * smtpstorm - many SMTP sessions at once, each sending some messages.
 *
 *	smtpstorm [-c SESSIONS] [-m MESSAGES] [-d MS] [-f NAME] [-t RECIPIENT]
 *	          [-a FILE] [-g FILE] [-T SECONDS] PORT
 *
 * Senders are NAME-session-message@storm.test, so each message has its own;
 * -a writes those of accepted messages to a file, one a line.  -d waits so
 * long before each message.  With -g all sessions greet, then one line
 * "ready=N" is printed and they wait until the file exists.
 *
 * Nothing waits for ever: -T (60 s) bounds each reply and the gate.  The last
 * line of output is
 *
 *	sessions=N ok=N failed=N accepted=N refused=N ms=N first="REPLY"
 *
 * where ok sessions had every message accepted, and first is the first reply
 * that was a failure.  Exit 0 when none failed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct talk {
	int fd;
	size_t used;
	char buf[2048]; /* what came in and was not yet read */
	char line[512]; /* the last line of the last reply */
};

static int sessions = 1, messages = 1, delay_ms, seconds = 60;
static const char *name = "storm", *to = "sink@sink.test", *gate;
static in_port_t port;
static FILE *acks;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the next two */
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static int waiting; /* sessions at the gate, or ended before it */
static bool gate_open;

static _Atomic int ok_sessions, greeted, accepted, refused;
static char first[512]; /* under lock */

static void
failure(const char *text)
{
	(void)pthread_mutex_lock(&lock);
	if (first[0] == '\0')
		(void)snprintf(first, sizeof first, "%s", text);
	(void)pthread_mutex_unlock(&lock);
}

static void
sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) == -1)
		continue;
}

static long
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The next line into t->line, without its end.  False when there is none. */
static bool
get_line(struct talk *t)
{
	char *end;
	size_t n;
	ssize_t got;

	for (;;) {
		end = memchr(t->buf, '\n', t->used);
		if (end != NULL)
			break;
		if (t->used == sizeof t->buf)
			return false;
		got = recv(t->fd, t->buf + t->used, sizeof t->buf - t->used, 0);
		if (got <= 0)
			return false;
		t->used += (size_t)got;
	}
	n = (size_t)(end - t->buf) + 1;
	(void)snprintf(t->line, sizeof t->line, "%.*s", (int)(n - 1), t->buf);
	t->line[strcspn(t->line, "\r\n")] = '\0';
	memmove(t->buf, t->buf + n, t->used - n);
	t->used -= n;
	return true;
}

/* The first digit of the reply, or 0 when the connection is broken. */
static int
reply(struct talk *t)
{
	do {
		errno = 0;
		if (!get_line(t)) {
			(void)snprintf(t->line, sizeof t->line,
			    "connection lost: %s",
			    errno == 0 ? "closed" : strerror(errno));
			return 0;
		}
	} while (strlen(t->line) > 3 && t->line[3] == '-');
	return t->line[0] >= '2' && t->line[0] <= '5' ? t->line[0] - '0' : 0;
}

__attribute__((format(printf, 2, 3))) static int
command(struct talk *t, const char *fmt, ...)
{
	char out[1024];
	int n;
	va_list ap;

	va_start(ap, fmt);
	n = vsnprintf(out, sizeof out, fmt, ap);
	va_end(ap);
	if (send(t->fd, out, (size_t)n, MSG_NOSIGNAL) != n) {
		(void)snprintf(
		    t->line, sizeof t->line, "send: %s", strerror(errno));
		return 0;
	}
	return reply(t);
}

static bool
dial(struct talk *t)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval limit = { .tv_sec = seconds };

	t->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->fd == -1 ||
	    setsockopt(t->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) ==
		-1 ||
	    setsockopt(t->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) ==
		-1 ||
	    connect(t->fd, (struct sockaddr *)&a, sizeof a) == -1) {
		(void)snprintf(
		    t->line, sizeof t->line, "connect: %s", strerror(errno));
		return false;
	}
	return reply(t) == 2 && command(t, "EHLO storm.test\r\n") == 2;
}

static void
wait_at_gate(void)
{
	(void)pthread_mutex_lock(&lock);
	waiting++;
	(void)pthread_cond_broadcast(&moved);
	while (!gate_open)
		(void)pthread_cond_wait(&moved, &lock);
	(void)pthread_mutex_unlock(&lock);
}

static bool
send_message(struct talk *t, int session, int message)
{
	return command(t, "MAIL FROM:<%s-%d-%d@storm.test>\r\n", name, session,
		   message) == 2 &&
	    command(t, "RCPT TO:<%s>\r\n", to) == 2 &&
	    command(t, "DATA\r\n") == 3 &&
	    command(t,
		"From: %s-%d-%d@storm.test\r\nTo: %s\r\n"
		"Subject: storm\r\n\r\nA drop in the storm.\r\n.\r\n",
		name, session, message, to) == 2;
}

static void
acknowledge(int session, int message)
{
	atomic_fetch_add(&accepted, 1);
	if (acks == NULL)
		return;
	(void)pthread_mutex_lock(&lock);
	(void)fprintf(acks, "%s-%d-%d@storm.test\n", name, session, message);
	(void)pthread_mutex_unlock(&lock);
}

/* How many of the session's messages were accepted. */
static int
converse(struct talk *t, int session)
{
	int i, good = 0;

	for (i = 0; i < messages; i++) {
		if (delay_ms > 0)
			sleep_ms(delay_ms);
		if (send_message(t, session, i)) {
			acknowledge(session, i);
			good++;
			continue;
		}
		failure(t->line);
		if (command(t, "RSET\r\n") != 2)
			break;
	}
	return good;
}

static void *
run_session(void *number)
{
	struct talk t = { .fd = -1 };
	bool there = dial(&t);
	int good = 0;

	if (there)
		atomic_fetch_add(&greeted, 1);
	else
		failure(t.line);
	wait_at_gate();
	if (there)
		good = converse(&t, (int)(intptr_t)number);
	if (good == messages)
		atomic_fetch_add(&ok_sessions, 1);
	atomic_fetch_add(&refused, messages - good);
	if (there)
		(void)command(&t, "QUIT\r\n");
	if (t.fd != -1)
		(void)close(t.fd);
	return NULL;
}

static void
open_gate(void)
{
	(void)pthread_mutex_lock(&lock);
	gate_open = true;
	(void)pthread_cond_broadcast(&moved);
	(void)pthread_mutex_unlock(&lock);
}

static void
keep_gate(void)
{
	long until;

	(void)pthread_mutex_lock(&lock);
	while (waiting < sessions)
		(void)pthread_cond_wait(&moved, &lock);
	(void)pthread_mutex_unlock(&lock);
	(void)printf("ready=%d\n", greeted);
	(void)fflush(stdout);
	until = now_ms() + seconds * 1000L;
	while (access(gate, F_OK) == -1 && now_ms() < until)
		sleep_ms(10);
}

static void
storm(void)
{
	pthread_t *threads = calloc((size_t)sessions, sizeof *threads);
	pthread_attr_t attr;
	int i;

	if (threads == NULL || pthread_attr_init(&attr) != 0 ||
	    pthread_attr_setstacksize(&attr, 128 * 1024) != 0) {
		perror("smtpstorm");
		exit(71);
	}
	for (i = 0; i < sessions; i++) {
		errno = pthread_create(
		    &threads[i], &attr, run_session, (void *)(intptr_t)i);
		if (errno != 0) {
			perror("smtpstorm: thread");
			exit(71);
		}
	}
	if (gate != NULL)
		keep_gate();
	open_gate();
	for (i = 0; i < sessions; i++)
		(void)pthread_join(threads[i], NULL);
	free(threads);
}

static int
number(const char *text, int least, int most)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || n < least || n > most) {
		(void)fprintf(stderr, "smtpstorm: %s is not in %d..%d\n", text,
		    least, most);
		exit(64);
	}
	return (int)n;
}

static void
options(int argc, char **argv)
{
	const char *ack_file = NULL;
	int c;

	while ((c = getopt(argc, argv, "c:m:d:f:t:a:g:T:")) != -1)
		switch (c) {
		case 'c':
			sessions = number(optarg, 1, 10000);
			break;
		case 'm':
			messages = number(optarg, 1, 1000000);
			break;
		case 'd':
			delay_ms = number(optarg, 0, 60000);
			break;
		case 'f':
			name = optarg;
			break;
		case 't':
			to = optarg;
			break;
		case 'a':
			ack_file = optarg;
			break;
		case 'g':
			gate = optarg;
			break;
		case 'T':
			seconds = number(optarg, 1, 3600);
			break;
		default:
			exit(64);
		}
	if (optind + 1 != argc) {
		(void)fputs("usage: smtpstorm [options] PORT\n", stderr);
		exit(64);
	}
	port = (in_port_t)number(argv[optind], 1, 65535);
	if (ack_file == NULL)
		return;
	acks = fopen(ack_file, "w");
	if (acks == NULL) {
		perror(ack_file);
		exit(73);
	}
}

int
main(int argc, char **argv)
{
	long start;

	options(argc, argv);
	start = now_ms();
	storm();
	(void)printf("sessions=%d ok=%d failed=%d accepted=%d refused=%d "
		     "ms=%ld first=\"%s\"\n",
	    sessions, ok_sessions, sessions - ok_sessions, accepted, refused,
	    now_ms() - start, first);
	if (acks != NULL && fclose(acks) != 0) {
		perror("smtpstorm: acknowledgements");
		return 74;
	}
	return ok_sessions == sessions ? 0 : 1;
}
