/*
 * peers - who may speak to an inet: socket.
 *
 * Whoever does is believed: it says whose mail it is, and who pays for it.  So
 * a socket that others than this machine can reach needs a list of those who
 * may, the setting peers: addresses and networks of mail servers.
 */
#ifndef TIDEMARK_PEERS_H
#define TIDEMARK_PEERS_H

#include <stdbool.h>

#include "tidemark/keys/keys.h"

/* Is it inet:PORT@ADDRESS, and the address not one of loopback? */
bool tide_peers_needed(const char *socket);

/*
 * May this client speak?  Loopback always may.  An empty list lets everybody,
 * as it was before there were lists; configtest refuses it where it matters.
 */
bool tide_peers_let(const char *peers, const struct tide_ip *client);

#endif
