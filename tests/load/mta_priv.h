/*
 * mta_priv - what mta.c and its helpers share.
 */
#ifndef TESTS_LOAD_MTA_PRIV_H
#define TESTS_LOAD_MTA_PRIV_H

#include <libmilter/mfapi.h>
#include <libmilter/mfdef.h>
#include <sys/uio.h>

#include "mta.h"
#include "wire.h"

enum mta_state {
	MTA_CLOSED,  /* verdict says how it ended */
	MTA_OPEN,    /* between messages */
	MTA_INMSG,   /* the filter wants more of this message */
	MTA_DONEMSG, /* verdict is final for this message */
	MTA_DONE,    /* verdict is final for the connection */
};

enum { MTA_MACROS_MAX = 48, MTA_STAGES = SMFIM_LAST + 1 };

struct mta_macro {
	char *name, *value;
};

struct mta {
	char *socket;
	struct wire wire;
	uint32_t offer_actions, offer_steps;
	uint32_t actions, steps;
	enum mta_state state;
	enum mta_answer verdict;
	bool skip_body;
	char size[32]; /* "SIZE=n", or "" */
	unsigned recipients, bad_recipients;
	struct mta_macro macros[MTA_MACROS_MAX];
	size_t n_macros;
	char *lists[MTA_STAGES]; /* the filter's macro lists, or NULL */
	struct mta_change *changes;
	size_t n_changes;
	unsigned sent[128], answered[128];
	char text[1024];
};

/* mta_command.c */
bool mta_decided(const struct mta *); /* the verdict is known: send no more */
enum mta_answer
mta_command(struct mta *, char cmd, const struct iovec *parts, size_t n);
/* The connection is over, for a reason of ours or of the wire's. */
enum mta_answer mta_over(struct mta *, enum mta_answer how, const char *why);
enum mta_answer mta_broken(struct mta *, enum wire_state);

/* mta_macros.c */
void mta_macro_int(struct mta *, const char *name, unsigned value);
void mta_macros_send(struct mta *, char cmd);
void mta_macros_message_end(struct mta *);
void mta_macros_free(struct mta *);
bool mta_lists_read(struct mta *, const char *data, size_t len);
void mta_lists_free(struct mta *);

/* mta_changes.c */
bool mta_change_is(char kind);
bool mta_change_add(struct mta *, char kind, const char *data, size_t len);
void mta_changes_clear(struct mta *);

#endif
