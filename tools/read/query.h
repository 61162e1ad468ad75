/*
 * query - a question, how it is put, and its answer on paper.
 */
#ifndef TOOLS_READ_QUERY_H
#define TOOLS_READ_QUERY_H

#include <stdio.h>

#include "ask.h"
#include "tidemark/ask/query.h"
#include "tidemark/keys/address.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"

/* As it stands on the command line; paths "-" are standard input. */
struct inquiry {
	struct tide_question q;
	const char *since, *until;
	const char *offline;
	const char *text, *file, *message; /* at most one */
	const char *guesses;		   /* a file of them */
	char **guess;			   /* its lines */
	size_t guess_count;
	/* from and to as they are asked; what was typed for a whole domain */
	char address[2][TIDE_ADDRESS_MAX];
	const char *bare[2];
	bool star; /* a * of the text is asked for as punctuation */
};

/* query_ask.c: read from and to, as they were typed. */
int query_addresses(struct inquiry *, struct tide_err *);

/* Is content asked for? */
bool query_has_content(const struct inquiry *);

/*
 * query_content.c: say the content to a daemon (ask) or to a recollection of
 * our own (recall, of that archive), normalised.  -1 once the reason is said.
 */
struct telling {
	struct ask *ask;		 /* or NULL, and then */
	struct tide_recall *recall;	 /* this is made */
	const struct tide_hash_key *key; /* for that; the daemon has its own */
	const struct tide_config *config;
};
int query_tell(struct telling *, struct inquiry *);
void query_forget(struct inquiry *);
/* Complain that not all of it was asked for. */
void query_say_cut(unsigned cut);

/*
 * query_pieces.c: the pieces of a text around each * that stands for what is
 * not known: alone between blanks, with enough letters on both sides.  Any
 * other is punctuation; one that stands alone sets *star.  How many; 0 without
 * memory.
 */
struct piece {
	const char *text;
	size_t length;
};
size_t query_pieces(const struct tide_config *, const char *text,
    struct piece out[TIDE_PIECES_MOST + 1], bool *star);

/* Who waits for an answer that may take long. */
struct query_wait {
	void *arg;
	void (*begin)(
	    void *arg, int fd); /* of the daemon's connection, or -1 */
	/* so many windows of all; false: enough, answer with what is found */
	bool (*progress)(void *arg, uint64_t done, uint64_t all);
	void (*end)(void *arg);
};

/* query_ask.c: read since and until, which may be NULL. */
int query_times(struct inquiry *, struct tide_err *);

/*
 * Ask the daemon.  ANSWER_DONE, and then the answer is the caller's to free;
 * or ANSWER_REFUSED or ANSWER_BROKEN once the reason is said.
 */
enum answer query_ask(const struct tide_config *, struct inquiry *,
    const struct query_wait *, struct tide_answer *);

/* query_wait.c: progress on a terminal, and Ctrl-C. */
extern const struct query_wait query_terminal;
bool query_terminal_go_on(void *, uint64_t done, uint64_t all); /* offline */

/* query_print.c */
void query_text(FILE *, const struct inquiry *, const struct tide_answer *);
void query_json(FILE *, const struct inquiry *, const struct tide_answer *);

/* The kind of a gap or of a lapse, in a word. */
const char *lapse_name(uint32_t kind);

#endif
