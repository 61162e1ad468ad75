/*
 * fields - what Content-Type, -Transfer-Encoding and -Disposition say.
 *
 * Parameters come as name=value, name="value", in an extended form with a
 * charset, name*=utf-8''%e2%82%ac, or in sections, name*0=, name*1*=
 * (RFC 2231).  The extended form counts more than the plain one, which is
 * there for old readers; of two alike the first counts.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <utf8proc.h>

#include "text_priv.h"

#define PARAMETERS 40 /* of one field; more are not looked at */

struct parameter {
	const char *name, *value;
	size_t name_length, length;
};

struct parameters {
	unsigned count;
	struct parameter list[PARAMETERS];
};

/* ---- reading ----------------------------------------------------------- */

/* Blanks, and comments in parentheses. */
static const char *
skip_blanks(const char *p)
{
	unsigned depth = 0;

	for (; *p != '\0'; p++) {
		if (depth > 0 && *p == '\\' && p[1] != '\0')
			p++;
		else if (*p == '(')
			depth++;
		else if (*p == ')' && depth > 0)
			depth--;
		else if (depth == 0 && !isspace((unsigned char)*p))
			break;
	}
	return p;
}

/* A value that should have been quoted: my file.pdf, up to the next name=. */
static const char *
read_bare(const char *p, struct parameter *out)
{
	const char *end = p + strcspn(p, "; \t\r\n");

	out->value = p;
	for (;;) {
		const char *next = end + strspn(end, " \t\r\n");
		const char *after = next + strcspn(next, "=; \t\r\n(");

		if (next == end || after == next || *after == '=')
			break;
		end = after;
	}
	out->length = (size_t)(end - p);
	return end;
}

/* The value at p, quoted or not; returns where it ends. */
static const char *
read_value(const char *p, struct parameter *out)
{
	if (*p != '"')
		return read_bare(p, out);
	out->value = ++p;
	for (; *p != '\0' && *p != '"'; p++)
		if (*p == '\\' && p[1] != '\0')
			p++;
	out->length = (size_t)(p - out->value);
	return *p == '"' ? p + 1 : p;
}

static void
read_parameters(const char *p, struct parameters *all)
{
	struct parameter *one;

	all->count = 0;
	while (*p != '\0' && all->count < PARAMETERS) {
		p = skip_blanks(p);
		if (*p == ';') {
			p++;
			continue;
		}
		one = &all->list[all->count];
		one->name = p;
		one->name_length = strcspn(p, "=; \t\r\n(");
		p = skip_blanks(p + one->name_length);
		if (*p == '=') {
			p = read_value(skip_blanks(p + 1), one);
			all->count += one->name_length > 0;
		} else if (one->name_length == 0 && *p != '\0' && *p != ';') {
			p++;
		}
	}
}

/* ---- values ------------------------------------------------------------ */

static const struct parameter *
find(const struct parameters *all, const char *name)
{
	size_t n = strlen(name);
	unsigned i;

	for (i = 0; i < all->count; i++)
		if (all->list[i].name_length == n &&
		    strncasecmp(all->list[i].name, name, n) == 0)
			return &all->list[i];
	return NULL;
}

/* Without the backslashes that protect quotes (and only these). */
static void
put_plain(struct tide_out out, const struct parameter *p)
{
	const char *from = p->value, *end = from + p->length, *q;

	for (q = from; q + 1 < end; q++) {
		if (*q != '\\' || (q[1] != '"' && q[1] != '\\'))
			continue;
		if (q > from)
			out.put(out.arg, from, (size_t)(q - from));
		from = ++q;
	}
	if (from < end)
		out.put(out.arg, from, (size_t)(end - from));
}

static int
hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0'
	    : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10
					 : -1;
}

static void
put_percent(struct tide_out out, const char *p, const char *end)
{
	char c;

	for (; p < end; p++) {
		c = *p;
		if (c == '%' && end - p > 2 && hex(p[1]) >= 0 &&
		    hex(p[2]) >= 0) {
			c = (char)(16 * hex(p[1]) + hex(p[2]));
			p += 2;
		}
		out.put(out.arg, &c, 1);
	}
}

/* utf-8'en'%41: begin the charset; where the text begins. */
static const char *
read_charset(struct tide_charset *c, const struct parameter *p)
{
	const char *end = p->value + p->length, *text = p->value;
	char label[LABEL_MAX] = "";
	const char *quote = memchr(text, '\'', p->length), *second = NULL;

	if (quote != NULL)
		second = memchr(quote + 1, '\'', (size_t)(end - quote) - 1);
	if (second != NULL) {
		(void)snprintf(label, sizeof label, "%.*s",
		    (int)(quote - text < LABEL_MAX ? quote - text : 0), text);
		text = second + 1;
	}
	tide_charset_begin(c, label, false);
	return text;
}

static void
to_charset(void *charset, const char *bytes, size_t n)
{
	tide_charset_put(charset, bytes, n);
}

/* name*0, name*0*, and all that follow. */
static bool
put_sections(
    const struct parameters *all, struct tide_charset *c, const char *name)
{
	struct tide_out out = { to_charset, c };
	const struct parameter *p;
	const char *text;
	char section[40];
	unsigned i;

	for (i = 0; i < PARAMETERS; i++) {
		(void)snprintf(section, sizeof section, "%s*%u*", name, i);
		p = find(all, section);
		if (p != NULL) {
			text = i == 0 ? read_charset(c, p) : p->value;
			put_percent(out, text, p->value + p->length);
			continue;
		}
		section[strlen(section) - 1] = '\0';
		p = find(all, section);
		if (p == NULL)
			break;
		if (i == 0)
			tide_charset_begin(c, "", false);
		put_plain(out, p);
	}
	if (i > 0)
		tide_charset_end(c);
	return i > 0;
}

/* The parameter as UTF-8; false if there is none. */
static bool
get(const struct parameters *all, const char *name, struct tide_charset *c,
    bool words, char *text, size_t size)
{
	struct tide_copy copy = { text, size, 0, false };
	struct tide_out out = { tide_copy_put, &copy };
	const struct parameter *p;
	char extended[40];

	text[0] = '\0';
	c->out = out;
	(void)snprintf(extended, sizeof extended, "%s*", name);
	p = find(all, extended);
	if (p != NULL) {
		const char *from = read_charset(c, p);

		put_percent((struct tide_out){ to_charset, c }, from,
		    p->value + p->length);
		tide_charset_end(c);
		return true;
	}
	if (put_sections(all, c, name))
		return true;
	p = find(all, name);
	if (p == NULL)
		return false;
	if (words) {
		char plain[4 * NAME_MAX_BYTES];
		struct tide_copy bare = { plain, sizeof plain, 0, false };

		put_plain((struct tide_out){ tide_copy_put, &bare }, p);
		tide_words_decode(c, plain, bare.length, out);
	} else {
		put_plain(out, p);
	}
	return true;
}

/* ---- fields ------------------------------------------------------------ */

/* For logs and listings: what is no printable UTF-8 becomes a question mark. */
static void
make_printable(char *name)
{
	utf8proc_uint8_t *p = (utf8proc_uint8_t *)name;
	utf8proc_int32_t code;
	utf8proc_ssize_t n;

	while (*p != '\0') {
		n = utf8proc_iterate(p, -1, &code);
		if (n <= 0 || code < ' ' || (code >= 0x7f && code < 0xa0)) {
			*p++ = '?';
			continue;
		}
		p += n;
	}
}

static void
lower_token(const char *from, const char *stop, char *to, size_t size)
{
	size_t i, n = strcspn(from, stop);

	for (i = 0; i < n && i + 1 < size; i++)
		to[i] = (char)tolower((unsigned char)from[i]);
	to[i] = '\0';
}

static void
read_type(
    struct tide_content_fields *c, struct tide_charset *cs, const char *value)
{
	struct parameters all;

	value = skip_blanks(value);
	lower_token(value, "; \t\r\n(", c->type, sizeof c->type);
	if (strchr(c->type, '/') == NULL)
		c->type[0] = '\0';
	read_parameters(value + strcspn(value, "; \t\r\n("), &all);
	(void)get(&all, "boundary", cs, false, c->boundary, sizeof c->boundary);
	(void)get(&all, "charset", cs, false, c->charset, sizeof c->charset);
	if (!c->named_by_disposition) {
		(void)get(&all, "name", cs, true, c->name, sizeof c->name);
		make_printable(c->name);
	}
	c->has_type = true;
}

static void
read_disposition(
    struct tide_content_fields *c, struct tide_charset *cs, const char *value)
{
	char name[NAME_MAX_BYTES];
	struct parameters all;

	value = skip_blanks(value);
	read_parameters(value + strcspn(value, "; \t\r\n("), &all);
	if (get(&all, "filename", cs, true, name, sizeof name) &&
	    name[0] != '\0') {
		make_printable(name);
		memcpy(c->name, name, sizeof name);
		c->named_by_disposition = true;
	}
	c->has_disposition = true;
}

static void
read_encoding(struct tide_content_fields *c, const char *value)
{
	char token[32];

	lower_token(skip_blanks(value), "; \t\r\n(\"", token, sizeof token);
	if (strcmp(token, "base64") == 0)
		c->encoding = TIDE_ENCODING_BASE64;
	else if (strcmp(token, "quoted-printable") == 0)
		c->encoding = TIDE_ENCODING_QP;
	else if (strcmp(token, "x-uuencode") == 0 ||
	    strcmp(token, "uuencode") == 0 || strcmp(token, "x-uue") == 0)
		c->encoding = TIDE_ENCODING_UU;
	c->has_encoding = true;
}

void
tide_content_field(struct tide_content_fields *c, struct tide_charset *cs,
    const char *name, const char *value)
{
	if (strcasecmp(name, "content-type") == 0 && !c->has_type)
		read_type(c, cs, value);
	else if (strcasecmp(name, "content-disposition") == 0 &&
	    !c->has_disposition)
		read_disposition(c, cs, value);
	else if (strcasecmp(name, "content-transfer-encoding") == 0 &&
	    !c->has_encoding)
		read_encoding(c, value);
}
