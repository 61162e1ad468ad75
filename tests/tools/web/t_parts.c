/*
 * The parts of tidemark-web that read what others wrote: forms, hosts and
 * origins, masks, and cells of a spreadsheet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../tools/web/form.h"
#include "../../../tools/web/guard.h"
#include "../../../tools/web/html.h"
#include "../../../tools/web/mask.h"
#include "../../../tools/web/sheet.h"
#include "check.h"
#include "tidemark/base/err.h"
#include "tidemark/base/listen.h"

/* ---- forms ------------------------------------------------------------- */

static const struct form_case {
	const char *name, *body;
	bool ok;
	const char *text, *from;
} forms[] = {
	{ "two fields", "text=a+b&from=c%40d", true, "a b", "c@d" },
	{ "in any order", "from=x&text=y", true, "y", "x" },
	{ "none", "", true, "", "" },
	{ "only ampersands", "&&&", true, "", "" },
	{ "others' fields", "a=1&text=y&b", true, "y", "" },
	{ "the last counts", "text=1&text=2", true, "2", "" },
	{ "no equals sign", "text", true, "", "" },
	{ "an equals sign more", "text=a=b", true, "a=b", "" },
	{ "an escaped name", "te%78t=a", true, "a", "" },
	{ "an escaped ampersand", "text=a%26b%3dc", true, "a&b=c", "" },
	{ "an escaped plus", "text=a%2Bb", true, "a+b", "" },
	{ "lines and tabs", "text=a%0d%0Ab%09c", true, "a\r\nb\tc", "" },
	{ "UTF-8", "text=%c3%a9", true, "\xc3\xa9", "" },
	{ "half an escape", "text=%4", false, "", "" },
	{ "an escape across the end", "text=%&from=41", false, "", "" },
	{ "no hex", "text=%g1", false, "", "" },
	{ "a NUL", "text=a%00b", false, "", "" },
	{ "a bell", "text=%07", false, "", "" },
	{ "DEL", "text=%7f", false, "", "" },
	{ "a bad escape in another's field", "a=%&text=b", false, "", "" },
};

static void
forms_are_read(void)
{
	size_t i;

	for (i = 0; i < sizeof forms / sizeof *forms; i++) {
		const struct form_case *c = &forms[i];
		struct form_field f[] = { { "text", NULL }, { "from", NULL } };
		char *body = strdup(c->body); /* exact, for ASan */
		bool ok = form_parse(body, strlen(body), f, 2);

		CHECK_MSG(ok == c->ok, "%s", c->name);
		if (ok) {
			CHECK_MSG(strcmp(f[0].value, c->text) == 0, "%s: «%s»",
			    c->name, f[0].value);
			CHECK_MSG(strcmp(f[1].value, c->from) == 0, "%s: «%s»",
			    c->name, f[1].value);
		}
		free(body);
	}
}

/* ---- hosts and origins ------------------------------------------------- */

static void
loopback_is_us(void)
{
	static const char *const ours[] = { "localhost", "LocalHost:80",
		"127.0.0.1", "127.255.0.1:65535", "[::1]", "[::1]:1" };
	static const char *const others[] = { "", ":80", "localhost.",
		"localhost.evil.example", "localhosts", "evil.example",
		"127.0.0.1.evil.example", "127.0.0.1:", "127.0.0.1:8a",
		"127.0.0.1:123456", "127.1", "0127.0.0.1", "128.0.0.1", "[::1",
		"[::1]x", "[::2]", "::1", "[::ffff:127.0.0.1]",
		"user@localhost", "localhost/", " localhost", "localhost " };
	size_t i;

	for (i = 0; i < sizeof ours / sizeof *ours; i++)
		CHECK_MSG(guard_host(ours[i]), "%s", ours[i]);
	for (i = 0; i < sizeof others / sizeof *others; i++)
		CHECK_MSG(!guard_host(others[i]), "%s", others[i]);
	CHECK(!guard_host(NULL));
}

static void
only_the_page_asks(void)
{
	const char *host = "localhost:9190";

	CHECK(guard_post(host, NULL, NULL));
	CHECK(guard_post(host, "http://localhost:9190", NULL));
	CHECK(guard_post(host, "https://LOCALHOST:9190", "same-origin"));
	CHECK(guard_post(host, "null", "same-origin"));
	CHECK(guard_post(host, NULL, "same-origin"));
	CHECK(!guard_post(host, "null", NULL));
	CHECK(!guard_post(host, "http://localhost", NULL));
	CHECK(!guard_post(host, "http://localhost:91900", NULL));
	CHECK(!guard_post(host, "http://evil.example", NULL));
	CHECK(!guard_post(host, "http://evil.example", "same-origin"));
	CHECK(!guard_post(host, "localhost:9190", NULL));
	CHECK(!guard_post(host, "", NULL));
	CHECK(!guard_post(host, NULL, "cross-site"));
	CHECK(!guard_post(host, NULL, "same-site"));
	CHECK(!guard_post(host, NULL, ""));
	CHECK(!guard_post(NULL, "http://localhost", NULL));
}

static void
places_are_of_this_machine(void)
{
	static const char *const good[] = { "127.0.0.1:9190", "127.9.9.9:0",
		"[::1]:65535", "unix:/run/tidemark-web/web.sock" };
	static const char *const bad[] = { "", ":", "9190", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1: 1",
		"127.0.0.1:65536", "127.0.0.1:80x", "0.0.0.0:80", "[::]:80",
		"[::1]", "::1:80", "[]:80", "localhost:80", "unix:", "unix:x",
		"192.0.2.1:80", "[fe80::1]:80", "[::ffff:127.0.0.1]:80",
		"[::1%lo]:80", "http://127.0.0.1:80" };
	struct tide_web_place p;
	struct tide_err err;
	char path[200];
	size_t i;

	for (i = 0; i < sizeof good / sizeof *good; i++)
		CHECK_MSG(
		    tide_web_place(good[i], &p, &err) == 0, "%s", good[i]);
	for (i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_MSG(tide_web_place(bad[i], &p, &err) < 0, "%s", bad[i]);
	memset(path, 'x', sizeof path);
	memcpy(path, "unix:/", 6);
	path[5 + TIDE_LOCAL_SOCKET_MAX] = '\0';
	CHECK(tide_web_place(path, &p, &err) == 0);
	path[5 + TIDE_LOCAL_SOCKET_MAX] = 'x';
	path[6 + TIDE_LOCAL_SOCKET_MAX] = '\0';
	CHECK(tide_web_place(path, &p, &err) < 0);
}

/* ---- masks ------------------------------------------------------------- */

static const struct {
	const char *key, *masked;
} keys[] = {
	{ "sales@example.org", "s***s@example.org" },
	{ "sales@example.org|192.0.2.0/24", "s***s@example.org|192.0.*.*" },
	{ "ab@example.org", "***@example.org" },
	{ "a@example.org", "***@example.org" },
	{ "\"x y\"@example.org", "\"***\"@example.org" },
	{ "a@b@example.org", "a***b@example.org" },
	{ "\xc3\xa9t\xc3\xa9@example.org", "\xc3\xa9***\xc3\xa9@example.org" },
	{ "\xc3\xa9@example.org", "***@example.org" },
	{ "\xff\xfe@x", "***@x" },
	{ "abc\x80\x80\x80\x80\x80\x80@x", "a***\x80@x" },
	{ "ab\xc3\xa9\xa9@x", "a***\xa9@x" },
	{ "a@[192.0.2.7]", "***@[*]" },
	{ "192.0.2.7", "192.0.*.*" },
	{ "198.51.100.0/24", "198.51.*.*" },
	{ "2001:db8:1:2::/64", "2001:db8:*" },
	{ "2001:db8:1:2:3:4:5:6", "2001:db8:*" },
	{ "fe80::1", "fe80::*" },
	{ "::1", "::*" },
	{ "auth:sales", "auth:s***s" },
	{ "auth:sales@example.org", "auth:s***s@example.org" },
	{ "@example.org", "@example.org" },
	{ "@[192.0.2.7]", "***@[*]" },
	{ "\"x|@smith\"@example.org", "***|@***\"@example.org" },
	{ "<>|192.0.2.0/24", "<>|192.0.*.*" },
	{ "local", "local" },
	{ "", "" },
	{ "|", "|" },
	{ "a|b|", "***|***|" },
	{ "whatever", "w***r" },
};

static void
keys_are_masked(void)
{
	char out[MASK_MAX], key[400];
	size_t i;

	for (i = 0; i < sizeof keys / sizeof *keys; i++) {
		CHECK_MSG(strcmp(mask_key(true, keys[i].key, out),
			      keys[i].masked) == 0,
		    "%s: %s", keys[i].key, out);
		CHECK(strcmp(mask_key(false, keys[i].key, out), keys[i].key) ==
		    0);
	}
	memset(key, 'x', sizeof key);
	key[sizeof key - 1] = '\0';
	CHECK(strlen(mask_key(true, key, out)) < sizeof out);
}

static const struct {
	const char *text, *masked;
} sentences[] = {
	{ "too many messages", "too many messages" },
	{ "says sales@example.org, twice", "says s***s@example.org, twice" },
	{ "<sales@example.org>", "<s***s@example.org>" },
	{ "from 192.0.2.7.", "from 1***." },
	{ "from 192.0.2.7", "from 192.0.*.*" },
	{ "(2001:db8::7)", "(2001:db8:*)" },
	{ "hijacked, ip:192.0.2.7", "hijacked, ip:192.0.*.*" },
	{ "relay=192.0.2.7 again", "relay=192.0.*.* again" },
	{ "from [IPv6:2001:db8::7]", "from [IPv6:2001:*]" },
	{ "bob@[192.0.2.7]", "b***b@[192.0.*.*]" },
	{ "::1 and 192.0.2.0/24", "::* and 192.0.*.*" },
	{ "at 12:30, 1.5 times", "at 12:30, 1.5 times" },
	{ "", "" },
};

static void
sentences_are_masked(void)
{
	char out[MASK_MAX];
	size_t i;

	for (i = 0; i < sizeof sentences / sizeof *sentences; i++) {
		CHECK_MSG(strcmp(mask_words(true, sentences[i].text, out),
			      sentences[i].masked) == 0,
		    "%s: %s", sentences[i].text, out);
		CHECK(strcmp(mask_words(false, sentences[i].text, out),
			  sentences[i].text) == 0);
	}
}

/* ---- cells and markup -------------------------------------------------- */

/* One row of one text, as CSV or NDJSON. */
static const char *
cell(bool csv, const char *text)
{
	static const char *const columns[] = { "a", NULL };
	static char out[512];
	struct sheet s = { .csv = csv, .record = "r", .column = columns };

	memset(out, 0, sizeof out);
	s.out = fmemopen(out, sizeof out - 1, "w");
	sheet_row(&s);
	sheet_text(&s, text);
	sheet_end(&s);
	CHECK(fclose(s.out) == 0);
	return out;
}

static void
cells_are_no_formulas(void)
{
	CHECK(strcmp(cell(true, "plain"), "\"plain\"\r\n") == 0);
	CHECK(strcmp(cell(true, "=1+1"), "\"'=1+1\"\r\n") == 0);
	CHECK(strcmp(cell(true, "+1"), "\"'+1\"\r\n") == 0);
	CHECK(strcmp(cell(true, "-1"), "\"'-1\"\r\n") == 0);
	CHECK(strcmp(cell(true, "@x"), "\"'@x\"\r\n") == 0);
	CHECK(strcmp(cell(true, "\t=1"), "\"'\t=1\"\r\n") == 0);
	CHECK(strcmp(cell(true, "a\"b,c"), "\"a\"\"b,c\"\r\n") == 0);
	CHECK(strcmp(cell(true, ""), "\"\"\r\n") == 0);
	CHECK(strcmp(cell(false, "=\"x"),
		  "{\"version\":1,\"type\":\"r\",\"a\":\"=\\\"x\"}\n") == 0);
}

static void
markup_is_text(void)
{
	char out[200] = "";
	FILE *f = fmemopen(out, sizeof out, "w");

	html_text(f, "<b a=\"1\" c='2'>&amp;");
	CHECK(fclose(f) == 0);
	CHECK(strcmp(out, "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;") ==
	    0);
}

int
main(void)
{
	static const struct check_case cases[] = {
		{ "forms are read, or refused", forms_are_read },
		{ "names of loopback are ours, no others", loopback_is_us },
		{ "only the page itself asks", only_the_page_asks },
		{ "places are of this machine", places_are_of_this_machine },
		{ "keys are masked", keys_are_masked },
		{ "sentences are masked", sentences_are_masked },
		{ "cells are no formulas", cells_are_no_formulas },
		{ "markup is text", markup_is_text },
	};

	return check_main(cases, sizeof cases / sizeof *cases);
}
