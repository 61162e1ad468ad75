/*
 * The milter client against a real filter on stock libmilter, and against one
 * that breaks the protocol.
 */
#include <libmilter/mfapi.h>
#include <libmilter/mfdef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "mta.h"
#include "probe.h"

enum {
	ALL_QUIET = SMFIP_NR_CONN | SMFIP_NR_HELO | SMFIP_NR_MAIL |
	    SMFIP_NR_RCPT | SMFIP_NR_DATA | SMFIP_NR_HDR | SMFIP_NR_EOH |
	    SMFIP_NR_BODY,
	LESS = SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOHDRS | SMFIP_NOEOH |
	    SMFIP_NOBODY,
};

static const struct mta_client client = { "MTA-ext", "client.example",
	"192.0.2.7", 4025 };
static struct mta *mta;

static const char *
path(void)
{
	static char p[600];

	snprintf(p, sizeof p, "%s/probe.sock", check_tmpdir());
	return p;
}

/* A fresh probe and a client that has said hello to it. */
static void
meet(unsigned long steps)
{
	probe_start(path(), steps);
	mta_free(mta);
	mta = mta_new(path(), 1000);
	CHECK_INT(mta_open(mta), MTA_CONTINUE);
	CHECK_INT(mta_connect(mta, &client), MTA_CONTINUE);
	CHECK_INT(mta_helo(mta, "client.example"), MTA_CONTINUE);
}

static enum mta_answer
content(void)
{
	CHECK_INT(mta_data(mta), MTA_CONTINUE);
	CHECK_INT(mta_header(mta, "From", " a@a.example"), MTA_CONTINUE);
	CHECK_INT(mta_header(mta, "Subject", " one\n\ttwo"), MTA_CONTINUE);
	CHECK_INT(mta_eoh(mta), MTA_CONTINUE);
	CHECK_INT(mta_body(mta, "hello\r\n", 7), MTA_CONTINUE);
	return mta_eom(mta);
}

static void
send_mail(const char *qid)
{
	CHECK_INT(mta_mail(mta, "a@a.example", qid, NULL), MTA_CONTINUE);
	CHECK_INT(mta_rcpt(mta, "b@b.example"), MTA_CONTINUE);
	CHECK_INT(content(), MTA_CONTINUE);
}

static void
answers_every_stage(void)
{
	static const char stages[] = "CHMRTLNBE";

	meet(0);
	send_mail("Q1");
	for (const char *s = stages; *s; s++)
		CHECK_MSG(mta_sent(mta, *s) == mta_answered(mta, *s) &&
			mta_sent(mta, *s) > 0,
		    "stage %c: %u sent, %u answered", *s, mta_sent(mta, *s),
		    mta_answered(mta, *s));
	CHECK_STR(mta_added(mta, "X-Seen"),
	    "daemon=MTA-ext client=192.0.2.7 i=Q1 user=- helo=1 mail=1 rcpt=1 "
	    "bad=0 data=1 header=2 eoh=1 chunks=1 body=7");
}

static void
does_not_wait_for_unanswered(void)
{
	static const char stages[] = "CHMRTLNB";

	meet(ALL_QUIET);
	CHECK_INT(mta_steps(mta), ALL_QUIET);
	send_mail("Q2");
	for (const char *s = stages; *s; s++)
		CHECK_MSG(mta_sent(mta, *s) && !mta_answered(mta, *s),
		    "stage %c", *s);
	CHECK_INT(mta_answered(mta, 'E'), 1);
	CHECK_STR(mta_added(mta, "X-Seen"),
	    "daemon=MTA-ext client=192.0.2.7 i=Q2 user=- helo=1 mail=1 rcpt=1 "
	    "bad=0 data=1 header=2 eoh=1 chunks=1 body=7");
}

static void
leaves_out_unwanted(void)
{
	static const char stages[] = "HTLNB";

	meet(LESS);
	send_mail("Q3");
	for (const char *s = stages; *s; s++)
		CHECK_MSG(mta_sent(mta, *s) == 0, "stage %c", *s);
	CHECK_STR(mta_added(mta, "X-Seen"),
	    "daemon=MTA-ext client=192.0.2.7 i=Q3 user=- helo=0 mail=1 rcpt=1 "
	    "bad=0 data=0 header=0 eoh=0 chunks=0 body=0");
}

static void
rejected_recipients(unsigned long steps, const char *seen)
{
	meet(steps);
	CHECK_INT(mta_mail(mta, "a@a.example", "Q4", "jonas"), MTA_CONTINUE);
	CHECK_INT(mta_rcpt_rejected(mta, "nobody@b.example"), MTA_CONTINUE);
	CHECK_INT(mta_rcpt(mta, "b@b.example"), MTA_CONTINUE);
	CHECK_INT(content(), MTA_CONTINUE);
	CHECK_STR(mta_added(mta, "X-Seen"), seen);
}

static void
flags_rejected_recipients(void)
{
	rejected_recipients(SMFIP_RCPT_REJ,
	    "daemon=MTA-ext client=192.0.2.7 i=Q4 user=jonas helo=1 mail=1 "
	    "rcpt=2 bad=1 data=1 header=2 eoh=1 chunks=1 body=7");
}

static void
keeps_rejected_recipients(void)
{
	rejected_recipients(0,
	    "daemon=MTA-ext client=192.0.2.7 i=Q4 user=jonas helo=1 mail=1 "
	    "rcpt=1 bad=0 data=1 header=2 eoh=1 chunks=1 body=7");
}

static const struct reply_case {
	const char *addr;
	enum mta_answer want;
	const char *text;
} replies[] = {
	{ "plain@a.example", MTA_CONTINUE, "" },
	{ "reject@a.example", MTA_REJECT, "" },
	{ "later@a.example", MTA_TEMPFAIL, "" },
	{ "accept@a.example", MTA_ACCEPT, "" },
	{ "discard@a.example", MTA_DISCARD, "" },
	{ "banned@a.example", MTA_REPLYCODE, "550 5.7.1 too many strangers" },
	{ "slower@a.example", MTA_REPLYCODE,
	    "451 4.7.1 come back in a minute" },
};

static void
reads_answers_at_mail(void)
{
	meet(0);
	for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
		CHECK_INT(mta_mail(mta, replies[i].addr, "Q5", NULL),
		    replies[i].want);
		CHECK_STR(mta_text(mta), replies[i].text);
	}
}

static void
reads_answers_at_rcpt(void)
{
	meet(0);
	for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
		CHECK_INT(
		    mta_mail(mta, "a@a.example", "Q6", NULL), MTA_CONTINUE);
		CHECK_INT(mta_rcpt(mta, replies[i].addr), replies[i].want);
		CHECK_STR(mta_text(mta), replies[i].text);
	}
}

static void
goes_on_with_other_recipients(void)
{
	meet(0);
	CHECK_INT(mta_mail(mta, "a@a.example", "Q7", NULL), MTA_CONTINUE);
	CHECK_INT(mta_rcpt(mta, "banned@b.example"), MTA_REPLYCODE);
	CHECK_INT(mta_rcpt(mta, "b@b.example"), MTA_CONTINUE);
	CHECK_INT(content(), MTA_CONTINUE);
}

static void
sends_no_more_once_accepted(void)
{
	meet(0);
	CHECK_INT(mta_mail(mta, "accept@a.example", "Q8", NULL), MTA_ACCEPT);
	CHECK_INT(mta_rcpt(mta, "b@b.example"), MTA_ACCEPT);
	CHECK_INT(mta_eom(mta), MTA_ACCEPT);
	CHECK_INT(mta_sent(mta, 'R') + mta_sent(mta, 'E'), 0);
	send_mail("Q9");
	CHECK_INT(mta_sent(mta, 'A'), 1);
}

static void
refused_client_stays_refused(void)
{
	const struct mta_client bad = { "MTA-ext", "unwelcome.example",
		"2001:db8::7", 4025 };

	probe_start(path(), 0);
	mta_free(mta);
	mta = mta_new(path(), 1000);
	CHECK_INT(mta_open(mta), MTA_CONTINUE);
	CHECK_INT(mta_connect(mta, &bad), MTA_REJECT);
	CHECK_INT(mta_mail(mta, "a@a.example", "Q10", NULL), MTA_REJECT);
	CHECK_INT(mta_sent(mta, 'M'), 0);
}

static void
header_space(unsigned long steps, const char *want)
{
	meet(steps);
	send_mail("Q11");
	CHECK_STR(mta_added(mta, "X-Last"), want);
}

static void
strips_one_leading_space(void)
{
	header_space(0, "Subject|one\n\ttwo");
}

static void
keeps_leading_space_if_asked(void)
{
	header_space(SMFIP_HDR_LEADSPC, "Subject| one\n\ttwo");
}

static char big[200000];

static void
send_big(const char *sender)
{
	memset(big, 'x', sizeof big);
	CHECK_INT(mta_mail(mta, sender, "Q12", NULL), MTA_CONTINUE);
	CHECK_INT(mta_rcpt(mta, "b@b.example"), MTA_CONTINUE);
	mta_body(mta, big, sizeof big);
	CHECK_MSG(mta_eom(mta) == MTA_CONTINUE, "%s", mta_text(mta));
}

static void
cuts_a_big_body(void)
{
	meet(SMFIP_NR_BODY);
	send_big("a@a.example");
	CHECK_INT(mta_sent(mta, 'B'), 4);
	CHECK(strstr(mta_added(mta, "X-Seen"), " chunks=4 body=200000"));
}

static void
stops_the_body_when_told(void)
{
	meet(SMFIP_SKIP);
	send_big("enough@a.example");
	CHECK_INT(mta_sent(mta, 'B'), 1);
}

static void
collects_changes(void)
{
	const struct mta_change *c;

	meet(0);
	CHECK_INT(mta_mail(mta, "changes@a.example", "Q13", NULL), 0);
	CHECK_INT(mta_rcpt(mta, "b@b.example"), MTA_CONTINUE);
	CHECK_INT(content(), MTA_CONTINUE);
	CHECK_INT(mta_changes(mta, &c), 6);
	CHECK(c[0].kind == SMFIR_ADDHEADER && c[1].kind == SMFIR_ADDHEADER);
	CHECK(c[2].kind == SMFIR_INSHEADER && c[2].index == 1);
	CHECK_STR(c[2].name, "X-Old");
	CHECK_STR(c[2].value, "new");
	CHECK(c[3].kind == SMFIR_CHGHEADER && c[3].index == 2);
	CHECK(c[4].kind == SMFIR_ADDRCPT);
	CHECK_STR(c[4].value, "<a@b.example>");
	CHECK(c[5].kind == SMFIR_QUARANTINE);
	CHECK_STR(c[5].value, "a closer look");
	send_mail("Q14");
	CHECK_INT(mta_changes(mta, &c), 2);
}

static void
gives_up_in_time(void)
{
	const time_t start = time(NULL);

	meet(0);
	CHECK_INT(mta_mail(mta, "slow@a.example", "Q15", NULL), MTA_TIMEOUT);
	CHECK_STR(mta_text(mta), "nothing for 1000 ms");
	CHECK_INT(mta_rcpt(mta, "b@b.example"), MTA_TIMEOUT);
	CHECK(time(NULL) - start < 4);
}

static void
notices_a_dead_filter(void)
{
	meet(0);
	CHECK_INT(mta_mail(mta, "die@a.example", "Q16", NULL), MTA_CONTINUE);
	CHECK_INT(mta_rcpt(mta, "b@b.example"), MTA_CONTINUE);
	CHECK_INT(content(), MTA_LOST);
	probe_stop(); /* its listener may outlive its connection a little */
	CHECK_INT(mta_open(mta), MTA_REFUSED);
}

static const struct raw_case {
	const char *name;
	const char *bytes;
	unsigned len;
	const char *why;
} raws[] = {
	{ "empty frame", "\0\0\0\0", 4, "a frame of 0 bytes" },
	{ "huge frame", "\177\0\0\0c", 5, "a frame of 2130706432 bytes" },
	{ "unknown answer", "\0\0\0\1Z", 5, "an answer we do not know" },
	{ "change before the end", "\0\0\0\5hA\0B", 9,
	    "an answer we do not know" },
	{ "two answers", "\0\0\0\1c\0\0\0\1c", 10,
	    "an answer that nobody asked for" },
};

static void
names_what_is_broken(void)
{
	const struct raw_case *r = raws;

	for (size_t i = 0; i < sizeof raws / sizeof *raws; i++, r++) {
		probe_start_raw(path(), r->bytes, r->len);
		mta_free(mta);
		mta = mta_new(path(), 1000);
		CHECK_INT(mta_open(mta), MTA_CONTINUE);
		mta_connect(mta, &client);
		CHECK_MSG(mta_helo(mta, "x") == MTA_ERROR, "%s", r->name);
		CHECK_STR(mta_text(mta), r->why);
	}
	probe_stop();
	mta_free(mta);
	mta = NULL;
}

CHECK_CASES({ "every stage is sent and answered", answers_every_stage },
    { "no wait for an answer the filter will not give",
	does_not_wait_for_unanswered },
    { "stages the filter does not want are left out", leaves_out_unwanted },
    { "a rejected recipient is flagged", flags_rejected_recipients },
    { "a rejected recipient is not sent unless asked for",
	keeps_rejected_recipients },
    { "answers to MAIL", reads_answers_at_mail },
    { "answers to RCPT", reads_answers_at_rcpt },
    { "one refused recipient does not end a message",
	goes_on_with_other_recipients },
    { "nothing more is sent once accepted", sends_no_more_once_accepted },
    { "a refused client stays refused", refused_client_stays_refused },
    { "one leading space goes", strips_one_leading_space },
    { "leading space stays if asked for", keeps_leading_space_if_asked },
    { "a big body goes in chunks", cuts_a_big_body },
    { "the body stops when told so", stops_the_body_when_told },
    { "changes at the end are collected", collects_changes },
    { "a slow filter meets the time limit", gives_up_in_time },
    { "a dead filter is noticed", notices_a_dead_filter },
    { "a broken protocol is named", names_what_is_broken }, )
