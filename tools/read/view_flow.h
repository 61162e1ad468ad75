/*
 * view, flow - buckets and bans as a tool sees them.
 */
#ifndef TOOLS_READ_VIEW_FLOW_H
#define TOOLS_READ_VIEW_FLOW_H

#include "view.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/keys/keys.h"

struct view_bucket {
	unsigned class;
	const char *profile, *group;
	char key[TIDE_BUCKET_KEY_MAX + 1];
	uint32_t level, depth;
	bool overflowed;   /* its ban is on the way */
	uint64_t empty_ms; /* from now, if nothing more comes; 0: unknown */
};

/* Bucket i, from 1 to v->flow.buckets; false if it holds nothing. */
bool view_bucket(const struct view *, uint32_t i, struct view_bucket *);

/* Ban i of v->bans; false if none stands there now. */
bool
view_ban(const struct view *, uint32_t i, uint64_t now_ms, struct tide_ban *);

/* "OKSENDER", or "by hand". */
const char *view_ban_group(const struct tide_ban *);

/* Of a ban by hand, what was typed; of an overflow, what was too much. */
const char *view_ban_reason(const struct tide_ban *);

/* What a person typed; ends with a complaint and -1 if it is no key. */
int view_key(const struct view *, const char *text, struct tide_key *);

/* Is it the key, or the same sender at some network? */
bool view_is_of(const struct tide_key *, const char *key);

/* Does a ban on `key' stand in the way of the one asked for? */
bool view_meets(const struct tide_key *asked, const char *key);

struct view_flow {
	uint32_t buckets, strings, bans; /* in use; standing */
	uint64_t overflows;
};

struct view_flow view_flow(const struct view *, uint64_t now_ms);

/* Is the string at that unit the one of a bucket of this class and hash? */
bool
view_is_own(const struct view *, uint32_t unit, unsigned class, uint32_t hash);

#endif
