/*
 * noise - what a race test does between two steps of the code under test:
 * yield now and then, or die.
 */
#ifndef TESTS_LIB_NOISE_H
#define TESTS_LIB_NOISE_H

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static _Thread_local uint64_t noise;  /* 0: silence */
static _Thread_local uint32_t die_in; /* 0: not by our own hand */

static inline uint64_t
draw(uint64_t n)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return noise % n;
}

/* Once in so many steps the others get their turn. */
static inline void
noise_step(uint64_t once_in)
{
	if (die_in > 0 && --die_in == 0)
		(void)kill(getpid(), SIGKILL);
	if (noise != 0 && draw(once_in) == 0)
		(void)sched_yield();
}

#endif
