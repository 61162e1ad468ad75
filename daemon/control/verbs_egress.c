/*
 * verbs, egress - the lists of who may reach which mail server.
 *
 * An entry travels as the line that people write (egress.h); many of them,
 * with newlines between, make one request and one commit.  Whoever keeps the
 * packet filter in step waits in egress-poll until something has changed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../collector/collector.h"
#include "verbs.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/archive_egress.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/base/log.h"
#include "tidemark/egress/egress.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"

#define ENTRIES_MOST 1024 /* of one line: more would not fit in it */
#define PAGE 256
#define WAIT_MOST_MS 30000u

/* ---- changes ----------------------------------------------------------- */

void
egress_touch(struct collector *c, enum tide_egress_kind kind)
{
	(void)pthread_mutex_lock(&c->egress_lock);
	if (kind < TIDE_EGRESS_KINDS)
		c->egress_generation[kind]++;
	(void)pthread_cond_broadcast(&c->egress_changed);
	(void)pthread_mutex_unlock(&c->egress_lock);
}

/* What somebody knows, or is told: a number a list, and of the settings. */
struct known {
	uint64_t generation[TIDE_EGRESS_KINDS];
	uint64_t settings;
};

static bool
is_news(struct collector *c, const struct known *k)
{
	return memcmp(k->generation, c->egress_generation,
		   sizeof k->generation) != 0 ||
	    k->settings != atomic_load(&c->map->control->generation);
}

/* *k is what is known; at the end, or when the time is over, what is so. */
static void
wait_for_news(struct collector *c, struct known *k, uint64_t wait_ms)
{
	struct timespec until = tide_clock_deadline(wait_ms);
	int rc = 0;

	(void)pthread_mutex_lock(&c->egress_lock);
	while (rc == 0 && wait_ms > 0 && !is_news(c, k))
		rc = pthread_cond_timedwait(
		    &c->egress_changed, &c->egress_lock, &until);
	memcpy(k->generation, c->egress_generation, sizeof k->generation);
	k->settings = atomic_load(&c->map->control->generation);
	(void)pthread_mutex_unlock(&c->egress_lock);
}

void
do_egress_poll(struct collector *c, int fd, const struct tide_line *line)
{
	uint64_t wait_ms = tide_line_number(line, "wait_ms", 0);
	struct tide_line_out out;
	struct known k;
	unsigned i;

	for (i = 0; i < TIDE_EGRESS_KINDS; i++)
		k.generation[i] =
		    tide_line_number(line, tide_egress_kind_name[i], 0);
	k.settings = tide_line_number(line, "settings", 0);
	wait_for_news(c, &k, wait_ms < WAIT_MOST_MS ? wait_ms : WAIT_MOST_MS);
	tide_line_start(&out, "egress");
	for (i = 0; i < TIDE_EGRESS_KINDS; i++)
		tide_line_add_number(
		    &out, tide_egress_kind_name[i], k.generation[i]);
	tide_line_add_number(&out, "settings", k.settings);
	tide_line_add_number(&out, "now_ms", tide_map_now_ms(c->map));
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

/* ---- entries ----------------------------------------------------------- */

static int
read_kind(const struct tide_line *line, int most, struct tide_err *err)
{
	const char *name = tide_line_get(line, "kind");
	int i;

	for (i = 0; name != NULL && i <= most; i++)
		if (strcmp(name, tide_egress_kind_name[i]) == 0)
			return i;
	return tide_err_set(
	    err, "there is no list «%.20s»", name != NULL ? name : "");
}

/* How many, or -1; every line has to be an entry. */
static int
read_entries(const struct tide_line *line, enum tide_egress_kind kind,
    uint64_t now, struct tide_egress *e, struct tide_err *err)
{
	const char *list = tide_line_get(line, "list");
	const char *origin = tide_line_get(line, "origin");
	char *copy, *one, *rest = NULL;
	int n = 0, rc = 1;

	copy = strdup(list != NULL ? list : "");
	if (copy == NULL)
		return tide_err_errno(err, "no memory");
	for (one = strtok_r(copy, "\n", &rest); one != NULL;
	     one = strtok_r(NULL, "\n", &rest)) {
		if (n == ENTRIES_MOST)
			rc = tide_err_set(err, "too many at once");
		else
			rc = tide_egress_read(kind, one, now, &e[n], err);
		if (rc == 0)
			rc = tide_err_set(err, "an entry is empty");
		if (rc <= 0)
			break;
		verb_text(e[n].origin, sizeof e[n].origin, origin);
		n++;
	}
	free(copy);
	if (rc > 0 && n == 0)
		return tide_err_set(err, "there is no list=");
	return rc > 0 ? n : -1;
}

static void
change(struct collector *c, int fd, const struct tide_line *line,
    const char *word,
    int (*do_it)(struct tide_archive *, const struct tide_egress *, size_t,
	struct tide_err *))
{
	struct tide_egress *e = calloc(ENTRIES_MOST, sizeof *e);
	struct tide_line_out out;
	struct tide_err err;
	int kind = read_kind(line, TIDE_EGRESS_PERMIT, &err);
	int n = -1, done = -1;

	if (e == NULL)
		(void)tide_err_set(&err, "no memory");
	else if (kind >= 0)
		n = read_entries(line, (enum tide_egress_kind)kind,
		    tide_map_now_ms(c->map), e, &err);
	if (n > 0)
		done = do_it(&c->archive, e, (size_t)n, &err);
	free(e);
	if (done < 0) {
		say_err(fd, err.text);
		return;
	}
	egress_touch(c, (enum tide_egress_kind)kind);
	tide_log(TIDE_LOG_INFO, "egress: %d %s of %s", n, word,
	    tide_egress_kind_name[kind]);
	tide_line_start(&out, word);
	tide_line_add_number(&out, "entries", (uint64_t)n);
	tide_line_add_number(&out, "changed", (uint64_t)done);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

void
do_egress_add(struct collector *c, int fd, const struct tide_line *line)
{
	change(c, fd, line, "added", tide_archive_put_egress);
}

void
do_egress_del(struct collector *c, int fd, const struct tide_line *line)
{
	change(c, fd, line, "deleted", tide_archive_del_egress);
}

void
do_egress_checked(struct collector *c, int fd, const struct tide_line *line)
{
	const char *server = tide_line_get(line, "server");
	uint64_t verdict = tide_line_number(line, "verdict", 0);
	struct tide_line_out out;
	struct tide_err err;
	struct tide_ip ip;
	int n;

	if (server == NULL || !tide_ip_parse(server, &ip) || verdict == 0 ||
	    verdict >= TIDE_EGRESS_VERDICTS) {
		say_err(fd, "that is no server and verdict");
		return;
	}
	n = tide_archive_checked_egress(&c->archive, &ip,
	    (enum tide_egress_verdict)verdict, tide_map_now_ms(c->map), &err);
	if (n < 0) {
		say_err(fd, err.text);
		return;
	}
	tide_line_start(&out, "checked");
	tide_line_add_number(&out, "entries", (uint64_t)n);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

/* ---- listing ----------------------------------------------------------- */

/* Many lines a write: a reader woken for each of 100,000 takes seconds. */
struct stream {
	int fd;
	bool broken;
	size_t used;
	char buf[1 << 16];
};

static void
stream_flush(struct stream *s)
{
	size_t sent = 0;
	ssize_t n;

	while (!s->broken && sent < s->used) {
		n = send(s->fd, s->buf + sent, s->used - sent, MSG_NOSIGNAL);
		if (n > 0)
			sent += (size_t)n;
		else if (n == 0 || errno != EINTR)
			s->broken = true;
	}
	s->used = 0;
}

static void
stream_line(struct stream *s, const struct tide_line_out *line)
{
	if (s->used + line->length + 1 > sizeof s->buf)
		stream_flush(s);
	memcpy(s->buf + s->used, line->text, line->length);
	s->used += line->length;
	s->buf[s->used++] = '\n';
}

static void
stream_entry(struct stream *s, const struct tide_egress *e)
{
	struct tide_line_out out;
	struct tide_key key;

	tide_line_start(&out, "entry");
	if (e->kind == TIDE_EGRESS_PERMIT) {
		tide_key_net(&e->customer, &key);
		tide_line_add(&out, "customer", key.text);
	}
	tide_key_net(&e->net, &key);
	tide_line_add(&out, "net", key.text);
	tide_line_add_number(&out, "since_ms", e->since_ms);
	tide_line_add_number(&out, "until_ms", e->until_ms);
	if (e->reason[0] != '\0')
		tide_line_add(&out, "reason", e->reason);
	if (e->origin[0] != '\0')
		tide_line_add(&out, "origin", e->origin);
	if (e->verdict != TIDE_EGRESS_UNCHECKED) {
		tide_line_add_number(&out, "checked_ms", e->checked_ms);
		tide_line_add_number(&out, "verdict", e->verdict);
	}
	stream_line(s, &out);
}

/* Page by page: whoever reads slowly keeps no transaction open. */
static int
stream_list(struct collector *c, struct stream *s, enum tide_egress_kind kind,
    struct tide_err *err)
{
	struct tide_egress page[PAGE], last;
	bool first = true;
	int n, i;

	do {
		n = tide_archive_list_egress(
		    &c->archive, kind, first ? NULL : &last, page, PAGE, err);
		for (i = 0; i < n; i++)
			stream_entry(s, &page[i]);
		if (n > 0)
			last = page[n - 1];
		first = false;
	} while (n > 0 && !s->broken);
	return n < 0 ? -1 : 0;
}

/* Clients and networks; senders are no addresses. */
static void
stream_bans(struct collector *c, struct stream *s)
{
	uint32_t i, capacity = atomic_load(&c->map->bans->capacity);
	uint64_t now = tide_map_now_ms(c->map);
	struct tide_ban ban;
	struct tide_err ignored;

	for (i = 0; i < capacity && !s->broken; i++) {
		struct tide_egress e = { .kind = TIDE_EGRESS_BAN };

		if (!tide_bans_at(c->map->bans, i, &ban) ||
		    ban.until_ms <= now ||
		    tide_net_parse(ban.key, &e.net, &ignored) < 0)
			continue;
		e.since_ms = ban.since_ms;
		e.until_ms = ban.until_ms;
		(void)snprintf(e.reason, sizeof e.reason, "%s", ban.reason);
		(void)snprintf(e.origin, sizeof e.origin, "%s",
		    ban.group < TIDE_GROUPS ? tide_group_name[ban.group]
					    : "by hand");
		stream_entry(s, &e);
	}
}

void
do_egress_list(struct collector *c, int fd, const struct tide_line *line)
{
	struct stream *s = calloc(1, sizeof *s);
	struct tide_err err;
	int kind = read_kind(line, TIDE_EGRESS_BAN, &err), rc = kind;

	if (s == NULL) {
		say_err(fd, "no memory");
		return;
	}
	s->fd = fd;
	if (kind == TIDE_EGRESS_BAN)
		stream_bans(c, s);
	else if (kind >= 0)
		rc = stream_list(c, s, (enum tide_egress_kind)kind, &err);
	stream_flush(s);
	if (rc < 0)
		say_err(fd, err.text);
	else if (!s->broken)
		say_ok(fd);
	free(s);
}
