/*
 * pool drain - take what workers have posted (C1; PROTOCOL mailbox is in
 * buckets.c).  Bytes of a mailbox come from a process that parses hostile
 * mail: nothing in them is believed.
 */
#include <string.h>

#include "pool_priv.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"

/* Bytes a worker wrote: is there a whole record, and does it make sense? */
static bool
is_record(const struct tide_post *r, uint64_t left)
{
	if (r->size < 8 || r->size % 8 != 0 || r->size > left ||
	    r->size > TIDE_MAILBOX_BYTES)
		return false;
	if (r->kind == TIDE_POST_PAD)
		return true;
	return r->size >= sizeof *r && r->class < TIDE_CLASSES &&
	    (r->kind == TIDE_POST_OVERFLOW || r->kind == TIDE_POST_ADD) &&
	    sizeof *r + r->length <= r->size;
}

static void
take_add(struct tide_pool *p, const struct tide_post *r, const char *text)
{
	struct tide_flow_key key;

	if (depth_of(p, r->class) == 0)
		return; /* switched off since */
	if (r->drops == 0 || r->drops > UINT16_MAX ||
	    !tide_flow_key(p->flow, text, r->length, &key) ||
	    key.hash != r->hash) {
		count(&p->flow->head->malformed, 1);
		return;
	}
	(void)tide_pool_add(p, r->class, &key, r->drops);
}

static void
take_overflow(struct tide_pool *p, const struct tide_post *r)
{
	uint32_t i = r->drops;

	if (i == 0 || i > p->flow->head->shape.buckets)
		count(&p->flow->head->malformed, 1);
	else if ((mark_of(p, i) & TIDE_MARK_FLAGS) == TIDE_MARK_OVF)
		tide_pool_overflowed(p, i);
}

/* One record at the mailbox's tail; its size, or 0 if it is none. */
static uint32_t
take_one(struct tide_pool *p, const struct tide_mailbox *m, uint64_t tail,
    uint64_t head)
{
	uint32_t at_byte = (uint32_t)(tail % TIDE_MAILBOX_BYTES);
	uint32_t room = TIDE_MAILBOX_BYTES - at_byte;
	struct tide_post r = { 0 };
	char text[UINT8_MAX];

	memcpy(&r, m->bytes + at_byte, room < sizeof r ? 8 : sizeof r);
	if (!is_record(&r, head - tail) || r.size > room)
		return 0;
	if (r.kind == TIDE_POST_ADD) {
		memcpy(text, m->bytes + at_byte + sizeof r, r.length);
		take_add(p, &r, text);
	} else if (r.kind == TIDE_POST_OVERFLOW) {
		take_overflow(p, &r);
	}
	return r.size;
}

/*
 * Until D3 the bytes are ours: none of a key stays behind in a mailbox.  First
 * it becomes a pad, so that one who comes after a kill between here and D3
 * finds its way to the next record.
 */
static void
wipe(struct tide_mailbox *m, uint64_t tail, uint32_t size)
{
	uint32_t at_byte = (uint32_t)(tail % TIDE_MAILBOX_BYTES);
	struct tide_post pad = { .size = size, .kind = TIDE_POST_PAD };

	if (size <= sizeof pad)
		return; /* there is no key in it */
	m->bytes[at_byte + offsetof(struct tide_post, kind)] = pad.kind;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(m->bytes + at_byte, &pad, sizeof pad);
	memset(m->bytes + at_byte + sizeof pad, 0, size - sizeof pad);
}

/* What makes no sense, up to head. */
static void
wipe_all(struct tide_mailbox *m, uint64_t tail, uint64_t head)
{
	if (head - tail > TIDE_MAILBOX_BYTES)
		tail = head - TIDE_MAILBOX_BYTES;
	for (; tail != head; tail++)
		m->bytes[tail % TIDE_MAILBOX_BYTES] = 0;
}

/* A notice found no room: look for overflowed buckets everywhere. */
static void
look_everywhere(struct tide_pool *p)
{
	uint32_t i;

	for (i = 1; i <= p->flow->head->shape.buckets; i++)
		if ((mark_of(p, i) & TIDE_MARK_FLAGS) == TIDE_MARK_OVF)
			tide_pool_overflowed(p, i);
}

static unsigned
drain_mailbox(struct tide_pool *p, struct tide_mailbox *m)
{
	uint64_t tail = atomic_load_explicit(&m->tail, memory_order_relaxed);
	uint64_t head =
	    atomic_load_explicit(&m->head, memory_order_acquire); /* D1 */
	unsigned n = 0;
	uint32_t size;

	if (tail != head)
		tail = TIDE_POST_ALIGN(tail); /* both in a worker's reach */
	while (tail != head) {
		size = head - tail > TIDE_MAILBOX_BYTES
		    ? 0
		    : take_one(p, m, tail, head); /* D2 */
		if (size == 0) {
			count(&p->flow->head->malformed, 1);
			wipe_all(m, tail, head);
			size = (uint32_t)(head - tail);
			tail = head - size;
		} else {
			wipe(m, tail, size);
		}
		tail += size;
		atomic_store_explicit(
		    &m->tail, tail, memory_order_release); /* D3 */
		n++;
	}
	return n;
}

unsigned
tide_pool_drain(struct tide_pool *p)
{
	unsigned n = 0;
	struct tide_err err;
	uint32_t i;
	bool alarm = false;

	if (p->damaged && p->seen == NULL) {
		count(&p->flow->head->malformed, 1);
		(void)tide_pool_rebuild(p, &err); /* or at the next drain */
	}
	if (p->seen != NULL) {
		tide_pool_reclaim(p); /* a rebuild is not finished */
		return 0;
	}
	for (i = 0; i < p->flow->head->shape.mailboxes; i++) {
		n += drain_mailbox(p, &p->flow->mailbox[i]);
		if (atomic_load(&p->flow->mailbox[i].alarm) != 0 &&
		    atomic_exchange(&p->flow->mailbox[i].alarm, 0) != 0)
			alarm = true;
	}
	if (alarm)
		look_everywhere(p);
	count(&p->flow->head->drained, n);
	tide_pool_keep_reserve(p);
	return n;
}
