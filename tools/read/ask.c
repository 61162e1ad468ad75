/*
 * ask - connect, send one line, read lines until "ok" or "err".
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ask.h"
#include "output.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/settings/config.h"

#define ANSWER_TIMEOUT_S 60

enum answer
ask_open(struct ask *a, const struct tide_config *config)
{
	const struct timeval t = { .tv_sec = ANSWER_TIMEOUT_S };
	struct tide_err err;

	memset(&a->in, 0, sizeof a->in);
	a->in.fd = tide_line_connect(config->runtime_dir, &err);
	if (a->in.fd < 0) {
		complain("%s (is tidemarkd running?)", err.text);
		return ANSWER_BROKEN;
	}
	(void)setsockopt(a->in.fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	(void)setsockopt(a->in.fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
	return ANSWER_LINE;
}

enum answer
ask_say(struct ask *a, struct tide_line_out *request)
{
	if (tide_line_send(request, a->in.fd) == 0)
		return ANSWER_LINE;
	complain("the daemon does not take the question");
	ask_close(a);
	return ANSWER_BROKEN;
}

enum answer
ask_send(struct ask *a, const struct tide_config *config,
    struct tide_line_out *request)
{
	enum answer rc = ask_open(a, config);

	return rc == ANSWER_LINE ? ask_say(a, request) : rc;
}

/* What the daemon said may be many lines: all complaints at once. */
static void
pass_on(const char *text)
{
	size_t n;

	for (; *text != '\0'; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		complain("%.*s", (int)n, text);
	}
}

enum answer
ask_next(struct ask *a)
{
	const char *text;
	int rc = tide_line_read(&a->in, &a->line);

	if (rc <= 0) {
		complain(rc == 0 ? "the daemon hung up before its answer ended"
				 : "the daemon's answer cannot be read, or "
				   "did not come in time");
		return ANSWER_BROKEN;
	}
	if (strcmp(a->line.word, "ok") == 0)
		return ANSWER_DONE;
	if (strcmp(a->line.word, "err") != 0)
		return ANSWER_LINE;
	text = tide_line_get(&a->line, "text");
	pass_on(text != NULL && text[0] != '\0' ? text : "refused");
	return ANSWER_REFUSED;
}

void
ask_close(struct ask *a)
{
	if (a->in.fd >= 0)
		(void)close(a->in.fd);
	a->in.fd = -1;
}
