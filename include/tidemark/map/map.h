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
#include <stdint.h>
#include <sys/types.h>

#include "tidemark/reputation/addresses.h"
#include "tidemark/base/bloom.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/reputation/bulk.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/map/history.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/pages.h"
#include "tidemark/shared/ring.h"
#include "tidemark/shared/slots.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/flow/tokens.h"

#define TIDE_MAP_MAGIC 0x6b72616d65646974ull /* "tidemark" */
#define TIDE_MAP_VERSION 1u

/* Two of them, of which the older one fades, are at most a day. */
#define TIDE_DISTINCT_PERIOD_MS (12 * 3600 * 1000u)

enum tide_region_id {
	TIDE_REGION_CONTROL,
	TIDE_REGION_ACCEPTOR,
	TIDE_REGION_SLOTS,
	TIDE_REGION_COUNTERS,
	TIDE_REGION_WINDOW0,
	TIDE_REGION_WINDOW1,
	TIDE_REGION_FLOW,
	TIDE_REGION_BUCKETS,
	TIDE_REGION_MAILBOXES,
	TIDE_REGION_BANS,
	TIDE_REGION_TOKENS,
	TIDE_REGION_DISTINCT,
	TIDE_REGION_DECISIONS,
	TIDE_REGION_ADDRESSES,
	TIDE_REGION_BULK,
	TIDE_REGION_NEIGHBOURS,
	TIDE_REGION_LATENCY,
	TIDE_REGION_HISTORY,
	TIDE_REGION_SPAM,
	TIDE_REGIONS
};

extern const char *const tide_region_name[TIDE_REGIONS];

/* ---- region control ---------------------------------------------------- */

/* Fixed when the map is made; `check` is the hash of all before it. */
struct tide_control_head {
	uint64_t magic;
	uint32_t version;
	uint32_t layout;   /* sizes of all our structs, hashed */
	uint64_t instance; /* random: this very map */
	uint64_t made_ms;
	char boot_id[40]; /* the kernel's, when it was made */
	struct tide_hash_key key;
	struct tide_bloom_shape senders, recipients, content;
	struct tide_flow_shape flow;
	struct tide_counting_shape bulk;
	uint32_t slots;
	uint32_t bans;
	uint32_t accounts; /* a power of two */
	uint32_t decisions;
	uint32_t memory; /* enum tide_memory */
	uint32_t pad;
	struct tide_list_shape addresses;
	struct tide_profile_names profiles; /* what their numbers mean */
	struct tide_spam_shape spam;
	uint64_t check;
};

struct tide_control {
	struct tide_control_head head;
	_Alignas(64) tide_epoch epoch; /* starts at 1 */
	_Atomic uint64_t current;      /* number of the open window, 0 if */
#define TIDE_MAP_RETIRED UINT64_MAX    /* none is yet; no longer used */
	_Alignas(64) _Atomic uint64_t pulse_ms; /* monotonic; collector */
	_Atomic uint64_t generation;		/* of runtime_dir/config */
	_Atomic uint64_t bypass_until_ms;	/* wall; 0: no bypass */
	_Atomic uint64_t checkpoint_ms;		/* wall; the last one */
	_Atomic uint64_t archive_windows;	/* for tools, no more */
	_Atomic uint64_t archive_bytes;
	_Atomic uint64_t archive_from_ms;
	_Atomic uint64_t archive_failing; /* failures in a row */
	_Atomic uint64_t archive_until_ms;
	_Atomic uint64_t archive_wire; /* bytes of mail in its windows */
	_Atomic uint64_t archive_text; /* and of text */
	_Atomic uint64_t archive_kept; /* of it, bytes that hold content */
	_Atomic uint32_t collector_pid;
	_Atomic uint32_t pad;
};

/* ---- region acceptor --------------------------------------------------- */

#define TIDE_LAPSES 64u

enum tide_lapse_kind {
	TIDE_LAPSE_DOWN = 1, /* nobody accepted connections */
	TIDE_LAPSE_CRASH,    /* a worker died within its connection */
	TIDE_LAPSE_ERROR,    /* a worker could not remember (on_error) */
	TIDE_LAPSE_FULL,     /* max_workers reached for long */
	TIDE_LAPSE_DAMAGE,   /* a stored window cannot be read */
	/* in answers alone: */
	TIDE_LAPSE_CUT,	   /* not all of a message's text was remembered */
	TIDE_LAPSE_UNREAD, /* none of it was, by the settings */
	TIDE_LAPSE_STOPPED /* the question was */
};

/* A time in which mail may have passed unseen. */
struct tide_lapse {
	uint64_t from_ms, until_ms; /* wall */
	uint32_t kind;		    /* enum tide_lapse_kind */
	uint32_t pad;
};

/*
 * PROTOCOL lapses: acceptor to collector, one producer, one consumer.
 *  P1 write lapse[head % TIDE_LAPSES]; P2 head += 1 (release)
 *  C1 load head (acquire); C2 read; commit to the archive; C3 tail (release)
 * Full:  the acceptor keeps the lapse to itself, widens it, and tries again.
 * Crash: of the acceptor before P2: its successor sees the old pulse and
 *        reports the whole time as a lapse.  Of the collector before C3: the
 *        same lapse is stored twice under one key, which changes nothing.
 */
struct tide_acceptor {
	_Atomic uint32_t pid;
	_Atomic uint32_t listening;  /* 1 from ready to stop */
	_Atomic uint32_t supervisor; /* whose sockets it serves */
	_Atomic uint32_t pad;
	_Atomic uint64_t pulse_ms; /* monotonic */
	_Atomic uint64_t pulse_wall_ms;
	_Atomic uint64_t started_ms; /* wall */
	_Alignas(64) _Atomic uint64_t lapse_head;
	_Alignas(64) _Atomic uint64_t lapse_tail; /* the collector's */
	struct tide_lapse lapse[TIDE_LAPSES];
};

/* ---- regions window0 and window1 --------------------------------------- */

enum tide_window_state {
	TIDE_WINDOW_IDLE, /* zeroed, waiting for its turn */
	TIDE_WINDOW_OPEN,
	TIDE_WINDOW_SEALING, /* closed or closing; not yet in the archive */
	TIDE_WINDOW_CLEARING /* in the archive; being zeroed */
};

struct tide_window {
	_Atomic uint32_t state; /* enum tide_window_state */
	_Atomic uint32_t overfilled;
	_Atomic uint64_t number;
	_Atomic uint64_t opened_ms; /* wall */
	_Atomic uint64_t closed_ms; /* wall; set when sealing starts */
	_Alignas(64) _Atomic uint64_t messages;
	_Atomic uint64_t senders; /* elements that were new */
	_Atomic uint64_t recipients;
	_Atomic uint64_t content;
	_Atomic uint64_t cut;	   /* messages of which a part was left out */
	_Atomic uint64_t unread;   /* and all of the text */
	_Atomic uint64_t wire;	   /* bytes of mail */
	_Atomic uint64_t text;	   /* and of text in it */
	_Atomic uint64_t longest;  /* blocks of the longest part */
	_Atomic uint64_t profiles; /* a bit for each that was used */
};

/* ---- attached ---------------------------------------------------------- */

struct tide_bans; /* bans.h */

struct tide_map {
	struct tide_control *control;
	struct tide_acceptor *acceptor; /* NULL in a worker */
	struct tide_slot *slots;
	struct tide_workers workers; /* all of them */
	struct tide_counters *counters;
	struct tide_window *window[2];
	struct tide_flow flow;
	struct tide_bans *bans;
	struct tide_tokens tokens;
	struct tide_distinct distinct;
	struct tide_ring ring;
	struct tide_addresses addresses;
	struct tide_bulk bulk;
	struct tide_latency *latency;
	struct tide_history *history;
	struct tide_spam spam;
	void *base[TIDE_REGIONS];
	size_t length[TIDE_REGIONS];
	uint64_t table_id; /* which published table this is */
};

enum tide_map_role { TIDE_MAP_COLLECTOR, TIDE_MAP_ACCEPTOR, TIDE_MAP_TOOL };

/* Attach through runtime_dir/map.  NULL with a sentence if that fails. */
struct tide_map *
tide_map_attach(const char *runtime_dir, enum tide_map_role, struct tide_err *);
void tide_map_detach(struct tide_map *);

/* Is the published table still the one this map was attached through? */
bool tide_map_is_current(const struct tide_map *, const char *runtime_dir);

/* In a fresh worker: give up what only the acceptor may write. */
void tide_map_become_worker(struct tide_map *);

/* Is the collector's pulse older than stale_ms? */
bool tide_map_pulse_is_stale(const struct tide_map *, uint64_t stale_ms);

bool tide_map_bypassed(const struct tide_map *, uint64_t wall_ms);

/* The words of a window's filters. */
tide_bloom_word *
tide_window_senders(const struct tide_map *, const struct tide_window *);
tide_bloom_word *
tide_window_recipients(const struct tide_map *, const struct tide_window *);
tide_bloom_word *
tide_window_content(const struct tide_map *, const struct tide_window *);

/* ---- publishing (the collector's side, live.c) ------------------------- */

struct tide_region_place {
	char name[16];
	uint64_t offset, length;
};

struct tide_map_table {
	uint64_t magic;
	uint32_t version;
	uint32_t layout;
	uint64_t instance;
	char live[TIDE_PATH_MAX];
	struct tide_region_place region[TIDE_REGIONS];
	uint64_t check;
};

/* The layout word of this build. */
uint32_t tide_map_layout(void);

/* Length of a region for these settings. */
size_t
tide_map_region_length(enum tide_region_id, const struct tide_control_head *);

#endif
