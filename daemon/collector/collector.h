/*
 * collector - owner of the map and the only writer of the archive.
 *
 * Three kinds of threads: the first one keeps the pulse and takes signals;
 * the archivist does everything that may wait for a disk; each control
 * connection has one of its own.
 */
#ifndef DAEMON_COLLECTOR_H
#define DAEMON_COLLECTOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../daemon.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/carried.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/egress/egress.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/pool.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"

/* Work that a control thread may ask the archivist for. */
enum errand { ERRAND_SEAL, ERRAND_CHECKPOINT, ERRANDS };

/* What became of a ban in the archive. */
struct ban_change {
	struct tide_ban settled; /* as stored */
	struct tide_ban before;	 /* as it was until then, if there was one */
	bool stood;		 /* there was */
	bool first;		 /* nobody was banned by it */
	const char *full;	 /* it found no place: what is full */
};

/* An overflow on its way to a ban: PROTOCOL overflow in keeper.c. */
#define BAN_WORKS 64u
struct ban_work {
	uint64_t ticket; /* another one for each overflow; 0: free */
	enum {
		BAN_QUEUED,
		BAN_DURABLE,
		BAN_UNDO /* it is stored, and not wanted any more */
	} state;
	bool lifted; /* by hand, before anybody was told of it */
	unsigned class, profile;
	uint32_t number;     /* of the overflow */
	uint64_t met_ms;     /* monotonic; the overflow, the last time */
	struct tide_ban ban; /* as met */
	struct ban_change change;
};

/*
 * Work on the pool that a control thread wants done: chore.c.  It lies on the
 * asker's stack; once taken up it is finished, and the asker waits for that.
 */
#define CHORE_KEYS (1 + TIDE_KEY_TIERS)
struct chore {
	enum {
		CHORE_RESET,
		CHORE_ADD,
		CHORE_AUDIT,
		CHORE_DRAIN,
		CHORE_FORGET
	} kind;
	enum { CHORE_WAITS, CHORE_TAKEN, CHORE_DONE } state;
	struct tide_key key[CHORE_KEYS];
	unsigned class[CHORE_KEYS];   /* ADD: the key's */
	uint64_t classes[CHORE_KEYS]; /* RESET: a bit for each that is meant */
	unsigned keys;
	tide_pool_means *means; /* FORGET: whose; */
	void *arg;
	bool dry;
	uint64_t freed;	     /* until then something is in limbo */
	unsigned count;	     /* the answer: buckets, or faults */
	struct tide_err err; /* the first fault */
	struct chore *next;
};

/* A running ban_hook. */
#define HOOKS 16u
struct hook {
	pid_t pid; /* 0: none */
	bool killed;
	unsigned profile;
	uint64_t began_ms; /* monotonic */
};

/* Lists of addresses, exceptions, signatures: reputation.c. */
struct reputation {
	pthread_mutex_t lock; /* over all changes to them */
	uint64_t version;     /* of the list of addresses */
	uint64_t base;	      /* the last change within its chunks */
	uint64_t sequence;    /* the last change */
	bool stale;	      /* the archive has what the map has not */
	uint64_t spam_newest; /* generation, in the archive */
	uint64_t spam_base;   /* the last record within its chunks */
	uint64_t spam_sequence;
};

struct collector {
	const struct options *options;
	struct tide_map *map;
	struct tide_archive archive;
	struct tide_sealer sealer;   /* the archivist's alone */
	struct tide_settled settled; /* as well */
	struct tide_pool pool;	     /* the first thread's alone */
	struct tide_carried carried; /* from another map, at start */
	pthread_mutex_t ban_lock;    /* over writing to the map's bans */
	pthread_mutex_t hand_lock;   /* one ban or unban by hand at a time */
	struct reputation reputation;
	pthread_mutex_t bulk_lock; /* over turning, and neighbours' cells */
	bool sums_stale;	   /* the archive has what the map has not */
	uint64_t audited_ms;	   /* monotonic */
	struct {
		uint64_t malformed;	/* in the books, and counted */
		uint64_t unplaced, bad; /* since it was last told */
		uint64_t told_ms;	/* monotonic */
	} pool_noted;
	struct {
		uint64_t by_client, uncounted, told_ms;
	} accounts_noted;	 /* as counted when last told */
	struct hook hook[HOOKS]; /* the first thread's, too */

	pthread_mutex_t reload_lock; /* one reload at a time; before lock */

	pthread_mutex_t lock; /* over what follows; nobody waits in it */
	pthread_cond_t changed;
	bool reload_wanted; /* by a signal: the archivist may wait */
	struct tide_config config;
	uint64_t generation;
	uint64_t wanted[ERRANDS], done[ERRANDS];
	struct tide_err failure[ERRANDS]; /* "" if the last one went well */
	struct ban_work work[BAN_WORKS];
	uint64_t ticket; /* the last one given */
	bool bans_queued;
	bool classes_stale; /* a reload changed them */
	struct chore *chores;
	uint64_t longest_ms; /* of all allowances, from empty to full */
	uint64_t swept;	     /* slots of tokens, in this turn */
	bool stop;

	pthread_mutex_t egress_lock; /* over what follows */
	pthread_cond_t egress_changed;
	uint64_t egress_generation[TIDE_EGRESS_KINDS]; /* verbs_egress.c */
};

/* opening.c: the map. */
int map_open(struct collector *, struct tide_err *);
/* It holds what it is to: its window opens, everybody may come. */
int map_publish(struct collector *, struct tide_err *);

/* settled.c: the time by which things expire; begun, followed (the
 * archivist's), stored. */
void settled_open(struct collector *);
void settled_round(struct collector *);
int settled_keep(struct collector *, struct tide_err *);

/* reload.c: check the file and take it over.  -1 with every complaint in
 * *text (to be freed), and the old configuration stays. */
int collector_reload(struct collector *, char **text);
/* The same, with every complaint in the log. */
void collector_reload_log(struct collector *);

/* keeper.c: buckets and overflows. */
int keeper_open(struct collector *, struct tide_err *);
/* Of all allowances, from empty to full. */
uint64_t keeper_longest(const struct tide_config *);
void keeper_round(struct collector *);

/* hook.c: tell ban_hook; see what has become of those that run. */
void hook_start(struct collector *, const struct tide_ban *, unsigned profile);
void hook_round(struct collector *);

/* ban_table.c */
/* A ban that is not made, and what is full. */
void
tell_unplaced(struct collector *, const struct tide_ban *, const char *full);
/* Does one of that key stand in the map, expired or not? */
bool ban_is_placed(struct collector *, const struct tide_ban *);
void publish_ban(struct collector *, const struct tide_ban *);
/* At start, from the archive into the map; those whose time is over, out of
 * it. */
int load_bans(struct collector *, struct tide_err *);
void expire_bans(struct collector *, uint64_t now_ms);

/* banning.c */
/* All of certain keys, in archive and map, without a word in the log; only
 * counted if dry.  How many, or -1. */
typedef bool means_key(void *arg, const char *key, size_t length);
int forget_bans(struct collector *, means_key *means, void *arg, bool dry,
    struct tide_err *);
/* How many were stored, or -1. */
int
commit_bans(struct collector *, const struct tide_config *, struct tide_err *);
int ban_by_hand(struct collector *, const struct tide_key *, uint64_t for_ms,
    const char *reason, struct tide_ban *, struct tide_err *);
/* 1 lifted, 0 there was none, -1; what it was, or length 0 if it never stood. */
int unban(struct collector *, const struct tide_key *, struct tide_ban *was,
    struct tide_err *);

/* reputation.c */
struct tide_exception;
struct tide_addresses_fresh;
int reputation_open(struct collector *, struct tide_err *);
/* The archivist's: what could not be done at once. */
void reputation_round(struct collector *);
/* A whole list, or one to be united with ours; *elements as they then are. */
int reputation_install(struct collector *, struct tide_addresses_fresh *,
    bool merge, struct tide_err *);
/* 1 done, 0 it was not there, -1. */
int reputation_change(
    struct collector *, bool add, struct tide_hash, struct tide_err *);
int reputation_except(struct collector *, const struct tide_exception *,
    size_t n, struct tide_err *);
int reputation_unexcept(
    struct collector *, const struct tide_key *, struct tide_err *);

/* verbs_egress.c: one of the lists has changed, or (KINDS) the settings. */
void egress_touch(struct collector *, enum tide_egress_kind);

/* spam.c */
int spam_open(struct collector *, struct tide_err *);
void spam_round(struct collector *, uint64_t span_ms);
int spam_report(struct collector *, enum tide_spam_kind,
    const struct tide_signatures *, uint64_t *generation, struct tide_err *);

/* chore.c: have the first thread do it; -1 if it is not done yet. */
int chore_ask(struct collector *, struct chore *, struct tide_err *);
/* The first thread's side. */
void chores_round(struct collector *);

/* archivist.c */
void *archivist_run(void *collector);
/* Have it done and wait for it; -1 with why not. */
int archivist_ask(struct collector *, enum errand, struct tide_err *);

/* control.c */
void *control_run(void *collector);
/* Has this thread's client said more than was read of it? */
bool control_has_more(void);
/* The bytes that follow the line just read, from this thread's client. */
#define CONTROL_RAW_MOST 65536u /* behind one line */
int control_take(void *to, size_t size);

/* verbs.c: answer one request; fd is the connection. */
struct tide_line;
void answer_request(
    struct collector *, int fd, const struct tide_line *, bool may_change);

/* verbs_query.c, verbs_message.c, verbs_list.c: the connection of this thread is over. */
void forget_question(void);
void forget_message(void);
void forget_list(void);

#endif
