/*
 * units - numbers as people write them, and back.
 *
 *   time    500ms 90s 5min 1h 180d 2w; only 0 may go without a unit
 *   size    512 64K 64M 1G 2T, powers of 1024
 *   count   256 100k 5m, powers of 1000
 *   rate    10/min 100/5min 1k/h: a count for each period
 *   mode    0660, octal, at most 0777
 *   share   0.001 or 0.1%, more than 0 and less than 1
 *
 * Letter case of a unit does not matter, a space may stand before it.  What
 * the show functions print, the parse functions read back as the same value.
 * Nothing here depends on the locale.
 */
#ifndef TIDEMARK_UNITS_H
#define TIDEMARK_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"

#define TIDE_UNITS_MAX 48 /* a buffer that holds whatever show prints */

struct tide_rate {
	uint64_t count;
	uint64_t period_ms; /* never 0 once parsed */
};

/* 0, or -1 with a sentence that quotes the text; *out is then untouched. */
int tide_time_parse(const char *, uint64_t *ms, struct tide_err *);
int tide_size_parse(const char *, uint64_t *bytes, struct tide_err *);
int tide_count_parse(const char *, uint64_t *, struct tide_err *);
int tide_rate_parse(const char *, struct tide_rate *, struct tide_err *);
int tide_mode_parse(const char *, uint64_t *, struct tide_err *);
int tide_share_parse(const char *, double *, struct tide_err *);

/* The value in its largest whole unit; returns buf. */
const char *tide_time_show(uint64_t ms, char *buf, size_t);
const char *tide_size_show(uint64_t bytes, char *buf, size_t);
const char *tide_count_show(uint64_t, char *buf, size_t);
const char *tide_rate_show(struct tide_rate, char *buf, size_t);
const char *tide_mode_show(uint64_t, char *buf, size_t);
const char *tide_share_show(double, char *buf, size_t);

#endif
