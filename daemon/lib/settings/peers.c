/*
 * peers - who may speak to an inet: socket.  See peers.h.
 */
#include <string.h>

#include "tidemark/keys/keys.h"
#include "tidemark/settings/lists.h"
#include "tidemark/settings/peers.h"

/* An IPv4 address in IPv6 is the same as by itself: see struct tide_ip. */
static bool
is_loopback(const struct tide_ip *ip)
{
	return tide_words_mean(
	    "127.0.0.0/8 ::1", &(struct tide_listed){ .client = ip });
}

/* What is no address is never listened at. */
bool
tide_peers_needed(const char *socket)
{
	const char *at = strchr(socket, '@');
	struct tide_ip ip;

	return strncmp(socket, "inet:", 5) == 0 && at != NULL &&
	    tide_ip_parse(at + 1, &ip) && !is_loopback(&ip);
}

bool
tide_peers_let(const char *peers, const struct tide_ip *client)
{
	return peers[0] == '\0' || is_loopback(client) ||
	    tide_words_mean(peers, &(struct tide_listed){ .client = client });
}
