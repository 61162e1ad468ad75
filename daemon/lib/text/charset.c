/*
 * charset - any charset to UTF-8.
 *
 * What says to be UTF-8, ASCII, nothing, or something nobody knows, passes as
 * it is: normal.c reads UTF-8 and takes bytes that are none as windows-1252,
 * as mail readers do.  windows-1252, the most frequent of all others, has a
 * table of our own: opening a converter takes a fresh worker 0.15 ms.  All else
 * goes through iconv, in blocks of one size, so that the converter sees the
 * same pieces however the message was cut.
 *
 * HTML that came without a charset may name it in its first kilobyte.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "text_priv.h"

static void
hand_on(struct tide_charset *c, const char *bytes, size_t n)
{
	if (n > 0)
		c->out.put(c->out.arg, bytes, n);
}

void
tide_charset_close(struct tide_charset *c)
{
	if (c->name != NULL)
		(void)iconv_close(c->cd);
	c->name = NULL;
}

/* The converter stays open for the next part, which is often like this. */
static void
open_converter(struct tide_charset *c, const char *name)
{
	if (c->name == name) { /* names are those of one table */
		(void)iconv(c->cd, NULL, NULL, NULL, NULL);
		return;
	}
	tide_charset_close(c);
	c->cd = iconv_open("UTF-8", name);
	if (c->cd == (iconv_t)-1) {
		c->starved = errno != EINVAL;
		c->converting = false;
		return;
	}
	c->name = name;
}

static void
choose(struct tide_charset *c, const char *label, size_t length)
{
	const char *name = tide_charset_find(label, length, &c->ascii);

	c->windows = name != NULL && strcmp(name, "WINDOWS-1252") == 0;
	c->converting = name != NULL && !c->windows;
	if (c->converting)
		open_converter(c, name);
}

void
tide_charset_begin(struct tide_charset *c, const char *label, bool html)
{
	c->used = 0;
	c->converting = c->windows = false;
	c->sniffing = html && label[0] == '\0';
	if (!c->sniffing)
		choose(c, label, strlen(label));
}

/* ---- converting -------------------------------------------------------- */

static bool
is_ascii(const char *p, size_t n)
{
	uint64_t word, all = 0;

	for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
		memcpy(&word, p, sizeof word);
		all |= word;
	}
	for (; n > 0; n--)
		all |= (uint64_t)(unsigned char)*p++;
	return (all & 0x8080808080808080ull) == 0;
}

/*
 * As much of the block as makes whole characters; the rest moves to its
 * front.  A byte that fits nowhere goes, and parts what stands around it.
 */
static void
convert(struct tide_charset *c)
{
	char out[CHARSET_BLOCK * 4], *in = c->block;
	size_t left = c->used;

	if (c->ascii && is_ascii(in, left)) {
		hand_on(c, in, left);
		c->used = 0;
		return;
	}
	while (left > 0) {
		char *to = out;
		size_t room = sizeof out, before = left;
		size_t done = iconv(c->cd, &in, &left, &to, &room);
		int why = done == (size_t)-1 ? errno : 0;

		hand_on(c, out, (size_t)(to - out));
		if (why == EILSEQ) {
			in++;
			left--;
		} else if (why == EINVAL || (why == E2BIG && left == before)) {
			break;
		}
	}
	if (left == sizeof c->block)
		left = 0; /* no character is that long */
	memmove(c->block, in, left);
	c->used = left;
}

static void
end_conversion(struct tide_charset *c)
{
	char out[64], *to = out;
	size_t room = sizeof out;

	convert(c);
	c->used = 0;
	if (iconv(c->cd, NULL, NULL, &to, &room) != (size_t)-1)
		hand_on(c, out, (size_t)(to - out));
}

/* Every byte is a character, or (0) none. */
static void
put_windows(struct tide_charset *c, const char *p, size_t n)
{
	char out[768], *to = out;

	for (; n > 0; p++, n--) {
		unsigned char byte = (unsigned char)*p;
		unsigned code = byte < 0x80 ? byte : tide_windows_1252(byte);

		if (code < 0x80) {
			*to = (char)code;
			to += code != 0 || byte == 0;
		} else if (code < 0x800) {
			*to++ = (char)(0xc0 | code >> 6);
			*to++ = (char)(0x80 | (code & 0x3f));
		} else {
			*to++ = (char)(0xe0 | code >> 12);
			*to++ = (char)(0x80 | (code >> 6 & 0x3f));
			*to++ = (char)(0x80 | (code & 0x3f));
		}
		if (to - out > (int)sizeof out - 3) {
			hand_on(c, out, (size_t)(to - out));
			to = out;
		}
	}
	hand_on(c, out, (size_t)(to - out));
}

static void
pass(struct tide_charset *c, const char *p, size_t n)
{
	if (c->windows)
		put_windows(c, p, n);
	else
		hand_on(c, p, n);
}

/* ---- sniffing ---------------------------------------------------------- */

static const char *
find_charset(const char *p, size_t n)
{
	static const char word[] = "charset=";

	for (; n >= sizeof word; p++, n--)
		if (strncasecmp(p, word, sizeof word - 1) == 0)
			return p + sizeof word - 1;
	return NULL;
}

static void
sniff(struct tide_charset *c)
{
	const char *end = c->block + c->used;
	const char *label = find_charset(c->block, c->used);
	size_t n = 0;

	c->sniffing = false;
	if (label != NULL) {
		while (label < end && (*label == '"' || *label == '\''))
			label++;
		while (label + n < end &&
		    strchr("\"'> \t\r\n;/", label[n]) == NULL)
			n++;
		choose(c, label, n);
	}
	if (c->converting) {
		convert(c);
	} else {
		pass(c, c->block, c->used);
		c->used = 0;
	}
}

/* ---- bytes ------------------------------------------------------------- */

void
tide_charset_put(struct tide_charset *c, const char *p, size_t n)
{
	while (n > 0 && (c->converting || c->sniffing)) {
		size_t room = sizeof c->block - c->used;

		if (room > n)
			room = n;
		memcpy(c->block + c->used, p, room);
		c->used += room;
		p += room;
		n -= room;
		if (c->used < sizeof c->block)
			return;
		if (c->sniffing)
			sniff(c);
		else
			convert(c);
	}
	pass(c, p, n);
}

void
tide_charset_end(struct tide_charset *c)
{
	if (c->sniffing)
		sniff(c);
	if (c->converting)
		end_conversion(c);
}
