/*
 * acceptor - the acceptor's sign of life, and the times in which mail may have
 * passed unseen, on their way to the archive.
 */
#ifndef TIDEMARK_ACCEPTOR_H
#define TIDEMARK_ACCEPTOR_H

#include <stdatomic.h>
#include <stdint.h>

#define TIDE_LAPSES 64u

enum tide_lapse_kind {
	TIDE_LAPSE_DOWN = 1, /* nobody accepted connections */
	TIDE_LAPSE_CRASH,    /* a worker died within its connection */
	TIDE_LAPSE_ERROR,    /* a worker could not remember (on_error) */
	TIDE_LAPSE_FULL,     /* connections waited long for a worker */
	TIDE_LAPSE_DAMAGE,   /* a stored window cannot be read */
	/* in answers alone: */
	TIDE_LAPSE_CUT,	    /* not all of a message's text was remembered */
	TIDE_LAPSE_UNREAD,  /* none of it was, by the settings */
	TIDE_LAPSE_STOPPED, /* the question was */
	/* stored, but newer than those: */
	TIDE_LAPSE_CLOCK /* the clock was set: it is in a window of another
			    time */
};

/* A time in which mail may have passed unseen. */
struct tide_lapse {
	uint64_t from_ms, until_ms; /* wall */
	uint32_t kind;		    /* enum tide_lapse_kind */
	uint32_t pad;
};

/*
 * PROTOCOL lapses: acceptor to collector, one producer, one consumer.
 *  P1 write lapse[head % TIDE_LAPSES]; P2 head += 1 (release)
 *  C1 load head (acquire); C2 read; commit to the archive; C3 tail (release)
 * Full:  the acceptor keeps the lapse to itself, widens it, and tries again.
 * Crash: of the acceptor before P2: its successor sees the old pulse and
 *        reports the whole time as a lapse.  Of the collector before C3: the
 *        same lapse is stored twice under one key, which changes nothing.
 */
struct tide_acceptor {
	_Atomic uint32_t pid;
	_Atomic uint32_t listening; /* 1 from ready to stop */
	_Atomic uint32_t sockets;   /* which ones it serves */
	_Atomic uint32_t waiting;   /* whose connections do; a bit a service */
	_Atomic uint64_t pulse_ms;  /* monotonic */
	_Atomic uint64_t pulse_wall_ms;
	_Atomic uint64_t started_ms; /* wall */
	_Alignas(64) _Atomic uint64_t lapse_head;
	_Alignas(64) _Atomic uint64_t lapse_tail; /* the collector's */
	struct tide_lapse lapse[TIDE_LAPSES];
};

#endif
