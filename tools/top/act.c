/*
 * top, act - questions that `why' answers, and orders that the daemon carries
 * out: its control socket decides who may give them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../flow/why.h"
#include "../order.h"
#include "../read/output.h"
#include "top.h"
#include "tidemark/base/line.h"

char *
act_why(const struct top *t, const char *key)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (f == NULL)
		return NULL;
	(void)why_tell(&t->view, key, false, f);
	(void)fclose(f);
	return text;
}

/* Give the order; what the daemon has against it, in one line. */
static bool
give(const struct top *t, struct order *o, struct tide_line_out *request,
    char out[TOP_TEXT])
{
	char *said = NULL;
	size_t size;
	FILE *f = open_memstream(&said, &size);
	bool done;

	if (f == NULL)
		return false;
	complain_to(f);
	done = order_give(t->tool, o, request) == TOOL_OK;
	complain_to(NULL);
	(void)fclose(f);
	if (!done)
		(void)snprintf(
		    out, TOP_TEXT, "%.*s", (int)strcspn(said, "\n"), said);
	free(said);
	return done;
}

void
act_unban(const struct top *t, const char *key, char out[TOP_TEXT])
{
	static struct order o;
	struct tide_line_out request;

	tide_line_start(&request, "unban");
	tide_line_add(&request, "key", key);
	if (give(t, &o, &request, out))
		(void)snprintf(out, TOP_TEXT, "%s is no longer banned", key);
}

void
act_reset(const struct top *t, const char *key, const char *group,
    const char *profile, char out[TOP_TEXT])
{
	static struct order o;
	struct tide_line_out request;
	uint64_t n;

	tide_line_start(&request, "bucket-reset");
	tide_line_add(&request, "key", key);
	tide_line_add(&request, "group", group);
	tide_line_add(&request, "profile", profile);
	if (!give(t, &o, &request, out))
		return;
	n = tide_line_number(&o.said, "buckets", 0);
	(void)snprintf(out, TOP_TEXT, "emptied %llu bucket%s of %s",
	    (unsigned long long)n, plural(n), key);
}
