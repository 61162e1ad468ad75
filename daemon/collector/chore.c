/*
 * chore - work on the pool, handed from a control thread to the first one,
 * whose alone the pool is.
 *
 * A chore waits, is taken, is done; all under the collector's lock but the
 * work itself, since an overflow met on the way takes that lock.  One that
 * cannot be done yet waits for the next round.
 */
#include <time.h>

#include "collector.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/pool.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"

#define CHORE_WAIT_MS 20000

/* ---- the asker --------------------------------------------------------- */

static void
withdraw(struct collector *c, struct chore *chore)
{
	struct chore **from = &c->chores;

	while (*from != NULL && *from != chore)
		from = &(*from)->next;
	if (*from == chore)
		*from = chore->next;
}

int
chore_ask(struct collector *c, struct chore *chore, struct tide_err *err)
{
	struct timespec until = tide_clock_deadline(CHORE_WAIT_MS);
	int rc = 0;

	chore->state = CHORE_WAITS;
	(void)pthread_mutex_lock(&c->lock);
	chore->next = c->chores;
	c->chores = chore;
	while (chore->state != CHORE_DONE) {
		if (chore->state == CHORE_TAKEN)
			(void)pthread_cond_wait(&c->changed, &c->lock);
		else if (rc != 0 || c->stop)
			break;
		else
			rc = pthread_cond_timedwait(
			    &c->changed, &c->lock, &until);
	}
	withdraw(c, chore);
	rc = chore->state == CHORE_DONE ? 0 : -1;
	(void)pthread_mutex_unlock(&c->lock);
	return rc == 0 ? 0 : tide_err_set(err, "it is not done yet");
}

/* ---- the first thread -------------------------------------------------- */

/*
 * Every class that is meant.  False while one of its buckets is on its way to
 * a ban: emptied now, that ban would stay halfway (PROTOCOL overflow).
 */
static bool
reset_key(struct collector *c, struct chore *chore, unsigned k)
{
	uint64_t *classes = &chore->classes[k];
	struct tide_flow_key key;
	enum tide_reset done;
	unsigned class;

	if (!tide_flow_key(
		c->map->flow, chore->key[k].text, chore->key[k].length, &key))
		return true;
	for (class = 0; class < TIDE_CLASSES; class ++) {
		if ((*classes >> class & 1) == 0)
			continue;
		done = tide_pool_reset(&c->pool, class, &key);
		if (done == TIDE_RESET_BUSY)
			return false;
		*classes &= ~(1ull << class);
		chore->count += done == TIDE_RESET_DONE;
	}
	return true;
}

static bool
reset(struct collector *c, struct chore *chore)
{
	unsigned k;

	for (k = 0; k < chore->keys; k++)
		if (!reset_key(c, chore, k))
			return false;
	return true;
}

static bool
add(struct collector *c, struct chore *chore)
{
	struct tide_flow_key key;
	unsigned i;

	for (i = 0; i < chore->keys; i++)
		if (tide_flow_key(c->map->flow, chore->key[i].text,
			chore->key[i].length, &key) &&
		    tide_pool_add(&c->pool, chore->class[i], &key, 1))
			chore->count++;
	return true;
}

/*
 * Done when nothing of them is left in memory: what an earlier asking, a tick
 * or an eviction has made dead may be in limbo still, also if now none went.
 */
static bool
forget(struct collector *c, struct chore *chore)
{
	unsigned gone;
	bool busy;

	if (chore->freed != 0) {
		tide_pool_reclaim(&c->pool);
		return c->pool.freed >= chore->freed;
	}
	(void)tide_pool_drain(&c->pool);
	gone = tide_pool_forget(
	    &c->pool, chore->means, chore->arg, chore->dry, &busy);
	chore->count += gone;
	if (busy || chore->dry)
		return !busy;
	chore->freed = c->pool.freed + 2;
	return false;
}

/* False: not now, again next round. */
static bool
work(struct collector *c, struct chore *chore)
{
	if (c->pool.seen != NULL)
		return false; /* a rebuild is not finished */
	switch (chore->kind) {
	case CHORE_RESET:
		return reset(c, chore);
	case CHORE_ADD:
		return add(c, chore);
	case CHORE_AUDIT:
		chore->count = tide_pool_audit(&c->pool, &chore->err);
		return true;
	case CHORE_FORGET:
		return forget(c, chore);
	case CHORE_DRAIN:
		chore->count = tide_pool_drain(&c->pool);
		return true;
	}
	return true;
}

/* Those that were there when the round began, each once. */
void
chores_round(struct collector *c)
{
	struct chore *chore, *taken[16];
	unsigned n = 0, i;
	bool done;

	(void)pthread_mutex_lock(&c->lock);
	for (chore = c->chores; chore != NULL && n < 16; chore = chore->next) {
		if (chore->state != CHORE_WAITS)
			continue;
		chore->state = CHORE_TAKEN;
		taken[n++] = chore;
	}
	for (i = 0; i < n; i++) {
		(void)pthread_mutex_unlock(&c->lock);
		done = work(c, taken[i]);
		(void)pthread_mutex_lock(&c->lock);
		taken[i]->state = done ? CHORE_DONE : CHORE_WAITS;
	}
	if (n > 0)
		(void)pthread_cond_broadcast(&c->changed);
	(void)pthread_mutex_unlock(&c->lock);
}
