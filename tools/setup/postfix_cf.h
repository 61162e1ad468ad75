/*
 * setup, postfix cf - what main.cf and master.cf say.
 *
 * Any text can be given to it: what makes no sense is left out, as Postfix
 * itself would complain.
 */
#ifndef TOOLS_SETUP_POSTFIX_CF_H
#define TOOLS_SETUP_POSTFIX_CF_H

#include <stdbool.h>
#include <stddef.h>

#define PF_VALUE_MAX 4096
#define PF_COLUMNS 8 /* service type private unpriv chroot wakeup maxproc cmd */

struct pf_param {
	const char *name, *value;
	unsigned line;
};

struct pf_params {
	struct pf_param *param;
	size_t count;
	char *text; /* that they point into */
};

/* A line of master.cf, with its -o settings. */
struct pf_service {
	const char *column[PF_COLUMNS];
	struct pf_params own;
	unsigned line;
};

struct pf_conf {
	struct pf_params main, defaults;
	struct pf_service *service;
	size_t service_count;
	char *text; /* of master.cf */
};

/* `name = value' lines; later ones win. */
void pf_parse_main(struct pf_params *, const char *text, size_t);
void pf_parse_master(struct pf_conf *, const char *text, size_t);
void pf_free(struct pf_conf *);
void pf_params_free(struct pf_params *);

/*
 * What a setting is for a service (or for all, with NULL), $names expanded:
 * its -o, main.cf's, or the default.  "" if nobody says.
 */
const char *pf_value(const struct pf_conf *, const struct pf_service *,
    const char *name, char *buf, size_t);

/* The line that says so, in main.cf or master.cf; NULL if none does. */
const struct pf_param *
pf_set(const struct pf_conf *, const struct pf_service *, const char *name);

bool pf_is_smtpd(const struct pf_service *);
bool pf_is_internal(const struct pf_conf *, const struct pf_service *);
bool pf_is_chrooted(const struct pf_conf *, const struct pf_service *);

/* Are its filters switched off, whatever they are? */
bool pf_has_no_milters(const struct pf_conf *, const struct pf_service *);

/*
 * Does mail come back there from a content filter?  It was seen when it came
 * in: the service switches filters off, or asks for none on a loopback address.
 */
bool pf_is_left_alone(const struct pf_conf *, const struct pf_service *);

/* How many processes of it there may be. */
unsigned pf_processes(const struct pf_conf *, const struct pf_service *);

#endif
