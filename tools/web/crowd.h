/*
 * crowd - who is connected, and who has to go when there are too many.
 *
 * A connection that sends a byte now and then is never idle: enough of them
 * would hold all places for ever.  So nobody is turned away at the door;
 * whoever has been longest at one request goes instead.  Who asks at once and
 * reads the answer is served, however many others trickle.
 *
 * Called by libmicrohttpd's one thread only.
 */
#ifndef TIDEMARK_WEB_CROWD_H
#define TIDEMARK_WEB_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#define CROWD_MOST 64
#define CROWD_ROOM (2 * CROWD_MOST) /* with those told to go, not yet gone */

struct crowd_place;

/* A connection of that socket; NULL: no room.  The oldest may be shut down. */
struct crowd_place *crowd_enter(int fd, uint64_t now_ms);

/* A request was answered: its next one begins. */
void crowd_anew(struct crowd_place *, uint64_t now_ms);

/* While it waits for us, it is not the one to go. */
void crowd_keep(struct crowd_place *, bool);

void crowd_leave(struct crowd_place *);

#endif
