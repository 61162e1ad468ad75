/*
 * transfer - base64, quoted-printable and uuencode undone.
 *
 * Nothing is an error: what is none of base64's characters is passed over, an
 * escape that is none stands for itself.
 */
#include <string.h>

#include "text_priv.h"

/* ---- out --------------------------------------------------------------- */

static void
hand_on(struct tide_transfer *t)
{
	if (t->used > 0)
		t->out.put(t->out.arg, t->buffer, t->used);
	t->used = 0;
}

static void
write_byte(struct tide_transfer *t, char c)
{
	if (t->used == sizeof t->buffer)
		hand_on(t);
	t->buffer[t->used++] = c;
}

/* ---- base64 ------------------------------------------------------------ */

#define DIGIT 0x40 /* it is one of the 64 */

/* clang-format off */
static const uint8_t base64[256] = {
	['A'] = 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49,
	0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50, 0x51, 0x52, 0x53, 0x54,
	0x55, 0x56, 0x57, 0x58, 0x59,
	['a'] = 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f, 0x60, 0x61, 0x62, 0x63,
	0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e,
	0x6f, 0x70, 0x71, 0x72, 0x73,
	['0'] = 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x7b, 0x7c, 0x7d,
	['+'] = 0x7e, ['/'] = 0x7f,
};
/* clang-format on */

/* Four characters at a time, as long as all are of the 64. */
static const unsigned char *
base64_fours(
    struct tide_transfer *t, const unsigned char *p, const unsigned char *end)
{
	char *out = t->buffer + t->used, *last = t->buffer + sizeof t->buffer;

	for (; end - p >= 4 && last - out >= 3; p += 4, out += 3) {
		uint32_t a = base64[p[0]], b = base64[p[1]], c = base64[p[2]],
			 d = base64[p[3]];

		if ((a & b & c & d & DIGIT) == 0)
			break;
		a = (a ^ DIGIT) << 18 | (b ^ DIGIT) << 12 | (c ^ DIGIT) << 6 |
		    (d ^ DIGIT);
		out[0] = (char)(a >> 16);
		out[1] = (char)(a >> 8);
		out[2] = (char)a;
	}
	t->used = (size_t)(out - t->buffer);
	return p;
}

/* What is left of a group that was not filled. */
static void
base64_flush(struct tide_transfer *t)
{
	if (t->held >= 2)
		write_byte(t, (char)(t->bits >> (6 * t->held - 8)));
	if (t->held == 3)
		write_byte(t, (char)(t->bits >> 2));
	t->held = 0;
	t->bits = 0;
}

/*
 * After padding more may follow, from another encoder, and often text does
 * that a mailing list has added: its first sign that is none of the 64 ends
 * it all.
 */
static void
base64_one(struct tide_transfer *t, unsigned char c)
{
	if (c == '=') {
		base64_flush(t);
		t->padded = true;
		return;
	}
	if (base64[c] == 0) {
		t->ended = t->padded && c > ' ';
		return;
	}
	t->bits = t->bits << 6 | (base64[c] ^ DIGIT);
	if (++t->held < 4)
		return;
	write_byte(t, (char)(t->bits >> 16));
	write_byte(t, (char)(t->bits >> 8));
	write_byte(t, (char)t->bits);
	t->held = 0;
	t->bits = 0;
}

static void
put_base64(struct tide_transfer *t, const char *bytes, size_t length)
{
	const unsigned char *p = (const unsigned char *)bytes;
	const unsigned char *end = p + length;

	while (p < end && !t->ended) {
		if (t->held == 0 && t->used + 3 <= sizeof t->buffer)
			p = base64_fours(t, p, end);
		if (p < end)
			base64_one(t, *p++);
	}
}

/* ---- quoted-printable -------------------------------------------------- */

enum { QP_PLAIN, QP_ESCAPE, QP_FIRST, QP_SOFT };

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* An escape that is none. */
static void
qp_literal(struct tide_transfer *t)
{
	write_byte(t, '=');
	if (t->state == QP_FIRST)
		write_byte(t, (char)t->first);
	t->state = QP_PLAIN;
}

/* One byte of an escape; true if it was used up. */
static bool
qp_step(struct tide_transfer *t, char c)
{
	if (t->state == QP_FIRST && hex(c) >= 0) {
		write_byte(t, (char)(16 * hex((char)t->first) + hex(c)));
		t->state = QP_PLAIN;
	} else if (t->state == QP_ESCAPE && hex(c) >= 0) {
		t->first = (uint8_t)c;
		t->state = QP_FIRST;
	} else if (t->state != QP_FIRST && c == '\n') {
		t->state = QP_PLAIN; /* a line that goes on */
	} else if (t->state != QP_FIRST &&
	    (c == '\r' || c == ' ' || c == '\t')) {
		t->state = QP_SOFT;
	} else {
		qp_literal(t);
		return false;
	}
	return true;
}

static void
put_qp(struct tide_transfer *t, const char *p, size_t length)
{
	const char *end = p + length, *stop;

	while (p < end) {
		if (t->state != QP_PLAIN) {
			if (qp_step(t, *p))
				p++;
			continue;
		}
		stop = memchr(p, '=', (size_t)(end - p));
		if (stop == NULL)
			stop = end;
		while (p < stop) {
			size_t n = (size_t)(stop - p),
			       room = sizeof t->buffer - t->used;

			if (n > room)
				n = room;
			memcpy(t->buffer + t->used, p, n);
			t->used += n;
			p += n;
			if (t->used == sizeof t->buffer)
				hand_on(t);
		}
		if (p < end) {
			t->state = QP_ESCAPE;
			p++;
		}
	}
}

/* ---- uuencode ---------------------------------------------------------- */

/* Lines end in nothing, in blanks that were lost, or in a check character. */
int
tide_uu_line(const char *line, size_t length, char out[64])
{
	unsigned char c[4];
	size_t i, k, bytes, need;

	while (length > 1 && (line[length - 1] == '\r'))
		length--;
	if (length == 0 || line[0] < ' ' || line[0] > '`')
		return -1;
	bytes = (size_t)(line[0] - ' ') & 63;
	need = (bytes + 2) / 3 * 4;
	if (bytes > 45 || length > need + 2)
		return -1;
	for (i = 1; i < length; i++)
		if (line[i] < ' ' || line[i] > '`')
			return -1;
	for (i = 0; i < (bytes + 2) / 3; i++) {
		for (k = 0; k < 4; k++) {
			size_t at = 1 + 4 * i + k;

			c[k] = at < length
			    ? (unsigned char)(line[at] - ' ') & 63
			    : 0;
		}
		out[3 * i] = (char)(c[0] << 2 | c[1] >> 4);
		out[3 * i + 1] = (char)(c[1] << 4 | c[2] >> 2);
		out[3 * i + 2] = (char)(c[2] << 6 | c[3]);
	}
	return (int)bytes;
}

static void
uu_line(struct tide_transfer *t)
{
	char bytes[64] = { 0 };
	int i, n;

	if (t->held >= 3 && memcmp(t->line, "end", 3) == 0)
		t->ended = true;
	if (t->ended || t->held == 0 ||
	    (t->held > 6 && memcmp(t->line, "begin ", 6) == 0))
		return;
	n = tide_uu_line(t->line, t->held, bytes);
	for (i = 0; i < n; i++)
		write_byte(t, bytes[i]);
}

static void
put_uu(struct tide_transfer *t, const char *p, size_t length)
{
	const char *end = p + length;

	for (; p < end; p++) {
		if (*p == '\n') {
			uu_line(t);
			t->held = 0;
		} else if (t->held < UU_LINE) {
			t->line[t->held++] = *p;
		}
	}
}

/* ---- all --------------------------------------------------------------- */

void
tide_transfer_begin(
    struct tide_transfer *t, enum tide_encoding encoding, struct tide_out out)
{
	t->encoding = encoding;
	t->out = out;
	t->state = QP_PLAIN;
	t->ended = t->padded = false;
	t->bits = 0;
	t->held = 0;
	t->used = 0;
}

void
tide_transfer_put(struct tide_transfer *t, const char *bytes, size_t length)
{
	switch (t->encoding) {
	case TIDE_ENCODING_NONE:
		t->out.put(t->out.arg, bytes, length);
		return;
	case TIDE_ENCODING_BASE64:
		put_base64(t, bytes, length);
		return;
	case TIDE_ENCODING_QP:
		put_qp(t, bytes, length);
		return;
	case TIDE_ENCODING_UU:
		put_uu(t, bytes, length);
		return;
	}
}

void
tide_transfer_end(struct tide_transfer *t)
{
	if (t->encoding == TIDE_ENCODING_BASE64)
		base64_flush(t);
	else if (t->encoding == TIDE_ENCODING_QP &&
	    (t->state == QP_FIRST || t->state == QP_ESCAPE))
		qp_literal(t);
	else if (t->encoding == TIDE_ENCODING_UU)
		uu_line(t);
	hand_on(t);
}
