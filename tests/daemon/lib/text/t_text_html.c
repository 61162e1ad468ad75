/*
 * HTML to what is seen of it: each row some HTML, its text, its links.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "transcript.h"

static const struct {
	const char *name, *html, *text, *links; /* links end in a space */
} rows[] = {
	{ "tags", "<p>One <b>t</b>wo<br/>three</p>", "onetwothree", "" },
	{ "signs that are no tags", "1 < 2 & 3 > 2 <3 a<b", "12323a", "" },
	{ "attributes with > in them", "<a title='x>y' id=\">\">z</a>", "z",
	    "" },
	{ "comments", "a<!-- b --><!--><!--->c<!-- -- > d --!>e", "ace", "" },
	{ "a comment without end", "a<!-- b", "a", "" },
	{ "declarations", "<!DOCTYPE html><?xml x?><![if !mso]>a<![endif]>",
	    "a", "" },
	{ "script and style",
	    "a<script type=x>if (a</b) '</p>'</SCRIPT >b<style>p{}</style>c",
	    "abc", "" },
	{ "an end tag that only begins like one", "<style>x</styles>y</style>z",
	    "z", "" },
	{ "the title is not seen",
	    "<html><head><title>T &amp; <b></title></head>b", "b", "" },
	{ "an empty tag is none for them", "<b/>x<br>y", "xy", "" },
	{ "a tag without end", "a<b href=", "a", "" },
	{ "entities", "caf&eacute; &lt;b&gt; &szlig; &#233;&#xE9;&#X41;",
	    "cafébsséé"
	    "a",
	    "" },
	{ "entities without a semicolon",
	    "caf&eacute x&ampy &#65 &#66z &copyright &notaword",
	    "caféxyabzrightaword", "" },
	{ "what is no entity stays", "AT&T &; &# &#x; &foobar; &hellip;",
	    "attxfoobar", "" },
	{ "entities that people mean as windows-1252", "&#140;&#146;", "œ",
	    "" },
	{ "no character", "a&#0;&#55296;&#1114112;&#99999999999;b", "ab", "" },
	{ "zeros that lead", "&#00000000000000000000000000065;", "a", "" },
	{ "HTML 5's names of signs", "a&period;b&comma;&lpar;c&NewLine;d",
	    "abcd", "" },
	{ "a link", "<a href=\"https://x.example/a?b=1&amp;c=2\">go</a>", "go",
	    "httpsxexampleab1c2 " },
	{ "links, unquoted, in any case, wrapped",
	    "<A HREF=http://a.example/x>1</A><a class=c\nhref = ' http://b.\n"
	    "example '>2</a>",
	    "12", "httpaexamplex httpbexample " },
	{ "images and forms",
	    "<img alt=no src=http://i.example/p.gif><form action=//f.example>",
	    "", "httpiexamplepgif fexample " },
	{ "what leads nowhere",
	    "<a href='#top'>a</a><img src=cid:1@x><img src=\"data:x,y\">"
	    "<a href=JavaScript:x()>b</a><a href>c</a><a href=''>d</a>",
	    "abcd", "" },
	{ "targets of others",
	    "<link href=a.css><script src=b.js></script>"
	    "<x href=c></a href=d>",
	    "", "" },
};

/* The transcript has the text on its first line, then the links. */
static void
rows_hold(void)
{
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		char message[2048], want[2048], link[256];
		const char *p = rows[i].links;
		char *got;
		int n;

		(void)snprintf(message, sizeof message,
		    "Content-Type: text/html; charset=utf-8\n\n%s",
		    rows[i].html);
		n = snprintf(want, sizeof want, "text 0 0 text/html: %s\n",
		    rows[i].text);
		for (; sscanf(p, "%255s", link) == 1; p += strlen(link) + 1)
			n += snprintf(want + n, sizeof want - (size_t)n,
			    "link 0 0: %s\n", link);
		got = transcript_of(message);
		CHECK_MSG(strcmp(got, want) == 0,
		    "%s:\n#   «%s», not\n#   «%s»", rows[i].name, got, want);
		free(got);
	}
}

static void
long_targets_are_cut(void)
{
	static char message[20000] = "Content-Type: text/html\n\n<a href=\"";
	size_t n = strlen(message);
	char *got;

	memset(message + n, 'x', 10000);
	strcpy(message + n + 10000, "\">y</a>");
	got = transcript_of(message);
	CHECK(strncmp(got, "text 0 0 text/html: y\nlink 0 0: xxx", 35) == 0);
	CHECK_INT(
	    strlen(got), strlen("text 0 0 text/html: y\nlink 0 0: \n") + 2048);
	free(got);
}

CHECK_CASES({ "what is seen", rows_hold },
    { "long targets are cut", long_targets_are_cut })
