/*
 * forget - what the collector knows about somebody: forget.c removes it,
 * forget_left.c says what cannot be removed, verbs_forget.c tells both.
 */
#ifndef DAEMON_FORGET_H
#define DAEMON_FORGET_H

#include "collector.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/keys/subject.h"
#include "tidemark/settings/config.h"

enum forgotten {
	FORGOT_BUCKETS,
	FORGOT_BANS,
	FORGOT_ALLOWANCES,
	FORGOT_ESTIMATES,
	FORGOT_DECISIONS,
	FORGOT_EXCEPTIONS,
	FORGOT_LISTED, /* taken out of the list of spam addresses */
	FORGOTTEN
};

enum left {
	LEFT_WINDOWS,	/* probably in so many; the last goes at that time */
	LEFT_LISTED,	/* in a list that cannot give it back */
	LEFT_ACCOUNTS,	/* known by their fingerprints alone */
	LEFT_ESTIMATES, /* of those it has written to, or was written to by */
	LEFT_REASONS,	/* texts of other records that name it */
	LEFT_SETTINGS,	/* words of the configuration */
	LEFT_WORKERS,	/* at work now */
	LEFT_MEMORY,	/* a worker keeps it from being freed */
	LEFT_READERS,	/* somebody reads an older state of the archive */
	LEFT_RECORDS,	/* places in records about others */
	LEFT_LONG,	/* names that were cut: its own, or alike */
	LEFT_EGRESS,	/* entries about who reaches which mail server */
	LEFTS
};

#define FORGET_KEYS 128u /* met on the way: they may be accounts' */

struct forgetting {
	struct collector *c;
	int fd; /* of who asked */
	struct tide_config config;
	struct tide_subject subject;
	const char *text; /* as it was asked for */
	bool dry;
	bool unban;	  /* bans made by hand may go, too */
	unsigned by_hand; /* so many of them stand */
	uint64_t now_ms;
	struct tide_key key[FORGET_KEYS];
	unsigned keys;
	bool rewrite; /* branches of the archive have it */
	unsigned gone[FORGOTTEN];
	struct {
		uint64_t count;
		uint64_t until_ms; /* 0: by itself, never */
	} left[LEFTS];
};

/* -1 if bans made by hand stand, and nobody said that they may go. */
int forget_may(struct forgetting *, struct tide_err *);

/* All that can go, then a checkpoint that does not have it any more. */
int forget_all(struct forgetting *, struct tide_err *);

/* What is left, counted. */
void forget_look_for_rest(struct forgetting *);

#endif
