/*
 * v01 - read it, and say it in our words.
 */
#include <stdio.h>
#include <string.h>

#include "checkpoint_priv.h"
#include "v01.h"
#include "tidemark/archive/archive.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/map/head.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/counting.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/pages.h"

#define MAGIC 0x6b72616d65646974ull /* "tidemark" */
#define LAYOUT 0x03e6e24au
#define PROFILES 8
#define FILTERS 3
#define PARTS 8

const char *const tide_v01_counters =
    "connections\nmessages\naccepted\nrefused\naborted\n"
    "recipients\nrecipients_unknown\nrecipients_refused\n"
    "bypassed\nfailed_open\nrecipients_forgotten\ndrops\n"
    "drops_lost\noverflows\nbans_made\nbans_dry\n"
    "recipients_banned\nrecipients_protected\n"
    "messages_too_fast\ncontent_blocked\nhooks_run\n"
    "hooks_failed\npulse_stale\ntokens_taken\n"
    "tokens_given_back\ntokens_uncounted\nrecipients_short\n"
    "recipients_many\nrecipients_clients\n"
    "distinct_uncounted\nmessages_cut\nbulk_copies\n"
    "bulk_unsigned\nbulk_excepted\nbulk_met\naudits\n"
    "audit_faults\nsenders_new\nrecipients_new\n"
    "workers_forked\nworkers_crashed\nworkers_stuck\n"
    "workers_adopted\nfork_failures\nbacklog_waits\n"
    "acceptor_starts\ncollector_starts\nwindows_sealed\n"
    "windows_overfilled\nwindows_expired\ncheckpoints\n"
    "archive_failures\nlapses\nlapses_merged\nreloads\n"
    "reloads_refused\ncontrol_requests\ncontrol_denied\n"
    "samples_new\naddresses_listed\naddresses_excepted\n"
    "recipients_listed\nbulk_turns\npolicy_requests\n"
    "policy_closed\nspam_reported\nspam_revoked\nspam_met\n"
    "spam_met_near\nspam_excepted\nshares_merged\n"
    "shares_refused\n";

struct bloom {
	uint64_t bits;
	uint32_t positions, pad;
	uint64_t capacity;
};

struct counting {
	uint64_t cells, capacity;
	uint32_t positions, bits;
};

struct head {
	uint64_t magic;
	uint32_t version, layout;
	uint64_t instance, made_ms;
	char boot_id[40];
	uint8_t key[192];
	struct bloom filter[FILTERS];
	uint32_t flow[6];
	struct counting bulk;
	uint32_t slots, bans, accounts, decisions, memory, pad;
	struct bloom addresses;
	uint32_t counts, pad2;
	char profile[PROFILES][32];
	struct bloom spam[2];
	uint32_t generations, pad3;
	uint64_t check;
};
_Static_assert(sizeof(struct head) == 760, "as it was");

struct contents {
	uint64_t magic;
	uint32_t layout, side;
	uint64_t sequence, taken_ms, bypass_until_ms;
	struct head head;
	struct bloom shape[FILTERS];
	struct counting bulk;
	uint64_t length[PARTS], digest[PARTS];
	uint64_t check;
};
_Static_assert(sizeof(struct contents) == 1032, "as it was");

/* The first of a window's pages. */
struct window {
	uint32_t state, overfilled;
	uint64_t number, opened_ms, closed_ms;
	uint64_t pad[4];
	uint64_t messages, elements[FILTERS];
	uint64_t cut, unread, wire, text, longest, profiles;
};
_Static_assert(offsetof(struct window, messages) == 64, "as it was");
enum { OPEN = 1, SEALING = 2 };

/* ---- shapes ------------------------------------------------------------ */

static struct tide_bloom_shape
bloom_shape(const struct bloom *b)
{
	return (struct tide_bloom_shape){ .bits = b->bits,
		.positions = b->positions,
		.capacity = b->capacity };
}

static struct tide_counting_shape
counting_shape(const struct counting *c)
{
	return (struct tide_counting_shape){ .cells = c->cells,
		.capacity = c->capacity,
		.positions = c->positions,
		.bits = c->bits };
}

static void
take_profiles(const struct head *h, struct tide_profile_names *to)
{
	unsigned i;

	memset(to, 0, sizeof *to);
	for (i = 0; i < PROFILES && i < TIDE_PROFILES_MAX; i++)
		(void)snprintf(
		    to->name[i], sizeof to->name[i], "%.31s", h->profile[i]);
}

/* ---- the head ---------------------------------------------------------- */

/* Every region had its first format. */
static void
take_formats(struct tide_map_head *to)
{
	static const char *const regions[] = { "control", "acceptor", "slots",
		"counters", "window0", "window1", "flow", "buckets",
		"mailboxes", "bans", "tokens", "distinct", "decisions",
		"addresses", "bulk", "neighbours", "latency", "history",
		"spam" };
	unsigned i;

	for (i = 0; i < sizeof regions / sizeof *regions; i++) {
		(void)snprintf(to->region[i].name, sizeof to->region[i].name,
		    "%s", regions[i]);
		to->region[i].format = 1;
	}
}

static void
take_shapes(const struct head *h, struct tide_map_head *to)
{
	to->senders = bloom_shape(&h->filter[0]);
	to->recipients = bloom_shape(&h->filter[1]);
	to->content = bloom_shape(&h->filter[2]);
	to->flow = (struct tide_flow_shape){ .buckets = h->flow[0],
		.heads = h->flow[1],
		.string_units = h->flow[2],
		.ring = h->flow[3],
		.mailboxes = h->flow[4] };
	to->bulk = counting_shape(&h->bulk);
	to->addresses.bloom = bloom_shape(&h->addresses);
	to->addresses.counting = h->counts;
	to->spam.exact = bloom_shape(&h->spam[0]);
	to->spam.pairs = bloom_shape(&h->spam[1]);
	to->spam.generations = h->generations;
}

bool
tide_v01_head(const void *page, struct tide_map_head *to)
{
	struct tide_hash_key key;
	struct head h;

	memcpy(&h, page, sizeof h);
	if (h.magic != MAGIC || h.version != 1 || h.layout != LAYOUT ||
	    h.check != tide_hash_check(&h, offsetof(struct head, check)))
		return false;
	memset(to, 0, sizeof *to);
	to->magic = h.magic;
	to->version = h.version;
	to->instance = h.instance;
	to->made_ms = h.made_ms;
	memcpy(to->boot_id, h.boot_id, sizeof to->boot_id);
	memcpy(&key, h.key, sizeof key);
	to->key_id = tide_hash_key_id(&key);
	to->slots = h.slots;
	to->bans = h.bans;
	to->accounts = h.accounts;
	to->decisions = h.decisions;
	to->memory = h.memory;
	take_profiles(&h, &to->profiles);
	take_shapes(&h, to);
	take_formats(to);
	return true;
}

/* ---- checkpoints ------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t format;
} parts[PARTS] = { { TIDE_V01_COUNTERS, 1 }, { "window0.0.1", 1 },
	{ "window1.0.1", 1 }, { "bulk", 1 }, { "neighbours", 1 },
	{ "buckets", 1 }, { "tokens", 1 }, { "distinct", 1 } };

static void
take_parts(const struct contents *c, struct manifest *m)
{
	struct tide_counting_shape bulk = counting_shape(&c->bulk);
	struct checkpoint_part *p;
	unsigned i;

	m->parts = PARTS;
	for (i = 0; i < PARTS; i++) {
		p = &m->part[i];
		(void)snprintf(p->name, sizeof p->name, "%s", parts[i].name);
		p->format = parts[i].format;
		p->length = c->length[i];
		p->digest = c->digest[i];
		memcpy(p->shape, &bulk, sizeof bulk);
	}
}

bool
tide_v01_manifest(
    struct tide_bytes value, struct manifest *m, struct tide_v01 *v)
{
	struct contents c;
	unsigned i;

	if (value.size != sizeof c)
		return false;
	memcpy(&c, value.data, sizeof c);
	if (c.magic != MAGIC || c.layout != LAYOUT ||
	    c.check != tide_hash_check(&c, offsetof(struct contents, check)))
		return false;
	memset(m, 0, sizeof *m);
	m->magic = c.magic;
	m->side = c.side;
	m->sequence = c.sequence;
	m->taken_ms = c.taken_ms;
	m->bypass_until_ms = c.bypass_until_ms;
	take_profiles(&c.head, &m->profiles);
	take_parts(&c, m);
	v->is = true;
	v->memory = c.head.memory;
	for (i = 0; i < FILTERS; i++)
		v->shape[i] = bloom_shape(&c.shape[i]);
	return true;
}

size_t
tide_v01_window_at(const struct tide_v01 *v, unsigned filter)
{
	size_t at = TIDE_PAGE;
	unsigned i;

	for (i = 0; i < filter; i++)
		at += tide_pages(tide_bloom_bytes(&v->shape[i]));
	return at;
}

bool
tide_v01_window(const char *region, const struct manifest *m,
    const struct tide_v01 *v, struct tide_window_record *r)
{
	struct window w;
	unsigned i;

	memcpy(&w, region, sizeof w);
	if ((w.state != OPEN && w.state != SEALING) || w.number == 0)
		return false;
	memset(r, 0, sizeof *r);
	r->number = w.number;
	r->from_ms = w.opened_ms;
	r->until_ms = w.closed_ms != 0 ? w.closed_ms : m->taken_ms;
	if (r->until_ms < r->from_ms)
		r->until_ms = r->from_ms;
	r->messages = w.messages;
	for (i = 0; i < FILTERS; i++) {
		r->elements[i] = w.elements[i];
		r->shape[i] = v->shape[i];
	}
	r->memory = v->memory;
	for (i = 0; i < PROFILES; i++)
		if ((w.profiles >> i & 1) != 0)
			r->profile[i] = tide_hbf_profile(m->profiles.name[i]);
	r->longest = w.longest;
	r->cut = w.cut;
	r->unread = w.unread;
	r->wire = w.wire;
	r->text = w.text;
	return true;
}
