/*
 * bans - the table in the map.  PROTOCOL bans is in bans.h.
 */
#include <sodium/crypto_shorthash.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

#define READ_TRIES 8

size_t
tide_bans_size(uint32_t capacity)
{
	return sizeof(struct tide_bans) +
	    (size_t)capacity * sizeof(struct tide_ban_entry);
}

/* ---- one entry --------------------------------------------------------- */

/* Bytes in the map may be anybody's: texts end where they must. */
static bool
is_sound(struct tide_ban *ban)
{
	if (ban->length == 0 || ban->length > TIDE_KEY_MAX)
		return false;
	memset(ban->key + ban->length, 0, sizeof ban->key - ban->length);
	ban->reason[TIDE_BAN_REASON_MAX] = '\0';
	ban->profile[TIDE_NAME_MAX - 1] = '\0';
	return true;
}

/* False if nothing stands there, or if it is being written all the time. */
static bool
read_entry(const struct tide_ban_entry *e, struct tide_ban *ban)
{
	uint64_t words[TIDE_BAN_WORDS], seq;
	unsigned tries, i;

	for (tries = 0; tries < READ_TRIES; tries++) {
		seq = atomic_load_explicit(&e->seq, memory_order_acquire);
		if (seq == 0)
			return false;
		for (i = 0; i < TIDE_BAN_WORDS; i++)
			words[i] = atomic_load_explicit(
			    &e->word[i], memory_order_relaxed); /* R2 */
		atomic_thread_fence(memory_order_acquire);
		if (seq % 2 == 0 &&
		    atomic_load_explicit(&e->seq, memory_order_relaxed) ==
			seq) { /* R3 */
			memcpy(ban, words, sizeof *ban);
			return is_sound(ban);
		}
	}
	return false;
}

static void
write_entry(struct tide_ban_entry *e, const struct tide_ban *ban)
{
	uint64_t seq = atomic_load_explicit(&e->seq, memory_order_relaxed) | 1;
	uint64_t words[TIDE_BAN_WORDS];
	unsigned i;

	memcpy(words, ban, sizeof *ban);
	atomic_store_explicit(&e->seq, seq, memory_order_relaxed); /* P1 */
	atomic_thread_fence(memory_order_release);
	for (i = 0; i < TIDE_BAN_WORDS; i++)
		atomic_store_explicit(
		    &e->word[i], words[i], memory_order_relaxed);      /* P2 */
	atomic_store_explicit(&e->seq, seq + 1, memory_order_release); /* P3 */
}

/* ---- finding ----------------------------------------------------------- */

/* Where a key may stand: some entries in a row; none in an empty table. */
struct row {
	uint32_t capacity, start, length;
};

static struct row
row_of(const struct tide_bans *b, const uint8_t secret[16], const char *key,
    size_t length)
{
	struct row r = { .capacity = atomic_load(&b->capacity) };
	uint64_t h;

	if (r.capacity == 0)
		return r;
	(void)crypto_shorthash(
	    (unsigned char *)&h, (const unsigned char *)key, length, secret);
	r.start = (uint32_t)(h % r.capacity);
	r.length = TIDE_BAN_PROBES;
	return r;
}

static uint32_t
at(const struct row *r, uint32_t i)
{
	return (uint32_t)(((uint64_t)r->start + i) % r->capacity);
}

static bool
is_for(const struct tide_ban *ban, const char *key, size_t length)
{
	return ban->length == length && memcmp(ban->key, key, length) == 0;
}

bool
tide_bans_find(const struct tide_bans *b, const uint8_t secret[16],
    const struct tide_key *key, uint64_t now_ms, struct tide_ban *ban)
{
	struct row row;
	uint32_t i;

	if (atomic_load_explicit(&b->standing, memory_order_relaxed) == 0)
		return false;
	row = row_of(b, secret, key->text, key->length);
	for (i = 0; i < row.length; i++)
		if (read_entry(&b->entry[at(&row, i)], ban) &&
		    is_for(ban, key->text, key->length))
			return ban->until_ms > now_ms;
	return false;
}

bool
tide_ban_is_in(const struct tide_ban *ban, const char *profile)
{
	return profile == NULL || ban->group == TIDE_BAN_MANUAL ||
	    ban->profile[0] == '\0' || strcmp(ban->profile, profile) == 0;
}

/* Lengths are counted as IPv6's: an IPv4 /24 is a /120. */
static bool
is_used(const struct tide_bans *b, unsigned prefix)
{
	return (atomic_load_explicit(
		    &b->prefixes[prefix / 64 % 4], memory_order_relaxed) >>
		       (prefix % 64) &
		   1) != 0;
}

bool
tide_bans_find_client(const struct tide_bans *b, const uint8_t secret[16],
    const struct tide_ip *ip, const char *profile, uint64_t now_ms,
    struct tide_ban *ban)
{
	int prefix, least = tide_ip_is_v4(ip) ? 96 : 0;
	struct tide_key key;
	struct tide_net net;

	if (atomic_load_explicit(&b->standing, memory_order_relaxed) == 0)
		return false;
	for (prefix = 128; prefix >= least; prefix--) {
		if (prefix < 128 && !is_used(b, (unsigned)prefix))
			continue;
		net = tide_net_around(ip, (unsigned)(prefix - least));
		tide_key_net(&net, &key);
		if (tide_bans_find(b, secret, &key, now_ms, ban) &&
		    tide_ban_is_in(ban, profile))
			return true;
	}
	return false;
}

bool
tide_bans_at(const struct tide_bans *b, uint32_t i, struct tide_ban *ban)
{
	return i < atomic_load(&b->capacity) && read_entry(&b->entry[i], ban);
}

/* ---- writing ----------------------------------------------------------- */

void
tide_bans_clear(struct tide_bans *b, uint32_t capacity)
{
	static const struct tide_ban none;
	uint32_t i;

	atomic_store(&b->capacity, capacity);
	atomic_store(&b->standing, 0);
	for (i = 0; i < 4; i++)
		atomic_store(&b->prefixes[i], 0);
	for (i = 0; i < capacity; i++)
		if (atomic_load(&b->entry[i].seq) != 0)
			write_entry(&b->entry[i], &none);
}

/* The entry of that key, else an empty one, else the one that ends first;
 * NULL in a table without room. */
static struct tide_ban_entry *
place_for(struct tide_bans *b, const struct row *row,
    const struct tide_ban *new, bool *fresh)
{
	struct tide_ban_entry *best = NULL, *e;
	uint64_t ends = UINT64_MAX;
	struct tide_ban ban;
	uint32_t i;

	for (i = 0; i < row->length; i++) {
		e = &b->entry[at(row, i)];
		if (!read_entry(e, &ban))
			ban.until_ms = 0;
		else if (is_for(&ban, new->key, new->length)) {
			*fresh = false;
			return e;
		}
		if (ban.until_ms < ends) {
			ends = ban.until_ms;
			best = e;
		}
	}
	*fresh = ends == 0;
	if (best != NULL && ends > new->since_ms)
		atomic_fetch_add(&b->pushed_out, 1);
	return best;
}

/* "…/24" of IPv4, "…/64" of IPv6: remember the length. */
static void
note_prefix(struct tide_bans *b, const struct tide_ban *ban)
{
	struct tide_net net;
	struct tide_err err;
	unsigned prefix;

	if (memchr(ban->key, '/', ban->length) == NULL ||
	    tide_net_parse(ban->key, &net, &err) < 0)
		return;
	prefix = net.bits;
	if (prefix < 128)
		atomic_fetch_or(&b->prefixes[prefix / 64], 1ull << prefix % 64);
}

void
tide_bans_publish(
    struct tide_bans *b, const uint8_t secret[16], const struct tide_ban *ban)
{
	struct row row = row_of(b, secret, ban->key, ban->length);
	bool fresh;
	struct tide_ban_entry *e = place_for(b, &row, ban, &fresh);

	if (e == NULL)
		return;
	note_prefix(b, ban);
	write_entry(e, ban);
	if (fresh)
		atomic_fetch_add(&b->standing, 1);
}

bool
tide_bans_withdraw(
    struct tide_bans *b, const uint8_t secret[16], const struct tide_key *key)
{
	static const struct tide_ban none;
	struct tide_ban ban;
	struct row row = row_of(b, secret, key->text, key->length);
	uint32_t i;

	for (i = 0; i < row.length; i++) {
		struct tide_ban_entry *e = &b->entry[at(&row, i)];

		if (!read_entry(e, &ban) ||
		    !is_for(&ban, key->text, key->length))
			continue;
		write_entry(e, &none);
		atomic_fetch_sub(&b->standing, 1);
		return true;
	}
	return false;
}
