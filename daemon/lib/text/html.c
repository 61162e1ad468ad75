/*
 * html - HTML to what is seen of it.
 *
 * The states of a browser's tokenizer that decide between text and markup:
 * tags, attributes, comments, and the elements whose content is no text.  As
 * only letters and digits are kept later, neither white space nor the kind of
 * an element matters.  Not seen, and dropped: script, style, title, comments,
 * declarations, the content of iframe, noframes and noembed.  What styles
 * hide is kept: finding that out would take a browser.
 *
 * Targets of links, images and forms go to the link function; those that lead
 * nowhere (cid:, data:, javascript:, #place) do not.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "text_priv.h"

enum state {
	TEXT,
	ENTITY,	    /* after &; `back` says in what */
	TAG_OPEN,   /* after < */
	CLOSE_OPEN, /* after </ */
	MARKUP,	    /* after <! */
	BOGUS,	    /* a declaration, up to > */
	COMMENT,
	TAG_NAME,
	IN_TAG,
	ATTRIBUTE,
	AFTER_ATTRIBUTE,
	BEFORE_VALUE,
	VALUE,
	RAW /* in an element without text, up to its end tag */
};

/* Elements whose content is not seen and may hold what looks like tags. */
static const char *const unseen[] = { "script", "style", "title", "iframe",
	"noframes", "noembed", NULL };

static const struct {
	const char *tag, *attribute;
} targets[] = { { "a", "href" }, { "area", "href" }, { "img", "src" },
	{ "input", "src" }, { "form", "action" }, { "iframe", "src" },
	{ "frame", "src" }, { "embed", "src" }, { "body", "background" },
	{ "table", "background" }, { "td", "background" } };

static const char *const nowhere[] = { "cid:", "data:", "javascript:", "#",
	NULL };

void
tide_html_begin(struct tide_html *h)
{
	h->state = TEXT;
	h->entity_length = h->tag_length = h->attribute_length = 0;
	h->raw_length = h->seen = 0;
	h->target_length = 0;
	h->wanted = h->closing = false;
}

static bool
is_space(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* ---- names ------------------------------------------------------------- */

/* Longer ones are none that we know; all of their length is counted. */
static void
add_to_name(char name[HTML_NAME_MAX], unsigned *length, unsigned char c)
{
	if (*length < HTML_NAME_MAX)
		name[*length] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
	if (*length <= HTML_NAME_MAX)
		++*length;
}

static bool
is_name(const char name[HTML_NAME_MAX], unsigned length, const char *known)
{
	unsigned i;

	if (length > HTML_NAME_MAX)
		return false;
	for (i = 0; i < length; i++)
		if (known[i] == '\0' || name[i] != known[i])
			return false;
	return known[length] == '\0';
}

/* ---- links ------------------------------------------------------------- */

static bool
is_target(const struct tide_html *h)
{
	size_t i;

	if (h->closing || h->link == NULL)
		return false;
	for (i = 0; i < sizeof targets / sizeof *targets; i++)
		if (is_name(h->tag, h->tag_length, targets[i].tag) &&
		    is_name(h->attribute, h->attribute_length,
			targets[i].attribute))
			return true;
	return false;
}

static void
value_done(struct tide_html *h)
{
	const char *p = h->target, *end = p + h->target_length;
	size_t i, n;

	if (!h->wanted)
		return;
	h->wanted = false;
	while (p < end && (unsigned char)*p <= ' ')
		p++;
	while (end > p && (unsigned char)end[-1] <= ' ')
		end--;
	for (i = 0; nowhere[i] != NULL; i++) {
		n = strlen(nowhere[i]);
		if ((size_t)(end - p) >= n &&
		    strncasecmp(p, nowhere[i], n) == 0)
			return;
	}
	if (p < end)
		h->link(h->arg, p, (size_t)(end - p));
}

static void
begin_entity(struct tide_html *h)
{
	h->back = h->state;
	h->state = ENTITY;
	h->entity_length = 0;
	h->entity_in_value = h->back == VALUE;
}

/* ---- tags -------------------------------------------------------------- */

static void
tag_done(struct tide_html *h)
{
	size_t i;

	h->state = TEXT;
	for (i = 0; !h->closing && unseen[i] != NULL; i++) {
		if (!is_name(h->tag, h->tag_length, unseen[i]))
			continue;
		memcpy(h->raw, h->tag, h->tag_length);
		h->raw_length = h->tag_length;
		h->seen = 0;
		h->state = RAW;
	}
}

static void
begin_name(struct tide_html *h, unsigned char c, bool closing)
{
	h->state = TAG_NAME;
	h->closing = closing;
	h->tag_length = 0;
	add_to_name(h->tag, &h->tag_length, c);
}

static void
begin_attribute(struct tide_html *h, unsigned char c)
{
	h->state = ATTRIBUTE;
	h->attribute_length = 0;
	add_to_name(h->attribute, &h->attribute_length, c);
}

static void
begin_value(struct tide_html *h, unsigned char quote)
{
	h->state = VALUE;
	h->quote = quote;
	h->wanted = is_target(h);
	h->target_length = 0;
}

/* Within a tag, after its name. */
static void
in_tag(struct tide_html *h, unsigned char c)
{
	if (c == '>')
		tag_done(h);
	else if (c == '/')
		h->state = IN_TAG;
	else if (c == '=' && h->state != IN_TAG)
		h->state = BEFORE_VALUE;
	else if (is_space(c))
		h->state = h->state == ATTRIBUTE ? AFTER_ATTRIBUTE : h->state;
	else if (h->state == ATTRIBUTE)
		add_to_name(h->attribute, &h->attribute_length, c);
	else
		begin_attribute(h, c);
}

/* True if the byte was used up. */
static bool
before_value(struct tide_html *h, unsigned char c)
{
	if (is_space(c))
		return true;
	if (c == '>') {
		tag_done(h);
		return true;
	}
	begin_value(h, c == '"' || c == '\'' ? c : 0);
	return h->quote != 0;
}

static void
in_value(struct tide_html *h, unsigned char c)
{
	char one = (char)c;

	if (h->quote != 0 ? c == h->quote : is_space(c) || c == '>') {
		value_done(h);
		h->state = IN_TAG;
		if (h->quote == 0 && c == '>')
			tag_done(h);
	} else if (c == '&' && h->wanted) {
		begin_entity(h);
	} else if (h->wanted && c != '\r' && c != '\n' && c != '\t') {
		tide_html_target(h, &one, 1);
	}
}

/* After < ; true if the byte was used up. */
static bool
tag_open(struct tide_html *h, unsigned char c)
{
	if (isalpha(c)) {
		begin_name(h, c, h->state == CLOSE_OPEN);
	} else if (h->state == CLOSE_OPEN) {
		h->state = c == '>' ? TEXT : BOGUS;
	} else if (c == '/') {
		h->state = CLOSE_OPEN;
	} else if (c == '!') {
		h->state = MARKUP;
		h->seen = 0;
	} else if (c == '?') {
		h->state = BOGUS;
	} else {
		h->state = TEXT; /* it was only a sign: 1 < 2 */
		return false;
	}
	return true;
}

/* After <! ; true if the byte was used up. */
static bool
markup(struct tide_html *h, unsigned char c)
{
	if (c != '-') {
		h->state = BOGUS;
		return false;
	}
	if (++h->seen == 2)
		h->state = COMMENT; /* <!--> is a whole one */
	return true;
}

static void
in_comment(struct tide_html *h, unsigned char c)
{
	if (c == '>' && h->seen >= 2)
		h->state = TEXT;
	else if (c == '-')
		h->seen = h->seen == 0 ? 1 : 2;
	else
		h->seen = c == '!' && h->seen == 2 ? 3 : 0;
}

/* Is this the end tag?  `seen` characters of </name are. */
static void
in_raw(struct tide_html *h, unsigned char c)
{
	unsigned n = h->seen;

	if (n == h->raw_length + 2 && (is_space(c) || c == '/' || c == '>')) {
		h->closing = true;
		h->state = c == '>' ? TEXT : IN_TAG;
	} else if (c == '<') {
		h->seen = 1;
	} else if ((n == 1 && c == '/') ||
	    (n >= 2 && n < h->raw_length + 2 &&
		tolower(c) == (unsigned char)h->raw[n - 2])) {
		h->seen = n + 1;
	} else {
		h->seen = 0;
	}
}

/* ---- bytes ------------------------------------------------------------- */

/* One byte that is not plain text; true if it was used up. */
static bool
step(struct tide_html *h, unsigned char c)
{
	switch ((enum state)h->state) {
	case TEXT: /* < or & */
		if (c == '<')
			h->state = TAG_OPEN;
		else
			begin_entity(h);
		return true;
	case ENTITY:
		if (!tide_html_entity(h, c)) /* more of it may follow */
			return true;
		h->state = h->back;
		return c == ';';
	case TAG_OPEN:
	case CLOSE_OPEN:
		return tag_open(h, c);
	case MARKUP:
		return markup(h, c);
	case BOGUS:
		h->state = c == '>' ? TEXT : BOGUS;
		return true;
	case COMMENT:
		in_comment(h, c);
		return true;
	case TAG_NAME:
		if (c == '>' || c == '/' || is_space(c)) {
			h->state = IN_TAG;
			in_tag(h, c);
		} else {
			add_to_name(h->tag, &h->tag_length, c);
		}
		return true;
	case IN_TAG:
	case ATTRIBUTE:
	case AFTER_ATTRIBUTE:
		in_tag(h, c);
		return true;
	case BEFORE_VALUE:
		return before_value(h, c);
	case VALUE:
		in_value(h, c);
		return true;
	case RAW:
		in_raw(h, c);
		return true;
	}
	return true;
}

/* Bytes that cannot change the state, passed over at once. */
static const char *
skip(const struct tide_html *h, const char *p, const char *end)
{
	int sign;
	const char *found;

	if (h->state == RAW && h->seen == 0)
		sign = '<';
	else if (h->state == COMMENT && h->seen == 0)
		sign = '-';
	else if (h->state == VALUE && !h->wanted && h->quote != 0)
		sign = h->quote;
	else
		return p;
	found = memchr(p, sign, (size_t)(end - p));
	return found != NULL ? found : end;
}

void
tide_html_put(struct tide_html *h, const char *bytes, size_t length)
{
	const char *p = bytes, *end = bytes + length, *start;

	while (p < end) {
		if (h->state == TEXT) {
			for (start = p; p < end && *p != '<' && *p != '&';)
				p++;
			if (p > start)
				h->out.put(
				    h->out.arg, start, (size_t)(p - start));
		} else {
			p = skip(h, p, end);
		}
		if (p < end && step(h, (unsigned char)*p))
			p++;
	}
}

void
tide_html_end(struct tide_html *h)
{
	if (h->state == ENTITY)
		tide_html_entity_end(h, false);
}
