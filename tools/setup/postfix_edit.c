/*
 * setup, postfix edit - see postfix_edit.h.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postfix_edit.h"
#include "text.h"

static const char *
behind(const char *line)
{
	line += strcspn(line, "\n");
	return *line == '\n' ? line + 1 : line;
}

static bool
is_nothing(const char *line)
{
	line += strspn(line, " \t\r");
	return *line == '\0' || *line == '\n' || *line == '#';
}

static const char *
line_of(const char *text, unsigned line)
{
	for (; line > 1 && *text != '\0'; line--)
		text = behind(text);
	return text;
}

/* Behind the last line that continues this one; comments may be between. */
static const char *
entry_end(const char *entry)
{
	const char *at = behind(entry), *end = at;

	for (; *at != '\0'; at = behind(at)) {
		if (is_nothing(at))
			continue;
		if (*at != ' ' && *at != '\t')
			break;
		end = behind(at);
	}
	return end;
}

/* The text with a piece replaced. */
static char *
splice(char *text, const char *from, const char *to, const char *new)
{
	char *result =
	    setup_format("%.*s%s%s", (int)(from - text), text, new, to);

	free(text);
	return result;
}

char *
pf_edit_main(char *text, const char *name, const char *value)
{
	const char *at, *found = NULL;
	size_t n = strlen(name), length = strlen(text);
	char *line;

	for (at = text; *at != '\0'; at = behind(at))
		if (strncmp(at, name, n) == 0 &&
		    at[n + strspn(at + n, " \t")] == '=')
			found = at; /* the last one counts */
	line = setup_format("%s%s = %s\n",
	    found == NULL && length > 0 && text[length - 1] != '\n' ? "\n" : "",
	    name, value);
	text = found != NULL ? splice(text, found, entry_end(found), line)
			     : splice(text, text + length, text + length, line);
	free(line);
	return text;
}

/* Is this place of the text in a comment? */
static bool
in_comment(const char *text, const char *at)
{
	while (at > text && at[-1] != '\n')
		at--;
	return is_nothing(at);
}

/*
 * Where the value of -o name= begins within an entry; NULL if it is not.  Of
 * several the last one counts.
 */
static const char *
find_option(const char *entry, const char *end, const char *name)
{
	size_t n = strlen(name);
	const char *at = entry, *word, *found = NULL;

	while ((at = strstr(at, "-o")) != NULL && at < end) {
		bool begins = at > entry && isspace((unsigned char)at[-1]) &&
		    !in_comment(entry, at);

		at += 2;
		word = at + strspn(at, " \t\n");
		if (begins && strncmp(word, name, n) == 0 && word[n] == '=')
			found = word + n + 1;
	}
	return found;
}

char *
pf_edit_option(char *text, unsigned line, const char *name, const char *value)
{
	const char *entry = line_of(text, line), *end = entry_end(entry);
	const char *at = find_option(entry, end, name);
	char *new;

	if (at != NULL)
		return splice(text, at, at + strcspn(at, " \t\n"), value);
	new = setup_format("%s  -o %s=%s\n",
	    end > text && end[-1] != '\n' ? "\n" : "", name, value);
	text = splice(text, end, end, new);
	free(new);
	return text;
}

char *
pf_edit_chroot(char *text, unsigned line)
{
	const char *at = line_of(text, line);
	unsigned i;

	for (i = 0; i < 4; i++) {
		at += strspn(at, " \t\n");
		at += strcspn(at, " \t\n");
	}
	at += strspn(at, " \t\n");
	return splice(text, at, at + strcspn(at, " \t\n"), "n");
}
