/*
 * forget - remove what is known about somebody.
 *
 * In this order: buckets (the first thread's, as a chore), decisions, bans,
 * allowances and estimates, exceptions, the list; then two checkpoints, one for
 * each side, so that the archive has it no more; then the archive's free room
 * is scrubbed.  Mail goes on: what comes in meanwhile makes it known again,
 * which is right.
 *
 * Crash: of the collector at any place: what went is gone for good, the rest
 *        is there as it was.  Nothing is noted about how far it came, since
 *        asking again does it all again, the checkpoints and the scrubbing
 *        too, whether anything is still known or not.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "forget.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/distinct.h"
#include "tidemark/flow/tokens.h"
#include "tidemark/keys/keys.h"
#include "tidemark/keys/subject.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/exceptions.h"
#include "tidemark/shared/ring.h"

/* ---- who is meant ------------------------------------------------------ */

/* Remembered as a name that an account may have. */
static void
note_key(struct forgetting *f, const char *key, size_t length)
{
	struct tide_key *k = &f->key[f->keys];
	unsigned i;

	if (length > TIDE_KEY_MAX || f->keys == FORGET_KEYS)
		return;
	for (i = 0; i < f->keys; i++)
		if (f->key[i].length == length &&
		    memcmp(f->key[i].text, key, length) == 0)
			return;
	memset(k, 0, sizeof *k);
	k->length = (uint8_t)length;
	memcpy(k->text, key, length);
	f->keys++;
}

static bool
means(void *arg, const char *key, size_t length)
{
	struct forgetting *f = arg;

	if (tide_subject_means(&f->subject, key, length)) {
		note_key(f, key, length);
		return true;
	}
	if (tide_subject_may_mean(&f->subject, key, length))
		f->left[LEFT_LONG].count = 1;
	return false;
}

static bool
means_decision(void *arg, const struct tide_decision *d)
{
	return means(arg, d->sender, strlen(d->sender)) ||
	    means(arg, d->client, strlen(d->client));
}

/* ---- what goes --------------------------------------------------------- */

/* So that who asked, and waits, knows that we are at work. */
static void
say_step(const struct forgetting *f, const char *what)
{
	struct tide_line_out out;

	tide_line_start(&out, "step");
	tide_line_add(&out, "what", what);
	(void)tide_line_send(&out, f->fd);
}

/* What a stopped worker holds up is not freed in time: that is said. */
static void
forget_buckets(struct forgetting *f)
{
	struct chore chore = {
		.kind = CHORE_FORGET, .means = means, .arg = f, .dry = f->dry
	};
	struct tide_err err;

	if (chore_ask(f->c, &chore, &err) < 0)
		f->left[LEFT_MEMORY].count = 1;
	f->gone[FORGOT_BUCKETS] = chore.count;
}

static void
forget_account(struct forgetting *f, const char *profile, uint32_t kind,
    const struct tide_key *account)
{
	const struct tide_map *m = f->c->map;
	struct tide_hash h = tide_account_key(
	    m->key, profile, kind, account->text, account->length);
	uint64_t now = tide_clock_mono_ms();

	if (kind == TIDE_ACCOUNT_RECIPIENTS || kind == TIDE_ACCOUNT_CLIENTS)
		f->gone[FORGOT_ESTIMATES] += f->dry
		    ? tide_distinct_known(m->distinct, h, now)
		    : tide_distinct_forget(m->distinct, h, now);
	else
		f->gone[FORGOT_ALLOWANCES] += f->dry
		    ? tide_tokens_known(m->tokens, h)
		    : tide_tokens_forget(m->tokens, h);
}

/* By every name that was met, in every profile. */
static void
forget_accounts(struct forgetting *f)
{
	unsigned p, i;
	uint32_t kind;

	for (i = 0; i < f->subject.keys; i++)
		note_key(f, f->subject.key[i].text, f->subject.key[i].length);
	for (p = 0; p < f->config.profiles; p++)
		for (i = 0; i < f->keys; i++)
			for (kind = 0; kind < TIDE_ACCOUNT_KINDS; kind++)
				forget_account(f, f->config.profile[p].name,
				    kind, &f->key[i]);
}

/*
 * A ban made by hand was somebody's decision: with it goes what it kept out.
 * So it is not lifted by the way.
 */
int
forget_may(struct forgetting *f, struct tide_err *err)
{
	const struct tide_map *m = f->c->map;
	struct tide_ban ban;
	uint32_t i;

	for (i = 0; i < tide_bans_entries(m->head->bans); i++)
		if (tide_bans_at(m->bans, i, &ban) &&
		    ban.group == TIDE_BAN_MANUAL &&
		    ban.until_ms > tide_map_now_ms(m) &&
		    tide_subject_means(&f->subject, ban.key, ban.length))
			f->by_hand++;
	if (f->by_hand == 0 || f->dry || f->unban)
		return 0;
	return tide_err_set(err,
	    "%u ban%s made by hand stand%s: lift %s first (tidemark unban), or "
	    "say --unban; nothing was done",
	    f->by_hand, f->by_hand == 1 ? "" : "s", f->by_hand == 1 ? "s" : "",
	    f->by_hand == 1 ? "it" : "them");
}

static int
forget_exceptions(struct forgetting *f, struct tide_err *err)
{
	struct tide_exceptions all = { 0 };
	struct tide_key key;
	size_t i;
	int rc = tide_exceptions_attach(&all, f->config.runtime_dir, err);

	for (i = 0; rc >= 0 && i < all.count; i++) {
		memset(&key, 0, sizeof key);
		key.length = (uint8_t)strnlen(all.list[i].key, TIDE_KEY_MAX);
		memcpy(key.text, all.list[i].key, key.length);
		if (!means(f, key.text, key.length))
			continue;
		rc = f->dry ? 1 : reputation_unexcept(f->c, &key, err);
		f->gone[FORGOT_EXCEPTIONS] += rc == 1;
	}
	tide_exceptions_detach(&all);
	return rc < 0 ? -1 : 0;
}

/* Only from a list that counts; another one is said to be left. */
static int
forget_listed(struct forgetting *f, struct tide_err *err)
{
	const struct tide_addresses *a = f->c->map->addresses;
	const struct tide_hash_key *secret = f->c->map->key;
	tide_bloom_word *words = NULL;
	struct tide_hash h = tide_address_hash(secret, &f->subject.key[0]);
	int rc = 1;

	if (f->subject.kind == TIDE_SUBJECT_NETWORK ||
	    tide_addresses_now(a, &words) == NULL ||
	    !tide_list_has(&a->shape, words, h))
		return 0;
	if (!a->shape.counting) {
		f->left[LEFT_LISTED].count = 1;
		return 0;
	}
	if (!f->dry)
		rc = reputation_change(f->c, false, h, err);
	f->gone[FORGOT_LISTED] = rc == 1;
	return rc < 0 ? -1 : 0;
}

/* ---- the archive ------------------------------------------------------- */

static int
scrub_for(struct forgetting *f, const struct tide_key *key, unsigned keys,
    struct tide_scrub *sum, struct tide_err *err)
{
	char lower[TIDE_SUBJECT_KEYS][TIDE_KEY_MAX];
	struct tide_bytes text[TIDE_SUBJECT_KEYS];
	unsigned i, j;

	for (i = 0; i < keys; i++) {
		for (j = 0; j < key[i].length; j++)
			lower[i][j] = (char)tolower((uint8_t)key[i].text[j]);
		text[i] = tide_bytes(lower[i], key[i].length);
	}
	return tide_store_scrub(
	    f->c->archive.store, f->c->archive.path, text, keys, sum, err);
}

/*
 * Its names; of a domain, all that end so.  Of a network, all that begin so:
 * these are others', too, and only in room that is nobody's does it matter.
 */
static int
scrub_once(struct forgetting *f, struct tide_scrub *sum, struct tide_err *err)
{
	struct tide_scrub more = { .branches = 0 };
	struct tide_key begins;

	if (f->subject.kind == TIDE_SUBJECT_NETWORK &&
	    f->subject.net.bits < 128) {
		tide_subject_begins(&f->subject, &begins);
		if (begins.length > 0 &&
		    scrub_for(f, &begins, 1, &more, err) < 0)
			return -1;
	}
	if (scrub_for(f, f->subject.key, f->subject.keys, sum, err) < 0)
		return -1;
	sum->waits |= more.waits;
	f->rewrite = sum->branches + more.branches > 0;
	return 0;
}

/* Keys in branches go when their table is written anew. */
static int
scrub(struct forgetting *f, struct tide_err *err)
{
	struct tide_store *store = f->c->archive.store;
	struct tide_scrub sum;

	if (scrub_once(f, &sum, err) < 0)
		return -1;
	if (f->rewrite) {
		if (tide_store_rewrite(store, TIDE_TABLE_BANS, err) < 0 ||
		    tide_store_rewrite(store, TIDE_TABLE_EXCEPTIONS, err) < 0 ||
		    scrub_once(f, &sum, err) < 0)
			return -1;
	}
	f->left[LEFT_READERS].count = sum.waits;
	f->left[LEFT_RECORDS].count = sum.records + sum.branches;
	return 0;
}

static int
clear_archive(struct forgetting *f, struct tide_err *err)
{
	unsigned side;

	for (side = 0; side < 2; side++) {
		say_step(f, "checkpoint");
		if (archivist_ask(f->c, ERRAND_CHECKPOINT, err) < 0)
			return -1;
	}
	say_step(f, "archive");
	return scrub(f, err);
}

int
forget_all(struct forgetting *f, struct tide_err *err)
{
	int bans;

	forget_buckets(f);
	say_step(f, "records");
	f->gone[FORGOT_DECISIONS] =
	    tide_ring_erase(f->c->map->ring, means_decision, f, f->dry);
	bans = forget_bans(f->c, means, f, f->dry, err);
	if (bans < 0)
		return -1;
	f->gone[FORGOT_BANS] = (unsigned)bans;
	forget_accounts(f);
	if (forget_exceptions(f, err) < 0 || forget_listed(f, err) < 0)
		return -1;
	return f->dry ? 0 : clear_archive(f, err);
}
