/*
 * text - from the bytes of a message to the text that people read in it.
 *
 * A push pipeline with hard caps: headers and body bytes go in as they come
 * from the wire, normalised text comes out part by part, and nothing of the
 * message is kept.  Whatever asks a question later (an excerpt, a file, a
 * whole message) goes the same way, so both meet in the same form:
 *
 *   MIME parts split; base64, quoted-printable, uuencode undone; charset to
 *   UTF-8; HTML to what is seen of it, link targets apart; RFC 2047 and 2231
 *   headers decoded; NFKC and casefolded; letters and digits only.
 *
 * Input is hostile: no cap, no malformed byte is an error.  What lies past a
 * cap is left out and said in tide_text_end()'s flags.
 */
#ifndef TIDEMARK_TEXT_H
#define TIDEMARK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark/base/hash.h"

enum tide_part_kind {
	TIDE_PART_HEADER, /* the value of a chosen header */
	TIDE_PART_TEXT,	  /* text of any type, as it is read */
	TIDE_PART_LINK,	  /* the target of one link in an HTML part */
	TIDE_PART_FILE,	  /* anything else, or what has a file name */
	TIDE_PART_KINDS
};

extern const char *const tide_part_kind_name[TIDE_PART_KINDS];

struct tide_part {
	enum tide_part_kind kind;
	unsigned number;  /* of the part in its message, from 0 */
	unsigned depth;	  /* of multiparts and forwarded messages around it */
	const char *name; /* header's or file's, UTF-8, or "" */
	const char *type; /* "text/html", lower case; "" for headers */
};

/*
 * Where the text goes.  Parts never overlap, but a link comes whole, in one
 * call, while the text it stands in is open.  Any function may be NULL.
 */
struct tide_text_sink {
	void *arg;
	void (*begin)(void *arg, const struct tide_part *);
	/* normalised UTF-8, in pieces of any length, whole characters */
	void (*text)(void *arg, const char *text, size_t length);
	void (*end)(void *arg, const struct tide_part *);
	void (*link)(void *arg, const struct tide_part *, const char *text,
	    size_t length);
	/* an attachment's decoded bytes have all been seen */
	void (*file)(void *arg, const struct tide_part *, struct tide_hash,
	    uint64_t bytes);
};

struct tide_text_caps {
	unsigned depth;	      /* multiparts and messages inside each other */
	unsigned parts;	      /* of one message */
	size_t header_bytes;  /* of one part's header */
	uint64_t total_bytes; /* of body read */
};

struct tide_config;
struct tide_text_caps tide_text_caps(const struct tide_config *);

/* What was left out. */
enum tide_text_cut {
	TIDE_CUT_DEPTH = 1,
	TIDE_CUT_PARTS = 2,
	TIDE_CUT_HEADER = 4,
	TIDE_CUT_TOTAL = 8,
	TIDE_CUT_MEMORY = 16, /* none to be had */
	TIDE_CUT_BLOCKS = 32, /* more text than memory keeps of a message */
	TIDE_CUT_GROWTH = 64  /* characters that stand for very many letters */
};

#define TIDE_CUT_MAX 64 /* room for all their names */

/* "depth,total"; "" if nothing was cut.  Returns buf. */
const char *tide_text_cut_show(unsigned cut, char buf[TIDE_CUT_MAX]);

struct tide_text;

/*
 * One pipeline serves one message after the other.  `headers` are the names
 * of the headers that are parts of their own, separated by spaces.  NULL if
 * there is no memory.
 */
struct tide_text *
tide_text_new(const struct tide_hash_key *, const struct tide_text_caps *,
    const char *headers, const struct tide_text_sink *);
void tide_text_free(struct tide_text *);

/* A message as a mail server hands it over: unfolded or not, then the body. */
void tide_text_header(struct tide_text *, const char *name, const char *value);
void tide_text_body(struct tide_text *, const void *bytes, size_t length);

/* A message as it lies in a file: header, empty line, body; LF or CRLF. */
void tide_text_message(struct tide_text *, const void *bytes, size_t length);

/* Is the cap of body bytes reached?  More of them would change nothing. */
bool tide_text_full(const struct tide_text *);

/* The end of the message: what was cut (enum tide_text_cut, or 0). */
unsigned tide_text_end(struct tide_text *);

/* Give the message up; the pipeline is ready for the next. */
void tide_text_abort(struct tide_text *);

/* An excerpt: plain UTF-8, one part of text, begun and ended. */
void tide_text_excerpt(struct tide_text *, const char *utf8, size_t length);

/*
 * The hash under which a file's bytes are kept, from pieces of it.  The end
 * frees it.
 *
 * Mail changes the line ends of what it carries as text.  Parts of type
 * text and those that were not sent in base64 are therefore hashed as lines
 * (CR LF is LF, line ends at the end do not count), all others byte by byte.
 * Who asks for a file knows not how it was sent, and asks for both hashes;
 * for a file without CR LF that does not end in LF they are one.
 */
struct tide_digest;
struct tide_digest *tide_digest_new(const struct tide_hash_key *);
struct tide_digest *tide_digest_new_lines(const struct tide_hash_key *);
void tide_digest_add(struct tide_digest *, const void *bytes, size_t length);
struct tide_hash tide_digest_end(struct tide_digest *);

#endif
