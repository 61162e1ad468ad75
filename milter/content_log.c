/*
 * content_log - the reader that only tells: a line for each part, where
 * text_log is on.
 */
#include <stdio.h>

#include "content.h"
#include "session.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/log.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

static size_t letters; /* bytes of normalised text in the part so far */
static unsigned links;

static bool
wants(const struct tide_profile *p)
{
	return p->text_log != 0;
}

static void
tell(const struct tide_part *p, const char *what)
{
	char type[80], name[128];

	session_printable(type, sizeof type, p->type);
	session_printable(name, sizeof name, p->name);
	tide_log(TIDE_LOG_INFO,
	    "%s: part=%u kind=%s depth=%u type=%s name=%s %s",
	    session.message.qid[0] != '\0' ? session.message.qid : "-",
	    p->number, tide_part_kind_name[p->kind], p->depth,
	    type[0] != '\0' ? type : "-", name[0] != '\0' ? name : "-", what);
}

static void
on_begin(void *arg, const struct tide_part *p)
{
	(void)arg;
	(void)p;
	letters = 0;
	links = 0;
}

static void
on_text(void *arg, const char *text, size_t length)
{
	(void)arg;
	(void)text;
	letters += length;
}

static void
on_link(void *arg, const struct tide_part *p, const char *text, size_t length)
{
	(void)arg;
	(void)p;
	(void)text;
	(void)length;
	links++;
}

static void
on_end(void *arg, const struct tide_part *p)
{
	char what[64];

	(void)arg;
	(void)snprintf(
	    what, sizeof what, "letters=%zu links=%u", letters, links);
	tell(p, what);
}

static void
on_file(
    void *arg, const struct tide_part *p, struct tide_hash hash, uint64_t bytes)
{
	char what[40];

	(void)arg;
	(void)hash;
	(void)snprintf(
	    what, sizeof what, "bytes=%llu", (unsigned long long)bytes);
	tell(p, what);
}

static const struct tide_text_sink *
begin(void)
{
	static const struct tide_text_sink sink = { NULL, on_begin, on_text,
		on_end, on_link, on_file };

	return &sink;
}

const struct content_reader content_log = { .wants = wants, .begin = begin };
