/*
 * entities - named characters of HTML.
 */
#include <stdlib.h>
#include <string.h>

#include "text_priv.h"

#include "entities_table.h"

static int
compare(const void *name, const void *entry)
{
	return strcmp(name, ((const struct entity *)entry)->name);
}

static uint32_t
find(const char *name)
{
	const struct entity *e = bsearch(name, entities,
	    sizeof entities / sizeof *entities, sizeof *entities, compare);

	return e != NULL ? e->code : 0;
}

/* &eacute and &amp are old enough to do without their semicolon. */
static bool
is_old(uint32_t code)
{
	return (code >= 0xa0 && code <= 0xff) || code == '&' || code == '<' ||
	    code == '>' || code == '"';
}

uint32_t
tide_entity(const char *name, size_t length, bool prefix, size_t *used)
{
	char text[ENTITY_MAX + 1];
	uint32_t code;

	if (length > ENTITY_MAX)
		return 0;
	memcpy(text, name, length);
	text[length] = '\0';
	code = find(text);
	*used = length;
	if (!prefix)
		return code;
	while (length > 1 && !is_old(code)) {
		text[--length] = '\0';
		code = find(text);
	}
	*used = length;
	return is_old(code) ? code : 0;
}
