/*
 * dump_archive - the facts of the archive: head, windows and their filters'
 * pieces, lapses, bans, egress lists, checkpoints.  The hash key is left
 * out.
 */
#include <stdio.h>
#include <string.h>

#include "../read/query.h"
#include "../read/view.h"
#include "dump.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/archive_bans.h"
#include "tidemark/archive/archive_egress.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/store.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/egress/egress.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"

/* What stands under a key that makes no sense to us. */
static void
put_unknown(struct dump *d, const char *table, struct tide_bytes key,
    struct tide_bytes value)
{
	const uint8_t *bytes = key.data;
	char hex[2 * 32 + 1] = "";
	size_t i;

	for (i = 0; i < key.size && i < 32; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	fact_begin(d, "unknown");
	fact_text(d, "table", table);
	fact_text(d, "key", hex);
	fact_number(d, "size", value.size);
	fact_end(d);
}

/* ---- meta -------------------------------------------------------------- */

/* How the head begins; what follows is the id of the key. */
struct head_start {
	uint64_t magic;
	uint32_t format, pad;
	uint64_t made_ms;
};

static bool
key_is(struct tide_bytes key, const char *name)
{
	return key.size == strlen(name) &&
	    memcmp(key.data, name, key.size) == 0;
}

static int
put_meta(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct dump *d = arg;
	struct tide_stored_clock clock;
	struct head_start head;
	char name[16] = "", profile[TIDE_NAME_MAX] = "";

	(void)err;
	if (key_is(key, "head") && value.size >= sizeof head) {
		memcpy(&head, value.data, sizeof head);
		fact_begin(d, "head");
		fact_number(d, "format", head.format);
		fact_time(d, "made", head.made_ms);
		fact_text(d, "lmdb", tide_store_version());
		fact_end(d);
	} else if (key_is(key, "checkpoint0") || key_is(key, "checkpoint1")) {
		memcpy(name, key.data, key.size);
		fact_begin(d, "manifest");
		fact_text(d, "key", name);
		fact_number(d, "size", value.size);
		fact_end(d);
	} else if (key_is(key, "clock") && value.size == sizeof clock) {
		memcpy(&clock, value.data, sizeof clock);
		fact_begin(d, "clock");
		fact_time(d, "settled", clock.settled_ms);
		fact_end(d);
	} else if (key.size == 16 && memcmp(key.data, "profile ", 8) == 0 &&
	    value.size == TIDE_NAME_MAX) {
		fact_begin(d, "profile");
		fact_number(
		    d, "tag", tide_key_read((const uint8_t *)key.data + 8));
		memcpy(profile, value.data, sizeof profile - 1);
		fact_text(d, "name", profile);
		fact_end(d);
	} else {
		put_unknown(d, "meta", key, value);
	}
	return 0;
}

/* ---- windows ----------------------------------------------------------- */

static void
put_shape(struct dump *d, const struct tide_window_record *r, unsigned k)
{
	const char *name = view_filter_name[k];
	char key[40];

	fact_number(d, name, r->elements[k]);
	(void)snprintf(key, sizeof key, "%s_ones", name);
	fact_number(d, key, r->ones[k]);
	(void)snprintf(key, sizeof key, "%s_bits", name);
	fact_number(d, key, r->shape[k].bits);
	(void)snprintf(key, sizeof key, "%s_positions", name);
	fact_number(d, key, r->shape[k].positions);
	(void)snprintf(key, sizeof key, "%s_chance", name);
	fact_real(d, key, tide_bloom_error(&r->shape[k], r->ones[k]));
}

static void
put_content(struct dump *d, const struct tide_window_record *r)
{
	static const char *const forms[] = { "off", "default", "classic" };
	unsigned i, profiles = 0;

	for (i = 0; i < TIDE_PROFILES_MAX; i++)
		profiles += r->profile[i] != 0;
	fact_text(d, "memory",
	    r->memory < sizeof forms / sizeof *forms ? forms[r->memory] : "?");
	fact_number(d, "profiles", profiles);
	fact_number(d, "longest", r->longest);
	fact_number(d, "cut", r->cut);
	fact_number(d, "unread", r->unread);
	fact_number(d, "wire", r->wire);
	fact_number(d, "text", r->text);
}

static int
put_window(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tide_window_record r;
	struct dump *d = arg;
	unsigned k;

	(void)err;
	if (tide_window_record_read(value, &r) == NULL) {
		put_unknown(d, "windows", key, value);
		return 0;
	}
	fact_begin(d, "window");
	fact_number(d, "number", r.number);
	fact_time(d, "from", r.from_ms);
	fact_time(d, "until", r.until_ms);
	fact_number(d, "messages", r.messages);
	for (k = 0; k < TIDE_FILTERS; k++)
		put_shape(d, &r, k);
	put_content(d, &r);
	fact_number(d, "bytes", tide_window_record_bytes(&r));
	fact_bool(d, "overfilled", r.flags & TIDE_WINDOW_WAS_OVERFILLED);
	fact_bool(d, "restored", r.flags & TIDE_WINDOW_WAS_RESTORED);
	fact_end(d);
	return 0;
}

/* The key: number (8 bytes), filter (1), chunk (8). */
static int
put_filter(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	const uint8_t *k = key.data;
	struct dump *d = arg;

	(void)err;
	if (key.size != 17 || k[8] >= TIDE_FILTERS) {
		put_unknown(d, "filters", key, value);
		return 0;
	}
	fact_begin(d, "filter");
	fact_number(d, "number", tide_key_read(k));
	fact_text(d, "filter", view_filter_name[k[8]]);
	fact_number(d, "chunk", tide_key_read(k + 9));
	fact_number(d, "size", value.size);
	fact_end(d);
	return 0;
}

/* ---- lapses, checkpoints ----------------------------------------------- */

static int
put_lapse(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct tide_lapse lapse;
	struct dump *d = arg;

	(void)err;
	if (value.size != sizeof lapse) {
		put_unknown(d, "lapses", key, value);
		return 0;
	}
	memcpy(&lapse, value.data, sizeof lapse);
	fact_begin(d, "lapse");
	fact_time(d, "from", lapse.from_ms);
	fact_time(d, "until", lapse.until_ms);
	fact_text(d, "kind", lapse_name(lapse.kind));
	fact_text(d, "reason", tide_gap_reason(lapse.kind));
	fact_end(d);
	return 0;
}

/* The key: side (1 byte), part (1), chunk (8). */
static int
put_piece(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	const uint8_t *k = key.data;
	struct dump *d = arg;

	(void)err;
	if (key.size != 10) {
		put_unknown(d, "checkpoint", key, value);
		return 0;
	}
	fact_begin(d, "piece");
	fact_number(d, "side", k[0]);
	fact_number(d, "part", k[1]);
	fact_number(d, "chunk", tide_key_read(k + 2));
	fact_number(d, "size", value.size);
	fact_end(d);
	return 0;
}

/* A checkpoint that cannot be loaded is a fact as well. */
static void
put_checkpoint(struct dump *d, struct tide_archive *a)
{
	struct tide_checkpoint c;
	struct tide_err err;
	unsigned i;
	int rc = tide_checkpoint_load(a, &c, &err);

	if (rc == 0)
		return;
	fact_begin(d, "checkpoint");
	fact_bool(d, "whole", rc > 0);
	if (rc < 0) {
		fact_text(d, "trouble", err.text);
		fact_end(d);
		return;
	}
	fact_time(d, "taken", c.taken_ms);
	fact_time(d, "bypass_until", c.bypass_until_ms);
	fact_text(d, "lacks", c.lacks.text);
	fact_end(d);
	for (i = 0; i < c.windows; i++) {
		fact_begin(d, "checkpoint_window");
		fact_number(d, "number", c.record[i].number);
		fact_time(d, "from", c.record[i].from_ms);
		fact_time(d, "until", c.record[i].until_ms);
		fact_number(d, "messages", c.record[i].messages);
		fact_end(d);
	}
	tide_checkpoint_free(&c);
}

/* ---- bans and lists ---------------------------------------------------- */

static int
put_ban(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct dump *d = arg;
	struct tide_ban ban;

	(void)err;
	if (!tide_ban_read(value, &ban)) {
		put_unknown(d, "bans", key, value);
		return 0;
	}
	fact_begin(d, "ban");
	fact_text(d, "key", ban.key);
	fact_text(d, "group",
	    ban.group < TIDE_GROUPS ? tide_group_name[ban.group] : "by hand");
	fact_text(d, "reason", ban.reason);
	fact_time(d, "since", ban.since_ms);
	fact_time(d, "until", ban.until_ms);
	fact_number(d, "times", ban.times);
	fact_end(d);
	return 0;
}

static int
put_egress(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct dump *d = arg;
	struct tide_egress e;
	struct tide_key net;

	(void)err;
	if (!tide_egress_stored(value, &e)) {
		put_unknown(d, "egress", key, value);
		return 0;
	}
	fact_begin(d, "egress");
	fact_text(d, "list", tide_egress_kind_name[e.kind]);
	if (e.kind == TIDE_EGRESS_PERMIT) {
		tide_key_net(&e.customer, &net);
		fact_text(d, "customer", net.text);
	}
	tide_key_net(&e.net, &net);
	fact_text(d, "net", net.text);
	fact_text(d, "reason", e.reason);
	fact_text(d, "origin", e.origin);
	fact_time(d, "since", e.since_ms);
	fact_time(d, "until", e.until_ms);
	fact_text(d, "verdict", tide_egress_verdict_name[e.verdict]);
	fact_time(d, "checked", e.checked_ms);
	fact_end(d);
	return 0;
}

/* ---- all tables -------------------------------------------------------- */

static int
put_tables(struct dump *d, struct tide_archive *a, struct tide_err *err)
{
	static tide_visit *const visit[TIDE_TABLES] = {
		[TIDE_TABLE_META] = put_meta,
		[TIDE_TABLE_WINDOWS] = put_window,
		[TIDE_TABLE_FILTERS] = put_filter,
		[TIDE_TABLE_LAPSES] = put_lapse,
		[TIDE_TABLE_BANS] = put_ban,
		[TIDE_TABLE_CHECKPOINT] = put_piece,
		[TIDE_TABLE_EGRESS] = put_egress,
	};
	struct tide_txn *txn = tide_txn_begin(a->store, false, err);
	int i, rc = 0;

	if (txn == NULL)
		return -1;
	for (i = 0; rc == 0 && i < TIDE_TABLES; i++)
		if (visit[i] != NULL)
			rc = tide_txn_walk(
			    txn, i, tide_bytes("", 0), visit[i], d, err);
	tide_txn_abort(txn);
	return rc;
}

int
dump_archive(struct dump *d, const char *state_dir, struct tide_err *err)
{
	struct tide_archive archive;
	int rc;

	if (view_archive(&archive, state_dir, err) < 0)
		return -1;
	rc = put_tables(d, &archive, err);
	if (rc == 0)
		put_checkpoint(d, &archive);
	tide_archive_close(&archive);
	return rc;
}
