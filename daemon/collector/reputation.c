/*
 * reputation - the collector's side of address lists and exceptions.
 *
 * In this order, always: into the archive, then into the map.  What is
 * acknowledged survives everything; what a collector did not get into the
 * map, the archivist's next round or the next collector does.
 */
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "tidemark/archive/addresses_archive.h"
#include "tidemark/archive/exceptions_archive.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/log.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/exceptions.h"
#include "tidemark/settings/config.h"

#define QUIET_MS 20000	   /* for workers to leave an old list */
#define CHANGES_MOST 4096u /* behind a stored list */

/* ---- the list in the map ----------------------------------------------- */

static int
into_map(struct collector *c, const struct tide_addresses_fresh *f,
    struct tide_err *err)
{
	struct tide_map *m = c->map;
	/* who tries again does not wait: the archivist has other work */
	uint64_t wait = c->reputation.stale ? 0 : QUIET_MS;
	int rc =
	    tide_addresses_install(m->addresses, &m->workers, f, wait, err);

	c->reputation.stale = rc < 0;
	return rc;
}

static bool
map_is_up_to_date(const struct collector *c, const struct tide_stored_list *s)
{
	const struct tide_addresses_copy *now =
	    tide_addresses_now(c->map->addresses, NULL);

	return now != NULL && atomic_load(&now->version) == s->version &&
	    atomic_load(&now->sequence) == s->sequence;
}

/* The list as the archive has it, unless the map has the same. */
static int
from_archive(struct collector *c, struct tide_err *err)
{
	struct reputation *r = &c->reputation;
	struct tide_stored_list s;
	int rc = tide_archive_get_list(
	    &c->archive, &c->map->addresses->shape, &s, err);

	r->version = s.version;
	r->base = s.base;
	r->sequence = s.sequence;
	if (rc == 1 && !map_is_up_to_date(c, &s))
		rc = into_map(c,
		    &(struct tide_addresses_fresh){ .words = s.words,
			.version = s.version,
			.sequence = s.sequence,
			.loaded_ms = s.loaded_ms,
			.elements = s.elements },
		    err);
	free(s.words);
	return rc < 0 ? -1 : 0;
}

/* ---- exceptions -------------------------------------------------------- */

static int
publish_exceptions(struct collector *c, struct tide_err *err)
{
	if (tide_exceptions_publish(&c->archive, c->config.runtime_dir, err) <
	    0)
		return -1;
	atomic_fetch_add(&c->map->addresses->head->exceptions, 1);
	return 0;
}

int
reputation_except(struct collector *c, const struct tide_exception *e, size_t n,
    struct tide_err *err)
{
	int rc;

	(void)pthread_mutex_lock(&c->reputation.lock);
	rc = tide_archive_put_exceptions(&c->archive, e, n, err);
	if (rc == 0)
		rc = publish_exceptions(c, err);
	(void)pthread_mutex_unlock(&c->reputation.lock);
	return rc;
}

int
reputation_unexcept(
    struct collector *c, const struct tide_key *key, struct tide_err *err)
{
	int rc;

	(void)pthread_mutex_lock(&c->reputation.lock);
	rc = tide_archive_del_exception(&c->archive, key, err);
	if (rc == 1 && publish_exceptions(c, err) < 0)
		rc = -1;
	(void)pthread_mutex_unlock(&c->reputation.lock);
	return rc;
}

/* ---- whole lists ------------------------------------------------------- */

static int
check_room(
    const struct tide_list_shape *s, uint64_t elements, struct tide_err *err)
{
	if (elements <= s->bloom.capacity)
		return 0;
	return tide_err_set(err,
	    "%llu addresses are more than addresses_capacity, %llu",
	    (unsigned long long)elements,
	    (unsigned long long)s->bloom.capacity);
}

/* Ours and theirs; theirs becomes both. */
static int
unite(struct collector *c, struct tide_addresses_fresh *f, struct tide_err *err)
{
	const struct tide_addresses *a = c->map->addresses;
	tide_bloom_word *ours = NULL, *both = (tide_bloom_word *)f->words;

	if (tide_addresses_now(a, &ours) != NULL)
		tide_list_unite(&a->shape, both, ours);
	f->elements =
	    tide_list_estimate(&a->shape, tide_list_filled(&a->shape, both));
	return check_room(&a->shape, f->elements, err);
}

static int
install(struct collector *c, struct tide_addresses_fresh *f, bool merge,
    struct tide_err *err)
{
	struct reputation *r = &c->reputation;
	const struct tide_list_shape *s = &c->map->addresses->shape;

	if (r->stale && from_archive(c, err) < 0)
		return -1;
	if (merge ? unite(c, f, err) < 0 : check_room(s, f->elements, err) < 0)
		return -1;
	f->version = r->version + 1;
	f->sequence = r->sequence;
	f->loaded_ms = tide_clock_wall_ms();
	if (tide_archive_put_list(&c->archive, s, f, err) < 0)
		return -1;
	r->version = f->version;
	r->base = f->sequence;
	return into_map(c, f, err);
}

int
reputation_install(struct collector *c, struct tide_addresses_fresh *f,
    bool merge, struct tide_err *err)
{
	int rc;

	(void)pthread_mutex_lock(&c->reputation.lock);
	rc = install(c, f, merge, err);
	(void)pthread_mutex_unlock(&c->reputation.lock);
	if (rc == 0)
		tide_log(TIDE_LOG_INFO,
		    "addresses: %s, %llu addresses, version %llu",
		    merge ? "united" : "loaded",
		    (unsigned long long)f->elements,
		    (unsigned long long)f->version);
	return rc;
}

/* ---- single addresses -------------------------------------------------- */

/* An empty list to add to, if there is none. */
static int
have_a_list(struct collector *c, struct tide_err *err)
{
	const struct reputation *r = &c->reputation;

	if (r->stale && from_archive(c, err) < 0)
		return -1;
	if (tide_addresses_now(c->map->addresses, NULL) != NULL)
		return 0;
	return into_map(c,
	    &(struct tide_addresses_fresh){ .version = r->version,
		.sequence = r->sequence,
		.loaded_ms = tide_clock_wall_ms() },
	    err);
}

/* Too many changes behind it: store the list as it now is. */
static int
settle(struct collector *c, struct tide_err *err)
{
	struct reputation *r = &c->reputation;
	struct tide_addresses *a = c->map->addresses;
	struct tide_addresses_copy *now;
	tide_bloom_word *words = NULL;
	struct tide_addresses_fresh f;

	now = tide_addresses_now(a, &words);
	if (now == NULL || r->sequence - r->base < CHANGES_MOST)
		return 0;
	f = (struct tide_addresses_fresh){ .words = words,
		.version = r->version,
		.sequence = r->sequence,
		.loaded_ms = atomic_load(&now->loaded_ms),
		.elements = atomic_load(&now->elements) };
	if (tide_archive_put_list(&c->archive, &a->shape, &f, err) < 0)
		return -1;
	r->base = r->sequence;
	return 0;
}

/*
 * The copy's sequence is stored last: a collector that dies halfway leaves
 * one that differs from the archive's, and the next makes the list anew.
 */
static void
apply(struct collector *c, bool add, struct tide_hash h)
{
	struct tide_addresses *a = c->map->addresses;
	tide_bloom_word *words = NULL;
	struct tide_addresses_copy *now = tide_addresses_now(a, &words);

	if (!add) {
		if (tide_list_del(&a->shape, words, h) &&
		    atomic_load(&now->elements) > 0)
			atomic_fetch_sub(&now->elements, 1);
	} else if (tide_list_add(&a->shape, words, h)) {
		atomic_fetch_add(&now->elements, 1);
	}
	atomic_store(&now->sequence, c->reputation.sequence);
}

static int
change(struct collector *c, bool add, struct tide_hash h, struct tide_err *err)
{
	struct reputation *r = &c->reputation;
	struct tide_addresses *a = c->map->addresses;
	struct tide_addresses_copy *now;
	tide_bloom_word *words = NULL;

	if (have_a_list(c, err) < 0 || settle(c, err) < 0)
		return -1;
	now = tide_addresses_now(a, &words);
	if (add == tide_list_has(&a->shape, words, h))
		return 0; /* nothing to be done */
	if (add &&
	    check_room(&a->shape, atomic_load(&now->elements) + 1, err) < 0)
		return -1;
	if (tide_archive_change_list(
		&c->archive, r->sequence + 1, add, h, err) < 0)
		return -1;
	r->sequence++;
	apply(c, add, h);
	return 1;
}

int
reputation_change(
    struct collector *c, bool add, struct tide_hash h, struct tide_err *err)
{
	int rc;

	if (!add && !c->map->addresses->shape.counting)
		return tide_err_set(err,
		    "an address can be taken out only of a list that counts: "
		    "set addresses_form = counting and load it again, or make "
		    "it an exception (tidemark except add)");
	(void)pthread_mutex_lock(&c->reputation.lock);
	rc = change(c, add, h, err);
	(void)pthread_mutex_unlock(&c->reputation.lock);
	return rc;
}

/* ---- start, and rounds ------------------------------------------------- */

/* A list that cannot be read must not keep us from going on. */
int
reputation_open(struct collector *c, struct tide_err *err)
{
	struct tide_err why;

	if (from_archive(c, &why) < 0)
		tide_log(TIDE_LOG_ERROR, "addresses: %s", why.text);
	return publish_exceptions(c, err);
}

void
reputation_round(struct collector *c)
{
	struct tide_err err;

	(void)pthread_mutex_lock(&c->reputation.lock);
	if (c->reputation.stale)
		(void)from_archive(c, &err); /* asked again next round */
	(void)pthread_mutex_unlock(&c->reputation.lock);
}
