/*
 * listen - listening sockets: files with a mode and a group, and addresses.
 *
 * Used by the supervisor and by tidemark-web, each for its own.
 */
#ifndef TIDEMARK_LISTEN_H
#define TIDEMARK_LISTEN_H

#include <stdint.h>
#include <sys/socket.h>

#include "tidemark/base/err.h"

#define TIDE_LOCAL_SOCKET_MAX 107 /* sun_path without its NUL */

/*
 * A socket at that path, non-blocking.  One that is left over there goes; one
 * that somebody listens on stays, and is an error.  The group "" leaves our
 * own.  -1 with a sentence.
 */
int tide_listen_local(
    const char *path, uint32_t mode, const char *group, struct tide_err *);

/* A socket at an address, non-blocking; the complaint calls it by that name. */
int tide_listen_inet(
    const struct sockaddr_storage *, const char *name, struct tide_err *);

/* Give the socket at that path to the group, if there is one and we may. */
void tide_listen_offer(const char *path, const char *group);

/* Where the page is served: web_listen, taken apart. */
struct tide_web_place {
	char path[TIDE_LOCAL_SOCKET_MAX + 1]; /* of a file, or "" and then */
	struct sockaddr_storage at;	      /* an address of this machine */
};

/*
 * 127.0.0.1:PORT, [::1]:PORT or unix:PATH; port 0 lets the kernel choose.
 * Whatever other machines could reach is refused.
 */
int
tide_web_place(const char *text, struct tide_web_place *, struct tide_err *);

#endif
