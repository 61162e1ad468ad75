/*
 * mta_changes - what a filter asks to change at the end of a message.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mta_priv.h"

static const char headers[] = { SMFIR_ADDHEADER, SMFIR_INSHEADER,
	SMFIR_CHGHEADER, '\0' };
static const char indexed[] = { SMFIR_INSHEADER, SMFIR_CHGHEADER, '\0' };
static const char others[] = { SMFIR_ADDRCPT, SMFIR_DELRCPT, SMFIR_ADDRCPT_PAR,
	SMFIR_CHGFROM, SMFIR_REPLBODY, SMFIR_QUARANTINE, '\0' };

static bool
among(const char *kinds, char kind)
{
	return kind && strchr(kinds, kind);
}

bool
mta_change_is(char kind)
{
	return among(headers, kind) || among(others, kind);
}

static struct mta_change *
grow(struct mta *m)
{
	struct mta_change *more;

	more = realloc(m->changes, (m->n_changes + 1) * sizeof *more);
	if (!more)
		abort();
	m->changes = more;
	more += m->n_changes++;
	memset(more, 0, sizeof *more);
	return more;
}

/* data ends with a NUL behind len, by wire_take. */
bool
mta_change_add(struct mta *m, char kind, const char *data, size_t len)
{
	struct mta_change *c = grow(m);
	const char *end = data + len;

	c->kind = kind;
	if (among(indexed, kind)) {
		if (len < sizeof c->index)
			return false;
		memcpy(&c->index, data, sizeof c->index);
		c->index = ntohl(c->index);
		data += sizeof c->index;
	}
	if (among(headers, kind)) {
		c->name = strdup(data);
		data += strlen(data) + 1;
	} else {
		c->name = strdup("");
	}
	if (data > end)
		return false;
	c->value = strndup(data, (size_t)(end - data));
	return true;
}

void
mta_changes_clear(struct mta *m)
{
	for (size_t i = 0; i < m->n_changes; i++) {
		free(m->changes[i].name);
		free(m->changes[i].value);
	}
	free(m->changes);
	m->changes = NULL;
	m->n_changes = 0;
}

size_t
mta_changes(const struct mta *m, const struct mta_change **list)
{
	*list = m->changes;
	return m->n_changes;
}

const char *
mta_added(const struct mta *m, const char *header)
{
	const struct mta_change *c = m->changes;

	for (size_t i = 0; i < m->n_changes; i++, c++)
		if (among(headers, c->kind) && strcasecmp(c->name, header) == 0)
			return c->value;
	return NULL;
}
