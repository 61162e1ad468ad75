/*
 * buckets - the workers' side, and what both sides share.  PROTOCOL buckets
 * is in buckets.h; its steps are tagged here.
 */
#include <assert.h>
#include <sodium/crypto_shorthash.h>
#include <string.h>

#include "tidemark/flow/buckets.h"
#include "tidemark/flow/strings.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/epoch.h"

_Static_assert(crypto_shorthash_KEYBYTES == 16, "SipHash's key");

#define ROOM_FOR_NOTICES (TIDE_MAILBOX_BYTES / 8)

/* ---- layout ------------------------------------------------------------ */

static size_t
line(size_t n)
{
	return (n + 63) / 64 * 64;
}

struct layout {
	size_t class, heads, string_heads, strings, levels, end;
};

static struct layout
lay_out(const struct tide_flow_shape *s)
{
	struct layout l;

	l.class = line(sizeof(struct tide_flow_head));
	l.heads = l.class + line(TIDE_CLASSES * sizeof(struct tide_class));
	l.string_heads = l.heads + line((size_t)s->heads * 4);
	l.strings = l.string_heads + line((size_t)s->heads * 4);
	l.levels = l.strings + line((size_t)s->string_units * TIDE_STRING_UNIT);
	l.end = l.levels + line((size_t)TIDE_CLASSES * s->ring * 4);
	return l;
}

#define UNITS_EACH 4u
#define UNITS_MORE 64u

_Static_assert(
    (uint64_t)TIDE_BUCKETS_MAX *UNITS_EACH + UNITS_MORE <= TIDE_HELD_STRINGS,
    "every unit has a number that a bucket can hold");

/* Four units of 16 bytes hold most keys; those of a sender share theirs. */
struct tide_flow_shape
tide_flow_plan(uint32_t buckets, uint32_t mailboxes)
{
	if (buckets > TIDE_BUCKETS_MAX)
		buckets = TIDE_BUCKETS_MAX;
	return (struct tide_flow_shape){ .buckets = buckets,
		.heads = tide_power_of_two(buckets),
		.string_units = buckets * UNITS_EACH + UNITS_MORE,
		.ring = tide_power_of_two(TIDE_DEPTH_MAX + 2),
		.mailboxes = mailboxes };
}

struct tide_flow_sizes
tide_flow_sizes(const struct tide_flow_shape *s)
{
	return (struct tide_flow_sizes){ .books = lay_out(s).end,
		.buckets =
		    ((size_t)s->buckets + 1) * sizeof(struct tide_bucket),
		.mailboxes = s->mailboxes * sizeof(struct tide_mailbox) };
}

void
tide_flow_attach(struct tide_flow *f, void *books, void *buckets,
    void *mailboxes, const struct tide_flow_shape *shape)
{
	struct layout l = lay_out(shape);
	char *base = books;

	memset(f, 0, sizeof *f);
	f->head = books;
	f->class = (struct tide_class *)(void *)(base + l.class);
	f->heads = (_Atomic uint32_t *)(void *)(base + l.heads);
	f->string_heads = (_Atomic uint32_t *)(void *)(base + l.string_heads);
	f->strings = (unsigned char *)(base + l.strings);
	f->levels = (uint32_t *)(void *)(base + l.levels);
	f->bucket = buckets;
	f->mailbox = mailboxes;
}

/* ---- finding ----------------------------------------------------------- */

bool
tide_flow_key(const struct tide_flow *f, const char *text, size_t length,
    struct tide_flow_key *key)
{
	uint64_t h;

	if (length == 0 || length > TIDE_BUCKET_KEY_MAX)
		return false;
	(void)crypto_shorthash((unsigned char *)&h, (const unsigned char *)text,
	    length, f->secret);
	*key = (struct tide_flow_key){ .text = text,
		.length = (uint8_t)length,
		.shared = tide_key_is_shared(text, length),
		.hash = (uint32_t)(h ^ h >> 32) };
	return true;
}

static bool
is_key(const struct tide_flow *f, const struct tide_bucket *b, unsigned class,
    const struct tide_flow_key *key)
{
	uint32_t held = tide_once(&b->class_string);
	const struct tide_string *s;

	if (tide_held_class(held) != class ||
	    tide_held_string(held) >= f->head->shape.string_units)
		return false;
	s = tide_string_at(f, tide_held_string(held));
	return s->length == key->length &&
	    memcmp(s->text, key->text, key->length) == 0;
}

/*
 * In a large table every step of head, bucket, string misses the caches, one
 * after the other.  The string's own chain most often begins with it: fetch
 * that meanwhile.  Only a hint: it may be stale, and a prefetch cannot fault.
 */
static void
fetch_string(const struct tide_flow *f, uint32_t hash)
{
	uint32_t chain = hash & (f->head->shape.heads - 1);

	__builtin_prefetch(tide_string_at(f,
	    atomic_load_explicit(
		&f->string_heads[chain], memory_order_relaxed)));
}

uint32_t
tide_flow_find(
    const struct tide_flow *f, unsigned class, const struct tide_flow_key *key)
{
	uint32_t h = tide_bucket_hash(key->hash, class);
	uint32_t most = f->head->shape.buckets, i;
	int steps;

	fetch_string(f, key->hash);
	i = atomic_load(&f->heads[h & (f->head->shape.heads - 1)]);
	for (steps = 0; i != 0 && i <= most && steps < TIDE_CHAIN_MOST;
	     steps++) {
		const struct tide_bucket *b = &f->bucket[i];

		if (tide_once(&b->hash) == h && is_key(f, b, class, key))
			return i;
		i = atomic_load(&b->next); /* W2 */
	}
	return 0;
}

/* ---- filling ----------------------------------------------------------- */

static bool
cas(_Atomic uint32_t *p, uint32_t old, uint32_t new)
{
	return atomic_compare_exchange_strong_explicit(
	    p, &old, new, memory_order_seq_cst, memory_order_acquire);
}

/* W5: more drops on an overflowed bucket, up to what the mark can hold. */
static bool
fill_over(_Atomic uint32_t *p, uint32_t mark, uint32_t drops)
{
	uint32_t have = tide_over_drops(mark);
	uint32_t want =
	    have + drops > TIDE_OVER_MOST ? TIDE_OVER_MOST : have + drops;

	return want == have ||
	    cas(p, mark, (mark & ~(TIDE_OVER_MOST << 2)) | want << 2);
}

static uint32_t
over_now(const struct tide_class *c)
{
	return tide_mark_over(
	    atomic_load_explicit(&c->overflows, memory_order_relaxed), 0);
}

/* W4, for a shared key: to the brim, and no further. */
static bool
fill_up(_Atomic uint32_t *p, uint32_t mark, uint32_t brim)
{
	return !tide_mark_above(brim, mark) || cas(p, mark, brim);
}

enum tide_drop
tide_flow_fill(struct tide_flow *f, unsigned class, uint32_t bucket,
    bool shared, uint32_t drops)
{
	_Atomic uint32_t *p = &f->bucket[bucket].mark;
	struct tide_class *c = &f->class[class];
	uint32_t mark, floor, depth, full;
	int tries;

	for (tries = 0; tries < TIDE_BUCKET_TRIES; tries++) {
		mark = atomic_load_explicit(p, memory_order_acquire);
		if ((mark & TIDE_MARK_DEAD) != 0)
			return TIDE_DROP_LOST;
		if ((mark & TIDE_MARK_OVF) != 0) {
			if (fill_over(p, mark, drops))
				return TIDE_DROP_OVER;
			continue;
		}
		floor = atomic_load_explicit(
		    &c->floor, memory_order_acquire); /* W4: after the mark */
		depth = atomic_load_explicit(&c->depth, memory_order_relaxed);
		if (depth == 0)
			return TIDE_DROP_HELD; /* switched off since */
		full = (tide_mark_above(mark, floor) ? mark : floor) +
		    (drops << 2);
		if ((full - floor) >> 2 > depth && shared) {
			if (fill_up(p, mark, floor + (depth << 2)))
				return TIDE_DROP_FULL;
		} else if ((full - floor) >> 2 > depth) {
			if (cas(p, mark, over_now(c)))
				return TIDE_DROP_OVERFLOW;
		} else if (cas(p, mark, full)) {
			return TIDE_DROP_HELD;
		}
	}
	return TIDE_DROP_LOST; /* W6 */
}

/* ---- the mailbox ------------------------------------------------------- */

/*
 * PROTOCOL mailbox: one producer (the worker), one consumer (the collector).
 *  M1 write the record behind head; M2 head += size (release)
 *  D1 load head (acquire); D2 take it; make it a pad, wipe its key;
 *  D3 tail += size (release)
 * A record never wraps: what is left of the ring is a pad.  The last eighth
 * is kept for notices of overflows, so that a flood of new keys cannot hold
 * those up; should even that be full, the alarm makes the collector look
 * through the whole pool.
 */
static unsigned char *
make_room(struct tide_mailbox *m, uint32_t size, uint32_t room, uint64_t *head)
{
	uint64_t tail = atomic_load_explicit(&m->tail, memory_order_acquire);
	uint32_t at = (uint32_t)(*head % TIDE_MAILBOX_BYTES), pad = 0;
	struct tide_post skip = { .kind = TIDE_POST_PAD };

	if (at + size > TIDE_MAILBOX_BYTES)
		pad = TIDE_MAILBOX_BYTES - at;
	if (*head - tail + pad + size > room)
		return NULL;
	if (pad > 0) {
		skip.size = pad;
		memcpy(
		    m->bytes + at, &skip, pad < sizeof skip ? 8 : sizeof skip);
		*head += pad;
		at = 0;
	}
	return m->bytes + at;
}

/* Behind head, up to the tail: the producer's, who is dead. */
void
tide_flow_bury(struct tide_flow *f, uint32_t mailbox)
{
	struct tide_mailbox *m = &f->mailbox[mailbox];
	uint64_t tail = atomic_load_explicit(&m->tail, memory_order_acquire);
	uint64_t head = atomic_load_explicit(&m->head, memory_order_acquire);

	for (; head - tail < TIDE_MAILBOX_BYTES; head++)
		m->bytes[head % TIDE_MAILBOX_BYTES] = 0;
	atomic_store(&m->alarm, 1);
}

static bool
post(struct tide_flow *f, uint32_t mailbox, const struct tide_post *p,
    const char *key, uint32_t room)
{
	struct tide_mailbox *m = &f->mailbox[mailbox];
	uint64_t head = TIDE_POST_ALIGN(/* whatever was here before us */
	    atomic_load_explicit(&m->head, memory_order_relaxed));
	unsigned char *at = make_room(m, p->size, room, &head);

	if (at == NULL)
		return false;
	memcpy(at, p, sizeof *p); /* M1 */
	if (p->length > 0)
		memcpy(at + sizeof *p, key, p->length);
	atomic_store_explicit(
	    &m->head, head + p->size, memory_order_release); /* M2 */
	return true;
}

static bool
post_add(struct tide_flow *f, uint32_t mailbox, unsigned class,
    const struct tide_flow_key *key, uint32_t drops)
{
	struct tide_post p = { .size =
				   (uint32_t)(sizeof p + key->length + 7) & ~7u,
		.kind = TIDE_POST_ADD,
		.class = (uint8_t) class,
		.length = key->length,
		.drops = drops,
		.hash = key->hash };

	return post(
	    f, mailbox, &p, key->text, TIDE_MAILBOX_BYTES - ROOM_FOR_NOTICES);
}

static void
post_overflow(
    struct tide_flow *f, uint32_t mailbox, unsigned class, uint32_t bucket)
{
	struct tide_post p = { .size = sizeof p,
		.kind = TIDE_POST_OVERFLOW,
		.class = (uint8_t) class,
		.drops = bucket };

	if (!post(f, mailbox, &p, NULL, TIDE_MAILBOX_BYTES))
		atomic_store(&f->mailbox[mailbox].alarm, 1);
}

/* ---- what workers call ------------------------------------------------- */

enum tide_drop
tide_flow_add(struct tide_flow *f, const struct tide_adder *me, unsigned class,
    const struct tide_flow_key *key, uint32_t drops)
{
	enum tide_drop result = TIDE_DROP_LOST;
	uint32_t bucket;

	assert(class < TIDE_CLASSES && drops > 0);
	if (atomic_load_explicit(
		&f->class[class].depth, memory_order_relaxed) == 0)
		return TIDE_DROP_HELD;		/* not in use */
	tide_epoch_enter(me->epoch, f->epoch);	/* W1 */
	bucket = tide_flow_find(f, class, key); /* W2 */
	if (bucket != 0)
		result = tide_flow_fill(f, class, bucket, key->shared, drops);
	if (result == TIDE_DROP_OVERFLOW)
		post_overflow(f, me->mailbox, class, bucket);
	if (result == TIDE_DROP_LOST &&
	    post_add(f, me->mailbox, class, key, drops)) /* W3 */
		result = TIDE_DROP_POSTED;
	tide_epoch_leave(me->epoch); /* W7 */
	return result;
}

uint32_t
tide_flow_level(struct tide_flow *f, const struct tide_adder *me,
    unsigned class, const struct tide_flow_key *key)
{
	const struct tide_class *c = &f->class[class];
	uint32_t bucket, mark, floor, level = 0;

	tide_epoch_enter(me->epoch, f->epoch);
	bucket = tide_flow_find(f, class, key);
	if (bucket != 0) {
		mark = atomic_load_explicit(
		    &f->bucket[bucket].mark, memory_order_acquire);
		floor = atomic_load_explicit(&c->floor, memory_order_acquire);
		if ((mark & TIDE_MARK_OVF) != 0)
			level = atomic_load(&c->depth) + 1;
		else if ((mark & TIDE_MARK_DEAD) == 0 &&
		    tide_mark_above(mark, floor))
			level = (mark - floor) >> 2;
	}
	tide_epoch_leave(me->epoch);
	return level;
}
