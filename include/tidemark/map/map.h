/*
 * map - the shared map: what collector, acceptor, workers and tools have in
 * common while mail flows.
 *
 * It is one file (live.mdb) made through LMDB and frozen: its values never
 * move again, so each of them, a region, can be mapped by its place in the
 * file alone.  The places stand in a small table that the collector publishes
 * (runtime_dir/map); nobody but the collector needs LMDB, and no one's stray
 * write can reach the B-tree.
 *
 *   region    written by               mapped for writing by
 *   control   collector                collector
 *   acceptor  acceptor                 acceptor, collector
 *   slots     acceptor, each worker    all three
 *   counters  everybody                all three
 *   window0/1 workers; collector       all three
 *   flow      collector                collector
 *   buckets   workers; collector       all three
 *   mailboxes each worker; collector   all three
 *   bans      collector                collector
 *   tokens    workers; collector       all three
 *   distinct  workers                  all three
 *   decisions workers                  all three
 *   addresses collector                collector
 *   bulk      workers; collector       all three
 *   neighbours collector               collector
 *   latency   workers                  all three
 *   history   collector                collector
 *   spam      collector                collector
 *
 * Tools map everything read-only.  Bytes found here were written by another
 * process: check them, never assert on them.
 */
#ifndef TIDEMARK_MAP_H
#define TIDEMARK_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/map/regions.h"
#include "tidemark/shared/slots.h"

/* Two of them, of which the older one fades, are at most a day. */
#define TIDE_DISTINCT_PERIOD_MS (12 * 3600 * 1000u)

/* Each in the header of its name. */
struct tide_map_head;
struct tide_control;
struct tide_acceptor;
struct tide_counters;
struct tide_window;
struct tide_flow;
struct tide_bans;
struct tide_tokens;
struct tide_distinct;
struct tide_ring;
struct tide_addresses;
struct tide_bulk;
struct tide_latency;
struct tide_history;
struct tide_spam;
struct tide_hash_key;
struct tide_profile_names;
struct tide_map_table;

struct tide_map {
	const struct tide_map_table *table; /* where its regions lie */
	const struct tide_map_head *head;
	const struct tide_hash_key *key; /* NULL until it is unlocked */
	const struct tide_profile_names *profiles; /* the head's */
	struct tide_control *control;
	struct tide_acceptor *acceptor; /* NULL in a worker */
	struct tide_slot *slots;
	struct tide_workers workers; /* all of them */
	struct tide_counters *counters;
	struct tide_window *window[2];
	struct tide_flow *flow;
	struct tide_bans *bans;
	struct tide_tokens *tokens;
	struct tide_distinct *distinct;
	struct tide_ring *ring;
	struct tide_addresses *addresses;
	struct tide_bulk *bulk;
	struct tide_latency *latency;
	struct tide_history *history;
	struct tide_spam *spam;
	void *base[TIDE_REGIONS];
	size_t length[TIDE_REGIONS];
	uint64_t table_id; /* which published table this is */
	/* of an old map: counts whose places are not ours; else all NULL */
	struct {
		const _Atomic uint64_t *value;
		const char *names; /* counters.h */
	} old_counters;
};

enum tide_map_role { TIDE_MAP_COLLECTOR, TIDE_MAP_ACCEPTOR, TIDE_MAP_TOOL };

/* Attach through runtime_dir/map.  NULL with a sentence if that fails. */
struct tide_map *
tide_map_attach(const char *runtime_dir, enum tide_map_role, struct tide_err *);
/* The same by a table that is not published. */
struct tide_map *tide_map_attach_table(
    const struct tide_map_table *, enum tide_map_role, struct tide_err *);
void tide_map_detach(struct tide_map *);

/*
 * The map has the id of its hash key only.  Give it the key: a copy of our own
 * is kept, and the secret of the tables derived.  -1 if it is another one.
 */
int tide_map_unlock(
    struct tide_map *, const struct tide_hash_key *, struct tide_err *);
/* The same with state_dir/hash.key, which is its owner's alone. */
int
tide_map_unlock_by(struct tide_map *, const char *state_dir, struct tide_err *);

/*
 * A map that another version has made, for the collector that takes it over:
 * what has our formats is attached, whatever has not is NULL.  Its head is
 * given, read into our form.
 */
struct tide_map_old {
	struct tide_map_head *head;
	size_t words_at; /* where in region control the control words are */
	char *counter_names;
};
struct tide_map *tide_map_attach_old(
    const struct tide_map_table *, struct tide_map_old, struct tide_err *);

/* Is the published table still the one this map was attached through? */
bool tide_map_is_current(const struct tide_map *, const char *runtime_dir);

/* In a fresh worker: give up what only the acceptor may write. */
void tide_map_become_worker(struct tide_map *);

/* Is the collector's pulse older than stale_ms? */
bool tide_map_pulse_is_stale(const struct tide_map *, uint64_t stale_ms);

/* The time by which things expire (base/clock.h), as the collector has settled
 * it; the clock's while it has not. */
uint64_t tide_map_now_ms(const struct tide_map *);

/* Its time. */
bool tide_map_bypassed(const struct tide_map *, uint64_t now_ms);

#endif
