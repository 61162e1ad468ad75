/*
 * counters - what has happened, in one table: name, kind, scope, help.
 * `tidemark status`, the manual and the metrics are all made from it.
 *
 * The values live in the map.  Every process adds with relaxed atomics; a
 * killed process loses nothing it had counted.
 */
#ifndef TIDEMARK_COUNTERS_H
#define TIDEMARK_COUNTERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/config.h"

enum tide_counter_scope {
	TIDE_SCOPE_GLOBAL,
	TIDE_SCOPE_PROFILE /* one value a profile */
};

/* clang-format off */
#define TIDE_COUNTERS(X) \
X(CONNECTIONS, connections, PROFILE, "SMTP sessions served") \
X(MESSAGES, messages, PROFILE, "messages that reached the end of message") \
X(ACCEPTED, accepted, PROFILE, "messages accepted") \
X(REFUSED, refused, PROFILE, "messages refused, for good or for now") \
X(ABORTED, aborted, PROFILE, "messages given up before their end") \
X(RECIPIENTS, recipients, PROFILE, "recipients accepted") \
X(RECIPIENTS_UNKNOWN, recipients_unknown, PROFILE, \
    "recipients the mail server refused as unknown (5.1.1)") \
X(RECIPIENTS_REFUSED, recipients_refused, PROFILE, \
    "recipients the mail server refused for any other reason") \
X(BYPASSED, bypassed, PROFILE, "messages accepted because of the bypass") \
X(FAILED_OPEN, failed_open, PROFILE, \
    "messages answered by on_error because Tidemark could not work") \
X(RECIPIENTS_FORGOTTEN, recipients_forgotten, PROFILE, \
    "recipients past the most that one message may have remembered") \
X(DROPS, drops, PROFILE, "drops that fell into leaky buckets") \
X(DROPS_LOST, drops_lost, PROFILE, \
    "drops that found no room on their way") \
X(OVERFLOWS, overflows, PROFILE, "drops that made a bucket overflow") \
X(BANS_MADE, bans_made, PROFILE, "bans made or lengthened") \
X(BANS_DRY, bans_dry, PROFILE, "bans that dry-run would have made") \
X(RECIPIENTS_BANNED, recipients_banned, PROFILE, \
    "recipients refused because of a ban") \
X(RECIPIENTS_PROTECTED, recipients_protected, PROFILE, \
    "attempts on protected mailboxes") \
X(MESSAGES_TOO_FAST, messages_too_fast, PROFILE, \
    "messages refused because a bucket overflowed") \
X(CONTENT_BLOCKED, content_blocked, PROFILE, \
    "messages blocked for their content, by a filter before us or by us") \
X(HOOKS_RUN, hooks_run, PROFILE, "runs of ban_hook") \
X(HOOKS_FAILED, hooks_failed, PROFILE, \
    "runs of ban_hook that failed, took too long or were one too many") \
X(PULSE_STALE, pulse_stale, PROFILE, \
    "messages let pass because the collector had no pulse") \
X(TOKENS_TAKEN, tokens_taken, PROFILE, \
    "tokens taken for recipients, of each message the whole ones") \
X(TOKENS_GIVEN_BACK, tokens_given_back, PROFILE, \
    "tokens given back for messages that came to nothing") \
X(TOKENS_UNCOUNTED, tokens_uncounted, PROFILE, \
    "recipients let pass because max_accounts was reached") \
X(RECIPIENTS_SHORT, recipients_short, PROFILE, \
    "recipients that the tokens did not suffice for, dry-run or not") \
X(RECIPIENTS_MANY, recipients_many, PROFILE, \
    "recipients past distinct_limit, dry-run or not") \
X(RECIPIENTS_CLIENTS, recipients_clients, PROFILE, \
    "recipients of accounts past clients_limit, dry-run or not") \
X(DISTINCT_UNCOUNTED, distinct_uncounted, PROFILE, \
    "recipients or clients not in the estimate because max_accounts was " \
    "reached") \
X(MESSAGES_CUT, messages_cut, PROFILE, \
    "messages of which something was not read, past one of the text caps") \
X(BULK_COPIES, bulk_copies, PROFILE, "copies of messages counted") \
X(BULK_UNSIGNED, bulk_unsigned, PROFILE, \
    "messages not counted for want of text and attachments") \
X(BULK_EXCEPTED, bulk_excepted, PROFILE, \
    "bulk mail let pass because its sender is an exception") \
X(BULK_MET, bulk_met, PROFILE, \
    "other messages past bulk_threshold, dry-run or not") \
X(AUDITS, audits, GLOBAL, "checks of the buckets' books") \
X(AUDIT_FAULTS, audit_faults, GLOBAL, "faults that they found") \
X(SENDERS_NEW, senders_new, GLOBAL, "new senders in their window") \
X(RECIPIENTS_NEW, recipients_new, GLOBAL, "new recipients in their window") \
X(WORKERS_FORKED, workers_forked, GLOBAL, "workers started") \
X(WORKERS_CRASHED, workers_crashed, GLOBAL, \
    "workers that died before their connection ended") \
X(WORKERS_STUCK, workers_stuck, GLOBAL, \
    "workers killed past worker_stuck or worker_idle") \
X(WORKERS_ADOPTED, workers_adopted, GLOBAL, \
    "workers taken over by a restarted acceptor") \
X(FORK_FAILURES, fork_failures, GLOBAL, "forks refused by the system") \
X(BACKLOG_WAITS, backlog_waits, GLOBAL, \
    "times that max_workers was reached and connections had to wait") \
X(ACCEPTOR_STARTS, acceptor_starts, GLOBAL, "starts of the acceptor") \
X(COLLECTOR_STARTS, collector_starts, GLOBAL, "starts of the collector") \
X(WINDOWS_SEALED, windows_sealed, GLOBAL, "windows stored in the archive") \
X(WINDOWS_OVERFILLED, windows_overfilled, GLOBAL, \
    "windows that took more than they were sized for") \
X(WINDOWS_EXPIRED, windows_expired, GLOBAL, \
    "windows dropped by retain_for or retain_size") \
X(CHECKPOINTS, checkpoints, GLOBAL, "checkpoints written") \
X(ARCHIVE_FAILURES, archive_failures, GLOBAL, \
    "writes to the archive that failed (each is tried again)") \
X(LAPSES, lapses, GLOBAL, \
    "times recorded in which mail may have passed unseen") \
X(LAPSES_MERGED, lapses_merged, GLOBAL, \
    "lapses joined to the one before, for want of room") \
X(RELOADS, reloads, GLOBAL, "configurations taken over") \
X(RELOADS_REFUSED, reloads_refused, GLOBAL, "configurations refused") \
X(CONTROL_REQUESTS, control_requests, GLOBAL, "control requests answered") \
X(CONTROL_DENIED, control_denied, GLOBAL, \
    "control requests denied for want of rights") \
X(SAMPLES_NEW, samples_new, GLOBAL, \
    "blocks and pairs of text that were new in their window") \
X(ADDRESSES_LISTED, addresses_listed, PROFILE, \
    "messages from senders on the list of spam addresses, dry-run or not") \
X(ADDRESSES_EXCEPTED, addresses_excepted, PROFILE, \
    "messages from senders on it that are exceptions") \
X(RECIPIENTS_LISTED, recipients_listed, PROFILE, \
    "recipients refused because the sender was on it") \
X(BULK_TURNS, bulk_turns, GLOBAL, "generations of bulk counts begun") \
X(POLICY_REQUESTS, policy_requests, PROFILE, \
    "requests of Postfix's policy client answered") \
X(POLICY_CLOSED, policy_closed, PROFILE, \
    "policy connections closed because of what came over them, or did not") \
X(SPAM_REPORTED, spam_reported, GLOBAL, "messages reported as spam") \
X(SPAM_REVOKED, spam_revoked, GLOBAL, "messages reported as no spam") \
X(SPAM_MET, spam_met, PROFILE, \
    "messages met that were reported as spam, dry-run or not") \
X(SPAM_MET_NEAR, spam_met_near, PROFILE, \
    "of these, near copies of what was reported") \
X(SPAM_EXCEPTED, spam_excepted, PROFILE, \
    "messages so met whose senders are exceptions") \
X(SHARES_MERGED, shares_merged, GLOBAL, \
    "files of neighbours' counts that were merged") \
X(SHARES_REFUSED, shares_refused, GLOBAL, "and that were refused")
/* clang-format on */

enum tide_counter {
#define X(id, name, scope, help) TIDE_COUNT_##id,
	TIDE_COUNTERS(X)
#undef X
	    TIDE_COUNTER_COUNT
};

struct tide_counter_info {
	const char *name;
	enum tide_counter_scope scope;
	const char *help;
};

extern const struct tide_counter_info tide_counter_info[TIDE_COUNTER_COUNT];

/* In the map: row 0 is global, row 1 + i is profile i. */
struct tide_counters {
	_Atomic uint64_t value[1 + TIDE_PROFILES_MAX][TIDE_COUNTER_COUNT];
};

/* Add one to another, of a map with other profiles: row by row, by name; those
 * of a profile that is no more become global. */
void tide_counters_carry(struct tide_counters *to,
    const struct tide_profile_names *to_names, const struct tide_counters *from,
    const struct tide_profile_names *from_names);

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
