/*
 * epoch - PROTOCOL epoch (include/tidemark/shared/epoch.h) and PROTOCOL seal
 * (daemon/lib/archive/sealer.c), checked in full: two workers that fill the current
 * window, the collector that seals one after the other; any of them may be
 * killed at any step.
 *
 * The order of memory: a store goes to a buffer of one place and reaches
 * memory some time later; a load looks at memory at once.  A seq_cst store
 * waits until it is there; a release store does not.  So a load can overtake
 * the store before it, which is what this protocol has to forbid.  Setting
 * bits does not wait for the buffer either: relaxed, in C11, promises nothing.
 *
 * What must hold: nobody writes to a window that the collector has taken;
 * what was written is in the map or in the archive, once; nobody waits for
 * the dead (no state without a way on but the end).
 *
 * Mutants, which must fail:
 *   WEAK_WORKER     W1 is a release store
 *   WEAK_COLLECTOR  C1 is a release store
 *   EPOCH_FIRST     C2 before C1
 *   NO_WAIT         S5 without S4
 *   CLEAR_FIRST     S6 before S5
 *   NO_BURIAL       the dead keep their epoch
 */
#ifndef BURSTS
#define BURSTS 2	/* of a worker */
#endif
#ifndef SEALS
#define SEALS 2		/* so that the first window is used again */
#endif
#ifndef KILLS
#define KILLS 1		/* of workers */
#endif
#ifndef CRASHES
#define CRASHES 1	/* of the collector */
#endif

#define NOTHING 15
#define COLLECTOR 2

mtype = { IDLE, OPEN, SEALING, CLEARING };

/* ---- shared memory ------------------------------------------------------ */

byte current = 1;
byte epoch = 1;
byte slot[2];
mtype state[2] = IDLE;
byte number[2];
byte bits[2];		/* how many were set */
byte buffer[3] = NOTHING;	/* what is on its way to slot[] or current */

bool stored[8];		/* the archive: window n is in it, with so many bits */
byte archived[8];

/* ---- for the proof ------------------------------------------------------ */

bool taken[2];		/* the collector holds it for its own */
byte set;		/* bits ever set */
byte kills, crashes, ended;
bool over;		/* all is done: memory may rest */

/* ---- memory ------------------------------------------------------------- */

proctype memory()
{
	do
	:: atomic { buffer[0] != NOTHING ->
		slot[0] = buffer[0]; buffer[0] = NOTHING }
	:: atomic { buffer[1] != NOTHING ->
		slot[1] = buffer[1]; buffer[1] = NOTHING }
	:: atomic { buffer[2] != NOTHING ->
		current = buffer[2]; buffer[2] = NOTHING }
	:: over -> break
	od
}

#define FLUSHED(who) (buffer[who] == NOTHING)

/* ---- a worker ----------------------------------------------------------- */

inline may_die()
{
	if
	:: kills < KILLS -> kills++; goto killed
	:: true
	fi
}

inline set_bit(w)
{
	assert(!taken[w] && (state[w] == OPEN || state[w] == SEALING));
	bits[w]++;
	set++
}

proctype worker(byte me)
{
	byte e, w, n = BURSTS;

	do
	:: n == 0 -> break
	:: else ->
		atomic { n--; e = epoch };			/* W0 */
		atomic { may_die() };
		atomic { FLUSHED(me) -> buffer[me] = e; e = 0 };	/* W1 */
		atomic { may_die() };
#ifndef WEAK_WORKER
		FLUSHED(me);
#endif
		w = current % 2;				/* W2 */
		atomic { may_die() };
		atomic { set_bit(w) };				/* W3 */
		atomic { may_die() };
		atomic { FLUSHED(me) -> buffer[me] = 0; w = 0 }	/* W4 */
	od;
	goto out;
killed:	/* whoever has reaped it goes on here */
	atomic { FLUSHED(me) -> e = 0; w = 0; n = 0 };
#ifndef NO_BURIAL
	slot[me] = 0;
#endif
out:
	atomic { FLUSHED(me) -> ended++ }
}

/* ---- the collector ------------------------------------------------------ */

inline may_crash()
{
	if
	:: crashes < CRASHES -> crashes++; goto crashed
	:: true
	fi
}

inline open(w, n)
{
	assert(bits[w] == 0);
	number[w] = n;
	state[w] = OPEN;
	taken[w] = false
}

inline advance()
{
	target = epoch;
	epoch++
}

inline begin(n)
{
	state[n % 2] = SEALING;					/* S1 */
	atomic { may_crash() };
	atomic { open((n + 1) % 2, n + 1) };			/* S2 */
	atomic { may_crash() };
#ifdef EPOCH_FIRST
	atomic { advance() };
#endif
	/* S3: C1 */
	atomic { FLUSHED(COLLECTOR) -> buffer[COLLECTOR] = n + 1 };
#ifndef WEAK_COLLECTOR
	FLUSHED(COLLECTOR);
#endif
	atomic { may_crash() };
#ifndef EPOCH_FIRST
	atomic { advance() };					/* C2 */
#endif
	atomic { may_crash() };
	waiting = n
}

inline copy(w)
{
	stored[number[w]] = true;
	archived[number[w]] = bits[w]
}

inline clear(w)
{
	state[w] = CLEARING;					/* S6 */
	atomic { may_crash() };
	bits[w] = 0;
	atomic { may_crash() };
	state[w] = IDLE						/* S7 */
}

inline finish(w)
{
#ifdef CLEAR_FIRST
	clear(w);
	atomic { copy(w) };
#else
	atomic { copy(w) };					/* S5 */
	atomic { may_crash() };
	clear(w);
#endif
	waiting = 0
}

#ifdef NO_WAIT
#define PASSED(who) true
#else
#define PASSED(who) (slot[who] == 0 || slot[who] > target)
#endif

/*
 * S4.  The code asks each round and goes on with other things; to be blocked
 * here for ever would be a window that is never sealed.
 */
inline finish_when_quiet()
{
	PASSED(0);
	atomic { PASSED(1) -> taken[waiting % 2] = true };
	finish(waiting % 2)
}

/* A new collector takes over; so much of the map is as it was left. */
inline resume(n)
{
	atomic {
		assert(number[n % 2] == n);
		assert(state[n % 2] == OPEN || state[n % 2] == SEALING);
		state[n % 2] = OPEN
	};
	if
	:: state[1 - n % 2] == IDLE
	:: state[1 - n % 2] == OPEN ->
		assert(number[1 - n % 2] == n + 1);
		clear(1 - n % 2)
	:: state[1 - n % 2] == CLEARING -> clear(1 - n % 2)
	:: state[1 - n % 2] == SEALING ->
		assert(number[1 - n % 2] + 1 == n);
		if
		:: stored[n - 1] -> clear(1 - n % 2)
		:: else -> atomic { advance(); waiting = n - 1 }
		fi
	fi
}

#define KEPT(w) (state[w] != IDLE && !stored[number[w]] -> bits[w] : 0)

proctype collector()
{
	byte target, waiting, n;

again:
	do
	:: waiting != 0 -> finish_when_quiet()
	:: waiting == 0 && current <= SEALS ->
		n = current;
		begin(n);
		n = 0
	:: waiting == 0 && current > SEALS && ended == 2 -> break
	od;
	goto out;
crashed:	/* its stores reach memory; all else of it is gone */
	atomic { FLUSHED(COLLECTOR) -> target = 0; waiting = 0; n = current };
	resume(n);
	n = 0;
	goto again;
out:
	atomic {
		over = true;
		assert(set == archived[1] + archived[2] + archived[3] +
		    KEPT(0) + KEPT(1))
	}
}

init {
	atomic {
		number[1] = 1;
		state[1] = OPEN;
		run memory();
		run worker(0);
		run worker(1);
		run collector()
	}
}
