/*
 * verbs, sharing - files of counts, out and in.
 *
 * Out: a line that says how many bytes follow, these, then "ok".  In: the
 * tool says how many, the collector says "send", and reads that many; never
 * more than a file of our own could have.
 */
#include <stdlib.h>

#include "../collector/collector.h"
#include "../collector/sharing.h"
#include "verbs.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/base/log.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/share.h"
#include "tidemark/shared/counters.h"

static void
describe(struct tide_line_out *out, const char *word,
    const struct tide_share_head *h, size_t size)
{
	tide_line_start(out, word);
	tide_line_add_number(out, "bytes", size);
	tide_line_add_number(out, "sequence", h->sequence);
	tide_line_add_number(out, "since", h->since);
	tide_line_add_number(out, "origin", h->origin);
	tide_line_add_number(out, "made_ms", h->made_ms);
}

void
do_export(struct collector *c, int fd, const struct tide_line *line)
{
	bool last = tide_line_number(line, "last", 0) == 1;
	uint64_t since = tide_line_number(line, "since", 0);
	struct tide_share_head head;
	struct tide_line_out out;
	struct tide_err err;
	size_t size;
	void *file = sharing_export(c, last, since, &head, &size, &err);

	if (file == NULL) {
		say_err(fd, err.text);
		return;
	}
	describe(&out, "export", &head, size);
	if (tide_line_send(&out, fd) == 0 &&
	    tide_line_send_bytes(fd, file, size) == 0)
		say_ok(fd);
	free(file);
}

static int
receive(struct collector *c, int fd, void *file, size_t size)
{
	struct tide_share_head head;
	struct tide_line_out out;
	struct tide_err err;

	if (tide_line_read_bytes(fd, file, size) < 0) {
		say_err(fd, "ended too early");
		return -1;
	}
	if (sharing_merge(c, file, size, &head, &err) < 0) {
		say_err(fd, err.text);
		return -1;
	}
	tide_count(c->map->counters, TIDE_COUNT_SHARES_MERGED, 1);
	tide_log(TIDE_LOG_INFO, "merged: export=%llu origin=%016llx bytes=%zu",
	    (unsigned long long)head.sequence, (unsigned long long)head.origin,
	    size);
	describe(&out, "merged", &head, size);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
	return 0;
}

void
do_merge(struct collector *c, int fd, const struct tide_line *line)
{
	uint64_t size = tide_line_number(line, "bytes", 0);
	struct tide_line_out out;
	void *file;

	if (size >
	    tide_share_most(&c->map->bulk->filter.shape, TIDE_SHARE_REPORTS)) {
		say_err(fd, "is larger than any export of our sizes");
		return;
	}
	file = malloc((size_t)size + 1);
	if (file == NULL) {
		say_err(fd, "finds no memory");
		return;
	}
	tide_line_start(&out, "send");
	if (tide_line_send(&out, fd) == 0 &&
	    receive(c, fd, file, (size_t)size) < 0)
		tide_count(c->map->counters, TIDE_COUNT_SHARES_REFUSED, 1);
	free(file);
}
