/*
 * mta_command - one stage: its macros, the frame, the answer, and what the
 * answer means for the rest of the message.
 */
#include <stdio.h>
#include <string.h>

#include "mta_priv.h"

static const struct stage {
	char cmd;
	uint32_t unwanted; /* the filter does not want it */
	uint32_t quiet;	   /* the filter does not answer it */
} stages[] = {
	{ SMFIC_CONNECT, SMFIP_NOCONNECT, SMFIP_NR_CONN },
	{ SMFIC_HELO, SMFIP_NOHELO, SMFIP_NR_HELO },
	{ SMFIC_MAIL, SMFIP_NOMAIL, SMFIP_NR_MAIL },
	{ SMFIC_RCPT, SMFIP_NORCPT, SMFIP_NR_RCPT },
	{ SMFIC_DATA, SMFIP_NODATA, SMFIP_NR_DATA },
	{ SMFIC_HEADER, SMFIP_NOHDRS, SMFIP_NR_HDR },
	{ SMFIC_EOH, SMFIP_NOEOH, SMFIP_NR_EOH },
	{ SMFIC_BODY, SMFIP_NOBODY, SMFIP_NR_BODY },
	{ SMFIC_UNKNOWN, SMFIP_NOUNKNOWN, SMFIP_NR_UNKN },
	{ SMFIC_BODYEOB, 0, 0 },
};

static const struct reply {
	char kind;
	enum mta_answer answer;
} replies[] = {
	{ SMFIR_CONTINUE, MTA_CONTINUE },
	{ SMFIR_ACCEPT, MTA_ACCEPT },
	{ SMFIR_REJECT, MTA_REJECT },
	{ SMFIR_TEMPFAIL, MTA_TEMPFAIL },
	{ SMFIR_DISCARD, MTA_DISCARD },
	{ SMFIR_REPLYCODE, MTA_REPLYCODE },
	{ SMFIR_SKIP, MTA_SKIP },
	{ SMFIR_SHUTDOWN, MTA_LOST },
	{ SMFIR_CONN_FAIL, MTA_LOST },
};

enum mta_answer
mta_over(struct mta *m, enum mta_answer how, const char *why)
{
	snprintf(m->text, sizeof m->text, "%s", why);
	wire_close(&m->wire);
	m->state = MTA_CLOSED;
	m->verdict = how;
	return how;
}

enum mta_answer
mta_broken(struct mta *m, enum wire_state state)
{
	static const enum mta_answer hows[] = { [WIRE_REFUSED] = MTA_REFUSED,
		[WIRE_LOST] = MTA_LOST,
		[WIRE_LATE] = MTA_TIMEOUT,
		[WIRE_BAD] = MTA_ERROR };

	return mta_over(m, hows[state], m->wire.why);
}

/* Take frames until one is an answer; changes before it are kept. */
static enum mta_answer
await(struct mta *m, char cmd)
{
	enum wire_state state;
	const char *data;
	size_t len;
	char kind;

	while ((state = wire_take(&m->wire, &kind, &data, &len)) == WIRE_OK) {
		if (kind == SMFIR_PROGRESS)
			continue;
		if (cmd == SMFIC_BODYEOB && mta_change_is(kind)) {
			if (!mta_change_add(m, kind, data, len))
				return mta_over(
				    m, MTA_ERROR, "a broken change");
			continue;
		}
		m->answered[(unsigned char)cmd & 127]++;
		for (size_t i = 0; i < sizeof replies / sizeof *replies; i++)
			if (replies[i].kind == kind) {
				snprintf(m->text, sizeof m->text, "%s", data);
				return replies[i].answer;
			}
		return mta_over(m, MTA_ERROR, "an answer we do not know");
	}
	return mta_broken(m, state);
}

/* Send what is gathered and wait for the answer to cmd. */
static enum mta_answer
ask(struct mta *m, char cmd)
{
	enum wire_state state;

	state = wire_flush(&m->wire);
	return state == WIRE_OK ? await(m, cmd) : mta_broken(m, state);
}

/* What an answer means for what follows, as in sendmail's milter.c. */
static enum mta_answer
settle(struct mta *m, char cmd, enum mta_answer answer)
{
	const bool early = cmd == SMFIC_CONNECT || cmd == SMFIC_HELO;

	if (m->state == MTA_CLOSED)
		return answer;
	if (answer == MTA_LOST)
		return mta_over(m, MTA_LOST, "the filter asked to shut down");
	if (answer == MTA_SKIP)
		m->skip_body = true;
	if (cmd == SMFIC_MAIL)
		m->state = MTA_INMSG;
	if (cmd == SMFIC_BODYEOB)
		m->state = MTA_OPEN;
	else if (cmd == SMFIC_UNKNOWN || answer == MTA_CONTINUE ||
	    answer == MTA_SKIP || (cmd == SMFIC_RCPT && mta_refuses(answer)))
		return answer;
	else
		m->state = early ? MTA_DONE : MTA_DONEMSG;
	m->verdict = answer;
	return answer;
}

static const struct stage *
stage_of(char cmd)
{
	const struct stage *s = stages;

	while (s->cmd != cmd)
		s++;
	return s;
}

bool
mta_decided(const struct mta *m)
{
	return m->state == MTA_CLOSED || m->state == MTA_DONE ||
	    m->state == MTA_DONEMSG;
}

enum mta_answer
mta_command(struct mta *m, char cmd, const struct iovec *parts, size_t n)
{
	const struct stage *s = stage_of(cmd);
	enum wire_state state;

	if (mta_decided(m))
		return m->verdict;
	mta_macros_send(m, cmd);
	if (m->steps & s->unwanted)
		return settle(m, cmd, MTA_CONTINUE);
	/* Looked at before the frame is built: a big one may leave at once. */
	if (!(m->steps & s->quiet) && wire_unasked(&m->wire))
		return mta_over(
		    m, MTA_ERROR, "an answer that nobody asked for");
	wire_begin(&m->wire, cmd);
	for (size_t i = 0; i < n; i++)
		wire_add(&m->wire, parts[i].iov_base, parts[i].iov_len);
	m->sent[(unsigned char)cmd & 127]++;
	state = wire_end(&m->wire);
	if (state != WIRE_OK)
		return mta_broken(m, state);
	if (m->steps & s->quiet)
		return settle(m, cmd, MTA_CONTINUE);
	return settle(m, cmd, ask(m, cmd));
}
