/*
 * sample - what the page shows, read from the shared map when somebody asks,
 * and only then.
 *
 * One thread reads: the one that serves.
 */
#ifndef WEB_SAMPLE_H
#define WEB_SAMPLE_H

#include <stdio.h>

#include "../read/pace.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "../read/water.h"
#include "health.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/bans.h"
#include "tidemark/settings/config.h"

#define SAMPLE_NEAREST 12 /* buckets that are named */
#define SAMPLE_BANS 50	  /* bans that are named */

struct sample {
	struct tide_config places; /* where to look for the daemon */
	bool mask;

	struct view view;
	bool attached;	     /* there is a map to read */
	bool absent;	     /* there is none at all */
	struct tide_err why; /* if not attached */
	uint64_t now_ms, mono_ms;
	uint64_t taken_ms; /* mono, of what follows; 0: it is not to be used */

	struct water water;
	struct pace_waits waits;
	struct health health;
	struct view_flow flow;
	size_t nearest[SAMPLE_NEAREST]; /* of the water's, the fullest first */
	size_t nearest_count;
	struct tide_ban ban[SAMPLE_BANS]; /* the newest first */
	size_t bans;
};

/* Attach, or follow a new map.  False if there is none: s->why. */
bool sample_attach(struct sample *);

void sample_free(struct sample *);

/* Look at all of it, unless that was done a moment ago. */
bool sample_take(struct sample *);

/* Why the daemon is not at work, in a sentence; "" if it is. */
const char *sample_trouble(const struct sample *);

/* As JSON, for the page's script. */
void sample_json(FILE *, const struct sample *);

/* As HTML, for a browser without scripts. */
void sample_html(FILE *, const struct sample *);

#endif
