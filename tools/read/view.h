/*
 * view - the shared map as a tool sees it: read-only, while others write.
 *
 * Every byte of it may be wrong or change under our eyes.  Indices are
 * checked here once, so that status, dump and counters need not.
 */
#ifndef TOOLS_READ_VIEW_H
#define TOOLS_READ_VIEW_H

#include <netinet/in.h>

#include "tidemark/archive/archive.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"

struct view {
	struct tide_map *map;
	struct tide_config config; /* the daemon's, as it published it */
	uint32_t slots;
	uint32_t bans;	    /* entries */
	uint32_t bans_most; /* of which so many may be in use */
	struct tide_flow_shape flow;
	struct tide_bloom_shape shape[TIDE_FILTERS];
	uint32_t memory;     /* enum tide_memory */
	uint64_t generation; /* of the configuration */
	uint64_t maps;	     /* view_follow() has seen so many before */
};

int view_open(struct view *, const struct tide_config *, struct tide_err *);
void view_close(struct view *);

/*
 * For those who look for long, from { .map = NULL } on: a daemon started anew
 * may have made another map, and one that was reloaded has another
 * configuration.  Until the new one can be read, the old one stays, unless it
 * was cut short (torn.h).  False if there is none at all.
 */
bool
view_follow(struct view *, const struct tide_config *places, struct tide_err *);

/* Where a ban leaves postmaster and abuse open, to be put behind these: "", or
 * by ban_at not everywhere. */
const char *view_ban_spares(const struct view *);

/* A process and its sign of life. */
struct view_pulse {
	uint32_t pid;
	bool beaten;	 /* there was one since the machine started */
	uint64_t age_ms; /* then: how long ago */
	bool fresh;
};

struct view_pulse view_collector(const struct view *);
struct view_pulse view_acceptor(const struct view *);

/* Who is not at work, in a sentence; "" if all are. */
const char *view_trouble(const struct view *, uint64_t now_ms);

struct view_worker {
	uint32_t slot, pid, messages;
	const char *state, *profile, *stage; /* "?" if it makes no sense */
	uint64_t since_ms;
	uint64_t quiet_ms; /* since its last callback began */
	bool serving, busy, lapsed;
	char client[INET6_ADDRSTRLEN]; /* "local" if it has no address */
};

/* False if the slot is free. */
bool view_worker(const struct view *, uint32_t slot, struct view_worker *);

/* How many slots serve a connection. */
uint32_t view_serving(const struct view *);

struct view_filter {
	uint64_t elements; /* that were new */
	uint64_t ones;
	double fill;  /* share of the bits that are set */
	double error; /* chance that an absent element is found */
	double load;  /* elements for each that it was sized for */
};

struct view_window {
	const char *state;
	bool open, overfilled;
	uint64_t number, opened_ms, closed_ms, messages;
	uint64_t cut, unread, wire, text;
	struct view_filter filter[TIDE_FILTERS];
};

/* Window i, 0 or 1. */
void view_window(const struct view *, unsigned i, struct view_window *);

/* The open one; false while there is none. */
bool view_open_window(const struct view *, struct view_window *);

/*
 * The archive in a folder, to be read.  It is walked in a process of its own
 * first: in a damaged file LMDB may trip, and then we say so instead.
 */
int
view_archive(struct tide_archive *, const char *state_dir, struct tide_err *);

extern const char *const view_filter_name[TIDE_FILTERS];

#endif
