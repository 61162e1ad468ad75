/*
 * tags - headers on, headers off.
 *
 * smfi_chgheader() counts the headers of one name from 1.  Where one is
 * deleted, Postfix moves the later ones up and sendmail does not; so the last
 * one goes first, and neither matters.  A forged header of a name that we set
 * is not deleted but gets our value: in its place nobody else's can remain.
 * Forged ones go whether anything is tagged today or not: people's own filters
 * still go by what they learnt last month.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tags.h"

#define PREFIX "X-Tidemark-"
#define PREFIX_LENGTH (sizeof PREFIX - 1)
#define NAME_MAX_ 64u
#define VALUE_MAX_ 512u
#define TAGS_MOST 256u /* different names; who sends more is up to something */

/* The names that we set.  They have their places from the beginning, so that
 * no number of others keeps a forged one of these on the message. */
static const char *const ours[] = { "Bulk", "Spam", "Address" };
#define OURS (sizeof ours / sizeof *ours)

struct tag {
	char name[NAME_MAX_]; /* behind the prefix */
	int came;	      /* how often, with the message */
	bool set;
	char value[VALUE_MAX_];
};

static struct {
	struct tag tag[TAGS_MOST];
	size_t tags;
} message;

void
tags_begin(void)
{
	size_t i;

	for (message.tags = 0; message.tags < OURS; message.tags++) {
		i = message.tags;
		message.tag[i].came = 0;
		message.tag[i].set = false;
		(void)snprintf(message.tag[i].name, sizeof message.tag[i].name,
		    "%s", ours[i]);
	}
}

/* The tag of that name, made if it is not there; NULL: no room. */
static struct tag *
find(const char *name, size_t length)
{
	struct tag *t;
	size_t i;

	if (length >= NAME_MAX_)
		return NULL;
	for (i = 0; i < message.tags; i++) {
		t = &message.tag[i];
		if (strncasecmp(t->name, name, length) == 0 &&
		    t->name[length] == '\0')
			return t;
	}
	if (message.tags == TAGS_MOST)
		return NULL;
	t = &message.tag[message.tags++];
	memcpy(t->name, name, length);
	t->name[length] = '\0';
	t->came = 0;
	t->set = false;
	return t;
}

void
tags_seen(const char *name)
{
	struct tag *t;

	if (strncasecmp(name, PREFIX, PREFIX_LENGTH) != 0)
		return;
	name += PREFIX_LENGTH;
	t = find(name, strcspn(name, " \t"));
	if (t != NULL)
		t->came++;
}

void
tags_set(const char *name, const char *value)
{
	struct tag *t = find(name, strlen(name));

	if (t == NULL)
		return;
	t->set = true;
	(void)snprintf(t->value, sizeof t->value, "%s", value);
}

static void
apply(SMFICTX *ctx, struct tag *t)
{
	char name[PREFIX_LENGTH + NAME_MAX_];
	int i;

	(void)snprintf(name, sizeof name, PREFIX "%s", t->name);
	for (i = t->came; i > (t->set ? 1 : 0); i--)
		(void)smfi_chgheader(ctx, name, i, NULL);
	if (t->set && t->came > 0)
		(void)smfi_chgheader(ctx, name, 1, t->value);
	else if (t->set)
		(void)smfi_addheader(ctx, name, t->value);
}

void
tags_apply(SMFICTX *ctx)
{
	size_t i;

	for (i = 0; i < message.tags; i++)
		apply(ctx, &message.tag[i]);
	tags_begin();
}
