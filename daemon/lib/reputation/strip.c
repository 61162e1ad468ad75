/*
 * strip - the recipients' own addresses, taken out.
 *
 * The leftmost address goes, the longest of those that begin there; so what
 * comes out does not depend on the pieces in which the text came in.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "strip.h"

_Static_assert(STRIP_BUFFER > 2 * STRIP_LONGEST, "a buffer moves on");

/* ---- forms of an address ----------------------------------------------- */

static bool
is_kept(utf8proc_int32_t c)
{
	switch (utf8proc_category(c)) {
	case UTF8PROC_CATEGORY_LU:
	case UTF8PROC_CATEGORY_LL:
	case UTF8PROC_CATEGORY_LT:
	case UTF8PROC_CATEGORY_LM:
	case UTF8PROC_CATEGORY_LO:
	case UTF8PROC_CATEGORY_ND:
	case UTF8PROC_CATEGORY_NL:
	case UTF8PROC_CATEGORY_NO:
		return true;
	default:
		return false;
	}
}

/* As the text pipeline would show it: letters and digits, folded. */
static void
normalise(struct strip_form *f, const char *text, size_t length)
{
	const utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_COMPOSE |
	    UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
	utf8proc_ssize_t n, i, step;
	utf8proc_uint8_t *folded = NULL;
	utf8proc_int32_t c;

	n = utf8proc_map((const utf8proc_uint8_t *)text,
	    (utf8proc_ssize_t)length, &folded, how);
	for (i = 0; i < n; i += step) {
		step = utf8proc_iterate(folded + i, n - i, &c);
		if (step <= 0)
			break;
		if (!is_kept(c) || f->length + (size_t)step > STRIP_LONGEST)
			continue;
		memcpy(f->text + f->length, folded + i, (size_t)step);
		f->length += (size_t)step;
	}
	free(folded);
}

static bool
is_known(const struct strip *s, const struct strip_form *f)
{
	unsigned i;

	for (i = 0; i < s->forms; i++)
		if (s->form[i].length == f->length &&
		    memcmp(s->form[i].text, f->text, f->length) == 0)
			return true;
	return false;
}

static void
add_form(struct strip *s, const char *local, size_t local_length,
    const char *domain, size_t domain_length)
{
	struct strip_form *f = &s->form[s->forms];

	if (s->forms == STRIP_FORMS)
		return;
	f->length = 0;
	normalise(f, local, local_length);
	normalise(f, domain, domain_length);
	if (f->length < STRIP_SHORTEST || is_known(s, f))
		return;
	if (f->length > s->longest)
		s->longest = f->length;
	s->forms++;
	s->built = false;
}

void
tide_strip_recipient(struct strip *s, const char *address)
{
	const char *at, *end;
	size_t local, tag;

	address += *address == '<';
	at = strrchr(address, '@');
	if (at == NULL || s->recipients == STRIP_RECIPIENTS)
		return;
	s->recipients++;
	end = at + 1 + strcspn(at + 1, ">");
	local = (size_t)(at - address);
	add_form(s, address, local, at + 1, (size_t)(end - at - 1));
	tag = strcspn(address, "+");
	if (tag > 0 && tag < local)
		add_form(s, address, tag, at + 1, (size_t)(end - at - 1));
}

/* ---- the automaton ----------------------------------------------------- */

static uint8_t
byte_from_end(const struct strip_form *f, size_t i)
{
	return (uint8_t)f->text[f->length - 1 - i];
}

/* In the order of their bytes from the end. */
static int
by_end(const void *a, const void *b)
{
	const struct strip_form *x = a, *y = b;
	size_t i, n = x->length < y->length ? x->length : y->length;

	for (i = 0; i < n; i++)
		if (byte_from_end(x, i) != byte_from_end(y, i))
			return byte_from_end(x, i) < byte_from_end(y, i) ? -1
									 : 1;
	return x->length < y->length ? -1 : x->length > y->length;
}

/* 0 if it has none: nobody's child is the root. */
static unsigned
child(struct strip *s, unsigned node, uint8_t byte)
{
	unsigned low = 0, high = s->node[node].children, middle;
	const struct strip_node *c = &s->node[s->node[node].first];

	s->work++;
	if (node == 0)
		return s->root[byte];
	while (low < high) {
		middle = (low + high) / 2;
		if (c[middle].byte < byte)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->node[node].children && c[low].byte == byte
	    ? s->node[node].first + low
	    : 0;
}

/* The longest beginning that the text from here on may be of. */
static unsigned
step(struct strip *s, unsigned node, uint8_t byte)
{
	unsigned next = child(s, node, byte);

	while (next == 0 && node != 0) {
		node = s->node[node].fail;
		next = child(s, node, byte);
	}
	return next;
}

static void
add_child(struct strip *s, unsigned parent, unsigned low, unsigned high)
{
	struct strip_node *p = &s->node[parent];
	unsigned at = s->nodes++;
	struct strip_node *n = &s->node[at];

	*n = (struct strip_node){ .depth = (uint16_t)(p->depth + 1),
		.byte = byte_from_end(&s->form[low], p->depth),
		.low = (uint8_t)low,
		.high = (uint8_t)high };
	if (p->children++ == 0)
		p->first = (uint16_t)at;
	if (parent == 0)
		s->root[n->byte] = (uint16_t)at;
	else
		n->fail = (uint16_t)step(s, p->fail, n->byte);
	n->match =
	    s->form[low].length == n->depth ? n->depth : s->node[n->fail].match;
}

/* All that goes on from there; the form that ends there is the first. */
static void
add_children(struct strip *s, unsigned parent)
{
	const struct strip_node *p = &s->node[parent];
	unsigned i, low = p->low, depth = p->depth;

	if (low < p->high && s->form[low].length == depth)
		low++;
	for (i = low; i < p->high; i++) {
		if (i + 1 < p->high &&
		    byte_from_end(&s->form[i + 1], depth) ==
			byte_from_end(&s->form[low], depth))
			continue;
		add_child(s, parent, low, i + 1);
		low = i + 1;
	}
}

/* Breadth first: what a node falls back to is made before it. */
static void
build(struct strip *s)
{
	unsigned i;

	qsort(s->form, s->forms, sizeof *s->form, by_end);
	memset(s->root, 0, sizeof s->root);
	s->node[0] = (struct strip_node){ .high = (uint8_t)s->forms };
	s->nodes = 1;
	for (i = 0; i < s->nodes; i++)
		add_children(s, i);
	s->built = true;
}

/* ---- the stream -------------------------------------------------------- */

void
tide_strip_begin(struct strip *s)
{
	s->recipients = s->forms = 0;
	s->longest = s->have = 0;
	s->work = 0;
	s->built = false;
}

/* From the end: which addresses begin where. */
static void
find_addresses(struct strip *s)
{
	unsigned node = 0;
	size_t i;

	if (!s->built)
		build(s);
	for (i = s->have; i-- > 0;) {
		node = step(s, node, (uint8_t)s->buffer[i]);
		s->found[i] = s->node[node].match;
	}
}

/* Pass on what can be judged: all that has `ahead` bytes from it onwards. */
static void
pass(struct strip *s, size_t ahead)
{
	size_t from = 0, i = 0;

	find_addresses(s);
	while (i < s->have && s->have - i >= ahead) {
		if (s->found[i] == 0) {
			i++;
			continue;
		}
		if (i > from)
			s->emit(s->arg, s->buffer + from, i - from);
		i += s->found[i];
		from = i;
	}
	if (i > from)
		s->emit(s->arg, s->buffer + from, i - from);
	s->have -= i;
	memmove(s->buffer, s->buffer + i, s->have);
}

/* Only a full buffer is gone over: what stays in it is gone over again. */
void
tide_strip_text(struct strip *s, const char *text, size_t length)
{
	size_t n;

	if (s->forms == 0) {
		if (length > 0)
			s->emit(s->arg, text, length);
		return;
	}
	for (; length > 0; text += n, length -= n) {
		n = sizeof s->buffer - s->have;
		if (n > length)
			n = length;
		memcpy(s->buffer + s->have, text, n);
		s->have += n;
		if (s->have == sizeof s->buffer)
			pass(s, s->longest);
	}
}

void
tide_strip_end(struct strip *s)
{
	if (s->have > 0)
		pass(s, 1);
}
