/*
 * replay, report - overflows, then limits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "report.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/sizing.h"

#define SHOWN 20u /* keys that are listed for the eye */

static const char *const modes[] = { "off", "dry-run", "enforce" };

static struct tide_class_id
id_of(const struct replay *r, unsigned class)
{
	struct tide_class_id id = { 0 };

	(void)tide_class_describe(r->config.profiles, class, &id);
	return id;
}

const struct tide_limit *
replay_limit(const struct replay *r, unsigned class)
{
	struct tide_class_id id = id_of(r, class);

	return &r->config.profile[id.profile].group[id.group];
}

static const char *
name_of(const struct replay *r, unsigned class)
{
	return r->config.profile[id_of(r, class).profile].name;
}

/* ---- overflows --------------------------------------------------------- */

static int
by_overflows(const void *a, const void *b)
{
	const struct replay_key *x = *(struct replay_key *const *)a,
				*y = *(struct replay_key *const *)b;

	if (x->overflows != y->overflows)
		return x->overflows > y->overflows ? -1 : 1;
	return x->peak != y->peak ? (x->peak > y->peak ? -1 : 1) : 0;
}

static void
put_overflow(const struct replay *r, const struct replay_key *k)
{
	const struct tide_limit *l = replay_limit(r, k->class);
	const char *group = tide_group_name[id_of(r, k->class).group];
	char limit[TIDE_UNITS_MAX];
	struct json j;

	(void)tide_rate_show(l->limit, limit, sizeof limit);
	if (!r->json) {
		printf("  %s  %s of profile %s (limit %s, %s): overflowed "
		       "%llu time%s, %llu drop%s\n",
		    k->key.text, group, name_of(r, k->class), limit,
		    l->mode <= TIDE_MODE_ENFORCE ? modes[l->mode] : "?",
		    (unsigned long long)k->overflows, plural(k->overflows),
		    (unsigned long long)k->drops, plural(k->drops));
		return;
	}
	j = json_record(stdout, "overflow");
	json_text(&j, "key", k->key.text);
	json_text(&j, "profile", name_of(r, k->class));
	json_text(&j, "group", group);
	json_text(&j, "limit", limit);
	json_number(&j, "overflows", k->overflows);
	json_number(&j, "drops", k->drops);
	json_number(&j, "peak", k->peak);
	json_record_end(&j);
}

static void
put_overflows(struct replay *r)
{
	size_t i, n = 0;

	if (r->keys > 0)
		qsort(
		    r->key, r->keys, sizeof(struct replay_key *), by_overflows);
	while (n < r->keys && r->key[n]->overflows > 0)
		n++;
	if (!r->json)
		printf(n == 0 ? "Nobody would have overflowed a bucket.\n"
			      : "These would have overflowed:\n");
	for (i = 0; i < n && (r->json || i < SHOWN); i++)
		put_overflow(r, r->key[i]);
	if (i < n)
		printf("  and %zu more; see --json\n", n - i);
}

/* ---- put off ------------------------------------------------------------ */

static int
by_deferred(const void *a, const void *b)
{
	const struct replay_key *x = *(struct replay_key *const *)a,
				*y = *(struct replay_key *const *)b;

	return x->deferred != y->deferred ? (x->deferred > y->deferred ? -1 : 1)
					  : 0;
}

static void
put_deferred_key(const struct replay *r, const struct replay_key *k)
{
	const char *group = tide_group_name[id_of(r, k->class).group];
	char limit[TIDE_UNITS_MAX];
	struct json j;

	(void)tide_rate_show(
	    replay_limit(r, k->class)->limit, limit, sizeof limit);
	if (!r->json) {
		printf("  %s  %s of profile %s (limit %s): %llu message%s put "
		       "off\n",
		    k->key.text, group, name_of(r, k->class), limit,
		    (unsigned long long)k->deferred, plural(k->deferred));
		return;
	}
	j = json_record(stdout, "deferred");
	json_text(&j, "key", k->key.text);
	json_text(&j, "profile", name_of(r, k->class));
	json_text(&j, "group", group);
	json_text(&j, "limit", limit);
	json_number(&j, "deferred", k->deferred);
	json_number(&j, "drops", k->drops);
	json_number(&j, "peak", k->peak);
	json_record_end(&j);
}

/* Keys that many share. */
static void
put_deferred(struct replay *r)
{
	size_t i;

	if (r->deferred == 0)
		return;
	qsort(r->key, r->keys, sizeof(struct replay_key *), by_deferred);
	if (!r->json)
		printf("Many share these keys, whose full bucket defers, it "
		       "does not ban:\n");
	for (i = 0; i < r->keys && r->key[i]->deferred > 0; i++)
		if (r->json || i < SHOWN)
			put_deferred_key(r, r->key[i]);
	if (i > SHOWN && !r->json)
		printf("  and %zu more; see --json\n", i - SHOWN);
}

/* ---- limits ------------------------------------------------------------ */

static int
downwards(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The keys' peaks in a class, highest first; their number. */
static size_t
collect(const struct replay *r, unsigned class, uint32_t *peak)
{
	size_t i, n = 0;

	for (i = 0; i < r->keys; i++)
		if (r->key[i]->class == class && r->key[i]->drops > 0)
			peak[n++] = r->key[i]->peak;
	qsort(peak, n, sizeof *peak, downwards);
	return n;
}

/* The smallest limit in the configured period that is so deep. */
static struct tide_rate
limit_for(const struct tide_limit *l, uint32_t depth)
{
	struct tide_rate limit = l->limit;
	struct tide_err err;
	uint64_t got = 0;

	limit.count = depth + limit.period_ms / l->leak;
	while (tide_size_leaky(limit, l->leak, &got, &err) < 0 || got < depth)
		limit.count++;
	return limit;
}

static void
recommend(const struct replay *r, unsigned class, uint32_t *peak)
{
	const struct tide_limit *l = replay_limit(r, class);
	size_t n = collect(r, class, peak), touched = 0;
	char limit[TIDE_UNITS_MAX], leak[TIDE_UNITS_MAX];
	const char *setting = tide_group_setting[class % TIDE_GROUPS];
	uint32_t depth;
	struct json j;

	if (n == 0)
		return;
	depth = peak[(size_t)(r->share * (double)n)];
	if (depth < 1)
		depth = 1;
	while (touched < n && peak[touched] > depth)
		touched++;
	if (depth > TIDE_DEPTH_MAX) {
		complain("%s of profile %s: no bucket is that deep; try a "
			 "shorter %s_leak",
		    tide_group_name[class % TIDE_GROUPS], name_of(r, class),
		    setting);
		return;
	}
	(void)tide_rate_show(limit_for(l, depth), limit, sizeof limit);
	(void)tide_time_show(l->leak, leak, sizeof leak);
	if (!r->json) {
		printf("  [profile %s] %s_limit = %s  (with %s_leak = %s: "
		       "bursts of %u; touches %zu of %zu)\n",
		    name_of(r, class), setting, limit, setting, leak, depth,
		    touched, n);
		return;
	}
	j = json_record(stdout, "limit");
	json_text(&j, "profile", name_of(r, class));
	json_text(&j, "setting", setting);
	json_text(&j, "limit", limit);
	json_text(&j, "leak", leak);
	json_number(&j, "depth", depth);
	json_number(&j, "touched", touched);
	json_number(&j, "keys", n);
	json_record_end(&j);
}

static void
put_limits(const struct replay *r)
{
	uint32_t *peak = malloc((r->keys + 1) * sizeof *peak);
	unsigned p;

	if (peak == NULL)
		return;
	if (!r->json)
		printf("Limits that would have touched no more than %g%%:\n",
		    r->share * 100);
	for (p = 0; p < r->config.profiles; p++) {
		recommend(r, p * TIDE_GROUPS + TIDE_OKSENDER, peak);
		recommend(r, p * TIDE_GROUPS + TIDE_OKIP, peak);
	}
	free(peak);
}

/* ---- all of it --------------------------------------------------------- */

static void
put_summary(const struct replay *r)
{
	char from[SHOW_MAX], until[SHOW_MAX];
	struct json j;

	if (r->json) {
		j = json_record(stdout, "replay");
		json_number(&j, "messages", r->messages);
		json_number(&j, "skipped", r->strangers);
		json_number(&j, "refused", r->refused);
		json_number(&j, "banned", r->banned);
		json_number(&j, "deferred", r->deferred);
		json_number(&j, "allowed", r->allowed);
		json_time(&j, "from", r->from);
		json_time(&j, "until", r->now);
		json_record_end(&j);
		return;
	}
	printf("%llu message%s from %s to %s; %llu of them would have been "
	       "refused, %llu by a ban",
	    (unsigned long long)r->messages, plural(r->messages),
	    show_moment(r->from, from, sizeof from),
	    show_moment(r->now, until, sizeof until),
	    (unsigned long long)r->refused, (unsigned long long)r->banned);
	if (r->deferred > 0)
		printf(", %llu put off", (unsigned long long)r->deferred);
	printf(".\n");
}

void
replay_report(struct replay *r)
{
	if (r->strangers > 0)
		complain("%llu message%s of profiles that are not in the "
			 "configuration",
		    (unsigned long long)r->strangers, plural(r->strangers));
	if (atomic_load(&r->deepest.flow.head->evicted) > 0)
		complain("there were too many keys for the buckets; peaks may "
			 "be too low");
	put_summary(r);
	put_overflows(r);
	put_deferred(r);
	put_limits(r);
}
