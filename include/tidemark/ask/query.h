/*
 * query - did mail from X, to Y, with this text, pass here, and when?
 *
 * "No" is certain where we were looking all the time; where we were not, the
 * answer says so.  "Yes" is probable, and says how probable.
 */
#ifndef TIDEMARK_QUERY_H
#define TIDEMARK_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/archive/archive.h"
#include "tidemark/map/map.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"

struct tide_question {
	const char *from, *to;		  /* addresses; NULL: whoever */
	const struct tide_recall *recall; /* content, ready; NULL: whatever */
	bool has_since;			  /* else: as far back as we remember */
	uint64_t since_ms, until_ms;
	uint64_t now_ms; /* wall */
	/* now as well; 0: whether the clock was set just now, or for how long
	 * the acceptor is silent, is then judged by wall time alone */
	uint64_t boot_ms, mono_ms;
	/* called before each window, if not NULL; false: enough */
	bool (*go_on)(void *arg, uint64_t done, uint64_t all);
	void *arg;
};

#define TIDE_NAMES_MAX (TIDE_PROFILES_MAX * TIDE_NAME_MAX)

/* A window in which it was found. */
struct tide_hit {
	uint64_t number;
	uint64_t from_ms, until_ms;
	double error; /* that it is there by chance */
	bool sealed;
	struct tide_recollection content; /* all 0 if none was asked for */
	uint32_t tag[TIDE_PROFILES_MAX];  /* of the profiles; or 0 */
	bool certain; /* these, and not just one or another of them */
	char profiles[TIDE_NAMES_MAX]; /* their names, by spaces */
};

/* A candidate that fits into the gap, in that window. */
struct tide_fit {
	size_t guess; /* its number, from 0 */
	uint64_t window;
	unsigned levels;
	double error;
};

/* A time within the question of which we cannot speak, and why. */
struct tide_gap {
	uint64_t from_ms, until_ms;
	uint32_t kind; /* enum tide_lapse_kind; 0: nothing stored */
	uint32_t pad;
};

struct tide_answer {
	uint64_t since_ms, until_ms;
	uint64_t windows; /* looked into */
	double error;	  /* of a chance "yes" in any of them */
	struct tide_hit *hit;
	size_t hits;
	struct tide_gap *gap;
	size_t gaps;
	struct tide_fit *fit;
	size_t fits;
	uint64_t lookups; /* of elements of content */
	bool stopped;	  /* by go_on() */
};

/* An acceptor that has not beaten for so long is not there. */
#define TIDE_ACCEPTOR_SILENT_MS 5000

/* The exit codes of `tidemark query`. */
enum tide_verdict {
	TIDE_FOUND = 0,
	TIDE_ABSENT = 1,
	TIDE_UNANSWERED = 2, /* an error */
	TIDE_NOT_COVERED = 3 /* absent, but there are gaps */
};

/* map NULL: offline, with the newest checkpoint in its place. */
int tide_query(struct tide_archive *, const struct tide_map *,
    const struct tide_question *, struct tide_answer *, struct tide_err *);
void tide_answer_free(struct tide_answer *);

enum tide_verdict tide_answer_verdict(const struct tide_answer *);

/* A gap's reason, in words. */
const char *tide_gap_reason(uint32_t kind);

#endif
