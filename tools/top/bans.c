/*
 * top, bans - who is refused, why, and for how long yet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/output.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "top.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"

enum { KEY, CAUSE, REASON, LEFT, UNTIL, TIMES, PROFILE };

static const struct column columns[] = {
	{ "key", "KEY", 0, 0, true },
	{ "cause", "CAUSE", 9, 0, true },
	{ "reason", "REASON", 18, 0, true },
	{ "remaining_ms", "LEFT", 10, 0, false },
	{ "until", "UNTIL", 23, 110, true },
	{ "times", "TIMES", 5, 0, false },
	{ "profile", "PROFILE", 10, 132, true },
};

static struct tide_ban *bans;
static size_t count, room;

static int
keep(const struct tide_ban *b)
{
	size_t more = room == 0 ? 64 : room * 2;
	struct tide_ban *p;

	if (count == room) {
		p = realloc(bans, more * sizeof *p);
		if (p == NULL)
			return -1;
		bans = p;
		room = more;
	}
	bans[count++] = *b;
	return 0;
}

static double
number(const struct top *t, size_t row, unsigned column)
{
	const struct tide_ban *b = &bans[row];

	return column == LEFT ? (double)(b->until_ms - t->now_ms) : b->times;
}

static const char *
profile_of(const struct tide_ban *b)
{
	return b->profile[0] != '\0' ? b->profile : "everywhere";
}

static void
show(const struct top *t, size_t row, unsigned column, int width,
    struct cell *out)
{
	const struct tide_ban *b = &bans[row];
	char text[SHOW_MAX] = "";
	const char *s = text;

	(void)width;
	out->tone = TONE_PLAIN;
	switch (column) {
	case KEY:
		s = b->key;
		break;
	case CAUSE:
		s = view_ban_group(b);
		break;
	case REASON:
		s = view_ban_reason(b);
		break;
	case LEFT:
		(void)show_span(b->until_ms - t->now_ms, text, sizeof text);
		break;
	case UNTIL:
		(void)show_moment(b->until_ms, text, sizeof text);
		break;
	case TIMES:
		(void)snprintf(text, sizeof text, "%u", b->times);
		break;
	default:
		s = profile_of(b);
	}
	(void)snprintf(out->text, TOP_TEXT, "%s", s);
}

static bool
key(const struct top *t, size_t row, char out[TIDE_BUCKET_KEY_MAX + 1])
{
	(void)t;
	(void)snprintf(out, TIDE_BUCKET_KEY_MAX + 1, "%s", bans[row].key);
	return true;
}

static uint64_t
id(size_t row)
{
	return tide_hash_check(bans[row].key, strlen(bans[row].key)) ^
	    tide_hash_check(bans[row].profile, strlen(bans[row].profile)) << 1;
}

static int
gather(struct top *t)
{
	struct tide_ban b;
	uint32_t i;

	count = 0;
	for (i = 0; i < t->view.bans; i++)
		if (view_ban(&t->view, i, t->now_ms, &b) && keep(&b) < 0)
			return -1;
	t->table[0] = (struct table){ .record = "ban",
		.column = columns,
		.columns = sizeof columns / sizeof *columns,
		.rows = count,
		.cell = show,
		.number = number,
		.id = id,
		.key = key };
	t->tables = 1;
	return 0;
}

static void
banner(const struct top *t, struct banner *b, int width, int height)
{
	(void)width;
	if (height < 2)
		return;
	b->line[0].tone = TONE_PLAIN;
	(void)snprintf(b->line[0].text, TOP_TEXT,
	    "%zu ban%s standing, room for %u; postmaster and abuse stay open%s",
	    count, plural(count), t->view.bans, view_ban_spares(&t->view));
	b->lines = 1;
}

const struct top_view top_bans = { .name = "Bans",
	.column = columns,
	.columns = sizeof columns / sizeof *columns,
	.sort = LEFT,
	.descending = false,
	.gather = gather,
	.banner = banner };
