/*
 * torn - the live map may be cut short under our eyes: by a full or failing
 * disk, or by somebody's hand.  What is no longer there then reads as zeros,
 * where it would have been the end of us (SIGBUS).
 */
#ifndef TOOLS_READ_TORN_H
#define TOOLS_READ_TORN_H

#include <stdbool.h>

/* From now on, in every thread. */
void torn_watch(void);

/* Has that happened?  Then what was read is worthless, until it is let go. */
bool torn_seen(void);
void torn_forget(void);

#endif
