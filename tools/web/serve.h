/*
 * serve - HTTP: routes, limits, headers.
 *
 * One thread serves everybody and sleeps while nobody asks; questions have
 * threads of their own (asking.h).
 */
#ifndef WEB_SERVE_H
#define WEB_SERVE_H

#include "sample.h"
#include "tidemark/base/err.h"

struct server;

/*
 * Serve at a listening socket.  Where it is an address of loopback, Host has to
 * be one, too; who comes through a file has no name to be fooled by.
 */
struct server *
serve_start(struct sample *, int fd, bool is_file, struct tide_err *);

/* End it in good order, or give up waiting for a question and exit. */
void serve_stop(struct server *);

#endif
