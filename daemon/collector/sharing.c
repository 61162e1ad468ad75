/*
 * sharing - the collector's side of counts that neighbours exchange.
 *
 * PROTOCOL merge: a neighbour's file becomes part of every count.
 *  M1 archive: raise the replica of its origin, record its reports of spam,
 *     note its number: one commit; then the reports into the map (spam.c)
 *  M2 add up the replicas of each generation, in memory of our own
 *  M3 store the sums into the neighbours' arrays, word by word   relaxed
 *  M4 acknowledge
 * Why:   M3 stores what a cell has to be, not what is to be added: done twice
 *        or half and then again it comes to the same.  A worker that looks
 *        during M3 finds some cells of a key raised and others not yet, and
 *        the least of them is no less than the old count and no more than the
 *        new one.
 *        Under bulk_lock (within reputation.lock), like turning: a
 *        generation that M2 took for current is not cleared before M3 is
 *        done.
 * Crash: before M1 is on disk nothing has happened; after it the next
 *        collector begins at M2, with the map as it was left or a new one.
 * Test:  tests/daemon/lib/reputation/t_share.c,
 *        tests/tools/reputation/t_share.sh
 *
 * Own cells are only ever read here.
 */
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "sharing.h"
#include "tidemark/archive/addresses_archive.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/share_archive.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/log.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/share.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"

static uint64_t
span_of(struct collector *c)
{
	uint64_t span;

	(void)pthread_mutex_lock(&c->lock);
	span = c->config.bulk_span;
	(void)pthread_mutex_unlock(&c->lock);
	return span;
}

/* Reports that were made before have faded. */
static uint64_t
faded_ms(struct collector *c)
{
	uint64_t now = tide_map_now_ms(c->map), span;

	(void)pthread_mutex_lock(&c->lock);
	span = c->config.spam_generation;
	(void)pthread_mutex_unlock(&c->lock);
	span *= c->map->spam->shape.generations;
	return now > span ? now - span : 0;
}

/* The number of the generation that lies in one of the two arrays. */
static uint64_t
number_of(const struct tide_bulk *b, unsigned array, uint64_t span_ms)
{
	return tide_share_generation(
	    atomic_load(&b->head->since_ms[array]), span_ms);
}

/* ---- sums -------------------------------------------------------------- */

/* M2 and M3 for one array. */
static int
publish(struct collector *c, unsigned array, uint64_t span_ms,
    uint64_t generation, struct tide_err *err)
{
	const struct tide_bulk *b = c->map->bulk;
	const struct tide_counting_shape *shape = &b->filter.shape;
	size_t i, bytes = tide_counting_bytes(shape);
	tide_counting_word *sum = calloc(1, bytes);
	int rc;

	if (sum == NULL)
		return tide_err_errno(err, "adding neighbours' counts");
	rc = tide_archive_sum_shares(
	    &c->archive, shape, span_ms, generation, sum, err);
	for (i = 0; rc >= 0 && i < bytes / 8; i++)
		atomic_store_explicit(
		    &b->neighbours[array][i], sum[i], memory_order_relaxed);
	free((void *)sum);
	return rc < 0 ? -1 : 0;
}

/* Under bulk_lock.  What cannot be done now is done in the next round. */
static void
publish_all(struct collector *c, uint64_t span_ms)
{
	const struct tide_bulk *b = c->map->bulk;
	struct tide_bulk_generations g;
	struct tide_err err;
	uint64_t now;
	int rc;

	if (!tide_bulk_now(b, &g))
		return;
	now = number_of(b, g.current, span_ms);
	rc = publish(c, g.current, span_ms, now, &err);
	if (rc == 0 && g.before_counts && now > 0)
		rc = publish(c, 1 - g.current, span_ms, now - 1, &err);
	if (rc < 0 && !c->sums_stale)
		tide_log(TIDE_LOG_ERROR, "neighbours' counts: %s", err.text);
	c->sums_stale = rc < 0;
}

void
sharing_open(struct collector *c)
{
	(void)pthread_mutex_lock(&c->bulk_lock);
	publish_all(c, span_of(c));
	(void)pthread_mutex_unlock(&c->bulk_lock);
}

bool
sharing_turn(struct collector *c, struct tide_bulk_turn *turn, uint64_t span_ms)
{
	bool turned;

	(void)pthread_mutex_lock(&c->bulk_lock);
	turned = tide_bulk_round(c->map->bulk, &c->map->workers, turn,
	    tide_map_now_ms(c->map), span_ms);
	if (turned || c->sums_stale)
		publish_all(c, span_ms);
	(void)pthread_mutex_unlock(&c->bulk_lock);
	return turned;
}

/* ---- export ------------------------------------------------------------ */

static void
copy_own(const struct tide_bulk *b, unsigned array, uint64_t *to)
{
	size_t i, n = tide_counting_bytes(&b->filter.shape) / 8;

	for (i = 0; i < n; i++)
		to[i] = atomic_load_explicit(
		    &b->own[array][i], memory_order_acquire);
}

/* Both generations; of a span that was just made longer, both in one. */
static int
take_own(const struct tide_bulk *b, uint64_t span_ms, struct tide_share *s,
    struct tide_err *err)
{
	struct tide_share_head *h = &s->head;
	struct tide_bulk_generations g;
	unsigned before;

	if (!tide_bulk_now(b, &g))
		return tide_err_set(err, "nothing is counted yet");
	before = 1 - g.current;
	copy_own(b, g.current, s->words[0]);
	h->generation[0] = number_of(b, g.current, span_ms);
	h->parts = 1;
	if (!g.before_counts || atomic_load(&b->head->since_ms[before]) == 0)
		return 0;
	copy_own(b, before, s->words[1]);
	h->generation[1] = number_of(b, before, span_ms);
	if (h->generation[1] != h->generation[0]) {
		h->parts = 2;
		return 0;
	}
	tide_counting_sum(&b->filter.shape, (tide_counting_word *)s->words[0],
	    (const tide_counting_word *)s->words[1]);
	h->generation[1] = 0;
	return 0;
}

/* Take out what export `since` had. */
static int
make_delta(struct collector *c, struct tide_share *s, uint64_t since,
    struct tide_err *err)
{
	struct tide_share base;
	int found = tide_archive_get_export(&c->archive, since, &base, err);

	if (found < 0)
		return -1;
	if (found == 0)
		return tide_err_set(err,
		    "export %llu is not kept here (the last %u are): export "
		    "without --delta",
		    (unsigned long long)since, TIDE_SHARE_KEPT);
	if (base.head.span_ms != s->head.span_ms ||
	    memcmp(&base.head.shape, &s->head.shape, sizeof s->head.shape) !=
		0) {
		tide_share_free(&base);
		return tide_err_set(err,
		    "the settings of bulk counts have changed since export "
		    "%llu: export without --delta",
		    (unsigned long long)since);
	}
	tide_share_subtract(s, &base);
	tide_share_free(&base);
	s->head.since = since;
	return 0;
}

/*
 * The whole is kept before anything is handed out: a number stands for one
 * state, also when we die between the two.
 */
static void *
make_export(struct collector *c, struct tide_share *s, bool last,
    uint64_t since, size_t *size, struct tide_err *err)
{
	struct tide_share_me me;
	void *file;
	int rc;

	if (tide_archive_share_me(&c->archive, &me, err) < 0)
		return NULL;
	if (last)
		since = me.sequence;
	s->head.fingerprint = tide_key_fingerprint(&c->archive.key);
	s->head.origin = me.origin;
	s->head.sequence = ++me.sequence;
	s->head.made_ms = tide_clock_wall_ms();
	file = tide_share_pack(s, &c->archive.key, size, err);
	if (file == NULL || since == 0)
		rc = file == NULL ? -1 : 0;
	else
		rc = make_delta(c, s, since, err);
	if (rc == 0)
		rc = tide_archive_keep_export(
		    &c->archive, &me, file, *size, faded_ms(c), err);
	if (rc == 0 && since == 0)
		return file;
	free(file);
	return rc == 0 ? tide_share_pack(s, &c->archive.key, size, err) : NULL;
}

void *
sharing_export(struct collector *c, bool last, uint64_t since,
    struct tide_share_head *head, size_t *size, struct tide_err *err)
{
	uint64_t span = span_of(c);
	struct tide_share s;
	void *file = NULL;

	if (tide_share_alloc(&s, &c->map->bulk->filter.shape, err) < 0)
		return NULL;
	s.head.span_ms = span;
	(void)pthread_mutex_lock(&c->bulk_lock);
	if (take_own(c->map->bulk, span, &s, err) == 0 &&
	    tide_archive_own_reports(&c->archive, faded_ms(c), &s, err) == 0)
		file = make_export(c, &s, last, since, size, err);
	(void)pthread_mutex_unlock(&c->bulk_lock);
	*head = s.head;
	tide_share_free(&s);
	return file;
}

/* ---- merge ------------------------------------------------------------- */

/*
 * All of one origin's generation lies in one array, or its deltas would fall
 * short: what belongs to a generation that has not begun here has to wait.
 * What is older than the one before counts no more.
 */
static int
check_generations(
    const struct tide_share_head *h, uint64_t now, struct tide_err *err)
{
	unsigned i;

	for (i = 0; i < h->parts; i++)
		if (h->generation[i] > now)
			return tide_err_set(err,
			    "is of a generation that has not begun here: "
			    "merge it again in a minute, and see that the "
			    "servers' clocks agree");
	return 0;
}

static int
merge(struct collector *c, struct tide_share *s, struct tide_err *err)
{
	const struct tide_bulk *b = c->map->bulk;
	struct tide_share_place place = { .not_before_ms = faded_ms(c) };
	uint64_t span = s->head.span_ms, now, i;
	struct tide_signatures sig;
	struct tide_bulk_generations g;

	if (!tide_bulk_now(b, &g))
		return tide_err_set(err, "nothing is counted yet");
	now = number_of(b, g.current, span);
	place.oldest = now > 0 ? now - 1 : 0;
	if (check_generations(&s->head, now, err) < 0 ||
	    spam_room(c, &place, err) < 0 ||
	    tide_archive_merge_share(&c->archive, s, &place, err) < 0) /* M1 */
		return -1;
	for (i = 0; i < s->head.reports; i++)
		if (tide_shared_report_read(&s->report[i], &sig))
			spam_recorded(c, place.spam_generation,
			    (enum tide_spam_kind)s->report[i].kind, &sig);
	publish_all(c, span);
	return 0;
}

int
sharing_merge(struct collector *c, const void *file, size_t size,
    struct tide_share_head *head, struct tide_err *err)
{
	struct tide_share_ours ours = { .key = &c->archive.key,
		.fingerprint = tide_key_fingerprint(&c->archive.key),
		.span_ms = span_of(c),
		.shape = c->map->bulk->filter.shape };
	struct tide_share_me me;
	struct tide_share s;
	int rc;

	(void)pthread_mutex_lock(&c->reputation.lock);
	(void)pthread_mutex_lock(&c->bulk_lock);
	rc = tide_archive_share_me(&c->archive, &me, err);
	ours.origin = me.origin;
	if (rc == 0)
		rc = tide_share_unpack(&s, file, size, &ours, err);
	if (rc == 0) {
		*head = s.head;
		rc = merge(c, &s, err);
		tide_share_free(&s);
	}
	(void)pthread_mutex_unlock(&c->bulk_lock);
	(void)pthread_mutex_unlock(&c->reputation.lock);
	return rc;
}
