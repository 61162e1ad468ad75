/*
 * control - the words by which the collector steers everybody; they follow the
 * head (head.h) in region control.  Written by the collector alone.
 */
#ifndef TIDEMARK_CONTROL_H
#define TIDEMARK_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#include "tidemark/shared/epoch.h"

/*
 * Which window a region holds, and its time.  Here and not beside its filters:
 * those pages are the workers', and a date that one of them wrote would cover
 * times that nobody looked at.  All 0 in a map of 0.2 (window.h).
 */
struct tide_window_times {
	_Atomic uint64_t number;
	_Atomic uint64_t opened_ms; /* wall */
	_Atomic uint64_t closed_ms; /* wall; set when sealing starts */
};

struct tide_control {
	_Alignas(64) tide_epoch epoch; /* starts at 1 */
	_Atomic uint64_t current;      /* number of the open window, 0 if */
#define TIDE_MAP_RETIRED UINT64_MAX    /* none is yet; no longer used */
	struct tide_window_times window[2];
	_Alignas(64) _Atomic uint64_t pulse_ms; /* monotonic; collector */
	_Atomic uint64_t generation;		/* of runtime_dir/config */
	_Atomic uint64_t bypass_until_ms;	/* wall; 0: no bypass */
	_Atomic uint64_t checkpoint_ms;		/* wall; the last one */
	_Atomic uint64_t archive_windows;	/* for tools, no more */
	_Atomic uint64_t archive_bytes;
	_Atomic uint64_t archive_from_ms;
	_Atomic uint64_t archive_failing; /* failures in a row */
	_Atomic uint64_t archive_until_ms;
	_Atomic uint64_t archive_wire; /* bytes of mail in its windows */
	_Atomic uint64_t archive_text; /* and of text */
	_Atomic uint64_t archive_kept; /* of it, bytes that hold content */
	_Atomic uint32_t collector_pid;
	_Atomic uint32_t filling; /* 1 until a new map holds what it is to:
				     who finds it so makes another one */
	/* when the sealer last read the clocks: sealer_clock.c */
	_Atomic uint64_t seen_wall_ms;
	_Atomic uint64_t seen_boot_ms; /* 0: not yet */
	_Atomic int64_t
	    settled_ms; /* boot time lacks it to the settled one; 0: not yet */
};

#endif
