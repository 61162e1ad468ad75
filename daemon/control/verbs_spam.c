/*
 * verbs, spam - a message is reported, or revoked.  Its signatures come, not
 * the message.
 */
#include <string.h>

#include "../collector/collector.h"
#include "verbs.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/base/log.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/signature_text.h"
#include "tidemark/reputation/spam.h"

static int
read_kind(const struct tide_line *line, enum tide_spam_kind *kind,
    struct tide_err *err)
{
	const char *word = tide_line_get(line, "kind");

	*kind = word != NULL && strcmp(word, "revoke") == 0
	    ? TIDE_SPAM_REVOKED
	    : TIDE_SPAM_REPORTED;
	if (*kind == TIDE_SPAM_REVOKED ||
	    (word != NULL && strcmp(word, "report") == 0))
		return 0;
	return tide_err_set(err, "kind= is one of report and revoke");
}

void
do_spam(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_line_out out;
	struct tide_signatures s;
	enum tide_spam_kind kind;
	uint64_t generation = 0;
	struct tide_err err;
	int rc = read_kind(line, &kind, &err);

	if (rc == 0 &&
	    (!tide_signatures_read(tide_line_get(line, "text"),
		 tide_line_get(line, "files"), tide_line_get(line, "samples"),
		 &s) ||
		(!s.has_text && s.files == 0)))
		rc = tide_err_set(&err, "there is nothing to know it by");
	if (rc == 0)
		rc = spam_report(c, kind, &s, &generation, &err);
	if (rc < 0) {
		say_err(fd, err.text);
		return;
	}
	tide_log(TIDE_LOG_INFO, "spam: text=%016llx files=%zu %s",
	    (unsigned long long)s.text.low, s.files,
	    kind == TIDE_SPAM_REPORTED ? "reported" : "revoked");
	tide_line_start(&out, "spam");
	tide_line_add_number(&out, "generation", generation);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}
