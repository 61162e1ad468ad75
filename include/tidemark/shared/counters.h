/*
 * counters - what has happened, in one table: name, scope, who counts it, its
 * meaning, and what a postmaster does about it when it moves.
 * `tidemark status`, tidemark-counters(7) and the metrics are made from it.
 *
 * The values live in the map.  Every process adds with relaxed atomics; a
 * killed process loses nothing it had counted.
 */
#ifndef TIDEMARK_COUNTERS_H
#define TIDEMARK_COUNTERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"

enum tide_counter_scope {
	TIDE_SCOPE_GLOBAL,
	TIDE_SCOPE_PROFILE /* one value a profile */
};

enum tide_counter_by { TIDE_BY_WORKER, TIDE_BY_ACCEPTOR, TIDE_BY_COLLECTOR };

/* clang-format off */
#define TIDE_COUNTERS(X) \
X(CONNECTIONS, connections, PROFILE, WORKER, \
    "SMTP sessions served", \
    "Rises with the mail server's sessions. If it rests while mail flows, " \
    "the mail server does not ask us: look at its filter lines and at " \
    "tidemark status") \
X(MESSAGES, messages, PROFILE, WORKER, \
    "messages that reached the end of message", \
    "Rises with the mail. accepted and refused add up to it") \
X(ACCEPTED, accepted, PROFILE, WORKER, \
    "messages accepted", \
    "Rises with the mail") \
X(REFUSED, refused, PROFILE, WORKER, \
    "messages refused, for good or for now", \
    "Ask tidemark tail --filter verdict=reject whom it meets; if it is the " \
    "wrong ones, tidemark bypass on gives you time") \
X(ABORTED, aborted, PROFILE, WORKER, \
    "messages given up before their end", \
    "Some is normal: clients give up when all their recipients were " \
    "refused. A jump that nothing of ours explains is the network's, or a " \
    "later filter's") \
X(RECIPIENTS, recipients, PROFILE, WORKER, \
    "recipients accepted", \
    "Rises with the mail. Much faster than accepted: someone writes to very " \
    "many at once; see tidemark top, Levels") \
X(RECIPIENTS_UNKNOWN, recipients_unknown, PROFILE, WORKER, \
    "recipients the mail server refused as unknown (5.1.1)", \
    "A jump is a guessing of addresses, or a domain that lost its user " \
    "list. unsender_mode and unip_mode limit the guessers") \
X(RECIPIENTS_REFUSED, recipients_refused, PROFILE, WORKER, \
    "recipients the mail server refused for any other reason", \
    "The mail server's own doing (relaying denied, access map); its log " \
    "says why") \
X(BYPASSED, bypassed, PROFILE, WORKER, \
    "messages accepted because of the bypass", \
    "The bypass is on: nobody is refused. Find out who turned it on, and " \
    "end it with tidemark bypass off when it is no longer needed") \
X(FAILED_OPEN, failed_open, PROFILE, WORKER, \
    "messages answered by on_error because Tidemark could not work", \
    "Something is wrong now: there was no live map to work with. tidemark " \
    "status and the log say why; until it is mended mail gets on_error") \
X(RECIPIENTS_FORGOTTEN, recipients_forgotten, PROFILE, WORKER, \
    "recipients past the most that one message may have remembered", \
    "A message had more than 10000 recipients; queries about that time " \
    "answer \"not wholly covered\". Let the mail server accept fewer in one " \
    "message") \
X(DROPS, drops, PROFILE, WORKER, \
    "drops that fell into leaky buckets", \
    "Rises with the mail while a group is on") \
X(DROPS_LOST, drops_lost, PROFILE, WORKER, \
    "drops that found no room on their way", \
    "Limits were not charged in full. The collector is away (tidemark " \
    "status), or max_buckets is too small (tidemark top, Map)") \
X(DROPS_FULL, drops_full, PROFILE, WORKER, \
    "drops for which the bucket of a key that many share had no room", \
    "Many senders of one provider or forwarder together are too fast. In " \
    "enforce their next mail is deferred, nobody is banned: tidemark bucket " \
    "list") \
X(DEFERRED, deferred, PROFILE, WORKER, \
    "recipients and messages put off because such a bucket was full", \
    "They come back. If it is mail you want, raise the limit that reason= " \
    "in the log names, or allow the key: tidemark why KEY") \
X(OVERFLOWS, overflows, PROFILE, WORKER, \
    "drops that made a bucket overflow", \
    "Someone was too fast. In enforce a ban follows: tidemark banned; in " \
    "dry-run see whether it would have been right: tidemark replay") \
X(BANS_MADE, bans_made, PROFILE, COLLECTOR, \
    "bans made or lengthened", \
    "tidemark banned says who, and tidemark why KEY what came before. Many " \
    "at once: the limit is too low for your mail, or you are under attack") \
X(BANS_UNPLACED, bans_unplaced, GLOBAL, COLLECTOR, \
    "bans that found no place in the map", \
    "Whom the log names goes on sending, up to the limit, again and again. " \
    "Raise max_bans, or ban the network that brings so many: tidemark ban") \
X(BANS_DRY, bans_dry, PROFILE, COLLECTOR, \
    "bans that dry-run would have made", \
    "Before you go over to enforce, look whether these would have been " \
    "right: tidemark replay names them") \
X(RECIPIENTS_BANNED, recipients_banned, PROFILE, WORKER, \
    "recipients refused because of a ban", \
    "Someone who is banned goes on trying. If it is somebody you know, " \
    "tidemark why and tidemark unban") \
X(SENDERS_BANNED, senders_banned, PROFILE, WORKER, \
    "messages refused at MAIL because a ban stands (ban_at = mail)", \
    "Bans are at work, and postmaster@ cannot be written to by those who " \
    "are banned: they reach you by other ways. tidemark banned, tidemark " \
    "why and tidemark unban") \
X(RECIPIENTS_PROTECTED, recipients_protected, PROFILE, WORKER, \
    "attempts on protected mailboxes", \
    "Somebody outside protected_from wrote to a mailbox of protected_to, " \
    "and was refused; the log has who") \
X(MESSAGES_TOO_FAST, messages_too_fast, PROFILE, WORKER, \
    "messages refused because a bucket overflowed", \
    "As overflows: tidemark banned, tidemark why KEY") \
X(CONTENT_BLOCKED, content_blocked, PROFILE, WORKER, \
    "messages blocked for their content, by a filter before us or by us", \
    "Another filter of yours blocks mail, or ours does (spam, addresses). " \
    "cbsender_mode and cbip_mode turn this into limits") \
X(CONTENT_FLAGGED, content_flagged, PROFILE, WORKER, \
    "messages with a header of content_blocked_header, but without the mark", \
    "Outsiders write such headers, and they change nothing. If your own " \
    "filter's mail is counted here, it does not write content_blocked_mark") \
X(HOOKS_RUN, hooks_run, PROFILE, COLLECTOR, \
    "runs of ban_hook", \
    "Rises with bans_made, if ban_hook is set") \
X(HOOKS_FAILED, hooks_failed, PROFILE, COLLECTOR, \
    "runs of ban_hook that failed, took too long or were one too many", \
    "The program of ban_hook does not work; the log says why. Bans stand " \
    "without it") \
X(PULSE_STALE, pulse_stale, PROFILE, WORKER, \
    "messages let pass because the collector had no pulse", \
    "The collector is not at work, so nobody is refused for overflows: " \
    "tidemark status, then the log") \
X(TOKENS_TAKEN, tokens_taken, PROFILE, WORKER, \
    "tokens taken for recipients, of each message the whole ones", \
    "Rises with outgoing mail where tokens_mode is on") \
X(TOKENS_GIVEN_BACK, tokens_given_back, PROFILE, WORKER, \
    "tokens given back for messages that came to nothing", \
    "Some is normal. As much as tokens_taken: clients never finish; look at " \
    "aborted and at the mail server's log") \
X(TOKENS_UNCOUNTED, tokens_uncounted, PROFILE, WORKER, \
    "recipients let pass because max_accounts was reached", \
    "Allowances no longer hold for everybody: raise max_accounts") \
X(TOKENS_BY_CLIENT, tokens_by_client, PROFILE, WORKER, \
    "recipients charged to their client because max_accounts was reached", \
    "Senders behind one client share an allowance: raise max_accounts, or " \
    "look for somebody who makes up senders") \
X(RECIPIENTS_SHORT, recipients_short, PROFILE, WORKER, \
    "recipients that the tokens did not suffice for, dry-run or not", \
    "An account is out of tokens: tidemark tail --filter reason=tokens. " \
    "Hijacked, or a mailing that wants a line in tokens_overrides") \
X(RECIPIENTS_MANY, recipients_many, PROFILE, WORKER, \
    "recipients past distinct_limit, dry-run or not", \
    "An account writes to very many different people: tidemark tail " \
    "--filter reason=distinct. Suspect that its password is known") \
X(RECIPIENTS_CLIENTS, recipients_clients, PROFILE, WORKER, \
    "recipients of accounts past clients_limit, dry-run or not", \
    "An account is used from very many places: tidemark tail --filter " \
    "reason=clients. Change its password") \
X(DISTINCT_UNCOUNTED, distinct_uncounted, PROFILE, WORKER, \
    "recipients or clients not in the estimate because max_accounts was " \
    "reached", \
    "Estimates are too low: raise max_accounts") \
X(DISTINCT_BY_CLIENT, distinct_by_client, PROFILE, WORKER, \
    "recipients in the estimate of their client because max_accounts was " \
    "reached", \
    "Senders behind one client share a distinct_limit: raise max_accounts") \
X(MESSAGES_CUT, messages_cut, PROFILE, WORKER, \
    "messages of which something was not read, past one of the text caps", \
    "Texts of these cannot be found in full; queries say \"not wholly " \
    "covered\". If it is many, raise the cap that cut= in the log names") \
X(BULK_COPIES, bulk_copies, PROFILE, WORKER, \
    "copies of messages counted", \
    "Rises with the mail where bulk_mode is on") \
X(BULK_UNSIGNED, bulk_unsigned, PROFILE, WORKER, \
    "messages not counted for want of text and attachments", \
    "Normal: very short mail without attachments") \
X(BULK_EXCEPTED, bulk_excepted, PROFILE, WORKER, \
    "bulk mail let pass because its sender is an exception", \
    "Normal if you have made exceptions of newsletters: tidemark except " \
    "list") \
X(BULK_MET, bulk_met, PROFILE, WORKER, \
    "other messages past bulk_threshold, dry-run or not", \
    "One text comes very often: bulk= in the log. A newsletter that is " \
    "welcome: tidemark except add") \
X(AUDITS, audits, GLOBAL, COLLECTOR, \
    "checks of the buckets' books", \
    "Rises by one each ten minutes, and with tidemark audit") \
X(AUDIT_FAULTS, audit_faults, GLOBAL, COLLECTOR, \
    "faults that they found", \
    "Should never move. Keep the log and a tidemark dump --live, restart " \
    "tidemarkd, and report it as a bug") \
X(KEYS_UNPLACED, keys_unplaced, GLOBAL, COLLECTOR, \
    "keys that got no bucket: no room for their text", \
    "These senders are not counted. Raise max_buckets: four units of text " \
    "come with each") \
X(POSTS_MALFORMED, posts_malformed, GLOBAL, COLLECTOR, \
    "posts and buckets of workers that made no sense, keys of more than 104 " \
    "bytes among them", \
    "Should never move: a worker writes what it must not. Look at the log " \
    "for workers that crashed; tidemark tail shows what mail they had") \
X(SENDERS_NEW, senders_new, GLOBAL, WORKER, \
    "new senders in their window", \
    "Rises with the mail. Near window_senders in each window: make it " \
    "larger, or answers get less sure") \
X(RECIPIENTS_NEW, recipients_new, GLOBAL, WORKER, \
    "new recipients in their window", \
    "As senders_new, with window_recipients") \
X(WORKERS_FORKED, workers_forked, GLOBAL, ACCEPTOR, \
    "workers started", \
    "One a connection of the mail server") \
X(WORKERS_CRASHED, workers_crashed, GLOBAL, ACCEPTOR, \
    "workers that died before their connection ended", \
    "Should never move; each one is a lapse. The log has the signal: report " \
    "it as a bug. If it is SIGKILL, the system was out of memory") \
X(WORKERS_STUCK, workers_stuck, GLOBAL, ACCEPTOR, \
    "workers killed past worker_stuck or worker_idle", \
    "Idle ones: worker_idle is shorter than the mail server's own timeouts. " \
    "Stuck ones: the machine was stalled, or it is a bug; the log says " \
    "which") \
X(WORKERS_ADOPTED, workers_adopted, GLOBAL, ACCEPTOR, \
    "workers taken over by a restarted acceptor", \
    "Rises after acceptor_starts; no mail was harmed") \
X(FORK_FAILURES, fork_failures, GLOBAL, ACCEPTOR, \
    "forks refused by the system", \
    "Out of processes or memory: mail passed unseen. Lower max_workers, or " \
    "give the unit more (TasksMax, MemoryMax)") \
X(BACKLOG_WAITS, backlog_waits, GLOBAL, ACCEPTOR, \
    "times that connections had to wait for a worker", \
    "Raise max_workers, or find out with tidemark top, Workers, what they " \
    "all wait for") \
X(CONNECTIONS_SILENT, connections_silent, PROFILE, ACCEPTOR, \
    "connections closed because nobody spoke within worker_silent", \
    "Mail servers speak at once. Somebody else connects to the socket: see " \
    "who may (socket_mode, socket_group, inet:)") \
X(PEERS_REFUSED, peers_refused, PROFILE, ACCEPTOR, \
    "connections closed because the client is not one of peers", \
    "The log names one of them a minute. If it is a mail server of yours, " \
    "its mail goes unseen: add it to peers and reload. If not, a packet " \
    "filter keeps them off") \
X(SHARE_WAITS, share_waits, PROFILE, ACCEPTOR, \
    "of these, times that a profile had all the workers it may have", \
    "The others' workers are kept for them, so they are served. Somebody " \
    "may hold connections open: tidemark top, Workers. If it is your own " \
    "mail, raise max_workers, or set workers_reserved and workers_most") \
X(ACCEPTOR_STARTS, acceptor_starts, GLOBAL, ACCEPTOR, \
    "starts of the acceptor", \
    "One a start of the daemon. More: it died; the log says of what") \
X(MAPS_SET_ASIDE, maps_set_aside, GLOBAL, COLLECTOR, \
    "live maps put aside because two collectors in a row hung", \
    "Should never move. The map is kept as live.mdb.damaged: report it as a " \
    "bug, with the log") \
X(COLLECTOR_STARTS, collector_starts, GLOBAL, COLLECTOR, \
    "starts of the collector", \
    "One a start of the daemon. More: it died; the log says of what") \
X(WINDOWS_SEALED, windows_sealed, GLOBAL, COLLECTOR, \
    "windows stored in the archive", \
    "At least one each window_span. At rest for longer: the archive cannot " \
    "be written; see archive_failures") \
X(WINDOWS_OVERFILLED, windows_overfilled, GLOBAL, COLLECTOR, \
    "windows that took more than they were sized for", \
    "Answers about these windows are less sure. The disk was full, or " \
    "window_senders, window_recipients and memory_size are small for your " \
    "mail") \
X(WINDOWS_EXPIRED, windows_expired, GLOBAL, COLLECTOR, \
    "windows dropped by retain_for or retain_size", \
    "Normal once the archive is as old as retain_for. Younger ones go by " \
    "retain_size: raise it to remember for longer") \
X(CHECKPOINTS, checkpoints, GLOBAL, COLLECTOR, \
    "checkpoints written", \
    "One each checkpoint_every") \
X(ARCHIVE_FAILURES, archive_failures, GLOBAL, COLLECTOR, \
    "writes to the archive that failed (each is tried again)", \
    "Act soon: a full disk, archive_map reached, or a broken file. The log " \
    "has the reason; what waits is lost if the machine goes down") \
X(CLOCK_STEPS, clock_steps, GLOBAL, COLLECTOR, \
    "times that the clock was set by more than two seconds", \
    "Nothing is lost: windows are found under the time that the clock " \
    "showed, and nothing expires by the new one until an hour has confirmed " \
    "it. Find out who sets the clock; let it be slewed") \
X(LAPSES, lapses, GLOBAL, COLLECTOR, \
    "times recorded in which mail may have passed unseen", \
    "Mail may have passed unseen, and queries about that time say so; " \
    "tidemark dump --archive lists them with the reason") \
X(LAPSES_MERGED, lapses_merged, GLOBAL, ACCEPTOR, \
    "lapses joined to the one before, for want of room", \
    "The collector was away for long; the times in between count as unseen, " \
    "too") \
X(RELOADS, reloads, GLOBAL, COLLECTOR, \
    "configurations taken over", \
    "One each tidemark reload or SIGHUP") \
X(RELOADS_REFUSED, reloads_refused, GLOBAL, COLLECTOR, \
    "configurations refused", \
    "The old settings still hold: tidemark configtest says what is wrong") \
X(CONTROL_REQUESTS, control_requests, GLOBAL, COLLECTOR, \
    "control requests answered", \
    "Rises with the use of tidemark") \
X(CONTROL_DENIED, control_denied, GLOBAL, COLLECTOR, \
    "control requests denied for want of rights", \
    "Someone tried to change something without being root, the daemon's " \
    "user or one of admins, and was told so. If they should be able to, add " \
    "them to admins") \
X(CONTROL_FULL, control_full, GLOBAL, COLLECTOR, \
    "control connections turned away because too many were open", \
    "Somebody opens connections and lets them stand: ss -xp names the " \
    "program. Who may change things has places of their own") \
X(SAMPLES_NEW, samples_new, GLOBAL, WORKER, \
    "blocks and pairs of text that were new in their window", \
    "Rises with the text of the mail, where memory is on") \
X(ADDRESSES_LISTED, addresses_listed, PROFILE, WORKER, \
    "messages from senders on the list of spam addresses, dry-run or not", \
    "Spam addresses write to you: listed= in the log. If one of them is " \
    "good: tidemark except add") \
X(ADDRESSES_EXCEPTED, addresses_excepted, PROFILE, WORKER, \
    "messages from senders on it that are exceptions", \
    "Normal: your exceptions at work") \
X(RECIPIENTS_LISTED, recipients_listed, PROFILE, WORKER, \
    "recipients refused because the sender was on it", \
    "As addresses_listed, in enforce") \
X(BULK_TURNS, bulk_turns, GLOBAL, COLLECTOR, \
    "generations of bulk counts begun", \
    "One each bulk_span") \
X(POLICY_REQUESTS, policy_requests, PROFILE, WORKER, \
    "requests of Postfix's policy client answered", \
    "Rises with Postfix's questions. At rest while mail flows: " \
    "check_policy_service does not lead to our socket") \
X(POLICY_CLOSED, policy_closed, PROFILE, WORKER, \
    "policy connections closed because of what came over them, or did not", \
    "The log has the reason; Postfix tries again, and then goes by " \
    "smtpd_policy_service_default_action") \
X(SPAM_REPORTED, spam_reported, GLOBAL, COLLECTOR, \
    "messages reported as spam", \
    "Rises with tidemark spam report") \
X(SPAM_REVOKED, spam_revoked, GLOBAL, COLLECTOR, \
    "messages reported as no spam", \
    "Rises with tidemark spam revoke") \
X(SPAM_MET, spam_met, PROFILE, WORKER, \
    "messages met that were reported as spam, dry-run or not", \
    "Reported spam comes again: spam= in the log. If a good mail is met, " \
    "tidemark spam revoke it") \
X(SPAM_MET_NEAR, spam_met_near, PROFILE, WORKER, \
    "of these, near copies of what was reported", \
    "Most often variants of a campaign; but common footers can look alike: " \
    "tidemark spam test") \
X(SPAM_EXCEPTED, spam_excepted, PROFILE, WORKER, \
    "messages so met whose senders are exceptions", \
    "Normal: your exceptions at work. Much of it: does an excepted sender " \
    "send spam?") \
X(SHARES_MERGED, shares_merged, GLOBAL, COLLECTOR, \
    "files of neighbours' counts that were merged", \
    "Rises with tidemark merge. At rest: a neighbour's files do not come " \
    "any more") \
X(SHARES_REFUSED, shares_refused, GLOBAL, COLLECTOR, \
    "and that were refused", \
    "The merge said why: another key, other settings, or a delta to an " \
    "export that never came; let the neighbour send a whole one")
/* clang-format on */

enum tide_counter {
#define X(id, name, scope, by, help, act) TIDE_COUNT_##id,
	TIDE_COUNTERS(X)
#undef X
	    TIDE_COUNTER_COUNT
};

struct tide_counter_info {
	const char *name;
	enum tide_counter_scope scope;
	enum tide_counter_by by;
	const char *help, *act;
};

extern const struct tide_counter_info tide_counter_info[TIDE_COUNTER_COUNT];

/* In the map: row 0 is global, row 1 + i is profile i. */
struct tide_counters {
	_Atomic uint64_t value[1 + TIDE_PROFILES_MAX][TIDE_COUNTER_COUNT];
};

/*
 * Counts go from one map to another by name, as records (value, row, name): a
 * counter that is new starts at 0, one that is no more is left out, and nobody
 * else loses anything.  `names' has one a line, in the order of their places.
 */
extern const char *const tide_counters_names; /* this build's */
uint32_t tide_counters_format(void);	      /* of the region: from them */

/* Bytes of the rows of counters of these names. */
size_t tide_counters_bytes(const char *names);

/* Append what is not 0 to *bytes, which is to be freed. */
int tide_counters_save(const _Atomic uint64_t *value, const char *names,
    char **bytes, size_t *size, struct tide_err *);

/*
 * Add the records to the counters: row by row, by the profile's name; those of
 * a profile that is no more become global.  How many were of a counter that is
 * not known here.
 */
unsigned
tide_counters_load(struct tide_counters *, const struct tide_profile_names *,
    const char *bytes, size_t size, const struct tide_profile_names *from);

static inline void
tide_count(struct tide_counters *c, enum tide_counter id, uint64_t by)
{
	atomic_fetch_add_explicit(&c->value[0][id], by, memory_order_relaxed);
}

static inline void
tide_count_profile(struct tide_counters *c, unsigned profile,
    enum tide_counter id, uint64_t by)
{
	atomic_fetch_add_explicit(
	    &c->value[1 + profile][id], by, memory_order_relaxed);
}

/* The value of one row, or of all rows together with row -1. */
uint64_t
tide_counter_get(const struct tide_counters *, int row, enum tide_counter);

#endif
