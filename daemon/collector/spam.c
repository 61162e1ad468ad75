/*
 * spam - the collector's side of reports and revocations.
 *
 * In this order, always: into the archive, then into the map; so a report
 * that was acknowledged survives everything.
 */
#include <string.h>

#include "collector.h"
#include "sharing.h"
#include "tidemark/archive/share_archive.h"
#include "tidemark/archive/spam_archive.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/log.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/shared/counters.h"

#define QUIET_MS 20000	  /* for workers to leave the oldest generation */
#define RECORDS_MOST 256u /* before the filters are stored */

static uint64_t
newest(const struct collector *c)
{
	return atomic_load(&c->map->spam->head->newest);
}

static int
into_map(struct collector *c, uint64_t number, uint64_t began_ms,
    uint64_t wait_ms, struct tide_err *err)
{
	struct tide_map *m = c->map;

	return tide_spam_begin_generation(
	    m->spam, &m->workers, number, began_ms, wait_ms, err);
}

/* ---- generations ------------------------------------------------------- */

static int
save(struct collector *c, struct tide_err *err)
{
	struct reputation *r = &c->reputation;

	if (tide_archive_save_spam(&c->archive, c->map->spam, newest(c),
		r->spam_sequence, err) < 0)
		return -1;
	r->spam_base = r->spam_sequence;
	return 0;
}

/* The next generation, first in the archive. */
static int
begin(struct collector *c, uint64_t number, uint64_t began_ms, bool afresh,
    struct tide_err *err)
{
	const struct tide_spam_shape *s = &c->map->spam->shape;
	uint64_t oldest = afresh ? number : tide_spam_oldest(s, number);
	char when[32];

	if (tide_archive_begin_spam(
		&c->archive, s, number, began_ms, oldest, afresh, err) < 0)
		return -1;
	if (afresh)
		c->reputation.spam_base = c->reputation.spam_sequence;
	c->reputation.spam_newest = number;
	tide_log(TIDE_LOG_INFO, "spam: generation %llu begins, of %s",
	    (unsigned long long)number,
	    tide_clock_show(began_ms, when, sizeof when));
	return into_map(c, number, began_ms, QUIET_MS, err);
}

static int
next_generation(struct collector *c, uint64_t began_ms, struct tide_err *err)
{
	if (c->reputation.spam_sequence > c->reputation.spam_base &&
	    save(c, err) < 0)
		return -1;
	return begin(c, newest(c) + 1, began_ms, false, err);
}

/* When the one after it is due. */
static uint64_t
ends_ms(const struct collector *c, uint64_t span_ms)
{
	return atomic_load(
		   &tide_spam_generation(c->map->spam, newest(c))->began_ms) +
	    span_ms;
}

/*
 * After a long sleep as many begin as are due, so that what is old is
 * forgotten; no more than it takes to forget everything.
 */
static int
rotate(struct collector *c, uint64_t now_ms, uint64_t span_ms,
    struct tide_err *err)
{
	unsigned i, most = c->map->spam->shape.generations;

	for (i = 0; i <= most && ends_ms(c, span_ms) <= now_ms; i++)
		if (next_generation(
			c, i < most ? ends_ms(c, span_ms) : now_ms, err) < 0)
			return -1;
	return 0;
}

void
spam_round(struct collector *c, uint64_t span_ms)
{
	struct reputation *r = &c->reputation;
	struct tide_err err;
	int rc = 0;

	(void)pthread_mutex_lock(&r->lock);
	if (r->spam_newest > newest(c)) /* workers would not leave */
		rc = into_map(
		    c, r->spam_newest, tide_map_now_ms(c->map), 0, &err);
	if (rc == 0 && newest(c) != 0)
		rc = rotate(c, tide_map_now_ms(c->map), span_ms, &err);
	(void)pthread_mutex_unlock(&r->lock);
	if (rc < 0)
		tide_log(TIDE_LOG_WARNING, "spam: %s", err.text);
}

/* ---- start ------------------------------------------------------------- */

/* The map as the archive wants it. */
static int
catch_up(
    struct collector *c, const struct tide_stored_spam *s, struct tide_err *err)
{
	if (newest(c) == 0)
		return tide_archive_load_spam(
		    &c->archive, c->map->spam, s, err);
	if (newest(c) < s->newest &&
	    into_map(c, s->newest, tide_map_now_ms(c->map), QUIET_MS, err) < 0)
		return -1;
	return tide_archive_replay_spam(&c->archive, c->map->spam, s, err);
}

/* Reports that cannot be read must not keep us from going on. */
int
spam_open(struct collector *c, struct tide_err *err)
{
	uint64_t now = tide_map_now_ms(c->map), number;
	struct tide_stored_spam s;
	int rc = tide_archive_spam(&c->archive, &c->map->spam->shape, &s, err);

	if (rc == 1 && catch_up(c, &s, err) < 0)
		rc = -1;
	c->reputation.spam_newest = s.newest;
	c->reputation.spam_base = s.base;
	c->reputation.spam_sequence = s.sequence;
	if (rc == 1)
		return 0;
	if (rc < 0)
		tide_log(TIDE_LOG_ERROR, "spam: %s", err->text);
	number = s.newest > newest(c) ? s.newest : newest(c);
	return begin(c, number + 1, now, true, err);
}

/* ---- reports ----------------------------------------------------------- */

static int
make_room(struct collector *c, enum tide_spam_kind kind, struct tide_err *err)
{
	const struct tide_spam *m = c->map->spam;
	uint64_t n =
	    atomic_load(&tide_spam_generation(m, newest(c))->messages[kind]);

	if (n * TIDE_PAIRS >= m->shape.pairs.capacity)
		return next_generation(c, tide_map_now_ms(c->map), err);
	if (c->reputation.spam_sequence - c->reputation.spam_base >=
	    RECORDS_MOST)
		return save(c, err);
	return 0;
}

static int
report(struct collector *c, enum tide_spam_kind kind,
    const struct tide_signatures *s, uint64_t *generation, struct tide_err *err)
{
	struct reputation *r = &c->reputation;
	struct tide_spam *m = c->map->spam;

	if (make_room(c, kind, err) < 0)
		return -1;
	*generation = newest(c);
	if (tide_archive_report_spam(&c->archive, r->spam_sequence + 1,
		*generation, kind, s, err) < 0)
		return -1;
	r->spam_sequence++;
	tide_spam_put(m, *generation, kind, s);
	atomic_fetch_add(
	    &tide_spam_generation(m, *generation)->messages[kind], 1);
	return 0;
}

/* ---- reports of neighbours --------------------------------------------- */

int
spam_room(
    struct collector *c, struct tide_share_place *place, struct tide_err *err)
{
	if (make_room(c, TIDE_SPAM_REPORTED, err) < 0 ||
	    make_room(c, TIDE_SPAM_REVOKED, err) < 0)
		return -1;
	place->spam_generation = newest(c);
	place->spam_sequence = c->reputation.spam_sequence;
	return 0;
}

void
spam_recorded(struct collector *c, uint64_t generation,
    enum tide_spam_kind kind, const struct tide_signatures *s)
{
	struct tide_spam *m = c->map->spam;

	c->reputation.spam_sequence++;
	tide_spam_put(m, generation, kind, s);
	atomic_fetch_add(
	    &tide_spam_generation(m, generation)->messages[kind], 1);
}

int
spam_report(struct collector *c, enum tide_spam_kind kind,
    const struct tide_signatures *s, uint64_t *generation, struct tide_err *err)
{
	int rc;

	(void)pthread_mutex_lock(&c->reputation.lock);
	rc = report(c, kind, s, generation, err);
	(void)pthread_mutex_unlock(&c->reputation.lock);
	if (rc == 0)
		tide_count(c->map->counters,
		    kind == TIDE_SPAM_REPORTED ? TIDE_COUNT_SPAM_REPORTED
					       : TIDE_COUNT_SPAM_REVOKED,
		    1);
	return rc;
}
