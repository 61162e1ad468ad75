/*
 * words - the encoded words of RFC 2047, =?charset?B|Q?text?=
 *
 * Senders split a character over two words although they must not; so words
 * of one charset that stand side by side are decoded as one.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "text_priv.h"

struct word {
	const char *charset, *text;
	size_t charset_length, length;
	char encoding; /* 'b' or 'q' */
	bool endless;  /* no word that begins here or later has an end */
	const char *after;
};

/* Is there a word at p?  Its text ends at ?= and may even hold blanks. */
static bool
read_word(const char *p, const char *end, struct word *w)
{
	const char *q;

	w->endless = false;
	if (end - p < 8 || p[0] != '=' || p[1] != '?')
		return false;
	w->charset = p + 2;
	q = memchr(w->charset, '?', (size_t)(end - w->charset));
	if (q == NULL || end - q < 5 || q[2] != '?')
		return false;
	w->charset_length = strcspn(w->charset, "*?"); /* charset*language */
	w->encoding = (char)(q[1] | 32);
	if ((w->encoding != 'b' && w->encoding != 'q') ||
	    w->charset_length >= LABEL_MAX ||
	    memchr(w->charset, ' ', w->charset_length) != NULL)
		return false;
	w->text = q + 3;
	for (q = w->text; end - q >= 2; q++) {
		if (q[0] == '?' && q[1] == '=') {
			w->length = (size_t)(q - w->text);
			w->after = q + 2;
			return true;
		}
	}
	w->endless = true;
	return false;
}

static void
to_charset(void *charset, const char *bytes, size_t n)
{
	tide_charset_put(charset, bytes, n);
}

/* Q is quoted-printable without line ends, and _ is a blank. */
static void
decode_text(const struct word *w, struct tide_charset *c)
{
	struct tide_transfer t;
	const char *p = w->text, *end = p + w->length, *stop;

	tide_transfer_begin(&t,
	    w->encoding == 'b' ? TIDE_ENCODING_BASE64 : TIDE_ENCODING_QP,
	    (struct tide_out){ to_charset, c });
	while (p < end) {
		stop = w->encoding == 'q' ? memchr(p, '_', (size_t)(end - p))
					  : NULL;
		if (stop == NULL)
			stop = end;
		tide_transfer_put(&t, p, (size_t)(stop - p));
		if (stop < end)
			tide_transfer_put(&t, " ", 1);
		p = stop + (stop < end);
	}
	tide_transfer_end(&t);
}

static const char *
skip_blanks(const char *p, const char *end)
{
	while (p < end && strchr(" \t\r\n", *p) != NULL)
		p++;
	return p;
}

/* Words of one charset side by side; returns where they end. */
static const char *
decode_words(struct tide_charset *c, struct word *w, const char *end)
{
	char label[LABEL_MAX];
	const char *after;
	struct word next;

	(void)snprintf(
	    label, sizeof label, "%.*s", (int)w->charset_length, w->charset);
	tide_charset_begin(c, label, false);
	for (;;) {
		decode_text(w, c);
		after = w->after;
		if (!read_word(skip_blanks(after, end), end, &next) ||
		    next.charset_length != w->charset_length ||
		    strncasecmp(next.charset, label, next.charset_length) != 0)
			break;
		*w = next;
	}
	tide_charset_end(c);
	return after;
}

void
tide_words_decode(struct tide_charset *c, const char *value, size_t length,
    struct tide_out out)
{
	const char *p = value, *end = value + length, *start = value;
	struct word w;

	c->out = out;
	while (p < end) {
		p = memchr(p, '=', (size_t)(end - p));
		if (p == NULL)
			break;
		if (!read_word(p, end, &w)) {
			if (w.endless)
				break;
			p++;
			continue;
		}
		if (skip_blanks(start, p) < p)
			out.put(out.arg, start, (size_t)(p - start));
		start = p = decode_words(c, &w, end);
	}
	if (start < end)
		out.put(out.arg, start, (size_t)(end - start));
}

void
tide_copy_put(void *arg, const char *bytes, size_t n)
{
	struct tide_copy *c = arg;

	if (c->full)
		return;
	if (n > c->size - 1 - c->length) {
		n = c->size - 1 - c->length;
		c->full = true;
		while (n > 0 && ((unsigned char)bytes[n] & 0xc0) == 0x80)
			n--;
	}
	memcpy(c->text + c->length, bytes, n);
	c->length += n;
	c->text[c->length] = '\0';
}
