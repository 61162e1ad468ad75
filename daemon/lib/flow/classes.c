/*
 * classes - groups, profiles and tiers to numbers, and back.
 */
#include "tidemark/base/err.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/sizing.h"

static const unsigned ip_groups[] = { TIDE_OKIP, TIDE_UNIP, TIDE_CBIP };
#define IP_GROUPS 3u
#define MORE_TIERS (TIDE_KEY_TIERS - 1u)
#define MORE (IP_GROUPS * MORE_TIERS) /* classes a profile has beyond eight */

static int
ip_index(unsigned group)
{
	unsigned i;

	for (i = 0; i < IP_GROUPS; i++)
		if (ip_groups[i] == group)
			return (int)i;
	return -1;
}

bool
tide_group_is_ip(unsigned group)
{
	return ip_index(group) >= 0;
}

static bool
has_tiers(unsigned profiles)
{
	return profiles * (TIDE_GROUPS + MORE) <= TIDE_CLASSES;
}

int
tide_class_number(unsigned profiles, struct tide_class_id id)
{
	int ip = ip_index(id.group);

	if (id.profile >= profiles || id.group >= TIDE_GROUPS)
		return -1;
	if (id.tier == 0)
		return (int)(id.profile * TIDE_GROUPS + id.group);
	if (ip < 0 || id.tier > MORE_TIERS || !has_tiers(profiles))
		return -1;
	return (int)(profiles * TIDE_GROUPS + id.profile * MORE +
	    (unsigned)ip * MORE_TIERS + id.tier - 1);
}

bool
tide_class_describe(unsigned profiles, unsigned class, struct tide_class_id *id)
{
	unsigned more;

	if (class < profiles * TIDE_GROUPS) {
		*id = (struct tide_class_id){ .profile = class / TIDE_GROUPS,
			.group = class % TIDE_GROUPS };
		return true;
	}
	more = class - profiles * TIDE_GROUPS;
	if (!has_tiers(profiles) || more >= profiles * MORE)
		return false;
	*id = (struct tide_class_id){ .profile = more / MORE,
		.group = ip_groups[more % MORE / MORE_TIERS],
		.tier = more % MORE_TIERS + 1 };
	return true;
}

void
tide_classes_translate(const struct tide_profile_names *from,
    const struct tide_profile_names *to, int class[TIDE_CLASSES])
{
	unsigned i, before = tide_names_count(from);
	struct tide_class_id id;
	int profile;

	for (i = 0; i < TIDE_CLASSES; i++) {
		class[i] = -1;
		if (!tide_class_describe(before, i, &id))
			continue;
		profile = tide_names_translate(from, id.profile, to);
		if (profile < 0)
			continue;
		id.profile = (unsigned)profile;
		class[i] = tide_class_number(tide_names_count(to), id);
	}
}

/*
 * m times the limit in the same time: the bucket is m times as deep and
 * leaks m times as fast.
 */
uint32_t
tide_class_depth(const struct tide_config *config, struct tide_class_id id,
    uint64_t *leak_ms)
{
	const struct tide_profile *p = &config->profile[id.profile];
	const struct tide_limit *l = &p->group[id.group];
	const uint32_t times[TIDE_KEY_TIERS] = { 1, p->ipv6_64, p->ipv6_56,
		p->ipv6_48 };
	struct tide_err err;
	uint64_t depth;

	*leak_ms = l->leak;
	if (l->mode == TIDE_MODE_OFF || times[id.tier] == 0 ||
	    tide_size_leaky(l->limit, l->leak, &depth, &err) < 0)
		return 0;
	depth *= times[id.tier];
	*leak_ms /= times[id.tier];
	if (*leak_ms == 0)
		*leak_ms = 1;
	return depth > TIDE_DEPTH_MAX ? TIDE_DEPTH_MAX : (uint32_t)depth;
}
