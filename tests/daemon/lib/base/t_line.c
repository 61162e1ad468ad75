/*
 * Lines: every byte there and back, hostile lines, reads in pieces.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static void
every_byte(void)
{
	struct tide_line_out out;
	struct tide_line line;
	char value[256], *c;
	int i;

	for (i = 1; i < 256; i++)
		value[i - 1] = (char)i;
	value[255] = '\0';
	tide_line_start(&out, "word");
	tide_line_add(&out, "all", value);
	tide_line_add(&out, "none", "");
	for (c = out.text; *c != '\0'; c++)
		CHECK_MSG((unsigned char)*c >= ' ' && *c != 0x7f,
		    "byte %d is on the wire", *c);
	CHECK(tide_line_parse(&line, out.text));
	CHECK_STR(line.word, "word");
	CHECK_INT(line.pairs, 2);
	CHECK_STR(tide_line_get(&line, "all"), value);
	CHECK_STR(tide_line_get(&line, "none"), "");
	CHECK(tide_line_get(&line, "other") == NULL);
}

static void
numbers(void)
{
	struct tide_line_out out;
	struct tide_line line;

	tide_line_start(&out, "n");
	tide_line_add_number(&out, "most", UINT64_MAX);
	tide_line_add_number(&out, "zero", 0);
	tide_line_add_real(&out, "real", 0.1);
	CHECK(tide_line_parse(&line, out.text));
	CHECK(tide_line_number(&line, "most", 7) == UINT64_MAX);
	CHECK_INT(tide_line_number(&line, "zero", 7), 0);
	CHECK_INT(tide_line_number(&line, "missing", 7), 7);
	CHECK(tide_line_real(&line, "real") == 0.1);
	CHECK(tide_line_real(&line, "missing") == 0);
	CHECK(tide_line_parse(
	    &line, "n a=-1 b=1x c= d=18446744073709551616 e=%201"));
	CHECK_INT(tide_line_number(&line, "a", 7), 7);
	CHECK_INT(tide_line_number(&line, "b", 7), 7);
	CHECK_INT(tide_line_number(&line, "c", 7), 7);
	CHECK_INT(tide_line_number(&line, "d", 7), 7);
	CHECK_INT(tide_line_number(&line, "e", 7), 7);
}

static void
hostile_lines(void)
{
	static const struct hostile_case {
		const char *text;
		bool good;
	} cases[] = {
		{ "ping", true }, { "ping\r", true },
		{ "  ping   a=b  ", true }, { "query a==b", true },
		{ "query a=%25%0a", true }, { "", false }, { "   ", false },
		{ "\r", false }, { "query pair", false },
		{ "query =value", false }, { "query a=%", false },
		{ "query a=%2", false }, { "query a=%zz", false },
		{ "query a=%2g", false },
		{ "query a=%00b", false }, /* would cut the value short */
	};
	struct tide_line line;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++)
		CHECK_MSG(
		    tide_line_parse(&line, cases[i].text) == cases[i].good,
		    "«%s»", cases[i].text);
}

static void
too_much(void)
{
	struct tide_line line;
	char text[TIDE_LINE_MAX + 2] = "w";
	size_t n = 1;
	int i;

	for (i = 0; i < TIDE_LINE_PAIRS; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, " k%d=v", i);
	CHECK(tide_line_parse(&line, text));
	CHECK_INT(line.pairs, TIDE_LINE_PAIRS);
	(void)strcat(text, " more=v");
	CHECK(!tide_line_parse(&line, text));
	memset(text, 'x', TIDE_LINE_MAX);
	text[TIDE_LINE_MAX] = '\0';
	CHECK(!tide_line_parse(&line, text));
	text[TIDE_LINE_MAX - 1] = '\0';
	CHECK(tide_line_parse(&line, text));
}

/* Whatever is added, the line stays one that parses. */
static void
built_too_long(void)
{
	static char value[TIDE_LINE_MAX * 2];
	struct tide_line_out out;
	struct tide_line line;
	size_t length;

	for (length = 0; length < sizeof value; length += 37) {
		memset(value, length % 2 == 0 ? '%' : 'x', length);
		value[length] = '\0';
		tide_line_start(&out, "err");
		tide_line_add(&out, "text", value);
		tide_line_add(&out, "after", "it");
		CHECK(out.length < sizeof out.text - 1);
		CHECK(strlen(out.text) == out.length);
		CHECK(tide_line_parse(&line, out.text));
		CHECK(strncmp(tide_line_get(&line, "text"), value,
			  strlen(tide_line_get(&line, "text"))) == 0);
	}
}

/* Random bytes must never be more than refused. */
static void
noise(void)
{
	static const char alphabet[] = " =%%%0a1fz\r\t\x7f\xc3";
	struct tide_line line;
	uint64_t state = 42;
	char text[64];
	int round, i;

	for (round = 0; round < 100000; round++) {
		int n = (int)(fixture_random(&state) % (sizeof text - 1));

		for (i = 0; i < n; i++)
			text[i] = alphabet[fixture_random(&state) %
			    (sizeof alphabet - 1)];
		text[n] = '\0';
		if (tide_line_parse(&line, text))
			CHECK(line.pairs <= TIDE_LINE_PAIRS);
	}
}

/* ---- reading ----------------------------------------------------------- */

static void
pair_of_sockets(int fd[2])
{
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0);
}

static void
say(int fd, const char *text)
{
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static void
split_reads(void)
{
	static struct tide_line_in in;
	static const char text[] = "one a=1\ntwo b=%20\n\rthree\n";
	struct tide_line line;
	int fd[2];
	size_t i;

	pair_of_sockets(fd);
	in = (struct tide_line_in){ .fd = fd[0] };
	if (fork() == 0) { /* byte by byte */
		for (i = 0; i < sizeof text - 1; i++) {
			if (write(fd[1], text + i, 1) != 1)
				_exit(1);
			(void)usleep(200);
		}
		_exit(0);
	}
	(void)close(fd[1]);
	CHECK_INT(tide_line_read(&in, &line), 1);
	CHECK_STR(tide_line_get(&line, "a"), "1");
	CHECK_INT(tide_line_read(&in, &line), 1);
	CHECK_STR(tide_line_get(&line, "b"), " ");
	CHECK_INT(tide_line_read(&in, &line), 1);
	CHECK_STR(line.word, "three");
	CHECK_INT(tide_line_read(&in, &line), 0);
	(void)close(fd[0]);
	(void)wait(NULL);
}

static void
send_many(int fd)
{
	struct tide_line_out out;
	int i;

	for (i = 0; i < 2000; i++) { /* more than a buffer holds */
		tide_line_start(&out, "hit");
		tide_line_add_number(&out, "i", (uint64_t)i);
		if (tide_line_send(&out, fd) < 0)
			_exit(1);
	}
	_exit(0);
}

static void
many_at_once(void)
{
	static struct tide_line_in in;
	struct tide_line line;
	int fd[2], i;

	pair_of_sockets(fd);
	in = (struct tide_line_in){ .fd = fd[0] };
	if (fork() == 0)
		send_many(fd[1]);
	(void)close(fd[1]);
	for (i = 0; i < 2000; i++) {
		CHECK_INT(tide_line_read(&in, &line), 1);
		CHECK_INT(tide_line_number(&line, "i", 9999), i);
	}
	CHECK_INT(tide_line_read(&in, &line), 0);
	(void)close(fd[0]);
	(void)wait(NULL);
}

static void
cut_short(void)
{
	static struct tide_line_in in;
	struct tide_line line;
	int fd[2];

	pair_of_sockets(fd);
	in = (struct tide_line_in){ .fd = fd[0] };
	say(fd[1], "half a=");
	(void)close(fd[1]);
	CHECK_INT(tide_line_read(&in, &line), -1);
	(void)close(fd[0]);
}

static void
without_an_end(void)
{
	static struct tide_line_in in;
	static char flood[TIDE_LINE_MAX + 1];
	struct tide_line line;
	int fd[2];

	pair_of_sockets(fd);
	in = (struct tide_line_in){ .fd = fd[0] };
	memset(flood, 'x', sizeof flood - 1);
	say(fd[1], flood);
	CHECK_INT(tide_line_read(&in, &line), -1);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

static void
peer_is_gone(void)
{
	struct tide_line_out out;
	int fd[2];

	pair_of_sockets(fd);
	(void)close(fd[0]);
	tide_line_start(&out, "ok");
	CHECK_INT(tide_line_send(&out, fd[1]), -1); /* and no SIGPIPE */
	(void)close(fd[1]);
}

static void
connecting(void)
{
	char far[200], text[TIDE_ERR_MAX];
	struct tide_err err;

	CHECK_INT(tide_line_connect(check_tmpdir(), &err), -1);
	(void)snprintf(text, sizeof text,
	    "%s/control.sock: No such file or directory", check_tmpdir());
	CHECK_STR(err.text, text);
	memset(far, 'x', sizeof far - 1);
	far[sizeof far - 1] = '\0';
	CHECK_INT(tide_line_connect(far, &err), -1);
	CHECK(strstr(err.text, "is too long a path") != NULL);
}

CHECK_CASES({ "every byte goes there and back", every_byte },
    { "numbers", numbers }, { "hostile lines are refused", hostile_lines },
    { "too many pairs, too long a line", too_much },
    { "a line built too long still parses", built_too_long },
    { "noise is at most refused", noise },
    { "a line that comes byte by byte", split_reads },
    { "many lines in one buffer", many_at_once },
    { "a line cut short by the end", cut_short },
    { "a line without an end", without_an_end },
    { "a peer that is gone", peer_is_gone },
    { "nobody to connect to", connecting })
