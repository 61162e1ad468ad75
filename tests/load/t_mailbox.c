/*
 * Reading mailboxes: what of a file becomes envelope, headers and body.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "mailbox.h"

static struct mailbox box;

static const char *
file(const char *name)
{
	static char p[600];

	snprintf(p, sizeof p, "%s/%s", check_tmpdir(), name);
	return p;
}

static const char *
written(const char *name, const char *text)
{
	const char *p = file(name);
	FILE *f = fopen(p, "w");

	CHECK(f);
	fputs(text, f);
	CHECK(fclose(f) == 0);
	return p;
}

static void
load(const char *path, size_t want)
{
	const char *why;

	mailbox_free(&box);
	CHECK_MSG(mailbox_read(&box, path, &why), "%s: %s", path, why);
	CHECK_INT(box.n, want);
}

static void
splits_an_mbox(void)
{
	load(written("box",
		 "From a@a.example Mon Mar  3 07:52:10 2025\n"
		 "To: b@b.example\nSubject: one\n\ttwo\n\nfirst\n"
		 ">From here\n>>From there\n> From nowhere\nFrom the start\n\n"
		 "From c@c.example Mon Mar  3 07:52:11 2025\n"
		 "To: d@d.example\n\nsecond\n\n\n"),
	    2);
	CHECK_STR(box.mails[0].from, "a@a.example");
	CHECK_INT(box.mails[0].n_headers, 2);
	CHECK_STR(box.mails[0].headers[1].name, "Subject");
	CHECK_STR(box.mails[0].headers[1].value, " one\n\ttwo");
	CHECK_STR(box.mails[0].body,
	    "first\r\nFrom here\r\n>From there\r\n> From nowhere\r\n"
	    "From the start\r\n");
	CHECK_INT(box.mails[0].body_len, strlen(box.mails[0].body));
	CHECK_STR(box.mails[1].from, "c@c.example");
	CHECK_STR(box.mails[1].body, "second\r\n\r\n");
}

static const struct envelope_case {
	const char *name, *text, *from, *to;
} envelopes[] = {
	{ "X-Envelope-From comes first",
	    "From l@l.example Mon\nReturn-Path: <r@r.example>\n"
	    "X-Envelope-From: <x@x.example>\nTo: b@b.example\n\n",
	    "x@x.example", "b@b.example" },
	{ "Return-Path before the line",
	    "From l@l.example Mon\nReturn-Path: <r@r.example>\n"
	    "To: b@b.example\n\n",
	    "r@r.example", "b@b.example" },
	{ "the line before From",
	    "From l@l.example Mon\nFrom: F <f@f.example>\nTo: b@b.example\n\n",
	    "l@l.example", "b@b.example" },
	{ "From if the line has no address",
	    "From root Mon\nFrom: F <f@f.example>\nTo: b@b.example\n\n",
	    "f@f.example", "b@b.example" },
	{ "the null sender in Return-Path",
	    "From l@l.example Mon\nReturn-Path: <>\nTo: b@b.example\n\n", "",
	    "b@b.example" },
	{ "MAILER-DAEMON is the null sender",
	    "From MAILER-DAEMON Mon\nFrom: f@f.example\nTo: b@b.example\n\n",
	    "", "b@b.example" },
	{ "X-Envelope-To instead of To",
	    "From l@l.example Mon\nTo: b@b.example\nX-Envelope-To: c@c.example,"
	    "\n\td@d.example\nx-envelope-to: e@e.example\n\n",
	    "l@l.example", "c@c.example d@d.example e@e.example" },
	{ "To and Cc",
	    "From l@l.example Mon\nCc: c@c.example\nTo: b@b.example\n\n",
	    "l@l.example", "b@b.example c@c.example" },
	{ "somebody, if nobody is named", "From l@l.example Mon\nX: y\n\n",
	    "l@l.example", "undisclosed@example.test" },
};

static const char *
recipients(const struct mail *m)
{
	static char all[512];

	all[0] = '\0';
	for (size_t i = 0; i < m->n_to; i++)
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
		    i ? " " : "", m->to[i]);
	return all;
}

static void
finds_the_envelope(void)
{
	const struct envelope_case *e = envelopes;

	for (size_t i = 0; i < sizeof envelopes / sizeof *envelopes; i++, e++) {
		load(written("one", e->text), 1);
		CHECK_MSG(check_same(box.mails[0].from, e->from), "%s: <%s>",
		    e->name, box.mails[0].from);
		CHECK_MSG(check_same(recipients(&box.mails[0]), e->to),
		    "%s: %s", e->name, recipients(&box.mails[0]));
		for (size_t h = 0; h < box.mails[0].n_headers; h++)
			CHECK(!strcasestr(
			    box.mails[0].headers[h].name, "envelope"));
	}
}

static const struct address_case {
	const char *value, *want;
} addresses[] = {
	{ "a@a.example", "a@a.example" },
	{ " \"Reed, Lena\" <lena@a.example>, b@b.example",
	    "lena@a.example b@b.example" },
	{ "friends: a@a.example, B <b@b.example>;", "a@a.example b@b.example" },
	{ "undisclosed-recipients:;", "" },
	{ "a@a.example (A, \\) (c@c.example)), d@d.example",
	    "a@a.example d@d.example" },
	{ "<>, <@>, <a@>, <@b>, @, c@c.example", "c@c.example" },
	{ "<\"a b\"@c.example>, <d@d.example>", "d@d.example" },
	{ "\"never closed <a@a.example>", "" },
	{ "<never closed@a.example", "" },
	{ "(never closed a@a.example", "" },
	{ "", "" },
};

static void
reads_address_lists(void)
{
	char addr[64], all[256];
	const char *at;

	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		at = addresses[i].value;
		all[0] = '\0';
		while (mail_next_address(&at, addr, sizeof addr))
			snprintf(all + strlen(all), sizeof all - strlen(all),
			    "%s%s", *all ? " " : "", addr);
		CHECK_STR(all, addresses[i].want);
	}
}

static void
reads_a_folder(void)
{
	CHECK(mkdir(file("folder"), 0700) == 0);
	CHECK(mkdir(file("folder/cur"), 0700) == 0);
	written("folder/cur/2", "From: b@b.example\r\n\r\n>From b\r\n");
	written("folder/1", "From: a@a.example\n\nlast line");
	written("folder/.hidden", "From: h@h.example\n\n");
	load(file("folder"), 2);
	CHECK_STR(box.mails[0].from, "a@a.example");
	CHECK_STR(box.mails[0].body, "last line\r\n");
	CHECK_STR(box.mails[1].from, "b@b.example");
	CHECK_STR(box.mails[1].headers[0].value, " b@b.example");
	CHECK_STR(box.mails[1].body, ">From b\r\n");
}

static void
says_what_is_wrong(void)
{
	const char *why;

	mailbox_free(&box);
	CHECK(!mailbox_read(&box, file("absent"), &why));
	CHECK_STR(why, "No such file or directory");
	CHECK(!mailbox_read(&box, written("empty", ""), &why));
	CHECK_STR(why, "no messages");
}

static void
reads_the_sample(void)
{
	size_t null_senders = 0;

	load("tests/demo/sample.mbox", 39);
	for (size_t i = 0; i < box.n; i++) {
		CHECK(box.mails[i].n_to > 0 && box.mails[i].n_headers > 3);
		CHECK(box.mails[i].body_len > 0);
		null_senders += !*box.mails[i].from;
	}
	CHECK_INT(null_senders, 2);
	CHECK_INT(box.mails[15].n_to, 15);
	CHECK(strstr(box.mails[9].body, "\r\nFrom the drawing of 2019"));
	CHECK(strstr(box.mails[9].body, "\r\n>From memory"));
	mailbox_free(&box);
}

CHECK_CASES({ "an mbox is split and unquoted", splits_an_mbox },
    { "the envelope's sources, in order", finds_the_envelope },
    { "address lists", reads_address_lists },
    { "a folder of messages", reads_a_folder },
    { "what cannot be read is named", says_what_is_wrong },
    { "the sample mailbox", reads_the_sample }, )
