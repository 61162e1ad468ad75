/*
 * fixture - what the tests of the map and the archive share: a small
 * configuration in a fresh folder, files read, written and bent, children.
 */
#ifndef TESTS_LIB_FIXTURE_H
#define TESTS_LIB_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/archive/archive.h"
#include "tidemark/base/clock.h"
#include "tidemark/settings/config.h"
#include "tidemark/map/map.h"
#include "tidemark/ask/query.h"
#include "tidemark/shared/slots.h"

#define FIXTURE_MAP_SIZE (64ull << 20)

/* A fresh folder with run/ and state/, and small windows (100 senders and
 * recipients at 1%: 4096 bits each), 4 slots. */
void fixture_config(struct tide_config *);

/* The name of something in the state folder of that configuration. */
const char *fixture_archive_path(const struct tide_config *);
const char *fixture_live_path(const struct tide_config *);

/* A whole file in memory (to be freed), or written whole. */
void *fixture_slurp(const char *path, size_t *size);
void fixture_spit(const char *path, const void *, size_t);
bool fixture_is(const char *path, const void *, size_t);
void fixture_flip(const char *path, size_t byte, unsigned bit);

/* Run it in a child; the wait status. */
int fixture_child(void (*run)(void *), void *arg);

/*
 * In a child (root only): put a file system of that many KiB over the folder,
 * for this process alone.  Cases that need it call fixture_needs_mounts().
 */
void fixture_tiny_disk(const char *folder, unsigned kib);
void fixture_needs_mounts(void);

/* An archive of our own, and a map with it, whose acceptor beats for ever;
 * cases end at the first error. */
void fixture_open_archive(const struct tide_config *, struct tide_archive *);
struct tide_map *
fixture_make_map(const struct tide_config *, const struct tide_archive *);

/* All slots have a worker: an epoch in a FREE one means nothing. */
void fixture_serve(const struct tide_workers *);
/* That moment by a clock that nobody sets. */
static inline struct tide_moment
fixture_at(uint64_t wall_ms)
{
	return (struct tide_moment){ wall_ms, wall_ms };
}

/* Remember one message in the open window, as a worker in slot 0 does. */
bool fixture_pass(struct tide_map *, const char *from, const char *to);

/* Store a window of the archive that saw one message. */
void fixture_store(struct tide_archive *, uint64_t number, uint64_t from_ms,
    uint64_t until_ms, const char *from, const char *to);

/* Ask; the verdict.  The answer, unless NULL, is to be freed. */
enum tide_verdict fixture_ask(struct tide_archive *, const struct tide_map *,
    const struct tide_question *, struct tide_answer *);

/* Numbers that look random and are the same at every run. */
uint64_t fixture_random(uint64_t *state);

#endif
