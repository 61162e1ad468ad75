/*
 * session - this worker's one connection: who it is, and how long it takes.
 */
#include <arpa/inet.h>
#include <string.h>

#include "explain.h"
#include "milter.h"
#include "session.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/log.h"
#include "tidemark/map/control.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"
#include "tidemark/shared/latency.h"
#include "tidemark/shared/slots.h"

struct session session;

const struct tide_profile *
session_profile(void)
{
	return &session.config.profile[session.profile];
}

void
session_count(enum tide_counter id, uint64_t by)
{
	if (session.map != NULL && by > 0)
		tide_count_profile(
		    session.map->counters, session.profile, id, by);
}

const char *
session_or_dash(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : "-";
}

/*
 * For the log: no control characters, no spaces, so that what a sender writes
 * cannot make up a line or a key of its own.
 */
void
session_printable(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; from[i] != '\0' && i + 1 < size; i++) {
		unsigned char c = (unsigned char)from[i];

		to[i] = c <= ' ' || c == 0x7f ? '?' : (char)c;
	}
	to[i] = '\0';
}

/* ---- beginning and bracketing ------------------------------------------ */

void
session_begin(const struct tide_config *config, uint64_t generation,
    unsigned profile, struct tide_map *map, struct tide_slot *slot)
{
	session.config = *config;
	session.generation = generation;
	session.profile = profile;
	session.map = map;
	session.slot = slot;
}

void
session_enter(enum tide_stage stage)
{
	session.stage = stage;
	session.entered_ns = tide_clock_mono_ns();
	if (session.slot == NULL)
		return;
	atomic_store_explicit(&session.slot->touched_ms,
	    session.entered_ns / 1000000, memory_order_relaxed);
	atomic_store_explicit(
	    &session.slot->stage, stage, memory_order_relaxed);
	atomic_store_explicit(&session.slot->busy, 1, memory_order_relaxed);
}

void
session_trace(void)
{
	if (tide_log_wants(TIDE_LOG_DEBUG))
		tide_log(TIDE_LOG_DEBUG,
		    "stage=%s profile=%s daemon=%s qid=%s mono_ns=%llu",
		    tide_stage_name[session.stage], session_profile()->name,
		    session_or_dash(session.daemon),
		    session_or_dash(session.message.qid),
		    (unsigned long long)session.entered_ns);
}

static void
measure(void)
{
	uint64_t us = (tide_clock_mono_ns() - session.entered_ns) / 1000;

	if (session.map != NULL && session.stage != TIDE_STAGE_NONE)
		tide_latency_add(&session.map->latency
				      ->at[session.profile][session.stage - 1],
		    us);
}

void
session_leave(void)
{
	measure();
	if (session.slot != NULL)
		atomic_store_explicit(
		    &session.slot->busy, 0, memory_order_relaxed);
}

/* ---- connection -------------------------------------------------------- */

/* Where two daemons share a socket, the daemon's name chooses the profile. */
static void
choose_profile(const char *daemon_name)
{
	unsigned i;

	for (i = 0; i < session.config.profiles; i++) {
		if (!tide_config_has_word(
			session.config.profile[i].daemons, daemon_name))
			continue;
		session.profile = i;
		if (session.slot != NULL)
			atomic_store_explicit(
			    &session.slot->profile, i, memory_order_relaxed);
		return;
	}
}

static void
show_client(const char *address)
{
	struct in6_addr in = { .s6_addr = { [10] = 0xff, [11] = 0xff } };
	uint64_t words[2];

	if (session.slot == NULL ||
	    (inet_pton(AF_INET, address, &in.s6_addr[12]) != 1 &&
		inet_pton(AF_INET6, address, &in) != 1))
		return;
	memcpy(words, &in, sizeof words);
	atomic_store(&session.slot->client[0], words[0]);
	atomic_store(&session.slot->client[1], words[1]);
}

void
session_connected(const char *client_address, const char *daemon_name)
{
	session_printable(session.client, sizeof session.client,
	    session_or_dash(client_address));
	session_printable(session.daemon, sizeof session.daemon,
	    session_or_dash(daemon_name));
	choose_profile(session.daemon);
	explain_begin();
	session_count(TIDE_COUNT_CONNECTIONS, 1);
	charge_client(&session.charge, session.client);
	show_client(session.client);
}

bool
session_is_idle(void)
{
	return !session.in_message;
}

bool
session_is_stale(void)
{
	return session.map != NULL &&
	    atomic_load(&session.map->control->current) == TIDE_MAP_RETIRED &&
	    !tide_map_is_current(session.map, session.config.runtime_dir);
}

void
session_cut(void)
{
	if (session.slot == NULL)
		return;
	atomic_store(&session.slot->lapsed, 1);
	atomic_store(&session.slot->finished, 1);
}

void
session_end(void)
{
	session_abort();
	if (session.slot != NULL)
		atomic_store(&session.slot->finished, 1);
}
