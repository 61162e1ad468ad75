/*
 * config_published - runtime_dir/config, the settings as the processes of one
 * running Tidemark go by them: the whole struct, read by one read().
 *
 * The supervisor writes it first, the collector at each reload; workers and
 * tools read it.  It is made anew at every start and outlives none: another
 * build's is refused, whatever it has in common with ours.
 */
#ifndef TIDEMARK_CONFIG_PUBLISHED_H
#define TIDEMARK_CONFIG_PUBLISHED_H

#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"

int tide_config_publish(
    const struct tide_config *, uint64_t generation, struct tide_err *);
int tide_config_published(const char *runtime_dir, struct tide_config *,
    uint64_t *generation, struct tide_err *);

#endif
