/*
 * t_tags - what stands on a message once a mail server has done what we asked
 * for: one that moves later headers up when one is deleted (Postfix), and one
 * that does not (sendmail).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../../milter/tags.h"
#include "check.h"

/* ---- a mail server's headers ------------------------------------------- */

#define HEADERS 400

static struct {
	bool moves_up;
	size_t n;
	struct {
		char name[80], value[64];
		bool deleted;
	} h[HEADERS];
} server;

int
smfi_chgheader(SMFICTX *ctx, char *name, int index, char *value)
{
	size_t i;

	(void)ctx;
	for (i = 0; i < server.n; i++) {
		if (strcasecmp(server.h[i].name, name) != 0 ||
		    (server.moves_up && server.h[i].deleted) || --index > 0)
			continue;
		server.h[i].deleted = value == NULL;
		if (value != NULL)
			(void)snprintf(server.h[i].value,
			    sizeof server.h[i].value, "%s", value);
		return MI_SUCCESS;
	}
	return value == NULL ? MI_SUCCESS : smfi_addheader(ctx, name, value);
}

int
smfi_addheader(SMFICTX *ctx, char *name, char *value)
{
	(void)ctx;
	CHECK(server.n < HEADERS);
	(void)snprintf(server.h[server.n].name, 80, "%s", name);
	(void)snprintf(server.h[server.n].value, 64, "%s", value);
	server.h[server.n++].deleted = false;
	return MI_SUCCESS;
}

static void
comes(const char *name, const char *value)
{
	(void)smfi_addheader(
	    NULL, (char *)(uintptr_t)name, (char *)(uintptr_t)value);
	tags_seen(name);
}

/* What is left, "name=value" with a space between. */
static const char *
stands(void)
{
	static char text[4096];
	size_t i, n = 0;

	text[0] = '\0';
	for (i = 0; i < server.n; i++)
		if (!server.h[i].deleted)
			n += (size_t)snprintf(text + n, sizeof text - n,
			    "%s%s=%s", n > 0 ? " " : "", server.h[i].name,
			    server.h[i].value);
	return text;
}

static void
begin(bool moves_up)
{
	server.n = 0;
	server.moves_up = moves_up;
	tags_begin();
}

/* ---- cases ------------------------------------------------------------- */

static void
test_forged(void)
{
	int up;

	for (up = 0; up < 2; up++) {
		begin(up);
		comes("Subject", "hello");
		comes("X-Tidemark-Bulk", "1");
		comes("x-tidemark-BULK", "2");
		comes("X-Tidemark-Anything", "3");
		comes("X-Tidemark-Bulk", "4");
		comes("To", "you");
		tags_apply(NULL);
		CHECK_STR(stands(), "Subject=hello To=you");
	}
}

static void
test_forged_and_set(void)
{
	int up;

	for (up = 0; up < 2; up++) {
		begin(up);
		comes("X-Tidemark-Bulk", "1");
		comes("To", "you");
		comes("X-TideMark-Bulk", "2");
		tags_set("Bulk", "27");
		tags_apply(NULL);
		CHECK_STR(stands(), "X-Tidemark-Bulk=27 To=you");
	}
}

static void
test_set(void)
{
	begin(false);
	comes("To", "you");
	tags_set("Bulk", "26");
	tags_set("Bulk", "27");
	tags_apply(NULL);
	CHECK_STR(stands(), "To=you X-Tidemark-Bulk=27");
	tags_begin();
	tags_apply(NULL); /* nothing is left for the next message */
	CHECK_STR(stands(), "To=you X-Tidemark-Bulk=27");
}

/* However many are made up, ours is not hidden behind them. */
static void
test_flood(void)
{
	char name[80];
	int i;

	begin(true);
	for (i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof name, "X-Tidemark-%d", i);
		comes(name, "x");
	}
	comes("X-Tidemark-Bulk", "0");
	tags_apply(NULL);
	CHECK(strstr(stands(), "Bulk") == NULL);
}

CHECK_CASES({ "what was forged is taken off", test_forged },
    { "what was forged does not stand beside ours", test_forged_and_set },
    { "a tag is put on, once", test_set },
    { "a flood of names hides nothing", test_flood })
