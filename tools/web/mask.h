/*
 * mask - addresses that a passer-by at the screen need not read.
 *
 *   sales@example.org|192.0.2.0/24   s***s@example.org|192.0.*.*
 *   2001:db8:1:2::/64                2001:db8:*
 *   auth:sales                       auth:s***s
 *   @example.org, <>, local          as they are
 */
#ifndef WEB_MASK_H
#define WEB_MASK_H

#include <stdbool.h>

#define MASK_MAX 512 /* a buffer that holds whatever is masked below */

/* A key of a bucket or of a ban, or a client's address.  Returns out. */
const char *mask_key(bool on, const char *key, char out[MASK_MAX]);

/* A sentence that somebody typed: its words that hold an address. */
const char *mask_words(bool on, const char *text, char out[MASK_MAX]);

#endif
