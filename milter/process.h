/*
 * process - is that process still the one that wrote down its pid?
 *
 * Called by the acceptor about workers that are not its children.  Never
 * blocks.
 */
#ifndef MILTER_PROCESS_H
#define MILTER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum process_state {
	PROCESS_GONE,
	PROCESS_LIVES,
	PROCESS_UNKNOWN /* the system would not say: ask again later */
};

/* Now, in clock ticks since boot, as /proc has it of starts.  (Cheaper for a
 * worker than to read its own.) */
uint64_t process_ticks(void);

/* Such ticks in milliseconds of boot time. */
uint64_t process_ms(uint64_t ticks);

/*
 * Is it the process that was there at `ticks'?  Whoever got the pid after it
 * was started later.  If it lives, *pidfd is ours to close; else it is -1.
 *
 * Gone means: there is no such process, or it has ended, or it is a later one.
 * Being out of descriptors or of memory, or without a /proc, says nothing.
 */
enum process_state process_hold(pid_t, uint64_t ticks, int *pidfd);

bool process_has_ended(int pidfd);
void process_signal(int pidfd, int sig);

#endif
