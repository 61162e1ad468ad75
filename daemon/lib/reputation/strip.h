/*
 * strip - take the recipients' own addresses out of a stream of normalised
 * text.
 *
 * The work is that of the text, however many addresses there are and whatever
 * they share with it: one automaton (Aho and Corasick) of all of them, read
 * backwards, goes over the text once from its end, and at each byte knows the
 * longest address that begins there.
 *
 * Bounded: a message to more than STRIP_RECIPIENTS people has one text for
 * all of them, and the rest are not looked for.
 */
#ifndef REPUTATION_STRIP_H
#define REPUTATION_STRIP_H

#include <stdbool.h>
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

/*
 * A node stands for the end of some addresses, from `byte` on.  Its children,
 * a byte more in front, lie side by side, by byte.
 */
struct strip_node {
	uint16_t first; /* child */
	uint16_t fail;	/* the longest end of it that is a node, too */
	uint16_t depth;
	uint16_t match;		/* the longest address it begins with, or 0 */
	uint8_t children, byte; /* fewer than 256: there are fewer forms */
	uint8_t low, high;	/* the forms below, in order; high is past */
};

#define STRIP_NODES (1 + STRIP_FORMS * STRIP_LONGEST)
_Static_assert(STRIP_NODES <= UINT16_MAX, "nodes have numbers");
_Static_assert(STRIP_FORMS <= UINT8_MAX, "forms have numbers");

struct strip {
	unsigned recipients, forms;
	size_t longest;
	uint64_t work; /* steps of the automaton, for tests */
	bool built;
	struct strip_form form[STRIP_FORMS];
	uint16_t found[STRIP_BUFFER]; /* addresses that begin there */
	size_t have;
	char buffer[STRIP_BUFFER];
	void (*emit)(void *arg, const char *text, size_t length);
	void *arg;
	uint16_t root[256]; /* its children: most text is there */
	unsigned nodes;
	struct strip_node node[STRIP_NODES]; /* the last: few are touched */
};

/* A new message: nobody is known. */
void tide_strip_begin(struct strip *);
void tide_strip_recipient(struct strip *, const char *address);

/* Text of one part; what remains comes out at its end. */
void tide_strip_text(struct strip *, const char *text, size_t length);
void tide_strip_end(struct strip *);

#endif
