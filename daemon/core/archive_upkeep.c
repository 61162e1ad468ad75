/*
 * archive upkeep - lapses, expiry, the summary, and the walk that finds
 * damage before the collector meets it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark/archive.h"

/* ---- lapses ------------------------------------------------------------ */

struct lapse_key {
	uint8_t from[8];
	uint8_t kind[8];
};

int
tide_archive_put_lapse(struct tide_archive *a, const struct tide_lapse *lapse,
    struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, true, err);
	struct lapse_key key;

	if (txn == NULL)
		return -1;
	tide_key_number(key.from, lapse->from_ms);
	tide_key_number(key.kind, lapse->kind);
	if (tide_txn_put(txn, TIDE_TABLE_LAPSES, tide_bytes(&key, sizeof key),
		tide_bytes(lapse, sizeof *lapse), err) < 0) {
		tide_txn_abort(txn);
		return -1;
	}
	return tide_txn_commit(txn, err);
}

/* ---- summary ----------------------------------------------------------- */

static int
sum_window(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tide_archive_summary *sum = arg;
	struct tide_window_record r;

	(void)key;
	(void)err;
	if (tide_window_record_read(value, &r) == NULL)
		return 0;
	if (sum->windows == 0 || r.from_ms < sum->from_ms)
		sum->from_ms = r.from_ms;
	if (r.until_ms > sum->until_ms)
		sum->until_ms = r.until_ms;
	sum->windows++;
	sum->messages += r.messages;
	sum->bytes += tide_window_record_bytes(&r);
	return 0;
}

static int
sum_lapse(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tide_archive_summary *sum = arg;

	(void)key;
	(void)value;
	(void)err;
	sum->lapses++;
	return 0;
}

int
tide_archive_summary(struct tide_archive *a, struct tide_archive_summary *sum,
    struct tide_err *err)
{
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	int rc;

	if (txn == NULL)
		return -1;
	memset(sum, 0, sizeof *sum);
	rc = tide_txn_walk(
	    txn, TIDE_TABLE_WINDOWS, tide_bytes("", 0), sum_window, sum, err);
	if (rc == 0)
		rc = tide_txn_walk(txn, TIDE_TABLE_LAPSES, tide_bytes("", 0),
		    sum_lapse, sum, err);
	tide_txn_abort(txn);
	return rc;
}

/* ---- expiry ------------------------------------------------------------ */

struct expiry {
	uint64_t before_ms; /* drop what ended before */
	uint64_t excess;    /* bytes still to be dropped */
	uint64_t from_ms;   /* of the oldest window that stays */
	uint8_t victim[256][8];
	unsigned victims;
};

static int
choose_window(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct expiry *e = arg;
	struct tide_window_record r;
	uint64_t bytes;

	(void)err;
	if (key.size != 8 || e->victims == 256)
		return 1;
	if (tide_window_record_read(value, &r) == NULL)
		return 0; /* damaged: kept, and shown as a gap */
	bytes = tide_window_record_bytes(&r);
	if (r.until_ms >= e->before_ms && e->excess == 0) {
		e->from_ms = r.from_ms;
		return 1;
	}
	memcpy(e->victim[e->victims++], key.data, 8);
	e->excess -= bytes < e->excess ? bytes : e->excess;
	return 0;
}

struct prefix {
	const uint8_t *number;
	uint8_t key[64];
	size_t size;
};

static int
find_prefixed(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct prefix *p = arg;

	(void)value;
	(void)err;
	if (key.size >= 8 && key.size <= sizeof p->key &&
	    memcmp(key.data, p->number, 8) == 0) {
		memcpy(p->key, key.data, key.size);
		p->size = key.size;
	}
	return 1;
}

/* All chunks of a window, one after the other. */
static int
drop_filters(
    struct tide_txn *txn, const uint8_t number[8], struct tide_err *err)
{
	struct prefix p = { .number = number };

	do {
		p.size = 0;
		if (tide_txn_walk(txn, TIDE_TABLE_FILTERS,
			tide_bytes(number, 8), find_prefixed, &p, err) < 0)
			return -1;
		if (p.size > 0 &&
		    tide_txn_del(txn, TIDE_TABLE_FILTERS,
			tide_bytes(p.key, p.size), err) < 0)
			return -1;
	} while (p.size > 0);
	return 0;
}

static int
drop_windows(struct tide_txn *txn, const struct expiry *e, struct tide_err *err)
{
	unsigned i;

	for (i = 0; i < e->victims; i++) {
		if (drop_filters(txn, e->victim[i], err) < 0 ||
		    tide_txn_del(txn, TIDE_TABLE_WINDOWS,
			tide_bytes(e->victim[i], 8), err) < 0)
			return -1;
	}
	return 0;
}

static int
oldest_lapse(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tide_lapse *lapse = arg;

	(void)key;
	(void)err;
	if (value.size == sizeof *lapse)
		memcpy(lapse, value.data, sizeof *lapse);
	return 1;
}

/* Lapses that ended before the oldest window kept say nothing any more. */
static int
drop_lapses(struct tide_txn *txn, uint64_t before_ms, struct tide_err *err)
{
	struct tide_lapse lapse;
	struct lapse_key key;
	int gone;

	do {
		gone = 0;
		lapse = (struct tide_lapse){ .until_ms = UINT64_MAX };
		if (tide_txn_walk(txn, TIDE_TABLE_LAPSES, tide_bytes("", 0),
			oldest_lapse, &lapse, err) < 0)
			return -1;
		if (lapse.until_ms >= before_ms)
			break;
		tide_key_number(key.from, lapse.from_ms);
		tide_key_number(key.kind, lapse.kind);
		gone = tide_txn_del(
		    txn, TIDE_TABLE_LAPSES, tide_bytes(&key, sizeof key), err);
	} while (gone == 1);
	return gone < 0 ? -1 : 0;
}

int
tide_archive_expire(struct tide_archive *a, uint64_t before_ms,
    uint64_t max_bytes, unsigned *dropped, struct tide_err *err)
{
	struct expiry e = { .before_ms = before_ms };
	struct tide_archive_summary sum;
	struct tide_txn *txn;

	*dropped = 0;
	if (tide_archive_summary(a, &sum, err) < 0)
		return -1;
	e.excess = sum.bytes > max_bytes ? sum.bytes - max_bytes : 0;
	txn = tide_txn_begin(a->store, true, err);
	if (txn == NULL)
		return -1;
	if (tide_txn_walk(txn, TIDE_TABLE_WINDOWS, tide_bytes("", 0),
		choose_window, &e, err) < 0 ||
	    drop_windows(txn, &e, err) < 0 ||
	    (e.victims > 0 && drop_lapses(txn, e.from_ms, err) < 0)) {
		tide_txn_abort(txn);
		return -1;
	}
	if (e.victims == 0) {
		tide_txn_abort(txn);
		return 0;
	}
	*dropped = e.victims;
	return tide_txn_commit(txn, err);
}

/* ---- verification ------------------------------------------------------ */

static int
touch(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	volatile uint8_t sink = 0;

	(void)arg;
	(void)err;
	if (key.size > 0)
		sink ^= ((const uint8_t *)key.data)[key.size - 1];
	if (value.size > 0)
		sink ^= ((const uint8_t *)value.data)[value.size - 1];
	(void)sink;
	return 0;
}

/* In the child: open, walk every table. */
static int
walk_everything(const char *state_dir, struct tide_err *err)
{
	struct tide_archive a;
	struct tide_txn *txn;
	int i, rc = 0;

	if (tide_archive_open(&a, state_dir, TIDE_ARCHIVE_READ, 0, err) < 0)
		return -1;
	txn = tide_txn_begin(a.store, false, err);
	if (txn == NULL)
		return -1;
	for (i = 0; rc == 0 && i < TIDE_TABLES; i++)
		rc = tide_txn_walk(txn, i, tide_bytes("", 0), touch, NULL, err);
	tide_txn_abort(txn);
	tide_archive_close(&a);
	return rc;
}

static void
verify_child(const char *state_dir, int fd)
{
	struct tide_err err = { "" };

	(void)alarm(300); /* a loop in a damaged tree ends, too */
	if (walk_everything(state_dir, &err) == 0)
		_exit(0);
	if (write(fd, err.text, strlen(err.text)) < 0)
		_exit(2);
	_exit(1);
}

int
tide_archive_verify(const char *state_dir, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 16];
	int fds[2], status = 0;
	ssize_t n;
	pid_t pid;

	(void)snprintf(path, sizeof path, "%s/archive.mdb", state_dir);
	if (tide_store_probe(path, err) == TIDE_STORE_ABSENT)
		return 0;
	if (pipe(fds) < 0)
		return tide_err_errno(err, "%s: cannot be checked", path);
	pid = fork();
	if (pid == 0)
		verify_child(state_dir, fds[1]);
	(void)close(fds[1]);
	n = read(fds[0], err->text, sizeof err->text - 1);
	err->text[n > 0 ? n : 0] = '\0';
	(void)close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return tide_err_errno(err, "%s: cannot be checked", path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (err->text[0] == '\0')
		return tide_err_set(err,
		    "%s: is damaged: reading it through ended with signal %d; "
		    "it is left as it is",
		    path, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return -1;
}
