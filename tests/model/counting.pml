/*
 * counting - inserts of one message by several workers at once, into a filter
 * where other messages raise the same cells now and then (counting.h).
 *
 * Each worker inserts a copy or is killed at any step; whoever buries it comes
 * later.  Two words a stripe:
 * worker 0 in one, the others in the other.  After each completed insert no
 * cell may be below the number of them.
 *
 * Mutants:
 *   READ_LATE   the cells are first read when registered (I1 after I2)
 *   NAIVE       nobody registers
 *   ONE_WORD    only the own word of the stripe is looked at
 *   LEAVE_FIRST the bit is cleared before the cells are raised
 *   SHARED_BIT  two workers have the same bit
 *   LATE_LOOK   the other words are looked at before the own bit is set
 */
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef FOREIGN
#define FOREIGN 1
#endif
#ifndef COPIES
#define COPIES 1 /* that worker 0 inserts */
#endif
#ifndef KILLS
#define KILLS 1
#endif
#define CELLS 2
#define BEYOND 255

byte cell[CELLS];
byte inserted;
byte word0, word1; /* bits of the stripe's two words */
byte kills = KILLS;

#ifdef SHARED_BIT
#define BIT(w) 1
#else
#define BIT(w) (1 << (w))
#endif
#define IN_FIRST(w) ((w) == 0)

inline enter(w)
{
#ifdef NAIVE
	others = 0
#else
#ifdef LATE_LOOK
	if
	:: IN_FIRST(w) -> others = word1
	:: else -> others = word0
	fi;
#endif
	atomic {
		if
		:: IN_FIRST(w) ->
			was = word0 & (255 - BIT(w)); word0 = word0 | BIT(w)
		:: else ->
			was = word1 & (255 - BIT(w)); word1 = word1 | BIT(w)
		fi
	}
#ifdef ONE_WORD
	others = was
#else
#ifdef LATE_LOOK
	others = others | was
#else
	if
	:: IN_FIRST(w) -> others = was | word1
	:: else -> others = was | word0
	fi
#endif
#endif
#endif
}

inline leave(w)
{
	atomic {
		if
		:: IN_FIRST(w) -> word0 = word0 & (255 - BIT(w))
		:: else -> word1 = word1 & (255 - BIT(w))
		fi
	}
}

inline read_cells()
{
	before[0] = cell[0];
	before[1] = cell[1]
}

inline may_die()
{
#if KILLS > 0
	if
	:: true
	:: kills > 0 -> kills--; goto dead
	fi
#else
	skip
#endif
}

proctype worker(byte w; byte copies)
{
	byte before[CELLS], least, v, was, others;

	do
	:: copies > 0 ->
		copies--;
#ifdef READ_LATE
		enter(w);
		read_cells();
#else
		read_cells();
		enter(w);
#endif
		may_die();
		if
		:: others == 0 ->
			least = cell[0];
			atomic {
				v = cell[1];
				if
				:: v < least -> least = v
				:: else
				fi;
				v = 0
			}
		:: else -> least = BEYOND
		fi;
#ifdef LEAVE_FIRST
		leave(w);
#endif
		may_die();
		atomic {
			if
			:: before[0] <= least -> cell[0]++
			:: else
			fi
		};
		may_die();
		atomic {
			if
			:: before[1] <= least -> cell[1]++
			:: else
			fi
		};
		may_die();
		leave(w);
		atomic {
			inserted++;
			assert(cell[0] >= inserted && cell[1] >= inserted);
			before[0] = 0; before[1] = 0;
			least = 0; v = 0; was = 0; others = 0
		}
	:: else -> break
	od;
	goto done;
dead:	leave(w); /* at any later time */
done:	skip
}

/* Other messages, whose cells these are as well. */
proctype others_insert()
{
	byte n = FOREIGN;

	do
	:: n > 0 -> n--;
		if
		:: cell[0]++
		:: cell[1]++
		fi
	:: else -> break
	od
}

init
{
	atomic {
		if
		:: cell[0] = 0
		:: cell[0] = 1
		fi;
		run worker(0, COPIES);
		run worker(1, 1);
#if WORKERS > 2
		run worker(2, 1);
#endif
		run others_insert()
	}
}
