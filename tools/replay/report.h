/*
 * replay, report - what came of a replay, and the limits it recommends.
 */
#ifndef TOOLS_REPLAY_REPORT_H
#define TOOLS_REPLAY_REPORT_H

#include "mail.h"
#include "replay.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

/* A key in a class. */
struct replay_key {
	unsigned class;
	struct tide_key key;
	uint64_t drops;
	uint32_t peak;	    /* the highest level, were it never to overflow */
	uint64_t overflows; /* with the configured limit */
	uint64_t deferred;  /* many share it: mail that it put off instead */
	uint64_t banned_until;
};

struct replay {
	struct tide_config config;
	struct tide_config trial;    /* the same, with every group at work */
	struct tide_hash_key secret; /* 0: any will do */
	struct basin limits, deepest;
	bool json;
	unsigned profile; /* of what stands in mailboxes */
	struct mails mails;
	double share;
	uint64_t today, from, now; /* wall */
	uint64_t messages, strangers, overflows, deferred;
	uint64_t banned, refused, allowed; /* messages; refused: all of them */
	void *tree;
	struct replay_key **key;
	size_t keys, room;
};

const struct tide_limit *replay_limit(const struct replay *, unsigned class);

void replay_report(struct replay *);

#endif
