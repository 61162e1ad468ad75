/*
 * bans room - counts of those that stand, by profile and network.
 */
#include <stdio.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/bans_room.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

#define NETWORK_LEAST 16u

bool
tide_ban_is_favoured(const struct tide_ban *ban)
{
	return ban->group == TIDE_BAN_MANUAL ||
	    (ban->length > 5 && memcmp(ban->key, "auth:", 5) == 0);
}

/* What is counted together; 0: nothing. */
struct ids {
	uint64_t profile, network;
};

/* Of a sender, who costs whoever makes it up nothing; or of a client. */
static bool
is_of_sender(const struct tide_ban *ban)
{
	return memchr(ban->key, '@', ban->length) != NULL;
}

/* The network of "ann@x|192.0.2.0/24", "192.0.2.7", "2001:db8::/64". */
static bool
network_of(const struct tide_ban *ban, struct tide_net *net)
{
	const char *text = strrchr(ban->key, '|');
	struct tide_err err;

	text = text != NULL ? text + 1 : ban->key;
	if (tide_net_parse(text, net, &err) < 0)
		return false;
	*net = tide_net_around(&net->ip, tide_ip_is_v4(&net->ip) ? 24 : 48);
	return true;
}

static struct ids
ids_of(const struct tide_ban *ban)
{
	struct {
		struct {
			char name[TIDE_NAME_MAX];
			char sender;
		} profile;
		struct tide_ip ip;
	} both;
	struct tide_net net;
	struct ids ids = { 0 };

	memset(&both, 0, sizeof both);
	(void)snprintf(
	    both.profile.name, sizeof both.profile.name, "%s", ban->profile);
	both.profile.sender = is_of_sender(ban);
	ids.profile = tide_hash_check(&both.profile, sizeof both.profile) | 1;
	if (network_of(ban, &net)) {
		both.ip = net.ip;
		ids.network = tide_hash_check(&both, sizeof both) | 1;
	}
	return ids;
}

void
tide_ban_room_open(struct tide_ban_room *r, uint32_t most)
{
	memset(r, 0, sizeof *r);
	r->most = most;
}

static uint32_t *
find(struct tide_ban_room *r, uint64_t id)
{
	unsigned i;

	for (i = 0; id != 0 && i < r->tallies; i++)
		if (r->tally[i].id == id)
			return &r->tally[i].count;
	return NULL;
}

static void
watch(struct tide_ban_room *r, uint64_t id)
{
	if (id != 0 && find(r, id) == NULL &&
	    r->tallies < 2 * TIDE_BAN_ROOM_MOST)
		r->tally[r->tallies++].id = id;
}

void
tide_ban_room_watch(struct tide_ban_room *r, const struct tide_ban *ban)
{
	struct ids ids = ids_of(ban);

	watch(r, ids.profile);
	watch(r, ids.network);
}

static void
add(uint32_t *count)
{
	if (count != NULL)
		++*count;
}

void
tide_ban_room_note(struct tide_ban_room *r, const struct tide_ban *ban)
{
	struct ids ids;

	r->all++;
	if (tide_ban_is_favoured(ban))
		return;
	r->outsiders++;
	if (is_of_sender(ban))
		r->senders++;
	ids = ids_of(ban);
	add(find(r, ids.profile));
	add(find(r, ids.network));
}

void
tide_ban_room_count(struct tide_ban_room *r, const struct tide_bans *b)
{
	uint32_t i, entries = tide_bans_entries(r->most);
	struct tide_ban ban;

	for (i = 0; i < entries; i++)
		if (tide_bans_at(b, i, &ban))
			tide_ban_room_note(r, &ban);
}

static bool
is_full(const uint32_t *count, uint32_t most)
{
	return count != NULL && *count >= most;
}

const char *
tide_ban_room_take(struct tide_ban_room *r, const struct tide_ban *ban)
{
	uint32_t network = r->most / 64;
	struct ids ids = ids_of(ban);

	if (network < NETWORK_LEAST)
		network = NETWORK_LEAST;
	if (r->all >= r->most)
		return "max_bans is reached";
	if (!tide_ban_is_favoured(ban)) {
		if (is_full(find(r, ids.network), network))
			return "its network has its share of max_bans";
		if (is_full(find(r, ids.profile), r->most / 2))
			return "its profile has its share of max_bans";
		if (r->outsiders >= r->most - r->most / 4)
			return "what is left of max_bans is for accounts";
		if (is_of_sender(ban) &&
		    r->senders >= r->most - r->most / 4 - r->most / 8)
			return "what is left of max_bans is for clients";
	}
	tide_ban_room_note(r, ban);
	return NULL;
}
