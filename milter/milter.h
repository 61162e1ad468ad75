/*
 * milter - what the parts of tidemark-milter know of each other.
 *
 *   main      the command line, the start-up self-test
 *   acceptor  accept, fork, pulse
 *   roster    who serves: slots, reaping, deadlines, lapses
 *   backlog   whose connections are taken next, and whose wait
 *   strangers who may not connect to an inet: socket
 *   shares    which socket may have one more worker: pure functions
 *   process   is it still the same one
 *   serve     one connection on stock libmilter
 *   callbacks libmilter's calls, translated
 *   policy    one connection of Postfix's policy client
 *   policy_request  what such a request says: a pure function
 *   policy_answer   a verdict in Postfix's words: a pure function
 *   policy_message  its requests, tied together into messages
 *   session   the facts of a connection and of its message
 *   charge    who pays into the leaky buckets, bans
 *   allowance tokens and different recipients of an account
 *   follow    a new configuration taken over
 *   content   headers and body, read by whoever wants to
 *   reputation what is known against sender and content; exceptions
 *   signing   a message's signatures
 *   bulk      copies of one message, counted
 *   tags      headers that we put on a message, or take off
 *   headers   rules for headers: a pure function
 */
#ifndef MILTER_MILTER_H
#define MILTER_MILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"

struct smfiDesc;
struct sockaddr;

/* ---- serve.c ----------------------------------------------------------- */

/*
 * Serve one accepted connection with the filter and end the process, with
 * SERVE_SILENT if the negotiation takes longer than silent_ms.  To be called in
 * a freshly forked child.
 */
#define SERVE_SILENT 66
void serve_connection(int fd, const struct smfiDesc *filter, uint64_t silent_ms)
    __attribute__((noreturn));

/* To be called once before the first fork. */
int serve_prepare(struct tide_err *);

/*
 * In a worker, before either kind of connection: once SIGUSR1 has told it that
 * its acceptor leaves, it has so long to finish, or until the descriptor says
 * that nobody comes in its place.
 */
void serve_until(int alive_fd, uint64_t grace_ms);

/* From xxfi_negotiate: from now on xxfi_close will be called. */
void serve_negotiated(void);

/* From xxfi_close: the connection ended in good order. */
void serve_finished(void) __attribute__((noreturn));

/*
 * Try the whole trick once: a child serves a socket pair, we play the mail
 * server up to the negotiation.  -1 with what went wrong.
 */
int serve_self_test(const struct smfiDesc *filter, struct tide_err *);

/* ---- callbacks.c ------------------------------------------------------- */

extern const struct smfiDesc milter_filter;

/* ---- session.c --------------------------------------------------------- */

/* In a fresh worker: whom it serves, and with what.  map and slot are NULL
 * if the map cannot be used. */
void session_begin(const struct tide_config *, uint64_t generation,
    unsigned profile, struct tide_map *, struct tide_slot *);

/* For another thread: is it between two messages?  Is its map of the past? */
bool session_is_idle(void);
bool session_is_stale(void);

/* The connection ends before the mail server ends it: what follows in it is
 * not seen. */
void session_cut(void);

/* ---- policy.c ---------------------------------------------------------- */

/* Serve one connection of Postfix's policy client, and end the process.  After
 * session_begin(); the argument is the index of its [policy] section. */
void policy_connection(int fd, unsigned policy) __attribute__((noreturn));

/* ---- acceptor.c -------------------------------------------------------- */

#define LISTENERS_MAX (TIDE_PROFILES_MAX + TIDE_POLICIES_MAX)

struct listener {
	int fd;
	unsigned profile;
	bool is_policy;
	unsigned policy;		/* which one, then */
	struct tide_moment waits_since; /* 0: nobody waits for a worker */
	uint64_t told_ms;		/* monotonic; of such a wait */
	uint64_t stranger_ms;		/* monotonic; told of one */
};

struct acceptor_options {
	const char *runtime;
	int ready_fd;
	int alive_fd; /* ends when nobody comes after us; -1: not said */
	unsigned listeners;
	struct listener listener[LISTENERS_MAX];
	char name[LISTENERS_MAX][TIDE_NAME_MAX]; /* of profile or policy */
};

int acceptor_run(struct acceptor_options *);

/* ---- strangers.c ------------------------------------------------------- */

/* Somebody who is not one of the socket's peers: counted and told of, and to
 * be closed. */
bool stranger_turned_away(struct acceptor_options *, unsigned which,
    const struct tide_config *, struct tide_map *, const struct sockaddr *from);

/* ---- backlog.c --------------------------------------------------------- */

#define TELL_EVERY_MS 60000 /* of what others can make happen often */
#define UNNOTICED_MS 3000   /* mail servers wait this long without giving up */

/* Its number in slots.h. */
unsigned listener_service(const struct listener *);

/* Shares of max_workers, by the settings. */
void backlog_plan(const struct acceptor_options *, const struct tide_config *);

/* Is there a worker for one more connection of that listener? */
bool backlog_may_take(const struct acceptor_options *, unsigned which);

/* Who waits for a worker: counted, told, and a lapse where it takes long.  To
 * be called each round. */
void backlog_watch(struct acceptor_options *, struct tide_map *);

/* ---- roster.c ---------------------------------------------------------- */

/*
 * The acceptor's book of workers.  Entry i uses slot i of the map, as long
 * as the map is the one it was forked with, however often that is attached.
 */
void roster_open(uint32_t max_workers);

/* The map to keep the books in; NULL: none.  Takes over workers that an
 * acceptor before us left behind. */
void roster_use_map(struct tide_map *);

/* Slots that nobody's book has: taken over, or buried.  Those of whom the
 * system did not say whether they live: asked for again.  Each beat. */
void roster_look_after(void);

/* How many entries can still be had.  A map made for fewer workers has no more
 * than its slots. */
uint32_t roster_room(void);

/* A free entry for a connection that has just been accepted, or -1.  The
 * service is that of slots.h. */
int roster_reserve(unsigned profile, unsigned service);
struct tide_slot *roster_slot(int entry);
void roster_forked(int entry, pid_t);
void roster_cancel(int entry);

/* In the child: write down who we are before anything else. */
void roster_register_child(struct tide_slot *, pid_t acceptor);

/* Take in the dead; kill the stuck.  Called at least once a second. */
void roster_reap(void);
void roster_check_deadlines(uint64_t stuck_ms, uint64_t idle_ms);

/*
 * SIGTERM asks those that could wait for hours to end: policy workers do
 * between two messages, milter workers with their session, whatever we say.
 * SIGUSR1 says that we leave: serve_until().
 */
void roster_tell_all(int sig);

unsigned roster_busy(void);
unsigned roster_serving(unsigned service);
void roster_kill_all(void);

/* Descriptors that become readable when an adopted worker ends. */
struct pollfd;
unsigned roster_poll(struct pollfd *, unsigned room);
void roster_close_descriptors(void); /* in a child */

/* ---- lapses.c ---------------------------------------------------------- */

/* Record a time in which mail may have passed unseen. */
void lapse_note(struct tide_map *, enum tide_lapse_kind, uint64_t from_ms,
    uint64_t until_ms);
/* The time between two moments, also if the clock was set meanwhile. */
void lapse_between(struct tide_map *, enum tide_lapse_kind,
    struct tide_moment from, struct tide_moment until);
/* Deliver what could not be delivered yet. */
void lapse_flush(struct tide_map *);
/* Without a map: keep it in a file, for whoever has one later. */
void lapse_keep(const char *runtime_dir);
void lapse_recall(struct tide_map *, const char *runtime_dir);

#endif
