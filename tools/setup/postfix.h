/*
 * setup, postfix - what check and plan of Postfix have in common.
 */
#ifndef TOOLS_SETUP_POSTFIX_H
#define TOOLS_SETUP_POSTFIX_H

#include "setup.h"
#include "postfix_cf.h"
#include "postfix_list.h"

enum { MAIN_CF, MASTER_CF };

struct postfix {
	struct pf_conf conf;
	char *path[2], *text[2]; /* of main.cf and master.cf */
};

/* -1 if main.cf or master.cf is not there. */
int postfix_load(const struct setup *, struct postfix *);
void postfix_free(struct postfix *);

/* -1 once it is said what postconf would not like about the new files. */
int postfix_try(const struct setup *, const struct postfix *was,
    const char *main, const char *master);

/* What a unix: address means to a service; to be freed, NULL for inet. */
char *pf_socket_path(
    const struct pf_conf *, const struct pf_service *, const char *address);

/*
 * Does a mount show the folder of that path inside the chroot, as the one that
 * comes with Tidemark's package does?  A link there would not.
 */
bool
pf_is_shown(const struct setup *, const struct pf_conf *, const char *path);

/* The address by which the service reaches one of our sockets. */
char *pf_address(const struct pf_conf *, const char *socket);

/* Is it inet:HOST:PORT of our inet:PORT@HOST? */
bool pf_same_inet(const char *address, const char *socket);

/* The profile behind an address of smtpd_milters, or -1. */
int pf_profile_of(const struct setup *, const struct pf_conf *,
    const struct pf_service *, const char *address);

/* The policy server behind an address, or -1. */
int pf_policy_of(const struct setup *, const struct pf_conf *,
    const struct pf_service *, const char *address);

/* The three places of a policy server, as bits by their number. */
extern const char *const pf_places[3];

#endif
