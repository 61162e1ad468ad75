/*
 * buckets - PROTOCOL buckets (include/tidemark/flow/buckets.h), checked in full:
 * two workers that may be killed at any step, the collector, two keys in one
 * chain, a pool of two buckets, so that every bucket is soon another key's.
 *
 * As in the code: the mark with its flags, OVF holding the drops since; the
 * mailbox, which takes one post or one notice here, and its alarm; epochs;
 * limbo in two batches; overflows that are held back (a ban being written);
 * a pool that runs dry, eviction.  Every access to what others write is a
 * step of its own; a CAS is one step.  Left out: strings, classes, more than
 * one drop at a time, the order of memory (epoch.pml has that), the rebuild.
 *
 * What must hold:
 *   account   what was added to a key is what its bucket holds, what leaked,
 *             what overflowed, what was evicted or refused (and counted)
 *   reports   when a bucket leaves OVF it has been reported once, and once
 *             more for each K + 1 drops since
 *   judgement a bucket overflows only if, at some moment of the attempt, it
 *             held K drops
 *   keys      water lands in the key's own bucket, and there is one only
 *   pool      in the end every bucket is free again
 *   nobody waits: no state without a way on but the end (Spin checks that)
 *
 * Mutants, which must fail:
 *   FLOOR_FIRST   the floor is read before the mark              (W4)
 *   LATE_EPOCH    the epoch is announced after the head was read (W1, W2)
 *   PLAIN_RETIRE  DEAD by a store, not by CAS                    (C3)
 *   WORKER_TELLS  the winner of an overflow reports it           (C2)
 *   NO_GRACE      a bucket is freed at once                      (C4)
 *   FORGETFUL     reports made before one is held back are forgotten (C2)
 *   NO_ALARM      a notice that finds no room is dropped, and whoever
 *                 buries a worker does not raise its alarm
 *   NO_BURIAL     the dead keep their epoch
 */
#ifndef K
#define K 2	/* depth */
#endif
#ifndef OPS0
#define OPS0 2	/* adds of the first worker */
#endif
#ifndef OPS1
#define OPS1 1	/* and of the second */
#endif
#ifndef TICKS
#define TICKS 2
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef HOLDS
#define HOLDS 1	/* how often an overflow is held back */
#endif

#define NONE 7
#define COLLECTOR 2	/* as a filler, beside workers 0 and 1 */

/* marks: below DEAD a level; from OVF on, the drops since */
#define DEAD 50
#define OVF 100
#define IS_OVF(m) (m >= OVF)

mtype = { FREE, CHAINED, LIMBO, LEAVING };
mtype = { UNDECIDED, HELD, OVERFLOWED, OVER, LOST };

/* ---- shared memory ------------------------------------------------------ */

byte mark[2] = DEAD;
byte next[2] = NONE;
byte key[2];
byte head = NONE;
byte floor = 1;
byte epoch = 1;
byte slot[2];
byte mail[2] = NONE;	/* 0, 1: add to that key; 2, 3: notice of a bucket */
bool alarm[2];

/* ---- the collector's own ------------------------------------------------ */

mtype where[2] = FREE;
byte list[2];		/* the level at which a tick meets it */
byte target;		/* of the batch that is LEAVING */
bool pending[2];

/* ---- for the proof ------------------------------------------------------ */

#define BASE 20
byte account[2] = BASE;	/* of a key: BASE and what should be there */
byte told[2];		/* reports since it went OVF */
byte filling[3] = NONE;	/* whose bucket, and the most it held meanwhile */
byte peak[3];
byte kills, holds, ended;

#define LEVEL(m, f) (m >= OVF -> K + 1 : (m == DEAD || m <= f -> 0 : m - f))

inline saw(who, b)
{
	filling[who] = b;
	peak[who] = LEVEL(mark[b], floor)
}

inline raise_peak(who, b)
{
	if
	:: filling[who] == b && peak[who] < LEVEL(mark[b], floor) ->
		peak[who] = LEVEL(mark[b], floor)
	:: else
	fi
}

inline raise_peaks(b)
{
	raise_peak(0, b);
	raise_peak(1, b);
	raise_peak(2, b)
}

/* ---- filling: workers and the collector (W4 to W6) ---------------------- */

/* A CAS from seen to the brim, or to OVF; credit: 1 if not yet counted. */
inline cas_fill(who, b, k, credit)
{
	if
	:: seen == DEAD -> result = LOST
	:: seen != DEAD && mark[b] != seen ->
		if
		:: result = UNDECIDED
		:: result = LOST	/* W6: tried too often */
		fi
	:: else ->
		assert(key[b] == k && where[b] == CHAINED);
		if
		:: IS_OVF(seen) ->
			mark[b] = seen + 1;
			account[k] = account[k] + credit;
			result = OVER
		:: else ->
			brim = (seen > low -> seen : low) + 1;
			account[k] = account[k] + credit - 1 -
			    LEVEL(seen, floor);
			if
			:: brim - low > K ->
				assert(peak[who] >= K);
				mark[b] = OVF;
				result = OVERFLOWED
			:: else ->
				mark[b] = brim;
				account[k] = account[k] + LEVEL(brim, floor);
				result = HELD
			fi;
			brim = 0
		fi;
		raise_peaks(b)
	fi;
	filling[who] = NONE;
	peak[who] = 0;
	seen = 0;
	low = 0
}

/*
 * A step of a worker, before which it may be killed.  Nothing of a worker's
 * outlives it but what it has stored, so to be killed after a step is to be
 * killed before the next.  (Without `true ->' an else within the step would
 * count as the other of these two choices.)
 */
#define STEP(who, what) \
	if \
	:: atomic { who != COLLECTOR && kills < KILLS -> kills++; goto killed } \
	:: atomic { true -> what } \
	fi

inline fill(who, b, k, credit)
{
	do
#ifdef FLOOR_FIRST
	:: STEP(who, low = floor; saw(who, b));
		STEP(who, seen = mark[b]);
#else
	:: STEP(who, seen = mark[b]; saw(who, b));
		STEP(who, low = floor);
#endif
		STEP(who, cas_fill(who, b, k, credit));
		if
		:: result != UNDECIDED -> break
		:: else
		fi
	od
}

/* ---- a worker ----------------------------------------------------------- */

inline find(who, b, k)
{
	do
	:: b == NONE || key[b] == k -> break
	:: else -> STEP(who, b = next[b])
	od
}

/* M1, M2; a post that finds no room is LOST, and the caller is told. */
inline post(who, k)
{
	if
	:: mail[who] == NONE -> mail[who] = k; account[k] = account[k] + 1
	:: else
	fi
}

inline notify(who, b)
{
	if
	:: mail[who] == NONE -> mail[who] = b + 2
	:: else ->
#ifndef NO_ALARM
		alarm[who] = true
#endif
	fi
}

inline add(who, b, k)
{
#ifdef LATE_EPOCH
	STEP(who, b = head);
	STEP(who, slot[who] = epoch);
#else
	STEP(who, slot[who] = epoch);	/* W1 */
	STEP(who, b = head);
#endif
	find(who, b, k);		/* W2 */
	if
	:: b != NONE -> fill(who, b, k, 1)
	:: else -> result = LOST
	fi;
	if
	:: result == LOST -> STEP(who, post(who, k))	/* W3 */
	:: result == OVERFLOWED ->
#ifdef WORKER_TELLS
		STEP(who, told[b] = told[b] + 1);
#endif
		STEP(who, notify(who, b))
	:: else
	fi;
	STEP(who, slot[who] = 0; b = NONE; k = 0; result = UNDECIDED)	/* W7 */
}

proctype worker(byte me; byte ops)
{
	byte k, b = NONE, seen, low, brim;
	mtype result = UNDECIDED;

	do
	:: ops > 0 ->
		atomic {
			ops--;
			if
			:: k = 0
			:: k = 1
			fi
		};
		add(me, b, k)
	:: else -> break
	od;
	goto out;
killed:
	atomic {	/* its own is gone; whoever buries it goes on here */
		k = 0; b = NONE; seen = 0; low = 0; brim = 0; ops = 0;
		result = UNDECIDED;
		filling[me] = NONE; peak[me] = 0
	};
#ifndef NO_ALARM
	alarm[me] = true;
#endif
#ifndef NO_BURIAL
	slot[me] = 0;
#endif
out:
	ended++
}

/* ---- the collector ------------------------------------------------------ */

/*
 * What only the collector writes stands still between its steps: an atomic
 * block here holds one access to a mark, a link, a slot or a mailbox, and
 * book-keeping.
 */

/* on_overflow(): the ban is made, or held back for now. */
inline tell(b)
{
	times = 1 + (seen - OVF) / (K + 1);
	if
	:: times == had
	:: times > had && holds < HOLDS && !closing -> holds++; fine = false
	:: times > had ->
#ifndef WORKER_TELLS
		told[b] = told[b] + times - had;
#endif
		had = times
	fi
}

/* It leaves OVF, but for the drops that came since. */
inline cas_resolved(b)
{
	if
	:: mark[b] != seen -> seen = mark[b]
	:: else ->
#ifdef WORKER_TELLS
		assert(told[b] >= 1);
#else
		assert(told[b] == times);
#endif
		told[b] = 0;
		account[key[b]] = account[key[b]] - (times - 1) * (K + 1);
		mark[b] = floor + (seen - OVF) % (K + 1);
		raise_peaks(b);
		seen = 0
	fi
}

/* Held back when some of it has been told: it stays OVF for the rest. */
inline cas_told(b)
{
	if
	:: mark[b] != seen -> seen = mark[b]; fine = true
	:: else ->
#ifndef FORGETFUL
		mark[b] = seen - had * (K + 1);
		account[key[b]] = account[key[b]] - had * (K + 1);
		told[b] = told[b] - had;
#endif
		seen = 0
	fi
}

/* C2; it then is fine, or held back and pending. */
inline resolve(b)
{
	atomic { seen = mark[b]; fine = true };
	do
	:: !IS_OVF(seen) -> break
	:: else ->
		atomic {
			tell(b);
			if
			:: fine -> cas_resolved(b)
			:: !fine && had > 0 -> cas_told(b)
			:: else -> seen = 0
			fi
		}
	od;
	atomic { pending[b] = !fine; seen = 0; had = 0; times = 0 }
}

inline link(b)
{
	list[b] = (mark[b] < DEAD && mark[b] > floor -> mark[b] : floor + 1)
}

inline unlink(b)
{
	if
	:: head == b -> head = next[b]
	:: else -> next[1 - b] = next[b]
	fi;
	where[b] = LIMBO
}

/* C3, one bucket that the floor has reached. */
inline visit(b)
{
	do
	:: atomic { IS_OVF(mark[b]) -> seen = 0 };
		resolve(b);
		if
		:: !fine -> link(b); break
		:: else
		fi
	:: atomic { !IS_OVF(mark[b]) -> seen = mark[b] };
		if
		:: seen > floor -> link(b); break
		:: else
		fi;
		atomic {
#ifdef PLAIN_RETIRE
			if
			:: true -> mark[b] = DEAD; seen = DEAD
			fi
#else
			if
			:: mark[b] == seen -> mark[b] = DEAD; seen = DEAD
			:: else
			fi
#endif
		};
		if
		:: seen == DEAD -> atomic { unlink(b); break }
		:: else
		fi
	od;
	seen = 0
}

inline leak_one(b)
{
	if
	:: where[b] == CHAINED && mark[b] < DEAD && mark[b] >= floor ->
		account[key[b]] = account[key[b]] - 1
	:: else
	fi
}

#define DUE(b) (where[b] == CHAINED && list[b] <= floor)

inline tick()
{
	atomic { floor++; leak_one(0); leak_one(1) };
	do
	:: DUE(0) -> visit(0)
	:: !DUE(0) && DUE(1) -> visit(1)
	:: else -> break
	od
}

/* C4: of two batches one waits for the slots to pass, one gathers. */
inline free_one(b)
{
	if
	:: where[b] == LEAVING -> where[b] = FREE
	:: else
	fi
}

inline leave_one(b)
{
	if
	:: where[b] == LIMBO -> where[b] = LEAVING; target = epoch
	:: else
	fi
}

inline free_batch()
{
	free_one(0);
	free_one(1);
	leave_one(0);
	leave_one(1);
	if
	:: where[0] == LEAVING || where[1] == LEAVING -> epoch++
	:: else
	fi
}

#ifdef NO_GRACE
#define PASSED(w) true
#else
#define PASSED(w) (slot[w] == 0 || slot[w] > target)
#endif

inline reclaim()
{
	if
	:: PASSED(0) ->
		atomic {
			if
			:: PASSED(1) -> free_batch()
			:: else
			fi
		}
	:: else
	fi
}

/* Pool dry: one that is not OVF is given up, and its water counted. */
inline evict(b)
{
	seen = mark[b];
	atomic {
		if
		:: !IS_OVF(seen) && mark[b] == seen ->
			account[key[b]] = account[key[b]] - LEVEL(seen, floor);
			mark[b] = DEAD;
			seen = DEAD
		:: else
		fi
	};
	if
	:: seen == DEAD ->
		atomic { unlink(b); seen = 0 };
		reclaim();
		reclaim()
	:: else -> seen = 0
	fi
}

#define IS_FREE(b) (where[b] == FREE)

inline take_bucket()
{
	if
	:: IS_FREE(0) || IS_FREE(1)
	:: !IS_FREE(0) && !IS_FREE(1) && where[0] == CHAINED -> evict(0)
	:: !IS_FREE(0) && !IS_FREE(1) && where[1] == CHAINED -> evict(1)
	:: !IS_FREE(0) && !IS_FREE(1) && where[0] != CHAINED &&
	    where[1] != CHAINED
	fi;
	b = (IS_FREE(0) -> 0 : (IS_FREE(1) -> 1 : NONE))
}

inline publish(k)
{
	atomic { key[b] = k; list[b] = floor + 1 };
	mark[b] = floor;
	next[b] = head;
	atomic {
		assert(where[1 - b] != CHAINED || key[1 - b] != k);
		where[b] = CHAINED;
		head = b
	}
}

/* C1 */
inline take_add(k)
{
	atomic {
		b = head;
		do
		:: b == NONE || key[b] == k -> break
		:: else -> b = next[b]
		od
	};
	if
	:: b == NONE ->
		take_bucket();
		if
		:: b != NONE -> publish(k)
		:: else -> account[k] = account[k] - 1	/* refused */
		fi
	:: else
	fi;
	if
	:: b != NONE ->
		do
		:: fill(COLLECTOR, b, k, 0);
			if
			:: result != LOST -> break
			:: else
			fi
		od;
		if
		:: result == OVERFLOWED -> resolve(b)
		:: else
		fi
	:: else
	fi;
	atomic { b = NONE; result = UNDECIDED }
}

inline look_at(b)
{
	if
	:: IS_OVF(mark[b]) -> resolve(b)
	:: else
	fi
}

inline drain(w)
{
	if
	:: mail[w] < 2 -> take_add(mail[w]); mail[w] = NONE
	:: mail[w] == 2 -> look_at(0); mail[w] = NONE
	:: mail[w] == 3 -> look_at(1); mail[w] = NONE
	:: mail[w] == NONE
	fi;
	if
	:: alarm[w] -> alarm[w] = false; look_at(0); look_at(1)
	:: else
	fi
}

#define HOLDING(b, k) \
	(where[b] == CHAINED && key[b] == k -> LEVEL(mark[b], floor) : 0)
#define IN_LIMBO(b) (where[b] == LIMBO || where[b] == LEAVING)

/* All stand still. */
inline check_accounts()
{
	assert(!IS_OVF(mark[0]) && !IS_OVF(mark[1]));
	assert(account[0] == BASE + HOLDING(0, 0) + HOLDING(1, 0));
	assert(account[1] == BASE + HOLDING(0, 1) + HOLDING(1, 1))
}

proctype collector()
{
	byte b = NONE, seen, low, brim, had, times, ticks;
	mtype result = UNDECIDED;
	bool fine, closing;

	do
	:: mail[0] != NONE || alarm[0] -> drain(0)
	:: mail[1] != NONE || alarm[1] -> drain(1)
	:: pending[0] -> resolve(0)
	:: pending[1] -> resolve(1)
	:: ticks < TICKS -> ticks++; tick()
	:: IN_LIMBO(0) || IN_LIMBO(1) -> reclaim()
	:: ended == 2 && mail[0] == NONE && mail[1] == NONE &&
	    !alarm[0] && !alarm[1] && !pending[0] && !pending[1] -> break
	od;
	atomic {
		check_accounts();
		closing = true;
		ticks = 0;
		do
		:: ticks < 2 * K + 2 -> ticks++; tick(); reclaim()
		:: else -> break
		od;
		reclaim();
		reclaim();
		assert(IS_FREE(0) && IS_FREE(1) && head == NONE)
	};
	goto out;
killed:
	assert(false);	/* STEP spares the collector */
out:
	skip
}

init {
	atomic {
		/* a bucket of key 0 with some water in it */
		where[0] = CHAINED;
		head = 0;
		list[0] = floor + 1;
		if
		:: mark[0] = floor
		:: mark[0] = floor + 1
		:: mark[0] = floor + K
		fi;
		account[0] = account[0] + mark[0] - floor;
		run worker(0, OPS0);
		run worker(1, OPS1);
		run collector()
	}
}
