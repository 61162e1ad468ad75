/*
 * overrides - allowances of their own for some accounts, from a map file.
 *
 *   # KEY           BURST  RATE
 *   auth:lists      5k     5k/1d     an account that authenticates
 *   ann@example.org 300    300/1d    a sender, or an account of that name
 *   @example.org    200    200/1d    all of a domain
 *   192.0.2.0/24    1k     1k/1h     all clients of a network
 *
 * Whoever takes over a configuration reads the files and publishes what they
 * say in runtime_dir/overrides; workers map that.  So they never see half an
 * edited file, nor one that nobody has checked.
 */
#ifndef TIDEMARK_OVERRIDES_H
#define TIDEMARK_OVERRIDES_H

#include <stddef.h>
#include <stdint.h>

#include "tidemark/settings/allowance.h"
#include "tidemark/settings/config.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/published.h"

struct tide_override {
	uint32_t profile;
	uint32_t is_net;
	struct tide_net net;
	char key[TIDE_KEY_MAX + 1]; /* "" for a network */
	struct tide_allowance allowance;
};

/* All zeroes: none. */
struct tide_overrides {
	struct tide_override *list; /* sorted: profile, keys, networks */
	size_t count;
	struct tide_published published; /* none: the list is from malloc() */
};

/* Add a file's lines for a profile.  -1 names file and line. */
int tide_overrides_read(struct tide_overrides *, const char *path,
    unsigned profile, struct tide_err *);

void tide_overrides_free(struct tide_overrides *);

/* Read the files of all profiles and put runtime_dir/overrides in place. */
int tide_overrides_publish(const struct tide_config *, struct tide_err *);

/* What was published last. */
int tide_overrides_attach(
    struct tide_overrides *, const char *runtime_dir, struct tide_err *);

/* By the very key; by the narrowest network around a client.  Or NULL. */
const struct tide_override *tide_overrides_find(
    const struct tide_overrides *, unsigned profile, const char *key);
const struct tide_override *tide_overrides_find_client(
    const struct tide_overrides *, unsigned profile, const struct tide_ip *);

/* The longest that any of them takes from empty to full. */
uint64_t tide_overrides_longest_ms(const struct tide_overrides *);

#endif
