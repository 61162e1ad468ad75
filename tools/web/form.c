/*
 * form - split, decode.
 */
#include <string.h>

#include "form.h"

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0'
	    : c >= 'a' && c <= 'f'  ? c - 'a' + 10
	    : c >= 'A' && c <= 'F'  ? c - 'A' + 10
				    : -1;
}

/* The byte that an escape stands for; -1 if it is none. */
static int
escaped(const char *at, const char *end)
{
	int high, low;

	if (end - at < 3)
		return -1;
	high = hex_digit(at[1]);
	low = hex_digit(at[2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static bool
is_welcome(unsigned char c)
{
	return (c >= ' ' && c != 0x7f) || c == '\t' || c == '\n' || c == '\r';
}

/* In place: it never gets longer.  NULL-terminated at its end. */
static bool
decode(char *from, char *end)
{
	char *to = from;
	int c;

	for (; from < end; from++) {
		c = (unsigned char)*from;
		if (c == '+') {
			c = ' ';
		} else if (c == '%') {
			c = escaped(from, end);
			from += 2;
		}
		if (c < 0 || !is_welcome((unsigned char)c))
			return false;
		*to++ = (char)c;
	}
	*to = '\0';
	return true;
}

static bool
take_pair(char *pair, char *end, struct form_field *fields, size_t count)
{
	char *equals = memchr(pair, '=', (size_t)(end - pair));
	char *value = equals != NULL ? equals + 1 : end;
	size_t i;

	if (!decode(value, end) || !decode(pair, equals != NULL ? equals : end))
		return false;
	for (i = 0; i < count; i++)
		if (strcmp(fields[i].name, pair) == 0)
			fields[i].value = equals != NULL ? value : "";
	return true;
}

bool
form_parse(char *body, size_t length, struct form_field *fields, size_t count)
{
	char *end = body + length, *pair = body, *next;
	size_t i;

	for (i = 0; i < count; i++)
		fields[i].value = "";
	for (; pair < end; pair = next + 1) {
		next = memchr(pair, '&', (size_t)(end - pair));
		if (next == NULL)
			next = end;
		if (!take_pair(pair, next, fields, count))
			return false;
	}
	return true;
}
