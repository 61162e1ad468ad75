/*
 * sign - a message given to the daemon, which has the key to sign it with.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../read/ask.h"
#include "../read/output.h"
#include "sign.h"
#include "tidemark/base/line.h"
#include "tidemark/settings/config.h"

#define MESSAGE_MOST (256u << 20) /* bytes; the rest is not read */

static int
say_chunk(struct ask *ask, const char *bytes, size_t n)
{
	struct tide_line_out line;

	tide_line_start(&line, "message");
	tide_line_add_number(&line, "raw", n);
	if (ask_say(ask, &line) == ANSWER_BROKEN)
		return -1;
	if (tide_line_send_bytes(ask->in.fd, bytes, n) == 0)
		return 0;
	complain("the daemon does not take the message");
	return -1;
}

static int
say_file(struct ask *ask, const char *path)
{
	bool standard = path == NULL || strcmp(path, "-") == 0;
	FILE *f = standard ? stdin : fopen(path, "re");
	size_t n, total = 0;
	char chunk[32768];
	int rc = 0;

	while (f != NULL && rc == 0 && total < MESSAGE_MOST &&
	    (n = fread(chunk, 1, sizeof chunk, f)) > 0) {
		rc = say_chunk(ask, chunk, n);
		total += n;
	}
	if (f == NULL || (rc == 0 && ferror(f) != 0)) {
		complain("%s: %s", standard ? "standard input" : path,
		    strerror(errno));
		rc = -1;
	}
	if (f != NULL && !standard)
		(void)fclose(f);
	return rc;
}

static int
say_start(struct ask *ask, const char *const *to, size_t recipients)
{
	struct tide_line_out line;
	size_t i;

	tide_line_start(&line, "message");
	tide_line_add(&line, "begin", "1");
	if (ask_say(ask, &line) == ANSWER_BROKEN)
		return -1;
	for (i = 0; i < recipients; i++) {
		tide_line_start(&line, "message");
		tide_line_add(&line, "to", to[i]);
		if (ask_say(ask, &line) == ANSWER_BROKEN)
			return -1;
	}
	return 0;
}

int
sign_message(struct ask *ask, const struct tide_config *config,
    const char *path, const char *const *to, size_t recipients)
{
	if (ask_open(ask, config) == ANSWER_BROKEN)
		return -1;
	if (say_start(ask, to, recipients) == 0 && say_file(ask, path) == 0)
		return 0;
	ask_close(ask);
	return -1;
}
