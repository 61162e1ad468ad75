/*
 * share_reports - own reports of spam, kept to be told to neighbours; and
 * theirs, on their way into the filters.
 */
#include <stdlib.h>
#include <string.h>

#include "share_archive.h"
#include "spam_archive.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/share_archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/share.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"

/* An own report, and its checksum. */
struct stored_report {
	struct tide_shared_report report;
	uint64_t check;
};

/* ---- ours --------------------------------------------------------------- */

int
tide_share_note(struct tide_txn *txn, uint64_t number, enum tide_spam_kind kind,
    const struct tide_signatures *s, struct tide_err *err)
{
	struct stored_report r;
	struct number_key k;

	tide_shared_report_make(
	    &r.report, number, tide_clock_wall_ms(), kind, s);
	r.check = tide_hash_check(&r, offsetof(struct stored_report, check));
	return tide_txn_put(txn, TABLE, number_key(&k, 'w', number),
	    tide_bytes(&r, sizeof r), err);
}

struct collecting {
	uint64_t not_before_ms;
	struct tide_share *s;
	uint64_t seen, skip; /* the first ones, if there are too many */
};

static int
collect_report(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct collecting *c = arg;
	struct stored_report r;

	(void)err;
	if (key.size != sizeof(struct number_key) ||
	    *(const char *)key.data != 'w')
		return 1;
	if (value.size != sizeof r)
		return 0;
	memcpy(&r, value.data, sizeof r);
	if (r.check !=
		tide_hash_check(&r, offsetof(struct stored_report, check)) ||
	    r.report.at_ms < c->not_before_ms)
		return 0;
	if (c->seen++ < c->skip)
		return 0;
	if (c->s->report != NULL && c->s->head.reports < TIDE_SHARE_REPORTS)
		c->s->report[c->s->head.reports++] = r.report;
	c->s->head.reports_until = r.report.number;
	return 0;
}

/* Twice: count them, then take them. */
int
tide_archive_own_reports(struct tide_archive *a, uint64_t not_before_ms,
    struct tide_share *s, struct tide_err *err)
{
	struct collecting c = { .not_before_ms = not_before_ms, .s = s };
	struct tide_bytes from = tide_bytes("w", 1);
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	int rc;

	if (txn == NULL)
		return -1;
	rc = tide_txn_walk(txn, TABLE, from, collect_report, &c, err);
	if (rc == 0 && c.seen > 0) {
		if (c.seen > TIDE_SHARE_REPORTS)
			c.skip = c.seen - TIDE_SHARE_REPORTS;
		s->report =
		    malloc((size_t)(c.seen - c.skip) * sizeof *s->report);
		c.seen = 0;
		rc = s->report == NULL
		    ? tide_err_errno(err, "room for reports")
		    : tide_txn_walk(txn, TABLE, from, collect_report, &c, err);
	}
	tide_txn_abort(txn);
	return rc;
}

struct faded {
	uint64_t not_before_ms;
	struct number_key key;
	bool found;
};

static int
find_faded(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct faded *f = arg;
	struct stored_report r;

	(void)err;
	if (key.size != sizeof f->key || *(const char *)key.data != 'w')
		return 1;
	memcpy(&f->key, key.data, sizeof f->key);
	f->found = value.size != sizeof r;
	if (!f->found) {
		memcpy(&r, value.data, sizeof r);
		f->found = r.report.at_ms < f->not_before_ms;
	}
	return 1;
}

/* The first ones are the oldest. */
int
tide_share_drop_faded(
    struct tide_txn *txn, uint64_t not_before_ms, struct tide_err *err)
{
	struct faded f = { .not_before_ms = not_before_ms };

	do {
		f.found = false;
		if (tide_txn_walk(txn, TABLE, tide_bytes("w", 1), find_faded,
			&f, err) < 0 ||
		    (f.found &&
			tide_txn_del(txn, TABLE,
			    tide_bytes(&f.key, sizeof f.key), err) < 0))
			return -1;
	} while (f.found);
	return 0;
}

/* ---- theirs ------------------------------------------------------------- */

int
tide_share_record(struct tide_txn *txn, struct tide_share *s, uint64_t until,
    const struct tide_share_place *place, struct tide_err *err)
{
	uint64_t i, kept = 0;
	struct tide_signatures sig;

	for (i = 0; i < s->head.reports; i++) {
		const struct tide_shared_report *r = &s->report[i];

		if (r->number <= until || r->at_ms < place->not_before_ms ||
		    !tide_shared_report_read(r, &sig))
			continue;
		if (tide_spam_record(txn, place->spam_sequence + kept + 1,
			place->spam_generation, (enum tide_spam_kind)r->kind,
			&sig, err) < 0)
			return -1;
		s->report[kept++] = *r;
	}
	s->head.reports = kept;
	return 0;
}
