/*
 * config_peers - does every socket that others can reach say who may?
 *
 * Earlier versions had no such list: at a start such a socket is served as it
 * was, with a complaint.
 */
#include <string.h>

#include "config_read.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/peers.h"

static void
check_words(struct reading *r, const struct place *at, const char *peers)
{
	char copy[TIDE_WORDS_MAX], *word, *rest = NULL;
	struct tide_net net;
	struct tide_err err;

	memcpy(copy, peers, sizeof copy);
	for (word = strtok_r(copy, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest))
		if (tide_net_parse(word, &net, &err) < 0)
			tide_complain(r->complaints, at, "peers: %s", err.text);
}

static void
check_section(
    struct reading *r, int section, const char *socket, const char *peers)
{
	const struct place *where = tide_reading_place(r, section, "socket");
	const struct place *at = tide_reading_place(r, section, "peers");

	if (where->bad || at->bad)
		return;
	check_words(r, at, peers);
	if (peers[0] != '\0' && strncmp(socket, "local:", 6) == 0)
		tide_complain(r->complaints, at,
		    "peers: %s is not for the network; who may open it is "
		    "socket_mode's and socket_group's",
		    socket);
	if (peers[0] == '\0' && tide_peers_needed(socket))
		tide_complain_passable(r->complaints, where,
		    "socket: whoever reaches %s can get anybody banned and "
		    "use up anybody's allowance; name your mail servers in "
		    "peers, or take a local: socket",
		    socket);
}

void
tide_reading_check_peers(struct reading *r)
{
	const struct tide_config *c = r->config;
	unsigned i;

	for (i = 0; i < c->profiles; i++)
		check_section(r, IN_PROFILE + (int)i, c->profile[i].socket,
		    c->profile[i].peers);
	for (i = 0; i < c->policies; i++)
		check_section(r, IN_POLICY + (int)i, c->policy[i].socket,
		    c->policy[i].peers);
}
