/*
 * view, flow - take copies of buckets and bans while others change them.
 */
#include <string.h>

#include "ask_key.h"
#include "view_flow.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/printable.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/flow/strings.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"

/* ---- buckets ----------------------------------------------------------- */

/* The collector's plain words change under our eyes: read each once. */
static uint32_t
once(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* Its text, if unit and length lie within the strings; 0 if not. */
static unsigned
copy_string(const struct view *v, uint32_t unit, char *out)
{
	const size_t head = offsetof(struct tide_string, text);
	const size_t end = (size_t)v->flow.string_units * TIDE_STRING_UNIT;
	const size_t start = (size_t)unit * TIDE_STRING_UNIT;
	const unsigned char *s = v->map->flow->strings + start;
	unsigned length;

	if (unit == 0 || start + TIDE_STRING_UNIT > end)
		return 0;
	length = *(const volatile unsigned char *)(s +
	    offsetof(struct tide_string, length));
	if (length > TIDE_BUCKET_KEY_MAX || start + head + length > end)
		return 0;
	memcpy(out, s + head, length);
	out[length] = '\0';
	return length;
}

/*
 * The string is the bucket's own: its hash says so, before the text is copied
 * and after.  What the hash is of, only who has the secret can say.
 */
bool
view_is_own(const struct view *v, uint32_t unit, unsigned class, uint32_t hash)
{
	return unit > 0 && unit < v->flow.string_units &&
	    tide_bucket_hash(
		once(&tide_string_at(v->map->flow, unit)->hash), class) == hash;
}

static void
fill_level(const struct tide_class *c, uint32_t mark, struct view_bucket *out)
{
	uint32_t floor = atomic_load(&c->floor);
	uint64_t leak = atomic_load(&c->leak_ms);
	uint64_t next = atomic_load(&c->ticked_ms) + leak;
	uint64_t now = tide_clock_mono_ms();

	out->depth = atomic_load(&c->depth);
	out->overflowed = (mark & TIDE_MARK_OVF) != 0;
	out->empty_ms = 0;
	if (out->overflowed) {
		out->level = out->depth + 1;
		return;
	}
	out->level = tide_mark_above(mark, floor) ? (mark - floor) >> 2 : 0;
	if (out->level > 0 && out->depth > 0)
		out->empty_ms =
		    (next > now ? next - now : 0) + (out->level - 1) * leak;
}

bool
view_bucket(const struct view *v, uint32_t i, struct view_bucket *out)
{
	const struct tide_bucket *b = &v->map->flow->bucket[i];
	uint32_t mark = atomic_load(&b->mark);
	uint32_t class_string = once(&b->class_string);
	uint32_t unit = class_string & 0x3ffffff, hash = once(&b->hash);
	struct tide_class_id id;
	unsigned length;

	if ((mark & TIDE_MARK_DEAD) != 0)
		return false;
	out->class = class_string >> 26;
	if (!view_is_own(v, unit, out->class, hash))
		return false;
	length = copy_string(v, unit, out->key);
	if (length == 0 || !view_is_own(v, unit, out->class, hash) ||
	    once(&b->class_string) != class_string)
		return false;
	mark = atomic_load(&b->mark);
	if ((mark & TIDE_MARK_DEAD) != 0)
		return false;
	tide_printable_disarm(out->key);
	if (tide_class_describe(v->config.profiles, out->class, &id)) {
		out->profile = v->config.profile[id.profile].name;
		out->group = tide_group_name[id.group];
	} else {
		out->profile = out->group = "?";
	}
	fill_level(&v->map->flow->class[out->class], mark, out);
	return out->level > 0;
}

/* ---- bans -------------------------------------------------------------- */

bool
view_ban(
    const struct view *v, uint32_t i, uint64_t now_ms, struct tide_ban *ban)
{
	if (i >= v->bans || !tide_bans_at(v->map->bans, i, ban) ||
	    ban->length > TIDE_KEY_MAX || ban->until_ms <= now_ms)
		return false;
	ban->key[ban->length] = '\0';
	ban->reason[TIDE_BAN_REASON_MAX] = '\0';
	tide_printable_disarm(ban->key);
	tide_printable_disarm(ban->reason);
	return true;
}

const char *
view_ban_group(const struct tide_ban *ban)
{
	return ban->group < TIDE_GROUPS	    ? tide_group_name[ban->group]
	    : ban->group == TIDE_BAN_MANUAL ? "by hand"
					    : "?";
}

const char *
view_ban_reason(const struct tide_ban *ban)
{
	static const char *const many[TIDE_GROUPS] = { "too many messages",
		"too many messages", "unknown recipients", "unknown recipients",
		"blocked messages", "blocked messages", "protected mailbox",
		"came while banned" };

	return ban->reason[0] != '\0'  ? ban->reason
	    : ban->group < TIDE_GROUPS ? many[ban->group]
				       : "-";
}

/* ---- keys -------------------------------------------------------------- */

int
view_key(const struct view *v, const char *text, struct tide_key *key)
{
	return ask_key(&v->config, text, key);
}

bool
view_is_of(const struct tide_key *asked, const char *key)
{
	return strncmp(key, asked->text, asked->length) == 0 &&
	    (key[asked->length] == '\0' ||
		(key[asked->length] == '|' &&
		    memchr(asked->text, '@', asked->length) != NULL));
}

static bool
is_its_domain(const struct tide_key *asked, const char *key)
{
	char address[TIDE_KEY_MAX + 1];
	const char *at;

	memcpy(address, asked->text, sizeof address);
	address[strcspn(address, "|")] = '\0';
	at = strrchr(address, '@');
	return at != NULL && key[0] == '@' && strcmp(at, key) == 0;
}

bool
view_meets(const struct tide_key *asked, const char *key)
{
	struct tide_net net, around;
	struct tide_err err;

	if (view_is_of(asked, key) || is_its_domain(asked, key))
		return true;
	return tide_net_parse(asked->text, &net, &err) == 0 &&
	    tide_net_parse(key, &around, &err) == 0 &&
	    around.bits <= net.bits && tide_net_contains(&around, &net.ip);
}

/* ---- in all ------------------------------------------------------------ */

struct view_flow
view_flow(const struct view *v, uint64_t now_ms)
{
	const struct tide_flow *f = v->map->flow;
	uint32_t idle = atomic_load(&f->head->free_count) +
	    atomic_load(&f->head->limbo_count);
	struct view_flow all = {
		.buckets = idle < v->flow.buckets ? v->flow.buckets - idle : 0,
		.strings = atomic_load(&f->head->strings)
	};
	struct tide_ban ban;
	uint32_t i;

	for (i = 0; i < TIDE_CLASSES; i++)
		all.overflows += atomic_load(&f->class[i].overflows);
	for (i = 0; i < v->bans; i++)
		all.bans += view_ban(v, i, now_ms, &ban);
	return all;
}
