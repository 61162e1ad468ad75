/*
 * strangers - who connects to an inet: socket, and is not one of its peers.
 */
#include <sys/socket.h>

#include "milter.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/log.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/peers.h"
#include "tidemark/shared/counters.h"

static void
tell(struct listener *l, const char *name, const struct tide_ip *client)
{
	uint64_t now = tide_clock_mono_ms();
	struct tide_key shown;

	if (l->stranger_ms != 0 && now < l->stranger_ms + TELL_EVERY_MS)
		return;
	l->stranger_ms = now;
	tide_key_client(client, 128, &shown);
	tide_log(TIDE_LOG_WARNING,
	    "%s %s: a connection from %.*s is closed: it is not one of peers",
	    l->is_policy ? "policy" : "profile", name, (int)shown.length,
	    shown.text);
}

/* Who may open a local socket is the file's affair. */
bool
stranger_turned_away(struct acceptor_options *o, unsigned which,
    const struct tide_config *c, struct tide_map *map,
    const struct sockaddr *from)
{
	struct listener *l = &o->listener[which];
	const char *peers = l->is_policy ? c->policy[l->policy].peers
					 : c->profile[l->profile].peers;
	struct tide_ip client;

	if (!tide_ip_from_sockaddr(from, &client) ||
	    tide_peers_let(peers, &client))
		return false;
	if (map != NULL)
		tide_count_profile(
		    map->counters, l->profile, TIDE_COUNT_PEERS_REFUSED, 1);
	tell(l, o->name[which], &client);
	return true;
}
