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
#define FIND_TRIES 64

size_t
tide_bans_size(uint32_t most)
{
	return sizeof(struct tide_bans) +
	    (size_t)tide_bans_entries(most) * sizeof(struct tide_ban_entry);
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

enum found { FREE, USED, TORN };

/* TORN: it is being written all the time, or nonsense; it may be anybody's. */
static enum found
read_entry(const struct tide_ban_entry *e, struct tide_ban *ban)
{
	uint64_t words[TIDE_BAN_WORDS], seq;
	unsigned tries, i;

	for (tries = 0; tries < READ_TRIES; tries++) {
		seq = atomic_load_explicit(
		    &e->seq, memory_order_acquire); /* R1 */
		if (seq == 0)
			return FREE;
		for (i = 0; i < TIDE_BAN_WORDS; i++)
			words[i] = atomic_load_explicit(
			    &e->word[i], memory_order_relaxed); /* R2 */
		atomic_thread_fence(memory_order_acquire);
		if (seq % 2 == 0 &&
		    atomic_load_explicit(&e->seq, memory_order_relaxed) ==
			seq) { /* R3 */
			memcpy(ban, words, sizeof *ban);
			if (ban->length == 0)
				return FREE;
			return is_sound(ban) ? USED : TORN;
		}
	}
	return TORN;
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

static uint32_t
home_of(
    uint32_t capacity, const uint8_t secret[16], const char *key, size_t length)
{
	uint64_t h;

	(void)crypto_shorthash(
	    (unsigned char *)&h, (const unsigned char *)key, length, secret);
	return (uint32_t)(h % capacity);
}

static bool
is_for(const struct tide_ban *ban, const char *key, size_t length)
{
	return ban->length == length && memcmp(ban->key, key, length) == 0;
}

/* A search: from its home on, up to the free one that ends it. */
struct search {
	uint32_t capacity, at;
	bool found;
	bool full; /* not even a free one */
};

static struct search
search(const struct tide_bans *b, const uint8_t secret[16], const char *key,
    size_t length, struct tide_ban *ban)
{
	struct search s = { .capacity = atomic_load(&b->capacity) };
	uint32_t i;

	s.full = s.capacity == 0;
	if (s.full)
		return s;
	s.at = home_of(s.capacity, secret, key, length);
	for (i = 0; i < s.capacity; i++) {
		switch (read_entry(&b->entry[s.at], ban)) {
		case FREE:
			return s;
		case USED:
			s.found = is_for(ban, key, length);
			if (s.found)
				return s;
			break;
		case TORN:
			break;
		}
		s.at = (s.at + 1) % s.capacity;
	}
	s.full = true;
	return s;
}

bool
tide_bans_find(const struct tide_bans *b, const uint8_t secret[16],
    const struct tide_key *key, uint64_t now_ms, struct tide_ban *ban)
{
	uint64_t moves;
	unsigned tries;

	if (atomic_load_explicit(&b->standing, memory_order_relaxed) == 0)
		return false;
	for (tries = 0; tries < FIND_TRIES; tries++) {
		moves = atomic_load_explicit(
		    &b->moves, memory_order_acquire); /* L1 */
		if (search(b, secret, key->text, key->length, ban)
			.found) /* L2 */
			return ban->until_ms > now_ms;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&b->moves, memory_order_relaxed) ==
		    moves) /* L3 */
			return false;
	}
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
	return i < atomic_load(&b->capacity) &&
	    read_entry(&b->entry[i], ban) == USED;
}

/* ---- writing ----------------------------------------------------------- */

static const struct tide_ban nothing;

void
tide_bans_open(struct tide_bans *b, uint32_t most)
{
	uint32_t i, entries = tide_bans_entries(most);

	if (atomic_load(&b->capacity) == entries)
		return;
	atomic_store(&b->capacity, 0);
	for (i = 0; i < entries; i++)
		if (atomic_load(&b->entry[i].seq) != 0)
			write_entry(&b->entry[i], &nothing);
	atomic_store(&b->standing, 0);
	atomic_store(&b->capacity, entries);
}

/* "…/24" of IPv4, "…/64" of IPv6: remember the length. */
static void
note_prefix(_Atomic uint64_t prefixes[4], const struct tide_ban *ban)
{
	struct tide_net net;
	struct tide_err err;
	unsigned prefix;

	if (memchr(ban->key, '/', ban->length) == NULL ||
	    tide_net_parse(ban->key, &net, &err) < 0)
		return;
	prefix = net.bits;
	if (prefix < 128)
		atomic_fetch_or(&prefixes[prefix / 64], 1ull << prefix % 64);
}

bool
tide_bans_publish(
    struct tide_bans *b, const uint8_t secret[16], const struct tide_ban *ban)
{
	struct tide_ban there;
	struct search s = search(b, secret, ban->key, ban->length, &there);

	if (!s.found && (s.full || atomic_load(&b->standing) >= s.capacity / 2))
		return false;
	note_prefix(b->prefixes, ban);
	if (!s.found || memcmp(&there, ban, sizeof there) != 0)
		write_entry(&b->entry[s.at], ban);
	if (!s.found)
		atomic_fetch_add(&b->standing, 1);
	return true;
}

/* Would a ban whose home that is be found at `to', which lies before `from'? */
static bool
reaches(uint32_t home, uint32_t to, uint32_t from, uint32_t capacity)
{
	return (from + capacity - home) % capacity >=
	    (from + capacity - to) % capacity;
}

/*
 * Take away entry `hole'.  Behind it, up to the next free one, whatever would
 * no longer be found moves up, and leaves another hole.
 */
static void
take_away(struct tide_bans *b, const uint8_t secret[16], uint32_t hole)
{
	uint32_t capacity = atomic_load(&b->capacity), i, k;
	enum found found;
	struct tide_ban ban;

	for (k = 1; k < capacity; k++) {
		i = (hole + k) % capacity;
		found = read_entry(&b->entry[i], &ban);
		if (found == FREE)
			break;
		if (found == TORN ||
		    !reaches(home_of(capacity, secret, ban.key, ban.length),
			hole, i, capacity))
			continue;
		write_entry(&b->entry[hole], &ban); /* M1 */
		atomic_fetch_add_explicit(
		    &b->moves, 1, memory_order_release); /* M2 */
		hole = i;
		k = 0;
	}
	write_entry(&b->entry[hole], &nothing); /* M3 */
}

bool
tide_bans_withdraw(
    struct tide_bans *b, const uint8_t secret[16], const struct tide_key *key)
{
	struct tide_ban ban;
	struct search s = search(b, secret, key->text, key->length, &ban);

	if (!s.found)
		return false;
	take_away(b, secret, s.at);
	atomic_fetch_sub(&b->standing, 1);
	return true;
}

/* Is that what is there to be kept? */
static bool
is_kept(const struct tide_bans *b, const uint8_t secret[16], uint32_t at,
    const struct tide_ban *ban, tide_ban_keep *keep, void *arg)
{
	struct tide_ban first;
	struct search s = search(b, secret, ban->key, ban->length, &first);

	return s.found && s.at == at && keep(arg, ban);
}

uint32_t
tide_bans_sweep(struct tide_bans *b, const uint8_t secret[16], uint32_t from,
    uint32_t n, tide_ban_keep *keep, void *arg)
{
	uint32_t i = from, gone = 0, capacity = atomic_load(&b->capacity);
	uint64_t end = (uint64_t)from + n;
	enum found found;
	struct tide_ban ban;

	if (end > capacity)
		end = capacity;
	while (i < end && gone <= capacity) {
		found = read_entry(&b->entry[i], &ban);
		if (found == FREE ||
		    (found == USED && is_kept(b, secret, i, &ban, keep, arg))) {
			i++;
			continue;
		}
		take_away(b, secret, i); /* another one may be there now */
		if (atomic_load(&b->standing) > 0)
			atomic_fetch_sub(&b->standing, 1);
		gone++;
	}
	return gone;
}

void
tide_bans_recount(struct tide_bans *b)
{
	uint32_t i, standing = 0, capacity = atomic_load(&b->capacity);
	_Atomic uint64_t prefixes[4] = { 0 };
	struct tide_ban ban;

	for (i = 0; i < capacity; i++) {
		if (read_entry(&b->entry[i], &ban) != USED)
			continue;
		note_prefix(prefixes, &ban);
		standing++;
	}
	for (i = 0; i < 4; i++)
		atomic_store(&b->prefixes[i], atomic_load(&prefixes[i]));
	atomic_store(&b->standing, standing);
}
