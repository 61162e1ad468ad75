/*
 * oracle - what GMime reads in a message, in the form of our transcript: it
 * splits and decodes, and only HTML and normal form are ours.
 */
#ifndef TESTS_CORE_ORACLE_H
#define TESTS_CORE_ORACLE_H

#include <stddef.h>

/* A list of lines, each "header Subject: ...", "text TYPE: ...", "file ..." */
struct reading {
	char **line;
	size_t lines, room;
};

void oracle_begin(void);

void read_ours(struct reading *, const char *message, size_t);
void read_gmime(struct reading *, const char *message, size_t);
void reading_free(struct reading *);

#endif
