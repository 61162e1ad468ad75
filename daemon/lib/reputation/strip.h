/*
 * strip - take the recipients' own addresses out of a stream of normalised
 * text.
 *
 * Bounded: a message to more than STRIP_RECIPIENTS people has one text for
 * all of them, and the rest are not looked for.
 */
#ifndef REPUTATION_STRIP_H
#define REPUTATION_STRIP_H

#include <stddef.h>
#include <stdint.h>

#define STRIP_RECIPIENTS 32u
#define STRIP_FORMS (2 * STRIP_RECIPIENTS) /* with its tag, and without */
#define STRIP_LONGEST 384u		   /* bytes of a normalised address */
#define STRIP_SHORTEST 6u /* what is shorter stands in words by chance */
#define STRIP_BUFFER 4096u

struct strip_form {
	size_t length;
	char text[STRIP_LONGEST];
};

struct strip {
	unsigned recipients, forms;
	size_t longest;
	uint64_t starts[64]; /* a bit for each hash of three first bytes */
	struct strip_form form[STRIP_FORMS];
	size_t have;
	char buffer[STRIP_BUFFER];
	void (*emit)(void *arg, const char *text, size_t length);
	void *arg;
};

/* A new message: nobody is known. */
void tide_strip_begin(struct strip *);
void tide_strip_recipient(struct strip *, const char *address);

/* Text of one part; what remains comes out at its end. */
void tide_strip_text(struct strip *, const char *text, size_t length);
void tide_strip_end(struct strip *);

#endif
