/*
 * Bans: the table in the map, the archive's, and readers beside the writer.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/archive_bans.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define T0 1000000ull

static const uint8_t secret[16] = "a secret of bans";

static struct tide_key
key_of(const char *text)
{
	struct tide_key k = { .length = (uint8_t)strlen(text) };

	memcpy(k.text, text, k.length);
	return k;
}

static struct tide_ban
ban_of(const char *key, uint64_t until_ms)
{
	struct tide_ban b;

	memset(&b, 0, sizeof b);
	b.since_ms = T0;
	b.until_ms = until_ms;
	b.times = 1;
	b.group = TIDE_OKSENDER;
	b.length = (uint8_t)strlen(key);
	memcpy(b.key, key, b.length);
	return b;
}

static struct tide_bans *
table(uint32_t most)
{
	struct tide_bans *b = calloc(1, tide_bans_size(most));

	CHECK(b != NULL);
	tide_bans_open(b, most);
	return b;
}

static bool
publish(struct tide_bans *b, const char *key, uint64_t until_ms)
{
	struct tide_ban ban = ban_of(key, until_ms);

	return tide_bans_publish(b, secret, &ban);
}

/* A sweep that keeps the key, or (NULL) none. */
static bool
is_that(void *key, const struct tide_ban *ban)
{
	return key != NULL && strcmp(ban->key, key) == 0;
}

static uint32_t
sweep_but(struct tide_bans *b, const char *key)
{
	return tide_bans_sweep(
	    b, secret, 0, UINT32_MAX, is_that, (void *)(uintptr_t)key);
}

/* When the ban of that key ends, 0 if there is none at that time. */
static uint64_t
until(const struct tide_bans *b, const char *key, uint64_t now)
{
	struct tide_key k = key_of(key);
	struct tide_ban ban;

	return tide_bans_find(b, secret, &k, now, &ban) ? ban.until_ms : 0;
}

static bool
withdraw(struct tide_bans *b, const char *key)
{
	struct tide_key k = key_of(key);

	return tide_bans_withdraw(b, secret, &k);
}

/* ---- the table --------------------------------------------------------- */

enum step { PUBLISH, WITHDRAW, SWEEP };

/* One step after another on one table; then who is banned at T0. */
static const struct step_case {
	const char *name;
	enum step step;
	const char *key;
	uint64_t ends; /* after T0; of PUBLISH */
	uint64_t want; /* when its ban ends, after T0; 0: none */
	uint32_t standing;
} steps[] = {
	{ "nobody at first", WITHDRAW, "a@x", 0, 0, 0 },
	{ "a sender", PUBLISH, "a@x|192.0.2.0/24", 50, 50, 1 },
	{ "the address alone is another key", WITHDRAW, "a@x", 0, 0, 1 },
	{ "an address", PUBLISH, "a@x", 60, 60, 2 },
	{ "the same key is replaced", PUBLISH, "a@x", 90, 90, 2 },
	{ "also by a shorter one", PUBLISH, "a@x", 10, 10, 2 },
	{ "one that has ended is not found", PUBLISH, "a@x", 0, 0, 2 },
	{ "and can be made again", PUBLISH, "a@x", 5, 5, 2 },
	{ "withdrawn", WITHDRAW, "a@x", 0, 0, 1 },
	{ "withdrawn twice", WITHDRAW, "a@x", 0, 0, 1 },
	{ "a domain", PUBLISH, "@x", 70, 70, 2 },
	{ "emptied", SWEEP, "@x", 0, 0, 0 },
};

static void
publish_find_withdraw(void)
{
	struct tide_bans *b = table(64);
	uint64_t got;
	size_t i;

	for (i = 0; i < LENGTH(steps); i++) {
		const struct step_case *s = &steps[i];

		if (s->step == PUBLISH)
			CHECK(publish(b, s->key, T0 + s->ends));
		else if (s->step == WITHDRAW)
			(void)withdraw(b, s->key);
		else
			(void)sweep_but(b, NULL);
		got = until(b, s->key, T0);
		CHECK_MSG(got == (s->want == 0 ? 0 : T0 + s->want) &&
			atomic_load(&b->standing) == s->standing,
		    "%s: until %llu, %u standing", s->name,
		    (unsigned long long)got, atomic_load(&b->standing));
	}
	free(b);
}

static void
ends_to_the_millisecond(void)
{
	struct tide_bans *b = table(64);

	publish(b, "a@x", T0 + 10);
	CHECK_INT(until(b, "a@x", T0 + 9), T0 + 10);
	CHECK_INT(until(b, "a@x", T0 + 10), 0);
	free(b);
}

static void
withdraw_says_whether(void)
{
	struct tide_bans *b = table(64);

	CHECK(!withdraw(b, "a@x"));
	publish(b, "a@x", T0 + 10);
	CHECK(withdraw(b, "a@x"));
	CHECK(!withdraw(b, "a@x"));
	free(b);
}

#define MOST 100u

static const char *
number(unsigned i)
{
	static char key[32];

	(void)snprintf(key, sizeof key, "s%u@x", i);
	return key;
}

/* How many of those up to n are banned. */
static unsigned
count_found(const struct tide_bans *b, unsigned n)
{
	unsigned i, found = 0;

	for (i = 0; i < n; i++)
		found += until(b, number(i), T0) > 0;
	return found;
}

/* Who comes last finds no place, and nobody goes for it; nor does one that has
 * ended, before it is swept. */
static void
full_table(void)
{
	struct tide_bans *b = table(MOST);
	unsigned i;

	for (i = 0; i < MOST; i++)
		CHECK(publish(b, number(i), T0 + (i == 3 ? 0 : 100 + i)));
	CHECK_INT(count_found(b, MOST), MOST - 1);
	CHECK(!publish(b, "new@x", T0 + 500));
	CHECK(publish(b, number(7), T0 + 500));
	CHECK_INT(until(b, "new@x", T0), 0);
	CHECK_INT(until(b, number(7), T0), T0 + 500);
	CHECK_INT(count_found(b, MOST), MOST - 1);
	CHECK(withdraw(b, number(3)));
	CHECK(publish(b, "new@x", T0 + 500));
	CHECK_INT(count_found(b, MOST), MOST - 1);
	CHECK_INT(atomic_load(&b->standing), MOST);
	free(b);
}

/* Made and lifted a hundred times as often as there are entries: whoever
 * stands is found, and a search for nobody stays short. */
static void
churn(void)
{
	struct tide_bans *b = table(MOST);
	unsigned i, n, used = 0, run = 0, longest = 0;
	struct tide_ban ban;

	for (i = 0; i < 200 * MOST; i++) {
		CHECK(publish(b, number(i), T0 + 1));
		if (i >= MOST - 1)
			CHECK(withdraw(b, number(i - (MOST - 1))));
		for (n = i % 97 == 0 ? MOST - 2 : 1; n > 0; n--)
			CHECK(i < n || until(b, number(i + 1 - n), T0) > 0);
	}
	CHECK_INT(atomic_load(&b->standing), MOST - 1);
	for (i = 0; i < tide_bans_entries(MOST); i++) {
		run = tide_bans_at(b, i, &ban) ? run + 1 : 0;
		used += run > 0;
		longest = run > longest ? run : longest;
	}
	CHECK_INT(used, MOST - 1);
	CHECK_MSG(longest < MOST, "%u in a row", longest);
	free(b);
}

/* What the next collector finds of one that was killed: one twice (M1), one
 * half written (P1), counts that are wrong. */
static void
after_a_kill(void)
{
	uint32_t i, entries = tide_bans_entries(MOST), twice = 0;
	struct tide_bans *b = table(MOST);
	struct tide_ban ban;

	CHECK(publish(b, "a@x", T0 + 10) && publish(b, "b@x", T0 + 10) &&
	    publish(b, "192.0.2.0/24", T0 + 10));
	for (i = 0; !tide_bans_at(b, i, &ban) || strcmp(ban.key, "a@x") != 0;
	     i++)
		;
	while (atomic_load(&b->entry[(i + ++twice) % entries].seq) != 0)
		;
	memcpy((void *)&b->entry[(i + twice) % entries],
	    (const void *)&b->entry[i], sizeof b->entry[i]);
	for (i = 0; !tide_bans_at(b, i, &ban) || strcmp(ban.key, "b@x") != 0;
	     i++)
		;
	atomic_fetch_add(&b->entry[i].seq, 1);
	atomic_store(&b->standing, 77);
	atomic_fetch_or(&b->prefixes[0], 1);
	tide_bans_open(b, MOST); /* as it is */
	CHECK(publish(b, "a@x", T0 + 10));
	CHECK_INT(sweep_but(b, "a@x"), 3);
	tide_bans_recount(b);
	CHECK_INT(atomic_load(&b->standing), 1);
	CHECK_INT(atomic_load(&b->prefixes[0]), 0);
	CHECK_INT(atomic_load(&b->prefixes[1]), 0);
	CHECK_INT(until(b, "a@x", T0), T0 + 10);
	free(b);
}

static void
listing(void)
{
	struct tide_bans *b = table(64);
	struct tide_ban ban;
	uint32_t i, n = 0;

	publish(b, "a@x", T0 + 1);
	publish(b, "b@x", T0 + 2);
	(void)withdraw(b, "a@x");
	for (i = 0; i < tide_bans_entries(64) + 6; i++)
		if (tide_bans_at(b, i, &ban)) {
			n++;
			CHECK_STR(ban.key, "b@x");
		}
	CHECK_INT(n, 1);
	free(b);
}

/* ---- clients and networks ---------------------------------------------- */

static const struct net_case {
	const char *banned, *client;
	bool want;
} nets[] = {
	{ "192.0.2.7", "192.0.2.7", true }, { "192.0.2.7", "192.0.2.8", false },
	{ "192.0.2.0/24", "192.0.2.255", true },
	{ "192.0.2.0/24", "192.0.3.0", false },
	{ "192.0.2.128/25", "192.0.2.127", false },
	{ "192.0.2.128/25", "192.0.2.128", true },
	{ "192.0.2.6/31", "192.0.2.7", true },
	{ "192.0.0.0/9", "192.127.255.255", true },
	{ "192.0.0.0/9", "192.128.0.0", false },
	{ "128.0.0.0/1", "255.1.1.1", true },
	{ "0.0.0.0/0", "192.0.2.7", true },
	{ "0.0.0.0/0", "2001:db8::1", false },
	{ "2001:db8::1", "2001:db8::1", true },
	{ "2001:db8::1", "2001:db8::2", false },
	{ "2001:db8:1:2::/64", "2001:db8:1:2:3:4:5:6", true },
	{ "2001:db8:1:2::/64", "2001:db8:1:3::", false },
	{ "2001:db8::/32", "2001:db8:ffff::1", true },
	{ "2001:db8::/33", "2001:db8:8000::1", false },
	{ "::/0", "2001:db8::1", true }, { "::/0", "192.0.2.7", false },
	{ "a@x|192.0.2.0/24", "192.0.2.7", false }, /* a sender is no network */
};

static void
networks(void)
{
	size_t i;

	for (i = 0; i < LENGTH(nets); i++) {
		struct tide_bans *b = table(64);
		struct tide_ban ban;
		struct tide_ip ip;

		publish(b, nets[i].banned, T0 + 10);
		CHECK(tide_ip_parse(nets[i].client, &ip));
		CHECK_MSG(tide_bans_find_client(
			      b, secret, &ip, "ext", T0, &ban) == nets[i].want,
		    "%s banned, client %s", nets[i].banned, nets[i].client);
		CHECK(!tide_bans_find_client(
		    b, secret, &ip, "ext", T0 + 10, &ban));
		free(b);
	}
}

/* Which profile's ban is seen from which. */
static const struct where_case {
	const char *profile;
	uint8_t group;
	const char *from;
	bool want;
} wheres[] = {
	{ "ext", TIDE_OKIP, "ext", true },
	{ "ext", TIDE_OKIP, "int", false },
	{ "int", TIDE_OKIP, "ext", false },
	{ "int", TIDE_OKIP, NULL, true },
	{ "", TIDE_OKIP, "int", true },
	{ "ext", TIDE_BAN_MANUAL, "int", true },
};

static void
put_in(struct tide_ban *ban, const char *profile)
{
	(void)snprintf(ban->profile, sizeof ban->profile, "%s", profile);
}

/* A narrow ban of another profile does not hide a wide one of ours. */
static void
profiles(void)
{
	struct tide_bans *b = table(64);
	struct tide_ban ban, got;
	struct tide_ip ip;
	size_t i;

	CHECK(tide_ip_parse("192.0.2.7", &ip));
	for (i = 0; i < LENGTH(wheres); i++) {
		ban = ban_of("192.0.2.7", T0 + 10);
		put_in(&ban, wheres[i].profile);
		ban.group = wheres[i].group;
		tide_bans_publish(b, secret, &ban);
		CHECK_MSG(tide_bans_find_client(b, secret, &ip, wheres[i].from,
			      T0, &got) == wheres[i].want,
		    "row %zu", i);
	}
	ban.group = TIDE_OKIP;
	put_in(&ban, "ext");
	tide_bans_publish(b, secret, &ban);
	ban = ban_of("192.0.2.0/24", T0 + 10);
	put_in(&ban, "int");
	tide_bans_publish(b, secret, &ban);
	CHECK(tide_bans_find_client(b, secret, &ip, "int", T0, &got));
	CHECK_STR(got.key, "192.0.2.0/24");
	free(b);
}

/* ---- bytes that others wrote ------------------------------------------- */

/* The only entry, overwritten by hand with even numbers around it. */
static void
bend(struct tide_bans *b, const struct tide_ban *ban)
{
	uint64_t words[TIDE_BAN_WORDS];
	uint32_t i;
	size_t w;

	memcpy(words, ban, sizeof *ban);
	for (i = 0; i < atomic_load(&b->capacity); i++) {
		for (w = 0; w < TIDE_BAN_WORDS; w++)
			atomic_store(&b->entry[i].word[w], words[w]);
		atomic_store(&b->entry[i].seq, 2);
	}
	atomic_store(&b->standing, 1);
}

static void
hostile_entries(void)
{
	struct tide_bans *b = table(32);
	struct tide_ban bad, got;

	bad = ban_of("a@x", T0 + 10);
	bad.length = 255;
	bend(b, &bad);
	CHECK(!tide_bans_at(b, 0, &got));
	CHECK_INT(until(b, "a@x", T0), 0);

	memset(&bad, 0xff, sizeof bad); /* no end to any text */
	bad.length = TIDE_KEY_MAX;
	bend(b, &bad);
	CHECK(tide_bans_at(b, 0, &got));
	CHECK_INT(strlen(got.key), TIDE_KEY_MAX);
	CHECK_INT(strlen(got.reason), TIDE_BAN_REASON_MAX);
	CHECK_INT(strlen(got.profile), TIDE_NAME_MAX - 1);

	bad = ban_of("a@x", T0 + 10);
	memset(bad.key + bad.length, 'y', sizeof bad.key - bad.length);
	bend(b, &bad);
	CHECK(tide_bans_at(b, 0, &got));
	CHECK_STR(got.key, "a@x");
	CHECK_INT(until(b, "a@x", T0), T0 + 10);

	atomic_store(&b->entry[0].seq, 3); /* its writer was killed */
	CHECK(!tide_bans_at(b, 0, &got));
	(void)sweep_but(b, NULL);
	CHECK(!tide_bans_at(b, 0, &got));
	CHECK_INT(until(b, "a@x", T0), 0);
	publish(b, "a@x", T0 + 20);
	CHECK_INT(until(b, "a@x", T0), T0 + 20);
	free(b);
}

static void
no_room_at_all(void)
{
	struct tide_bans *b = table(0);
	struct tide_ban got;
	struct tide_ip ip;

	CHECK(!publish(b, "a@x", T0 + 10));
	CHECK_INT(until(b, "a@x", T0), 0);
	CHECK(!withdraw(b, "a@x"));
	CHECK(!tide_bans_at(b, 0, &got));
	atomic_store(&b->standing, 7);
	CHECK(tide_ip_parse("192.0.2.7", &ip));
	CHECK(!tide_bans_find_client(b, secret, &ip, "ext", T0, &got));
	free(b);
}

/* ---- readers beside the writer ----------------------------------------- */

#define RACE_MS 1000u
#define READERS 3u

static _Atomic bool over;
static _Atomic uint64_t seen;

/* Every field of a ban of this key follows from one number. */
static struct tide_ban
ban_number(uint32_t n)
{
	struct tide_ban b = ban_of("race@x", T0 + n);

	b.since_ms = n;
	b.times = n;
	b.cause[7] = n;
	memset(b.reason, 'a' + (int)(n % 26), TIDE_BAN_REASON_MAX);
	return b;
}

static void *
read_all_the_time(void *arg)
{
	const struct tide_bans *b = arg;
	struct tide_key k = key_of("race@x");
	struct tide_ban got, want;
	uintptr_t torn = 0;

	while (!atomic_load(&over)) {
		if (!tide_bans_find(b, secret, &k, 0, &got))
			continue;
		want = ban_number(got.times);
		atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed);
		torn += memcmp(&got, &want, sizeof got) != 0;
	}
	return (void *)torn;
}

static void
never_torn(void)
{
	struct tide_bans *b = table(16);
	pthread_t reader[READERS];
	struct tide_ban ban;
	void *torn;
	uint64_t end;
	uint32_t i;

	end = tide_clock_mono_ms() + RACE_MS;
	atomic_store(&over, false);
	for (i = 0; i < READERS; i++)
		CHECK_INT(
		    pthread_create(&reader[i], NULL, read_all_the_time, b), 0);
	for (i = 1; tide_clock_mono_ms() < end; i++) {
		ban = ban_number(i);
		tide_bans_publish(b, secret, &ban);
		if (i % 64 == 0)
			(void)withdraw(b, "race@x");
		if (i % 1024 == 0)
			(void)sweep_but(b, NULL);
	}
	atomic_store(&over, true);
	for (i = 0; i < READERS; i++) {
		CHECK_INT(pthread_join(reader[i], &torn), 0);
		CHECK_INT((uintptr_t)torn, 0);
	}
	CHECK_MSG(atomic_load(&seen) > 1000, "they hardly met");
	free(b);
}

/*
 * A collector that starts, loads and sweeps again and again, while others come
 * and go beside it: whoever is banned is so at every moment.
 */
static const char *const stand[] = { "a@x", "@x", "192.0.2.0/24",
	"auth:\316\265|2001:db8::/64" };

/* One that came after others, and moves when they go; 0: none. */
static _Atomic uint32_t mover;

static void *
look_all_the_time(void *arg)
{
	const struct tide_bans *b = arg;
	uintptr_t missed = 0;
	char key[32];
	uint32_t n;
	size_t i;

	while (!atomic_load(&over)) {
		for (i = 0; i < LENGTH(stand); i++)
			missed += until(b, stand[i], T0) == 0;
		for (i = 0; i < 64; i++) {
			n = atomic_load(&mover);
			(void)snprintf(key, sizeof key, "m%u@x", n);
			missed += n != 0 && until(b, key, T0) == 0 &&
			    atomic_load(&mover) == n;
		}
		atomic_fetch_add_explicit(&seen, i, memory_order_relaxed);
	}
	return (void *)missed;
}

static bool
is_no_number(void *arg, const struct tide_ban *ban)
{
	(void)arg;
	return ban->key[0] != 's';
}

static void
load(struct tide_bans *b)
{
	size_t i;

	tide_bans_open(b, 16);
	for (i = 0; i < LENGTH(stand); i++)
		CHECK(publish(b, stand[i], T0 + 1));
	(void)tide_bans_sweep(b, secret, 0, UINT32_MAX, is_no_number, NULL);
	tide_bans_recount(b);
	CHECK_INT(atomic_load(&b->standing), LENGTH(stand));
}

static void
never_missed(void)
{
	struct tide_bans *b = table(16);
	pthread_t reader[READERS];
	char key[32];
	void *missed;
	uint64_t end;
	uint32_t i, k;

	load(b);
	end = tide_clock_mono_ms() + RACE_MS;
	atomic_store(&over, false);
	atomic_store(&seen, 0);
	for (i = 0; i < READERS; i++)
		CHECK_INT(
		    pthread_create(&reader[i], NULL, look_all_the_time, b), 0);
	for (i = 1; tide_clock_mono_ms() < end; i++) {
		for (k = 0; k < 10; k++)
			CHECK(publish(b, number(i * 10 + k), T0 + 1));
		(void)snprintf(key, sizeof key, "m%u@x", i);
		CHECK(publish(b, key, T0 + 1));
		atomic_store(&mover, i);
		for (k = 0; k < 10; k++)
			CHECK(withdraw(b, number(i * 10 + k)));
		atomic_store(&mover, 0);
		CHECK(withdraw(b, key));
		if (i % 16 == 0)
			load(b);
	}
	atomic_store(&over, true);
	for (i = 0; i < READERS; i++) {
		CHECK_INT(pthread_join(reader[i], &missed), 0);
		CHECK_INT((uintptr_t)missed, 0);
	}
	CHECK_MSG(atomic_load(&b->moves) > 100 && atomic_load(&seen) > 1000,
	    "they hardly met: %llu moves",
	    (unsigned long long)atomic_load(&b->moves));
	free(b);
}

/* ---- the archive ------------------------------------------------------- */

static int
get(struct tide_archive *a, const char *key, struct tide_ban *ban)
{
	struct tide_key k = key_of(key);
	struct tide_err err;

	return tide_archive_get_ban(a, &k, ban, &err);
}

/* The fate of every one; how many stood. */
struct fate {
	enum tide_ban_fate fate;
	unsigned stood;
};

static enum tide_ban_fate
decide(void *arg, size_t i, struct tide_ban *ban, const struct tide_ban *old)
{
	struct fate *f = arg;

	(void)i;
	(void)ban;
	f->stood += old != NULL;
	return f->fate;
}

static void
put(struct tide_archive *a, struct tide_ban *ban, size_t n)
{
	struct fate f = { .fate = TIDE_BAN_STORE };
	struct tide_err err = { "" };

	CHECK_MSG(tide_archive_change_bans(a, ban, n, decide, &f, &err) == 0,
	    "%s", err.text);
}

static unsigned
del(struct tide_archive *a, const char *key)
{
	struct fate f = { .fate = TIDE_BAN_DELETE };
	struct tide_ban ban = ban_of(key, 0);
	struct tide_err err = { "" };

	CHECK_MSG(tide_archive_change_bans(a, &ban, 1, decide, &f, &err) == 0,
	    "%s", err.text);
	return f.stood;
}

static void
stored_and_deleted(void)
{
	struct tide_ban two[] = { ban_of("a@x", T0 + 1),
		ban_of("b@x", T0 + 2) };
	struct tide_config c;
	struct tide_archive a;
	struct tide_ban got;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	CHECK_INT(get(&a, "a@x", &got), 0);
	put(&a, two, 2);
	tide_archive_close(&a);
	fixture_open_archive(&c, &a);
	CHECK_INT(get(&a, "b@x", &got), 1);
	CHECK(memcmp(&got, &two[1], sizeof got) == 0);
	two[0].until_ms = T0 + 9;
	put(&a, two, 1);
	CHECK_INT(get(&a, "a@x", &got), 1);
	CHECK_INT(got.until_ms, T0 + 9);
	CHECK_INT(del(&a, "a@x"), 1);
	CHECK_INT(del(&a, "a@x"), 0);
	CHECK_INT(get(&a, "a@x", &got), 0);
	CHECK_INT(get(&a, "b@x", &got), 1);
	tide_archive_close(&a);
}

/* ---- one on top of the other --------------------------------------------- */

#define HOUR 3600000ull
#define NOW (T0 + HOUR / 2)
#define MAP 7u

/* A ban as an overflow makes it (cause 0: by hand), as it goes to settle. */
struct coming {
	uint8_t group;
	uint32_t cause;
	const char *profile;
	uint64_t until; /* of one by hand, after T0 */
};

static const struct settle_case {
	const char *name;
	struct coming one, two; /* at T0, and at NOW */
	enum tide_ban_outcome outcome;
	uint64_t until; /* after T0; an overflow's ban lasts an hour */
	uint32_t times;
	uint8_t group;
	const char *profile, *reason;
} settles[] = {
	{ "a second overflow lasts from now on", { TIDE_OKSENDER, 1, "p", 0 },
	    { TIDE_OKSENDER, 2, "p", 0 }, TIDE_BAN_LENGTHENED, HOUR * 3 / 2, 2,
	    TIDE_OKSENDER, "p", "" },
	{ "the same one again changes nothing", { TIDE_OKSENDER, 1, "p", 0 },
	    { TIDE_OKSENDER, 1, "p", 0 }, TIDE_BAN_KNOWN, HOUR, 1,
	    TIDE_OKSENDER, "p", "" },
	{ "an attempt while banned lengthens", { TIDE_OKSENDER, 1, "p", 0 },
	    { TIDE_SBSENDER, 2, "p", 0 }, TIDE_BAN_LENGTHENED, 2 * HOUR, 2,
	    TIDE_OKSENDER, "p", "" },
	{ "another profile: everywhere", { TIDE_OKSENDER, 1, "p", 0 },
	    { TIDE_UNSENDER, 2, "q", 0 }, TIDE_BAN_LENGTHENED, HOUR * 3 / 2, 2,
	    TIDE_UNSENDER, "", "" },
	{ "by hand, for less: the later end, the manual reason",
	    { TIDE_OKSENDER, 1, "p", 0 },
	    { TIDE_BAN_MANUAL, 0, "", HOUR * 3 / 4 }, TIDE_BAN_LENGTHENED, HOUR,
	    2, TIDE_BAN_MANUAL, "", "by hand" },
	{ "by hand, for more", { TIDE_OKSENDER, 1, "p", 0 },
	    { TIDE_BAN_MANUAL, 0, "", 50 * HOUR }, TIDE_BAN_LENGTHENED,
	    50 * HOUR, 2, TIDE_BAN_MANUAL, "", "by hand" },
	{ "an overflow after one by hand: the manual one stays",
	    { TIDE_BAN_MANUAL, 0, "", 50 * HOUR }, { TIDE_OKSENDER, 1, "p", 0 },
	    TIDE_BAN_LENGTHENED, 50 * HOUR, 2, TIDE_BAN_MANUAL, "", "by hand" },
	{ "but an overflow that lasts longer lengthens it",
	    { TIDE_BAN_MANUAL, 0, "", HOUR }, { TIDE_OKSENDER, 1, "p", 0 },
	    TIDE_BAN_LENGTHENED, HOUR * 3 / 2, 2, TIDE_BAN_MANUAL, "",
	    "by hand" },
	{ "one that has ended is no matter", { TIDE_BAN_MANUAL, 0, "", 1 },
	    { TIDE_OKSENDER, 1, "p", 0 }, TIDE_BAN_MADE, HOUR * 3 / 2, 1,
	    TIDE_OKSENDER, "p", "" },
};

static enum tide_ban_outcome
settle(struct tide_ban *ban, const struct coming *c, const struct tide_ban *old,
    uint64_t now)
{
	const struct tide_ban_terms terms = {
		.now_ms = now, .lasts_ms = HOUR, .most_ms = 10 * HOUR
	};

	*ban = ban_of("a@x", T0 + c->until);
	put_in(ban, c->profile);
	ban->group = c->group;
	ban->map = c->cause != 0 ? MAP : 0;
	ban->cause[0] = c->cause;
	if (c->cause == 0)
		memcpy(ban->reason, "by hand", 8);
	return tide_ban_settle(ban, old, &terms);
}

/* An attempt in spite of a ban lengthens it; it makes none. */
static void
attempts_make_none(void)
{
	const struct tide_ban_terms terms = { T0 + 10, HOUR, 50 * HOUR };
	struct tide_ban ended = ban_of("a@x", T0 + 10), new;

	new = ban_of("a@x", 0);
	new.group = TIDE_SBSENDER;
	CHECK_INT(tide_ban_settle(&new, NULL, &terms), TIDE_BAN_VOID);
	CHECK_INT(tide_ban_settle(&new, &ended, &terms), TIDE_BAN_VOID);
	ended.until_ms++;
	CHECK_INT(tide_ban_settle(&new, &ended, &terms), TIDE_BAN_LENGTHENED);
}

static void
settled(void)
{
	struct tide_ban one, two;
	size_t i;

	for (i = 0; i < LENGTH(settles); i++) {
		const struct settle_case *s = &settles[i];
		enum tide_ban_outcome outcome;

		CHECK_INT(settle(&one, &s->one, NULL, T0), TIDE_BAN_MADE);
		outcome = settle(&two, &s->two, &one, NOW);
		CHECK_MSG(outcome == s->outcome &&
			two.until_ms == T0 + s->until &&
			two.times == s->times && two.group == s->group &&
			strcmp(two.profile, s->profile) == 0 &&
			strcmp(two.reason, s->reason) == 0,
		    "%s: outcome %d, until %llu, times %u, group %u, «%s» «%s»",
		    s->name, (int)outcome,
		    (unsigned long long)(two.until_ms - T0), two.times,
		    two.group, two.profile, two.reason);
		CHECK(tide_ban_is_newer(&two, &one) ==
		    (s->outcome != TIDE_BAN_KNOWN));
		CHECK(!tide_ban_is_newer(&one, &two));
	}
}

/* Killed after it was stored, told again: by whatever came in between. */
static void
told_again(void)
{
	const struct coming all[] = { { TIDE_OKSENDER, 1, "p", 0 },
		{ TIDE_SBSENDER, 2, "p", 0 }, { TIDE_UNSENDER, 3, "q", 0 },
		{ TIDE_BAN_MANUAL, 0, "", 2 * HOUR },
		{ TIDE_SBSENDER, 4, "q", 0 } };
	struct tide_ban ban, again;
	size_t i;

	CHECK_INT(settle(&ban, &all[0], NULL, T0), TIDE_BAN_MADE);
	for (i = 1; i < LENGTH(all); i++) {
		CHECK_INT(
		    settle(&again, &all[i], &ban, NOW), TIDE_BAN_LENGTHENED);
		ban = again;
	}
	for (i = 0; i < LENGTH(all); i++) {
		if (all[i].cause == 0)
			continue;
		CHECK_INT(settle(&again, &all[i], &ban, NOW), TIDE_BAN_KNOWN);
		CHECK(memcmp(&again, &ban, sizeof ban) == 0);
	}
	ban.map++; /* the same numbers of another map are other overflows */
	CHECK_INT(settle(&again, &all[0], &ban, NOW), TIDE_BAN_LENGTHENED);
	CHECK_INT(again.map, MAP);
	CHECK_INT(again.cause[1], 0);
}

static void
lengthened_to_the_most(void)
{
	struct tide_ban ban, next;
	uint32_t i;

	CHECK_INT(settle(&ban, &(struct coming){ TIDE_OKSENDER, 1, "p", 0 },
		      NULL, T0),
	    TIDE_BAN_MADE);
	for (i = 2; i < 20; i++) {
		(void)settle(&next,
		    &(struct coming){ TIDE_SBSENDER, i, "p", 0 }, &ban, T0);
		ban = next;
	}
	CHECK_INT(ban.until_ms, T0 + 10 * HOUR);
	CHECK_INT(ban.times, 19);
	CHECK_INT(ban.cause[0], 19);
	CHECK_INT(ban.cause[7], 12);
}

/* Two of one key in one transaction: the second is settled on the first. */
static enum tide_ban_fate
add_up(void *arg, size_t i, struct tide_ban *ban, const struct tide_ban *old)
{
	(void)arg;
	CHECK_INT(old != NULL, i == 1);
	if (old != NULL)
		ban->times += old->times;
	return TIDE_BAN_STORE;
}

static void
two_of_one_key(void)
{
	struct tide_ban two[] = { ban_of("a@x", T0 + 1),
		ban_of("a@x", T0 + 2) };
	struct tide_config c;
	struct tide_archive a;
	struct tide_ban got;
	struct tide_err err;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	CHECK_INT(tide_archive_change_bans(&a, two, 2, add_up, NULL, &err), 0);
	CHECK_INT(get(&a, "a@x", &got), 1);
	CHECK_INT(got.times, 2);
	tide_archive_close(&a);
}

static void
count_visit(void *arg, const struct tide_ban *ban)
{
	unsigned *n = arg;

	CHECK(ban->until_ms > T0);
	++*n;
}

/* More expired ones than one walk can remember (256). */
static void
walk_drops_expired(void)
{
	struct tide_config c;
	struct tide_archive a;
	struct tide_ban ban, got;
	struct tide_err err;
	unsigned i, n;
	char key[32];

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	for (i = 0; i < 300; i++) {
		(void)snprintf(key, sizeof key, "s%03u@x", i);
		ban = ban_of(key, i % 100 == 99 ? T0 + 5 : T0);
		put(&a, &ban, 1);
	}
	for (i = 0; i < 2; i++) {
		n = 0;
		CHECK_INT(
		    tide_archive_walk_bans(&a, T0, count_visit, &n, &err), 0);
		CHECK_INT(n, 3);
	}
	CHECK_INT(get(&a, "s000@x", &got), 0);
	CHECK_INT(get(&a, "s298@x", &got), 0);
	CHECK_INT(get(&a, "s299@x", &got), 1);
	tide_archive_close(&a);
}

static void
put_raw(struct tide_archive *a, const char *key, const void *value, size_t size)
{
	struct tide_err err;
	struct tide_txn *t = tide_txn_begin(a->store, true, &err);

	CHECK(t != NULL);
	CHECK_INT(tide_txn_put(t, TIDE_TABLE_BANS, tide_bytes(key, strlen(key)),
		      tide_bytes(value, size), &err),
	    0);
	CHECK_INT(tide_txn_commit(t, &err), 0);
}

static void
damaged_records(void)
{
	struct {
		struct tide_ban ban;
		uint64_t check;
	} bad = { .ban = ban_of("bent@x", T0 + 5) };
	struct tide_ban good = ban_of("good@x", T0 + 5), got;
	struct tide_config c;
	struct tide_archive a;
	struct tide_err err;
	unsigned n = 0;

	fixture_config(&c);
	fixture_open_archive(&c, &a);
	put(&a, &good, 1);
	bad.check = tide_hash_check(&bad.ban, sizeof bad.ban) ^ 1;
	put_raw(&a, "bent@x", &bad, sizeof bad);
	put_raw(&a, "short@x", &bad, sizeof bad - 1);
	bad.ban.length = 0; /* a right check on a ban of nobody */
	bad.check = tide_hash_check(&bad.ban, sizeof bad.ban);
	put_raw(&a, "empty@x", &bad, sizeof bad);
	CHECK_INT(get(&a, "bent@x", &got), 0);
	CHECK_INT(get(&a, "short@x", &got), 0);
	CHECK_INT(get(&a, "empty@x", &got), 0);
	CHECK_INT(tide_archive_walk_bans(&a, T0, count_visit, &n, &err), 0);
	CHECK_INT(n, 1);
	CHECK_INT(get(&a, "good@x", &got), 1);
	tide_archive_close(&a);
}

CHECK_CASES({ "publish, find, withdraw", publish_find_withdraw },
    { "a ban ends to the millisecond", ends_to_the_millisecond },
    { "withdraw says whether there was one", withdraw_says_whether },
    { "a full table takes no more, and nobody goes", full_table },
    { "made and lifted, again and again", churn },
    { "what a killed collector leaves", after_a_kill },
    { "entries are listed", listing },
    { "clients and networks of every length", networks },
    { "a ban stands in its profile", profiles },
    { "hostile entries", hostile_entries },
    { "a table without room", no_room_at_all },
    { "a reader never sees a torn ban", never_torn },
    { "a ban that stands is found at every moment", never_missed },
    { "the archive stores, replaces, deletes", stored_and_deleted },
    { "an attempt in spite of a ban makes none", attempts_make_none },
    { "a ban on top of another", settled },
    { "an overflow told again changes nothing", told_again },
    { "lengthened up to the most", lengthened_to_the_most },
    { "two of one key in one transaction", two_of_one_key },
    { "a walk drops what has expired", walk_drops_expired },
    { "damaged records are skipped", damaged_records })
