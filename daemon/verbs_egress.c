/*
 * verbs, egress - the lists of who may reach which mail server.
 *
 * An entry travels as the line that people write (egress.h); many of them,
 * with newlines between, make one request and one commit.  Whoever keeps the
 * packet filter in step waits in egress-poll until something has changed.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidemark/clock.h"
#include "tidemark/egress.h"
#include "tidemark/log.h"
#include "verbs.h"

#define ENTRIES_MOST 1024 /* of one line: more would not fit in it */
#define PAGE 256
#define WAIT_MOST_MS 30000u

/* ---- changes ----------------------------------------------------------- */

void
egress_touch(struct collector *c)
{
	(void)pthread_mutex_lock(&c->egress_lock);
	c->egress_generation++;
	(void)pthread_cond_broadcast(&c->egress_changed);
	(void)pthread_mutex_unlock(&c->egress_lock);
}

static uint64_t
wait_for_change(struct collector *c, uint64_t known, uint64_t wait_ms)
{
	struct timespec until;
	uint64_t now;
	int rc = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(wait_ms / 1000);
	(void)pthread_mutex_lock(&c->egress_lock);
	while (rc == 0 && c->egress_generation == known)
		rc = pthread_cond_timedwait(
		    &c->egress_changed, &c->egress_lock, &until);
	now = c->egress_generation;
	(void)pthread_mutex_unlock(&c->egress_lock);
	return now;
}

void
do_egress_poll(struct collector *c, int fd, const struct tide_line *line)
{
	uint64_t wait_ms = tide_line_number(line, "wait_ms", 0);
	uint64_t known = tide_line_number(line, "generation", 0);
	struct tide_line_out out;

	if (wait_ms > WAIT_MOST_MS)
		wait_ms = WAIT_MOST_MS;
	tide_line_start(&out, "egress");
	tide_line_add_number(
	    &out, "generation", wait_for_change(c, known, wait_ms));
	tide_line_add_number(
	    &out, "settings", atomic_load(&c->map->control->generation));
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

static void
set_origin(struct tide_egress *e, const char *origin)
{
	size_t i;

	(void)snprintf(
	    e->origin, sizeof e->origin, "%s", origin != NULL ? origin : "");
	for (i = 0; e->origin[i] != '\0'; i++)
		if (iscntrl((unsigned char)e->origin[i]))
			e->origin[i] = '?';
}

/* How many, or -1; every line has to be an entry. */
static int
read_entries(const struct tide_line *line, enum tide_egress_kind kind,
    struct tide_egress *e, struct tide_err *err)
{
	const char *list = tide_line_get(line, "list");
	const char *origin = tide_line_get(line, "origin");
	uint64_t now = tide_clock_wall_ms();
	char *copy, *one, *rest = NULL;
	int n = 0, rc = 1;

	copy = strdup(list != NULL ? list : "");
	if (copy == NULL)
		return tide_err_errno(err, "no memory");
	for (one = strtok_r(copy, "\n", &rest); rc > 0 && one != NULL;
	     one = strtok_r(NULL, "\n", &rest)) {
		if (n == ENTRIES_MOST)
			rc = tide_err_set(err, "too many at once");
		else
			rc = tide_egress_read(kind, one, now, &e[n], err);
		if (rc == 0)
			rc = tide_err_set(err, "an entry is empty");
		if (rc > 0)
			set_origin(&e[n++], origin);
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
		n = read_entries(line, (enum tide_egress_kind)kind, e, &err);
	if (n > 0)
		done = do_it(&c->archive, e, (size_t)n, &err);
	free(e);
	if (done < 0) {
		say_err(fd, err.text);
		return;
	}
	egress_touch(c);
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
	    (enum tide_egress_verdict)verdict, tide_clock_wall_ms(), &err);
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

static int
send_entry(int fd, const struct tide_egress *e)
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
	return tide_line_send(&out, fd);
}

/* Page by page: whoever reads slowly keeps no transaction open. */
static int
send_list(struct collector *c, int fd, enum tide_egress_kind kind,
    struct tide_err *err)
{
	struct tide_egress page[PAGE], last;
	bool first = true;
	int n, i;

	do {
		n = tide_archive_list_egress(
		    &c->archive, kind, first ? NULL : &last, page, PAGE, err);
		for (i = 0; i < n; i++)
			if (send_entry(fd, &page[i]) < 0)
				return 1;
		if (n > 0)
			last = page[n - 1];
		first = false;
	} while (n > 0);
	return n;
}

/* Clients and networks; senders are no addresses. */
static int
send_bans(struct collector *c, int fd)
{
	uint32_t i, capacity = atomic_load(&c->map->bans->capacity);
	uint64_t now = tide_clock_wall_ms();
	struct tide_ban ban;
	struct tide_err ignored;

	for (i = 0; i < capacity; i++) {
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
		if (send_entry(fd, &e) < 0)
			return 1;
	}
	return 0;
}

void
do_egress_list(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_err err;
	int kind = read_kind(line, TIDE_EGRESS_BAN, &err), rc;

	if (kind < 0)
		rc = -1;
	else if (kind == TIDE_EGRESS_BAN)
		rc = send_bans(c, fd);
	else
		rc = send_list(c, fd, (enum tide_egress_kind)kind, &err);
	if (rc < 0)
		say_err(fd, err.text);
	else if (rc == 0)
		say_ok(fd);
}
