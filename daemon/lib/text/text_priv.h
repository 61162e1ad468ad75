/*
 * text_priv - the stages of the text pipeline, in the order of the bytes:
 *
 *   mime      lines, boundaries, the levels of parts in parts
 *   header    one part's header, a field at a time
 *   fields    Content-* fields and their parameters (RFC 2045, 2231)
 *   words     encoded words in headers (RFC 2047)
 *   leaf      one part's body, through the stages below; its digest
 *   uu        uuencoded files in the midst of plain text
 *   transfer  base64, quoted-printable, uuencode undone
 *   charset   to UTF-8
 *   html      to what is seen of it; entities
 *   normal    NFKC, casefolded, letters and digits
 *
 * Every stage is a machine that takes bytes in pieces of any length and hands
 * what it made on; what comes out does not depend on where the pieces were
 * cut.  Each holds a few kilobytes, whatever the message.
 */
#ifndef TIDEMARK_TEXT_PRIV_H
#define TIDEMARK_TEXT_PRIV_H

#include <iconv.h>
#include <stdbool.h>

#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

/* Where a stage puts what it made. */
struct tide_out {
	void (*put)(void *arg, const char *bytes, size_t n);
	void *arg;
};

/* ---- normal ------------------------------------------------------------ */

#define NORMAL_MARKS 30u /* that may follow a letter, as in UAX #15 */

/*
 * A character may stand for many letters: U+FDFA, three bytes, for 33.  No
 * language has more of them than leave a text twice as long as it came; what
 * would be longer, by more than the slack, is left out, and counts as cut.
 */
#define NORMAL_GROWTH 2u
#define NORMAL_SLACK 4096u

struct tide_normal {
	struct tide_out out;
	uint64_t taken, made; /* bytes */
	bool cut;	      /* something was left out */
	unsigned held;	      /* code points that may still be composed */
	int32_t segment[NORMAL_MARKS + 2];
	unsigned partial; /* bytes of a character begun */
	unsigned char bytes[4];
	size_t used;
	char buffer[4096];
};

void tide_normal_begin(struct tide_normal *, struct tide_out);
/* UTF-8; a byte that is none counts as windows-1252. */
void tide_normal_put(struct tide_normal *, const char *, size_t);
void tide_normal_end(struct tide_normal *);

/* The code point of a byte from 0x80 on; 0 if it is none. */
unsigned tide_windows_1252(unsigned char);

/* ---- html -------------------------------------------------------------- */

#define LINK_MAX 2048u	 /* bytes kept of a link's target */
#define HTML_NAME_MAX 16 /* of tags and attributes we know */
#define ENTITY_MAX 16u

struct tide_html {
	struct tide_out out; /* the text */
	/* A link's target, entities undone, without white space around it. */
	void (*link)(void *arg, const char *target, size_t n);
	void *arg;
	uint8_t state, back; /* enum state of html.c */
	uint8_t quote;
	bool closing; /* the tag is </...> */
	unsigned tag_length, attribute_length, raw_length;
	char tag[HTML_NAME_MAX], attribute[HTML_NAME_MAX];
	char raw[HTML_NAME_MAX]; /* the element whose end is awaited */
	unsigned seen;		 /* of a comment's or an element's end */
	unsigned entity_length;
	bool entity_in_value; /* of an attribute, else in text */
	char entity[ENTITY_MAX + 1];
	bool wanted; /* the attribute is a link's target */
	size_t target_length;
	char target[LINK_MAX];
};

void tide_html_begin(struct tide_html *);
void tide_html_put(struct tide_html *, const char *, size_t);
void tide_html_end(struct tide_html *);

/* More of a target; what is past LINK_MAX goes. */
void tide_html_target(struct tide_html *, const char *, size_t);

/*
 * A byte after &: true once the entity has ended (before the byte, unless it
 * is its semicolon), and what it stands for was put where it belongs.
 */
bool tide_html_entity(struct tide_html *, unsigned char);
void tide_html_entity_end(struct tide_html *, bool semicolon);

/* ---- charset ----------------------------------------------------------- */

#define CHARSET_BLOCK 1024u

struct tide_charset {
	struct tide_out out;
	bool converting;  /* else the bytes are UTF-8, or taken for it, ... */
	bool windows;	  /* ... or windows-1252 */
	bool sniffing;	  /* HTML that has not said its charset: see block */
	bool ascii;	  /* bytes below 0x80 are always ASCII */
	bool starved;	  /* no memory for a converter */
	const char *name; /* of the converter that is open, NULL: none */
	iconv_t cd;
	size_t used;
	char block[CHARSET_BLOCK];
};

/* The label as it stands in a header; html: it may be named in the text. */
void tide_charset_begin(struct tide_charset *, const char *label, bool html);
void tide_charset_put(struct tide_charset *, const char *, size_t);
void tide_charset_end(struct tide_charset *);
void tide_charset_close(struct tide_charset *);

/* What iconv calls it; NULL for UTF-8, and for what is not known. */
const char *tide_charset_find(const char *label, size_t length, bool *ascii);

/* ---- transfer ---------------------------------------------------------- */

enum tide_encoding {
	TIDE_ENCODING_NONE, /* 7bit, 8bit, binary */
	TIDE_ENCODING_BASE64,
	TIDE_ENCODING_QP,
	TIDE_ENCODING_UU
};

#define UU_LINE 128u

struct tide_transfer {
	struct tide_out out;
	enum tide_encoding encoding;
	uint8_t state;
	uint8_t first; /* hex digit */
	bool padded, ended;
	uint32_t bits;
	unsigned held; /* base64: characters in bits; uu: bytes in line */
	char line[UU_LINE];
	size_t used;
	char buffer[3072];
};

void tide_transfer_begin(
    struct tide_transfer *, enum tide_encoding, struct tide_out);
void tide_transfer_put(struct tide_transfer *, const char *, size_t);
void tide_transfer_end(struct tide_transfer *);

/* A line of uuencoded data: its bytes, or -1 if it is none. */
int tide_uu_line(const char *line, size_t length, char out[64]);

/* ---- fields and words -------------------------------------------------- */

#define TYPE_MAX 80
#define NAME_MAX_BYTES 256
#define BOUNDARY_MAX 256
#define LABEL_MAX 48

/* What the Content-* fields of one part say. */
struct tide_content_fields {
	char type[TYPE_MAX]; /* lower case, "" if it was not said */
	char boundary[BOUNDARY_MAX];
	char charset[LABEL_MAX];
	char name[NAME_MAX_BYTES]; /* file name, UTF-8 */
	bool named_by_disposition; /* which counts more than Content-Type */
	bool has_type, has_encoding, has_disposition;
	enum tide_encoding encoding;
};

/*
 * Take a field over, if it is one of them.  Where one comes twice the first
 * counts, which is what mail readers take; a second was added on the way.
 */
void tide_content_field(struct tide_content_fields *, struct tide_charset *,
    const char *name, const char *value);

/* Decode a header's value: UTF-8 to out. */
void tide_words_decode(
    struct tide_charset *, const char *value, size_t, struct tide_out);

/* A fixed buffer as an out: cut at a whole character, always ended. */
struct tide_copy {
	char *text;
	size_t size, length;
	bool full;
};
void tide_copy_put(void *copy, const char *, size_t);

/* ---- digest ------------------------------------------------------------ */

struct tide_digest *tide_digest_make(const struct tide_hash_key *);
void tide_digest_reset(struct tide_digest *, bool lines);
struct tide_hash tide_digest_value(struct tide_digest *, uint64_t *bytes);
void tide_digest_free(struct tide_digest *);

/* ---- mime -------------------------------------------------------------- */

/* A multipart or a forwarded message that is open. */
struct tide_level {
	bool guess;  /* the first line with -- is its boundary */
	bool digest; /* its parts are messages unless they say otherwise */
	unsigned length;
	char boundary[BOUNDARY_MAX]; /* length 0: a message */
};

enum tide_where {
	TIDE_IN_HEADER,
	TIDE_IN_PREAMBLE,
	TIDE_IN_LEAF,
	TIDE_IN_NOTHING /* an epilogue, or what was cut */
};

enum tide_uu_state {
	TIDE_UU_NONE,
	TIDE_UU_MAYBE, /* a line that starts with b */
	TIDE_UU_FIRST, /* after its begin line */
	TIDE_UU_DATA
};

struct tide_uu {
	enum tide_uu_state state;
	unsigned number;
	size_t used, begin_used;
	char line[UU_LINE], begin[UU_LINE];
	char name[NAME_MAX_BYTES];
};

/* A forwarded message with a file name. */
struct tide_forwarded {
	unsigned level; /* levels down to it and itself; 0: there is none */
	struct tide_part part;
	char type[TYPE_MAX], name[NAME_MAX_BYTES];
};

struct tide_text {
	struct tide_hash_key key;
	struct tide_text_caps caps;
	struct tide_text_sink sink;
	char *headers; /* chosen, lower case, " subject from " */

	bool begun;
	unsigned cut; /* enum tide_text_cut */
	unsigned parts;
	uint64_t body_bytes;

	/* the line that is being read, mime.c */
	enum tide_where where;
	bool line_start; /* the next byte begins a line */
	bool cr;	 /* one is held back: LF may follow */
	unsigned eol;	 /* of the line before, held back: LF 1, CR LF 2 */
	size_t dash_used;
	char dash[BOUNDARY_MAX + 64];
	unsigned depth, boundaries;
	struct tide_level *level;
	struct tide_forwarded forwarded;
	struct tide_digest *forwarded_digest;

	/* the header that is being read, header.c */
	bool top_header; /* it is the outermost */
	bool in_message; /* it is a message's, not a part's */
	bool header_first, header_full;
	bool field_line; /* in the midst of a line */
	bool field_open; /* a field stands in the buffer, its line ended */
	size_t header_bytes;
	size_t field_used;
	char *field; /* caps.header_bytes + 1; also the preamble */
	struct tide_content_fields content;

	/* the body that is being read, leaf.c */
	struct tide_part part;
	char part_type[TYPE_MAX], part_name[NAME_MAX_BYTES];
	bool leaf_text, leaf_html, leaf_file, leaf_uu;
	struct tide_digest *digest, *uu_digest;
	struct tide_uu uu;
	struct tide_transfer transfer;
	struct tide_charset charset, word_charset;
	struct tide_html html;
	struct tide_normal normal, link_normal;
	size_t link_used;
	char link[LINK_MAX + 1024];
};

void tide_mime_begin(struct tide_text *);
void tide_mime_put(struct tide_text *, const char *, size_t);
void tide_mime_end(struct tide_text *);
/* The header is read: what comes of the body? */
void tide_mime_body(struct tide_text *);
/* Bytes of the part that is open, without a boundary in them. */
void tide_mime_content(struct tide_text *, const char *, size_t);

void tide_header_begin(struct tide_text *, bool of_message);
/* A line or a piece of one without its end; its end. */
void tide_header_put(struct tide_text *, const char *, size_t);
void tide_header_eol(struct tide_text *);
void tide_header_end(struct tide_text *);

/* False, and nothing begun, past the cap of parts. */
bool tide_part_number(struct tide_text *);
void tide_leaf_begin(struct tide_text *);
void tide_leaf_put(struct tide_text *, const char *, size_t);
void tide_leaf_end(struct tide_text *);
/* Parts of their own: a header's value; a piece of UTF-8. */
void tide_leaf_header(struct tide_text *, const char *name, const char *value);
void tide_leaf_plain(struct tide_text *, const char *, size_t);

/* Pieces of lines of plain text, and the ends of the lines. */
void tide_uu_put(struct tide_text *, const char *, size_t);
void tide_uu_eol(struct tide_text *, const char *eol, size_t);
void tide_uu_end(struct tide_text *);

#endif
