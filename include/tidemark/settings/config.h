/*
 * config - the settings, parsed.
 *
 * struct tide_config is flat (no pointers), so that the collector can publish
 * it as an immutable file and a worker can take it over with one read().
 * What each setting is called, means, may be and defaults to stands in ONE
 * table, params.h; parsing, range checks, `tidemark config`, the sample file
 * and the manual all come from it.
 *
 * Durations are milliseconds, sizes are bytes.
 */
#ifndef TIDEMARK_CONFIG_H
#define TIDEMARK_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/units.h"

#define TIDE_PROFILES_MAX 8
#define TIDE_POLICIES_MAX 8
#define TIDE_NAME_MAX 32
#define TIDE_WORDS_MAX 256
#define TIDE_RUNTIME_DIR_MAX 90 /* leaves room for a socket's name */
#define TIDE_CONF_PATH "/etc/tidemark/tidemark.conf"
#define TIDE_MTA_GROUP "tidemark-mta" /* gets sockets that nobody gave away */

enum tide_on_error {
	TIDE_ON_ERROR_ACCEPT,
	TIDE_ON_ERROR_TEMPFAIL,
	TIDE_ON_ERROR_REJECT
};

/* Is a check at work?  dry-run counts what it would have done. */
enum tide_mode { TIDE_MODE_OFF, TIDE_MODE_DRY_RUN, TIDE_MODE_ENFORCE };

enum tide_switch { TIDE_SWITCH_OFF, TIDE_SWITCH_ON };

/* What the packet filter does with a connection that the lists refuse. */
enum tide_egress_mode { TIDE_EGRESS_DRY_RUN, TIDE_EGRESS_ENFORCE };

enum tide_ban_answer { TIDE_BAN_REJECT, TIDE_BAN_TEMPFAIL };

/* At RCPT postmaster stays open; at MAIL no recipient is told from another. */
enum tide_ban_at { TIDE_BAN_AT_RCPT, TIDE_BAN_AT_MAIL };

/* Out of tokens: 5xx, or 4xx with the time to come back. */
enum tide_tokens_action { TIDE_TOKENS_REJECT, TIDE_TOKENS_DELAY };

/* What a spam filter's yes leads to. */
enum tide_check_action {
	TIDE_ACTION_REJECT,
	TIDE_ACTION_TEMPFAIL,
	TIDE_ACTION_TAG,  /* accepted, with a header that says so */
	TIDE_ACTION_BLOCK /* counts as blocked for its content */
};

/* Cells of the list of spam addresses: bits, or counts. */
enum tide_addresses_form { TIDE_FORM_PLAIN, TIDE_FORM_COUNTING };

/* What is a copy: the message, or each of its recipients. */
enum tide_bulk_copy { TIDE_BULK_MESSAGE, TIDE_BULK_RECIPIENT };

/* Where Postfix asks both for the same mail, only one of them charges. */
enum tide_charged_by { TIDE_CHARGED_BY_MILTER, TIDE_CHARGED_BY_POLICY };

/* The last request that Postfix makes for a message. */
enum tide_last_request {
	TIDE_LAST_END_OF_MESSAGE,
	TIDE_LAST_DATA,
	TIDE_LAST_RCPT
};

/* What becomes of mail that a policy server would refuse. */
enum tide_policy_action {
	TIDE_POLICY_REFUSE,
	TIDE_POLICY_HOLD,
	TIDE_POLICY_PREPEND
};

/* The eight groups of leaky buckets: what is a drop, and who pays. */
enum tide_group {
	TIDE_OKSENDER, /* a message accepted */
	TIDE_OKIP,
	TIDE_UNSENDER, /* a recipient that does not exist */
	TIDE_UNIP,
	TIDE_CBSENDER, /* a message blocked for its content */
	TIDE_CBIP,
	TIDE_RBSENDER, /* an attempt on a protected mailbox */
	TIDE_SBSENDER, /* an attempt while banned */
	TIDE_GROUPS
};

extern const char *const tide_group_name[TIDE_GROUPS];	  /* OKSENDER */
extern const char *const tide_group_setting[TIDE_GROUPS]; /* oksender */

#define TIDE_DEPTH_MAX 4094u	   /* drops that a bucket may hold */
#define TIDE_BUCKETS_MAX 16777200u /* whose keys a bucket can name: flow */

/* At most `limit` events, leaking one each `leak`; past it a ban. */
struct tide_limit {
	uint32_t mode; /* enum tide_mode */
	uint32_t pad;
	struct tide_rate limit;
	uint64_t leak;
	uint64_t ban;
};

/* One [profile NAME]: a milter socket and how its mail is treated. */
struct tide_profile {
	char name[TIDE_NAME_MAX];
	char socket[TIDE_PATH_MAX];	  /* local:PATH or inet:PORT@ADDRESS */
	uint32_t socket_mode;		  /* octal, of a local: socket */
	char socket_group[TIDE_NAME_MAX]; /* "" leaves the daemon's own */
	char peers[TIDE_WORDS_MAX];	  /* of inet:; "": not said, all */
	uint32_t workers_reserved;	  /* of max_workers; 0: a share */
	uint32_t workers_most;		  /* 0: all but what others reserve */
	char daemons[TIDE_WORDS_MAX]; /* {daemon_name}s, one space between */
	uint32_t on_error;	      /* enum tide_on_error */
	uint32_t sender_key;	      /* enum tide_sender_key */
	uint32_t ban_answer;	      /* enum tide_ban_answer */
	uint32_t ban_at;	      /* enum tide_ban_at */
	char allow[TIDE_WORDS_MAX];   /* never banned, never charged */
	char allow_forgeable[TIDE_WORDS_MAX]; /* nor these, if they are it */
	char protected_to[TIDE_WORDS_MAX];    /* mailboxes */
	char protected_from[TIDE_WORDS_MAX];  /* who may write to them */
	char content_blocked_header[TIDE_WORDS_MAX]; /* NAME:BEGINNING */
	char content_blocked_mark[TIDE_NAME_MAX]; /* "": nobody is believed */
	uint32_t ipv6_64, ipv6_56, ipv6_48;	  /* times an address's limit */
	struct tide_limit group[TIDE_GROUPS];
	uint32_t tokens_mode; /* enum tide_mode */
	uint32_t tokens_burst;
	struct tide_rate tokens_rate;
	uint64_t tokens_per_data;	      /* bytes for a token; 0: none */
	uint32_t tokens_cost;		      /* of a recipient */
	uint32_t tokens_action;		      /* enum tide_tokens_action */
	char account_key[TIDE_NAME_MAX];      /* "user sender client" */
	char tokens_overrides[TIDE_PATH_MAX]; /* overrides.h */
	char tokens_also[TIDE_WORDS_MAX];     /* tide_tokens_also() */
	uint32_t distinct_mode;		      /* enum tide_mode */
	uint32_t distinct_limit;	      /* recipients in a day; 0: none */
	uint32_t clients_mode;		      /* enum tide_mode */
	uint32_t clients_limit;		      /* addresses in a day; 0: none */
	uint32_t text_log;		      /* 1: a line for each part */
	uint32_t remember_content;	      /* 0 or 1 */
	uint32_t remember_refused;	      /* 0 or 1 */
	uint32_t addresses_mode;	      /* enum tide_mode */
	uint32_t addresses_action;	      /* enum tide_check_action */
	uint32_t spam_mode;		      /* enum tide_mode */
	uint32_t spam_action;		      /* enum tide_check_action */
	uint32_t bulk_mode;		      /* enum tide_mode */
	uint32_t bulk_threshold;	      /* copies */
	uint32_t bulk_action;		      /* enum tide_check_action */
	uint32_t bulk_counts;		      /* enum tide_bulk_copy */
	uint32_t charged_by;		      /* enum tide_charged_by */
};

/* One [policy NAME]: a socket for Postfix's policy requests. */
struct tide_policy {
	char name[TIDE_NAME_MAX];
	char profile[TIDE_NAME_MAX]; /* that its mail is treated by */
	char socket[TIDE_PATH_MAX];  /* local:PATH or inet:PORT@ADDRESS */
	uint32_t socket_mode;
	char socket_group[TIDE_NAME_MAX];
	char peers[TIDE_WORDS_MAX];
	uint32_t workers_reserved; /* as of a profile */
	uint32_t workers_most;
	uint32_t last_request; /* enum tide_last_request */
	uint32_t action;       /* enum tide_policy_action */
	char prepend_header[TIDE_NAME_MAX];
	uint64_t request_timeout; /* from a request's first byte to its end */
	uint64_t idle_timeout;	  /* between requests */
};

struct tide_config {
	char user[TIDE_NAME_MAX]; /* drop to it when started as root */
	char runtime_dir[TIDE_PATH_MAX];
	char state_dir[TIDE_PATH_MAX];
	char live_file[TIDE_PATH_MAX]; /* "" is runtime_dir/live.mdb */
	char log[TIDE_PATH_MAX];       /* syslog, stderr or a file */
	uint32_t log_level;	       /* enum tide_log_level */

	char admins[TIDE_WORDS_MAX]; /* users and @groups that may change */
	uint32_t control_mode;	     /* octal */
	char control_group[TIDE_NAME_MAX];

	uint32_t max_workers;
	uint64_t worker_stuck;	/* killed after so long in one call */
	uint64_t worker_idle;	/* killed after so long without one */
	uint64_t worker_silent; /* ends if it is not spoken to at all */
	uint64_t shutdown_grace;
	uint64_t pulse_stale;
	uint64_t checkpoint_every;

	uint32_t max_buckets;
	uint32_t max_bans;
	uint32_t max_accounts;
	uint32_t max_decisions;
	uint64_t ban_most; /* however often it is lengthened */
	char ban_hook[TIDE_PATH_MAX];

	uint64_t window_span;
	uint64_t window_senders; /* elements a window is sized for */
	uint64_t window_recipients;
	double window_error;  /* false positives when full */
	uint32_t memory;      /* enum tide_memory: of content */
	uint64_t memory_size; /* bytes of a window's content */
	double memory_error;  /* false positives of a block when full */
	uint64_t retain_for;
	uint64_t retain_size;
	uint64_t archive_map; /* LMDB map of the archive */

	uint32_t text_depth; /* struct tide_text_caps */
	uint32_t text_parts;
	uint64_t text_header_bytes;
	uint64_t text_total_bytes;
	char text_headers[TIDE_WORDS_MAX]; /* those that are parts */
	uint64_t addresses_capacity;	   /* that the list is sized for */
	double addresses_error;		   /* false positives when full */
	uint32_t addresses_form;	   /* enum tide_addresses_form */
	uint64_t bulk_keys; /* different messages in a generation */
	double bulk_error;  /* share of wrong counts when it is full */
	uint32_t bulk_bits; /* of a cell */
	uint64_t bulk_span; /* of a generation */

	uint32_t egress_mode; /* enum tide_egress_mode */
	uint32_t egress_bans; /* enum tide_switch */
	char egress_table[TIDE_NAME_MAX];
	char egress_ports[TIDE_WORDS_MAX];
	char egress_hooks[TIDE_NAME_MAX]; /* "forward output" */

	uint64_t spam_reports; /* of a generation */
	double spam_error;     /* false positives of one that is full */
	uint32_t spam_generations;
	uint64_t spam_generation; /* how long one lasts */

	char web_listen[TIDE_PATH_MAX]; /* listen.h; "" serves no page */
	uint32_t web_mask;		/* 0 or 1: addresses are masked */
	uint32_t web_socket_mode;	/* octal */
	char web_socket_group[TIDE_NAME_MAX];

	uint32_t profiles;
	struct tide_profile profile[TIDE_PROFILES_MAX];
	uint32_t policies;
	struct tide_policy policy[TIDE_POLICIES_MAX];
};

/*
 * The profiles' names, in their order: what a profile's number in a map or in
 * a checkpoint stands for.  The order may be another at the next start.
 */
struct tide_profile_names {
	char name[TIDE_PROFILES_MAX]
		 [TIDE_NAME_MAX]; /* "" where there is none */
};

void tide_config_names(const struct tide_config *, struct tide_profile_names *);
unsigned tide_names_count(const struct tide_profile_names *);
/* The number that profile `i' of `from' has in `to'; -1 if it has none. */
int tide_names_translate(const struct tide_profile_names *from, unsigned i,
    const struct tide_profile_names *to);

/* What is wrong with a configuration: "FILE:LINE: sentence\n", all of them. */
struct tide_complaints {
	char *text; /* NULL while there is none */
	size_t length;
	unsigned count;
	unsigned passable; /* of these: what an earlier version let pass */
};

void tide_complaints_free(struct tide_complaints *);

/*
 * Are there only complaints, or none, of what an earlier version let pass?
 * Then an upgraded daemon starts, and warns: a bad word is left out, all else
 * is as it was.  A check and a reload refuse it.
 */
bool tide_complaints_pass(const struct tide_complaints *);

/*
 * The built-in settings: every default, profiles "external" and "internal".
 * With root != NULL all paths lie below it (root/run, root/state, root/log):
 * the embedded default that `make run` shows.
 */
void tide_config_defaults(struct tide_config *, const char *root);

/*
 * Read the file and what it includes.  0, or -1 with every complaint there
 * is; *config then holds what could be read of it, and defaults: enough to
 * find a daemon by, not to run one.
 */
int tide_config_load(
    struct tide_config *, const char *path, struct tide_complaints *);

/*
 * Do the settings fit together?  Part of tide_config_load(); for settings
 * that came from elsewhere.  The complaints then name no file.
 */
int tide_config_check(const struct tide_config *, struct tide_complaints *);

/* Call each() with every file that the configuration in path is read from. */
void tide_config_sources(
    const char *path, void (*each)(void *arg, const char *file), void *arg);

/* The path of the live map: live_file, or runtime_dir/live.mdb. */
const char *tide_config_live(const struct tide_config *, char *, size_t);

/* The index of the profile so named, or -1. */
int tide_config_profile(const struct tide_config *, const char *name);

/* The index of the policy server so named, or -1. */
int tide_config_policy(const struct tide_config *, const char *name);

/* True if word is one of the space-separated words. */
bool tide_config_has_word(const char *words, const char *word);

#endif
