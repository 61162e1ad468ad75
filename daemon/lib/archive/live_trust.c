/*
 * live trust - whose file it is, of which boot, version, sizes; and whether it
 * is whole.
 */
#include <stdlib.h>
#include <string.h>

#include "live_priv.h"
#include "v01.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/keyring.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/control.h"
#include "tidemark/map/head.h"
#include "tidemark/map/regions.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/pages.h"

static const char *const tables[] = LIVE_TABLES;

/* ---- trusting ---------------------------------------------------------- */

static enum trust
outgrown(const struct opening *o)
{
	return o->replace ? REMAKE : OUTGROWN;
}

static bool
has_our_sizes(const struct tide_map_head *h, const struct tide_map_head *want)
{
	return memcmp(&h->senders, &want->senders, sizeof h->senders) == 0 &&
	    memcmp(&h->recipients, &want->recipients, sizeof h->recipients) ==
	    0 &&
	    memcmp(&h->content, &want->content, sizeof h->content) == 0 &&
	    h->memory == want->memory &&
	    memcmp(&h->flow, &want->flow, sizeof h->flow) == 0 &&
	    memcmp(&h->addresses, &want->addresses, sizeof h->addresses) == 0 &&
	    memcmp(&h->bulk, &want->bulk, sizeof h->bulk) == 0 &&
	    memcmp(&h->spam, &want->spam, sizeof h->spam) == 0 &&
	    h->bans == want->bans && h->accounts == want->accounts &&
	    h->decisions == want->decisions && h->slots == want->slots;
}

/* A head that could be read, of whatever version. */
static enum trust
judge_head(const struct opening *o, const struct tide_map_head *h,
    struct tide_err *why)
{
	const struct tide_map_head *want = &o->head;

	if (want->boot_id[0] == '\0' ||
	    strcmp(h->boot_id, want->boot_id) != 0) {
		(void)tide_err_set(
		    why, "%s: is from before the machine was started", o->path);
		return REMAKE;
	}
	if (!tide_key_id_equal(&h->key_id, &want->key_id)) {
		(void)tide_err_set(
		    why, "%s: belongs to another archive", o->path);
		return REMAKE;
	}
	if (o->is_old) {
		(void)tide_err_set(why,
		    "%s: was made by another version of Tidemark", o->path);
		return outgrown(o);
	}
	if (memcmp(&h->profiles, &want->profiles, sizeof h->profiles) != 0) {
		(void)tide_err_set(why,
		    "%s: has other profiles than the configuration, or in "
		    "another order",
		    o->path);
		return outgrown(o);
	}
	if (!has_our_sizes(h, want)) {
		(void)tide_err_set(
		    why, "%s: has other sizes than the configuration", o->path);
		return outgrown(o);
	}
	return RESUME;
}

/* Read the head, of this version or another one that we know. */
static bool
read_head(struct opening *o, const char *region, struct tide_map_head *head,
    struct tide_err *why)
{
	enum tide_head_state state = tide_map_head_read(head, region);

	o->words_at = TIDE_PAGE;
	o->is_old = state != TIDE_HEAD_SOUND;
	if (state == TIDE_HEAD_SOUND) {
		o->is_old = tide_map_head_differs(head) != NULL;
		return true;
	}
	o->words_at = TIDE_V01_WORDS_AT;
	if (tide_v01_head(region, head))
		return true;
	(void)tide_err_set(why,
	    state == TIDE_HEAD_OTHER
		? "%s: is of another version, or its head is damaged"
		: "%s: its head is damaged",
	    o->path);
	return false;
}

/* What the places in region counters of an old map count. */
static bool
read_counter_names(
    struct opening *o, struct tide_txn *txn, const struct tide_map_head *head)
{
	struct tide_bytes value;
	struct tide_err err;

	free(o->counter_names);
	o->counter_names = NULL;
	if (head->version == 1)
		o->counter_names = strdup(tide_v01_counters);
	else if (tide_txn_get(txn, 0,
		     tide_bytes(LIVE_COUNTER_NAMES, strlen(LIVE_COUNTER_NAMES)),
		     &value, &err) == 1)
		o->counter_names = strndup(value.data, value.size);
	return o->counter_names != NULL;
}

/* Words of another form have no such one, or elsewhere. */
static bool
was_being_filled(const struct tide_map_head *head, const struct tide_control *c)
{
	return tide_map_head_format(head, TIDE_REGION_CONTROL) ==
	    tide_region_format(TIDE_REGION_CONTROL) &&
	    atomic_load(&c->filling) != 0;
}

/* A collector that was killed while it filled or replaced the map left it so.
 */
static enum trust
judge_control(struct opening *o, const char *region, size_t length,
    struct tide_map_head *head, struct tide_err *why)
{
	const struct tide_control *c;
	enum trust trust;

	if (!read_head(o, region, head, why))
		return KEEP_ASIDE;
	if (length < o->words_at + sizeof *c || !tide_map_head_sane(head)) {
		(void)tide_err_set(why, "%s: its head is damaged", o->path);
		return KEEP_ASIDE;
	}
	c = (const void *)(region + o->words_at);
	trust = judge_head(o, head, why);
	if (trust != REMAKE && was_being_filled(head, c)) {
		(void)tide_err_set(why,
		    "%s: its collector was killed before it held anything",
		    o->path);
		return REMAKE;
	}
	if (trust != RESUME || atomic_load(&c->current) != TIDE_MAP_RETIRED)
		return trust;
	(void)tide_err_set(why, "%s: was being replaced", o->path);
	return outgrown(o);
}

/* The value "control" of a whole LMDB file, if there is one. */
static enum trust
judge_store(struct opening *o, struct tide_store *store,
    struct tide_map_head *head, struct tide_err *why)
{
	struct tide_txn *txn = tide_txn_begin(store, false, why);
	struct tide_bytes value;
	enum trust trust = REFUSE;
	const char *start;
	uint64_t offset;

	if (txn == NULL)
		return KEEP_ASIDE;
	if (tide_txn_get(txn, 0, tide_bytes("control", 7), &value, why) != 1) {
		(void)tide_err_set(why,
		    "%s: is an LMDB file, but no map of Tidemark's; move it "
		    "away or set live_file",
		    o->path);
	} else if (value.size < 2 * tide_page_size() ||
	    tide_live_region_start(value, &start, &offset, why) < 0) {
		(void)tide_err_set(why, "%s: its head is damaged", o->path);
		trust = KEEP_ASIDE;
	} else {
		trust = judge_control(
		    o, start, value.size - tide_page_size(), head, why);
	}
	if (trust == OUTGROWN && o->is_old &&
	    !read_counter_names(o, txn, head)) {
		(void)tide_err_set(
		    why, "%s: does not say what it counts", o->path);
		trust = KEEP_ASIDE;
	}
	tide_txn_abort(txn);
	return trust;
}

/* In a process of its own, before this one trusts the file. */
static int
check_store(void *path, struct tide_err *err)
{
	struct tide_store *store =
	    tide_store_open(path, TIDE_STORE_FROZEN, 0, tables, err);
	int rc;

	if (store == NULL)
		return -1;
	rc = tide_store_check(store, err);
	tide_store_close(store);
	return rc;
}

static enum trust
judge_whole(struct opening *o, struct tide_err *why)
{
	struct tide_map_head head;
	struct tide_store *store;
	enum trust trust;

	if (tide_store_apart(o->path, check_store, o->path, why) < 0)
		return KEEP_ASIDE;
	store = tide_store_open(o->path, TIDE_STORE_FROZEN, 0, tables, why);
	if (store == NULL)
		return KEEP_ASIDE;
	trust = judge_store(o, store, &head, why);
	if (trust == RESUME || trust == OUTGROWN) {
		if (tide_live_find_regions(o, store, o->path, &head, why) < 0)
			trust = KEEP_ASIDE;
		else
			o->head = head; /* not ours, but the one in use */
	}
	tide_store_close(store);
	return trust;
}

enum trust
tide_live_judge(struct opening *o, struct tide_err *why)
{
	switch (tide_store_probe(o->path, why)) {
	case TIDE_STORE_ABSENT:
		(void)tide_err_set(why, "%s: is not there", o->path);
		return REMAKE;
	case TIDE_STORE_FOREIGN:
		return REFUSE;
	case TIDE_STORE_TRUNCATED:
	case TIDE_STORE_DAMAGED:
		return KEEP_ASIDE;
	case TIDE_STORE_WHOLE:
		break;
	}
	return judge_whole(o, why);
}
