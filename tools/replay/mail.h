/*
 * replay, mail - messages of mailboxes, as far as replay wants to know them.
 *
 * Files may hold anything: a line or header is cut at a fixed length, times
 * to come are not believed, and the number of messages has an end.
 */
#ifndef TOOLS_REPLAY_MAIL_H
#define TOOLS_REPLAY_MAIL_H

#include <stdio.h>

#include "replay.h"

#define MAIL_LINE_MAX 16384
#define MAIL_HEADER_MAX 65536
#define MAILS_MAX 4000000u

/* ---- one message's header ---------------------------------------------- */

struct letter {
	struct replay_line line;
	uint64_t today, from_line, received, date; /* 0: not known */
	bool has_path, has_received;
	char envelope[512]; /* of the "From " line */
	char author[512];   /* From: */
};

void letter_start(struct letter *, uint64_t today);

/* False if it is no "From " line with a time in it. */
bool letter_from_line(struct letter *, const char *text);

/* A header, unfolded. */
void letter_header(struct letter *, const char *text);

/* Puts its line together; false if it has no time. */
bool letter_end(struct letter *);

/* ---- mailboxes --------------------------------------------------------- */

struct mail;

/* All start as 0, but for today. */
struct mails {
	uint64_t today;
	uint64_t undated, left_out; /* no time; beyond MAILS_MAX */
	struct mail **mail;
	size_t count, room;
};

/* The next line, without its end, cut to the size; false at the end. */
bool mail_get_line(FILE *, char *line, size_t size);

/* An mbox whose first line has been read already. */
int mails_read_mbox(struct mails *, FILE *, const char *first);

/* 0, or -1 once it was complained of. */
int mails_read_maildir(struct mails *, const char *path);

/* From the oldest to the newest. */
void mails_each(
    struct mails *, void (*each)(void *, struct replay_line *), void *arg);

void mails_free(struct mails *);

#endif
