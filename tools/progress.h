/*
 * progress - a bar on stderr, if that is a terminal.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool shown;
	const char *what;
	uint64_t whole;	  /* 0: not known */
	uint64_t next_ms; /* monotonic: when it is drawn again */
	uint64_t began_ms;
};

void progress_begin(struct progress *, const char *what, uint64_t whole);
/* So far; drawn ten times a second at most. */
void progress_at(struct progress *, uint64_t done);
/* Take it off the screen. */
void progress_end(struct progress *);

#endif
