/*
 * forget, left - what cannot be removed, and when it goes by itself.
 */
#include <string.h>
#include <strings.h>

#include "collector.h"
#include "forget.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/archive_bans.h"
#include "tidemark/archive/archive_egress.h"
#include "tidemark/archive/store.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/err.h"
#include "tidemark/egress/egress.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"
#include "tidemark/keys/subject.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/exceptions.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/overrides.h"
#include "tidemark/shared/slots.h"

static void
leave(struct forgetting *f, enum left what, uint64_t count, uint64_t until_ms)
{
	f->left[what].count += count;
	if (until_ms > f->left[what].until_ms)
		f->left[what].until_ms = until_ms;
}

/* ---- windows ----------------------------------------------------------- */

/* One that is open is sealed within its span, and kept from then on. */
static uint64_t
end_of(const struct forgetting *f, const struct tide_hit *h)
{
	uint64_t until =
	    h->sealed ? h->until_ms : h->from_ms + f->config.window_span;

	return (until > f->now_ms || h->sealed ? until : f->now_ms) +
	    f->config.retain_for;
}

static void
ask_windows(struct forgetting *f, bool as_sender, uint64_t seen[2])
{
	const struct tide_question q = { .from = as_sender ? f->text : NULL,
		.to = as_sender ? NULL : f->text,
		.until_ms = UINT64_MAX,
		.now_ms = f->now_ms };
	struct tide_answer a;
	struct tide_err err;
	size_t i;

	if (tide_query(&f->c->archive, f->c->map, &q, &a, &err) < 0)
		return;
	for (i = 0; i < a.hits; i++)
		leave(f, LEFT_WINDOWS, 0, end_of(f, &a.hit[i]));
	seen[as_sender] = a.hits;
	tide_answer_free(&a);
}

static void
look_into_windows(struct forgetting *f)
{
	uint64_t seen[2] = { 0, 0 };

	if (f->subject.kind != TIDE_SUBJECT_ADDRESS &&
	    f->subject.kind != TIDE_SUBJECT_DOMAIN)
		return; /* windows know no clients and no accounts */
	ask_windows(f, true, seen);
	ask_windows(f, false, seen);
	leave(f, LEFT_WINDOWS, seen[0] > seen[1] ? seen[0] : seen[1], 0);
}

/* ---- accounts and estimates -------------------------------------------- */

static bool
anybody_estimates(const struct forgetting *f)
{
	unsigned p;

	for (p = 0; p < f->config.profiles; p++)
		if (f->config.profile[p].distinct_mode != TIDE_MODE_OFF ||
		    f->config.profile[p].clients_mode != TIDE_MODE_OFF)
			return true;
	return false;
}

static bool
anybody_has_tokens(const struct forgetting *f)
{
	unsigned p;

	for (p = 0; p < f->config.profiles; p++)
		if (f->config.profile[p].tokens_mode != TIDE_MODE_OFF)
			return true;
	return false;
}

/* A sender and its network: nobody has a list of where it wrote from. */
static bool
anybody_takes_senders(const struct forgetting *f)
{
	unsigned p;

	for (p = 0; p < f->config.profiles; p++)
		if (f->config.profile[p].sender_key != TIDE_SENDER_ADDRESS &&
		    tide_config_has_word(
			f->config.profile[p].account_key, "sender"))
			return true;
	return false;
}

/* Has it names that no bucket, ban or decision may have named? */
static bool
has_many_names(const struct forgetting *f)
{
	switch (f->subject.kind) {
	case TIDE_SUBJECT_DOMAIN:
		return true;
	case TIDE_SUBJECT_NETWORK:
		return f->subject.net.bits < 128;
	case TIDE_SUBJECT_ADDRESS:
		return anybody_takes_senders(f);
	case TIDE_SUBJECT_KEY:
		break;
	}
	return false;
}

static void
look_at_accounts(struct forgetting *f)
{
	uint64_t longest;

	(void)pthread_mutex_lock(&f->c->lock);
	longest = f->c->longest_ms;
	(void)pthread_mutex_unlock(&f->c->lock);
	if (has_many_names(f) && anybody_has_tokens(f))
		leave(f, LEFT_ACCOUNTS, 1, f->now_ms + longest);
	if (f->subject.kind != TIDE_SUBJECT_KEY && anybody_estimates(f))
		leave(f, LEFT_ESTIMATES, 1,
		    f->now_ms + 2 * (uint64_t)TIDE_DISTINCT_PERIOD_MS);
}

/* ---- texts ------------------------------------------------------------- */

static bool
names_it(const struct forgetting *f, const char *text)
{
	return strcasestr(text, f->subject.key[0].text) != NULL;
}

static int
look_at_ban(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct forgetting *f = arg;
	struct tide_ban ban;

	(void)key;
	(void)err;
	if (tide_ban_read(value, &ban) && names_it(f, ban.reason) &&
	    !tide_subject_means(&f->subject, ban.key, ban.length))
		leave(f, LEFT_REASONS, 1, 0);
	return 0;
}

static void
look_at_reasons(struct forgetting *f)
{
	struct tide_exceptions all = { 0 };
	struct tide_err err;
	struct tide_txn *txn = tide_txn_begin(f->c->archive.store, false, &err);
	size_t i;

	if (txn != NULL)
		(void)tide_txn_walk(txn, TIDE_TABLE_BANS, tide_bytes("", 0),
		    look_at_ban, f, &err);
	tide_txn_abort(txn);
	if (tide_exceptions_attach(&all, f->config.runtime_dir, &err) < 0)
		return;
	for (i = 0; i < all.count; i++)
		if (names_it(f, all.list[i].reason) &&
		    !tide_subject_means(&f->subject, all.list[i].key,
			strnlen(all.list[i].key, TIDE_KEY_MAX)))
			leave(f, LEFT_REASONS, 1, 0);
	tide_exceptions_detach(&all);
}

static void
look_at_settings(struct forgetting *f)
{
	struct tide_overrides o = { 0 };
	struct tide_err err;
	unsigned p;
	size_t i;

	for (p = 0; p < f->config.profiles; p++) {
		const struct tide_profile *q = &f->config.profile[p];

		if (names_it(f, q->allow) || names_it(f, q->allow_forgeable) ||
		    names_it(f, q->protected_to) ||
		    names_it(f, q->protected_from))
			leave(f, LEFT_SETTINGS, 1, 0);
	}
	if (tide_overrides_attach(&o, f->config.runtime_dir, &err) < 0)
		return;
	for (i = 0; i < o.count; i++)
		if (tide_subject_means(
			&f->subject, o.list[i].key, strlen(o.list[i].key)))
			leave(f, LEFT_SETTINGS, 1, 0);
	tide_overrides_free(&o);
}

/* ---- egress ------------------------------------------------------------ */

static bool
is_within(const struct forgetting *f, const struct tide_net *net)
{
	const struct tide_net *s = &f->subject.net;

	return net->bits >= s->bits && net->bits > 0 &&
	    tide_net_contains(s, &net->ip);
}

static int
look_at_entry(void *arg, struct tide_bytes key, struct tide_bytes value,
    struct tide_err *err)
{
	struct forgetting *f = arg;
	struct tide_egress e;

	(void)key;
	(void)err;
	if (!tide_egress_stored(value, &e))
		return 0;
	if (f->subject.kind == TIDE_SUBJECT_NETWORK &&
	    (is_within(f, &e.net) || is_within(f, &e.customer)))
		leave(f, LEFT_EGRESS, 1, 0);
	else if (names_it(f, e.reason))
		leave(f, LEFT_REASONS, 1, 0);
	return 0;
}

/* Whom a postmaster has entered is the postmaster's to delete. */
static void
look_at_egress(struct forgetting *f)
{
	struct tide_err err;
	struct tide_txn *txn = tide_txn_begin(f->c->archive.store, false, &err);

	if (txn != NULL)
		(void)tide_txn_walk(txn, TIDE_TABLE_EGRESS, tide_bytes("", 0),
		    look_at_entry, f, &err);
	tide_txn_abort(txn);
}

static void
look_at_workers(struct forgetting *f)
{
	const struct tide_map *m = f->c->map;
	uint32_t i;

	for (i = 0; i < m->head->slots; i++)
		if (atomic_load(&m->slots[i].state) == TIDE_SLOT_SERVING)
			leave(f, LEFT_WORKERS, 1, 0);
}

void
forget_look_for_rest(struct forgetting *f)
{
	look_into_windows(f);
	look_at_accounts(f);
	look_at_reasons(f);
	look_at_settings(f);
	look_at_egress(f);
	look_at_workers(f);
}
