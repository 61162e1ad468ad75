/*
 * mta - see mta.h.  Every stage goes through mta_command(): macros, the frame, the
 * answer, and what the answer means for the rest of the message.
 */
#include "mta.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "mta_priv.h"

#define PARTS(...)                                          \
	((const struct iovec[]){ __VA_ARGS__ }),            \
	    sizeof((const struct iovec[]){ __VA_ARGS__ }) / \
	    sizeof(struct iovec)
#define BYTES(p, n)                                                \
	{                                                          \
		.iov_base = (void *)(uintptr_t)(p), .iov_len = (n) \
	}
#define STR(s) BYTES(s, strlen(s) + 1)

static const char *const names[] = { "continue", "accept", "reject", "tempfail",
	"discard", "reply code", "skip", "refused", "lost", "timeout",
	"error" };

struct mta *
mta_new(const char *where, int timeout_ms)
{
	struct mta *m = calloc(1, sizeof *m);

	if (!m)
		abort();
	m->socket = strdup(where);
	m->verdict = MTA_LOST;
	wire_init(&m->wire, timeout_ms);
	mta_offer(m, SMFI_CURR_ACTS, SMFI_CURR_PROT);
	return m;
}

void
mta_free(struct mta *m)
{
	if (!m)
		return;
	mta_macros_free(m);
	mta_lists_free(m);
	mta_changes_clear(m);
	wire_free(&m->wire);
	free(m->socket);
	free(m);
}

void
mta_offer(struct mta *m, uint32_t actions, uint32_t steps)
{
	m->offer_actions = actions;
	m->offer_steps = steps;
}

void
mta_announce(struct mta *m, const char *size)
{
	snprintf(m->size, sizeof m->size, "%s%s", size ? "SIZE=" : "",
	    size ? size : "");
}

/* ---- the connection ---- */

static enum mta_answer
agree(struct mta *m, const char *data, size_t len)
{
	uint32_t words[3];

	if (len < sizeof words)
		return mta_over(m, MTA_ERROR, "a short option answer");
	memcpy(words, data, sizeof words);
	m->actions = ntohl(words[1]);
	m->steps = ntohl(words[2]) & ~(uint32_t)SMFI_INTERNAL;
	if (m->actions & ~m->offer_actions || m->steps & ~m->offer_steps)
		return mta_over(m, MTA_ERROR, "the filter asks what we lack");
	if (!mta_lists_read(m, data + sizeof words, len - sizeof words))
		return mta_over(m, MTA_ERROR, "a broken macro list");
	m->state = MTA_OPEN;
	return MTA_CONTINUE;
}

static enum mta_answer
negotiate(struct mta *m)
{
	const uint32_t words[3] = { htonl(SMFI_PROT_VERSION),
		htonl(m->offer_actions), htonl(m->offer_steps) };
	enum wire_state state;
	const char *data;
	size_t len;
	char kind;

	wire_begin(&m->wire, SMFIC_OPTNEG);
	wire_add(&m->wire, words, sizeof words);
	wire_end(&m->wire);
	state = wire_flush(&m->wire);
	if (state == WIRE_OK)
		state = wire_take(&m->wire, &kind, &data, &len);
	if (state != WIRE_OK)
		return mta_broken(m, state);
	if (kind != SMFIC_OPTNEG)
		return mta_over(m, MTA_ERROR, "no answer to our options");
	return agree(m, data, len);
}

enum mta_answer
mta_open(struct mta *m)
{
	enum wire_state state;

	mta_drop(m);
	mta_lists_free(m);
	mta_changes_clear(m);
	memset(m->sent, 0, sizeof m->sent);
	memset(m->answered, 0, sizeof m->answered);
	state = wire_dial(&m->wire, m->socket);
	return state == WIRE_OK ? negotiate(m) : mta_broken(m, state);
}

static void
connection_macros(struct mta *m, const struct mta_client *c)
{
	char from[128];

	snprintf(from, sizeof from, "%s [%s]", c->name, c->addr ? c->addr : "");
	mta_macro(m, "_", from);
	mta_macro(m, "j", "mx.example.test");
	mta_macro(m, "v", "8.17.1.9");
	mta_macro(m, "{daemon_name}", c->daemon);
	mta_macro(m, "{daemon_addr}", "127.0.0.1");
	mta_macro(m, "{daemon_port}", "25");
	mta_macro(m, "{if_name}", "mx.example.test");
	mta_macro(m, "{if_addr}", "127.0.0.1");
	mta_macro(m, "{client_name}", c->name);
	mta_macro(m, "{client_ptr}", c->name);
	mta_macro(m, "{client_addr}", c->addr);
	mta_macro(m, "{client_resolve}", c->addr ? "OK" : "FAIL");
	mta_macro(m, "{client_connections}", "1");
	mta_macro_int(m, "{client_port}", c->port);
}

enum mta_answer
mta_connect(struct mta *m, const struct mta_client *c)
{
	const bool six = c->addr && strchr(c->addr, ':');
	const char family = six ? SMFIA_INET6 : SMFIA_INET;
	const uint16_t port = htons(c->port);

	connection_macros(m, c);
	if (!c->addr)
		return mta_command(
		    m, SMFIC_CONNECT, PARTS(STR(c->name), BYTES("U", 1)));
	return mta_command(m, SMFIC_CONNECT,
	    PARTS(STR(c->name), BYTES(&family, 1), BYTES(&port, 2),
		BYTES("IPv6:", six ? 5u : 0u), STR(c->addr)));
}

enum mta_answer
mta_helo(struct mta *m, const char *name)
{
	return mta_command(m, SMFIC_HELO, PARTS(STR(name)));
}

/* ---- the message ---- */

static const char *
host_of(const char *addr)
{
	const char *at = strrchr(addr, '@');

	return at ? at + 1 : "";
}

enum mta_answer
mta_mail(struct mta *m, const char *sender, const char *qid, const char *user)
{
	mta_abort(m);
	mta_changes_clear(m);
	m->skip_body = false;
	m->recipients = m->bad_recipients = 0;
	mta_macro(m, "i", qid);
	mta_macro(m, "{auth_authen}", user);
	mta_macro(m, "{auth_type}", user ? "PLAIN" : NULL);
	mta_macro(m, "{mail_mailer}", "esmtp");
	mta_macro(m, "{mail_host}", host_of(sender));
	mta_macro(m, "{mail_addr}", sender);
	return mta_command(m, SMFIC_MAIL,
	    PARTS(BYTES("<", 1), BYTES(sender, strlen(sender)), STR(">"),
		BYTES(m->size, *m->size ? strlen(m->size) + 1 : 0)));
}

static enum mta_answer
recipient(struct mta *m, const char *addr, const char *mailer, const char *host)
{
	mta_macro(m, "{rcpt_mailer}", mailer);
	mta_macro(m, "{rcpt_host}", host);
	mta_macro_int(m, "{nrcpts}", m->recipients);
	mta_macro_int(m, "{nbadrcpts}", m->bad_recipients);
	return mta_command(m, SMFIC_RCPT,
	    PARTS(BYTES("<", 1), BYTES(addr, strlen(addr)), STR(">")));
}

enum mta_answer
mta_rcpt(struct mta *m, const char *addr)
{
	mta_macro(m, "{rcpt_addr}", addr);
	m->recipients++;
	return recipient(m, addr, "esmtp", host_of(addr));
}

enum mta_answer
mta_rcpt_rejected(struct mta *m, const char *addr)
{
	m->bad_recipients++;
	if (mta_decided(m))
		return m->verdict;
	if (!(m->steps & SMFIP_RCPT_REJ))
		return MTA_CONTINUE;
	mta_macro(m, "{rcpt_addr}", "550 5.1.1 User unknown");
	return recipient(m, addr, "error", "5.1.1");
}

enum mta_answer
mta_data(struct mta *m)
{
	return mta_command(m, SMFIC_DATA, NULL, 0);
}

enum mta_answer
mta_header(struct mta *m, const char *name, const char *value)
{
	if (*value == ' ' && !(m->steps & SMFIP_HDR_LEADSPC))
		value++;
	return mta_command(m, SMFIC_HEADER, PARTS(STR(name), STR(value)));
}

enum mta_answer
mta_eoh(struct mta *m)
{
	return mta_command(m, SMFIC_EOH, NULL, 0);
}

enum mta_answer
mta_body(struct mta *m, const void *body, size_t len)
{
	enum mta_answer answer = MTA_CONTINUE;
	const char *at = body;
	size_t chunk;

	while (len && answer == MTA_CONTINUE && !m->skip_body) {
		chunk = len < MILTER_CHUNK_SIZE ? len : MILTER_CHUNK_SIZE;
		answer = mta_command(m, SMFIC_BODY, PARTS(BYTES(at, chunk)));
		at += chunk;
		len -= chunk;
	}
	return answer;
}

enum mta_answer
mta_eom(struct mta *m)
{
	enum mta_answer answer = mta_command(m, SMFIC_BODYEOB, NULL, 0);

	if (m->state == MTA_OPEN)
		mta_macros_message_end(m);
	return answer;
}

enum mta_answer
mta_unknown(struct mta *m, const char *line)
{
	return mta_command(m, SMFIC_UNKNOWN, PARTS(STR(line)));
}

/* ---- endings ---- */

static void
tell(struct mta *m, char cmd)
{
	enum wire_state state;

	wire_begin(&m->wire, cmd);
	wire_end(&m->wire);
	m->sent[(unsigned char)cmd & 127]++;
	state = wire_flush(&m->wire);
	if (state != WIRE_OK)
		mta_broken(m, state);
}

void
mta_abort(struct mta *m)
{
	if (m->state != MTA_INMSG && m->state != MTA_DONEMSG)
		return;
	m->state = MTA_OPEN;
	mta_macros_message_end(m);
	tell(m, SMFIC_ABORT);
}

void
mta_quit(struct mta *m)
{
	if (m->state != MTA_CLOSED)
		tell(m, SMFIC_QUIT);
	mta_drop(m);
}

void
mta_drop(struct mta *m)
{
	if (m->state != MTA_CLOSED)
		mta_over(m, MTA_LOST, "closed by us");
}

/* ---- asking ---- */

bool
mta_is_over(enum mta_answer a)
{
	return a >= MTA_REFUSED;
}

bool
mta_refuses(enum mta_answer a)
{
	return a == MTA_REJECT || a == MTA_TEMPFAIL || a == MTA_REPLYCODE;
}

const char *
mta_answer_name(enum mta_answer a)
{
	return names[a];
}

const char *
mta_text(const struct mta *m)
{
	return m->text;
}

uint32_t
mta_steps(const struct mta *m)
{
	return m->steps;
}

uint32_t
mta_actions(const struct mta *m)
{
	return m->actions;
}

unsigned
mta_sent(const struct mta *m, char cmd)
{
	return m->sent[(unsigned char)cmd & 127];
}

unsigned
mta_answered(const struct mta *m, char cmd)
{
	return m->answered[(unsigned char)cmd & 127];
}
