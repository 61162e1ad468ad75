/*
 * guard - who may ask: those who typed our own address.
 *
 * A page from elsewhere can make a browser send requests to 127.0.0.1, under
 * its own name in Host (DNS rebinding) or as a form of its own.  Both say
 * where they come from.
 */
#ifndef WEB_GUARD_H
#define WEB_GUARD_H

#include <stdbool.h>

/* Is it a name of this machine's loopback, with or without a port? */
bool guard_host(const char *host);

/*
 * May a POST with these headers be answered?  NULL where there is none.
 * Browsers say at least one of the last two; what is no browser says neither,
 * and cannot be lured.
 */
bool guard_post(const char *host, const char *origin, const char *fetch_site);

#endif
