/*
 * content_memory - what the memory of content has gathered of a message.
 */
#ifndef TIDEMARK_MILTER_CONTENT_MEMORY_H
#define TIDEMARK_MILTER_CONTENT_MEMORY_H

#include "tidemark/memory/hbf.h"

/*
 * At the end of message: its samples, and the place of its profile in the
 * map.  False if it was not read.
 */
bool content_memory_harvest(struct tide_harvest *, unsigned *profile);

#endif
