/*
 * slots - the workers, a slot each: who serves which connection, at which
 * stage, inside which epoch.
 *
 * The acceptor gives a slot away and buries it; its worker writes the rest;
 * the collector and tools read.
 */
#ifndef TIDEMARK_SLOTS_H
#define TIDEMARK_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/epoch.h"

enum tide_slot_state {
	TIDE_SLOT_FREE,
	TIDE_SLOT_RESERVED, /* the acceptor is about to fork for it */
	TIDE_SLOT_SERVING   /* pid and started are valid */
};

enum tide_stage {
	TIDE_STAGE_NONE,
	TIDE_STAGE_CONNECT,
	TIDE_STAGE_MAIL,
	TIDE_STAGE_RCPT,
	TIDE_STAGE_EOM,
	TIDE_STAGE_BODY, /* headers and body */
	TIDE_STAGES
};

extern const char *const tide_stage_name[TIDE_STAGES];

/* Through which socket a connection came: a profile's, or a policy service's.
 * 0 is not known (a worker of version 0.2). */
#define TIDE_SERVICE_PROFILE(i) (1u + (i))
#define TIDE_SERVICE_POLICY(i) (1u + TIDE_PROFILES_MAX + (i))
#define TIDE_SERVICES (1u + TIDE_PROFILES_MAX + TIDE_POLICIES_MAX)

/* One worker; 128 bytes, so that two never share a line. */
struct tide_slot {
	_Alignas(128) tide_epoch epoch;
	_Atomic uint32_t state; /* enum tide_slot_state */
	_Atomic uint32_t pid;
	_Atomic uint64_t started;    /* when it registered, in clock ticks */
	_Atomic uint64_t since_ms;   /* wall; the connection's start */
	_Atomic uint64_t touched_ms; /* monotonic; the last callback's start */
	_Atomic uint32_t busy;	     /* inside a callback */
	_Atomic uint32_t stage;	     /* enum tide_stage: of that callback */
	_Atomic uint32_t profile;
	_Atomic uint32_t messages;
	_Atomic uint64_t client[2]; /* IPv6, or IPv4 mapped into it */
	_Atomic uint32_t lapsed;    /* answered by on_error */
	_Atomic uint32_t finished;  /* the connection ended in good order */
	_Atomic uint32_t service;   /* TIDE_SERVICE_..., the acceptor's */
};
_Static_assert(sizeof(struct tide_slot) == 128, "a slot is two cache lines");

/* ---- the collector's side of PROTOCOL epoch ----------------------------- */

/* Whom to wait for, and by which clock. */
struct tide_workers {
	struct tide_slot *slot;
	uint32_t count;
	tide_epoch *epoch;
};

/* C3 for all: has every worker left what was current before target? */
bool tide_workers_passed(const struct tide_workers *, uint64_t target);

/*
 * C2, and C3 until it holds: no worker can still read what the collector is
 * about to fill.  -1 with a sentence if that takes longer than wait_ms.
 */
int tide_workers_wait(
    const struct tide_workers *, uint64_t wait_ms, struct tide_err *);

#endif
