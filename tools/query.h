/*
 * query - a question, how it is put, and its answer on paper.
 */
#ifndef TOOLS_QUERY_H
#define TOOLS_QUERY_H

#include "ask.h"
#include "tidemark/query.h"

/* As it stands on the command line; paths "-" are standard input. */
struct inquiry {
	struct tide_question q;
	const char *since, *until;
	const char *offline;
	const char *text, *file, *message; /* at most one */
	const char *guesses;		   /* a file of them */
	char **guess;			   /* its lines */
	size_t guess_count;
};

/* Is content asked for? */
bool query_has_content(const struct inquiry *);

/*
 * query_content.c: say the content to a daemon (ask) or to a recollection of
 * our own (recall, of that archive), normalised.  -1 once the reason is said.
 */
struct telling {
	struct ask *ask;		 /* or NULL, and then */
	struct tide_recall *recall;	 /* this is made */
	const struct tide_hash_key *key; /* NULL: digests cannot be made */
	const struct tide_config *config;
};
int query_tell(struct telling *, struct inquiry *);
void query_forget(struct inquiry *);

/* query_wait.c: progress on a terminal, and Ctrl-C. */
void wait_begin(int fd); /* of the daemon's connection, or -1 */
void wait_progress(uint64_t done, uint64_t all);
bool wait_go_on(void *, uint64_t done, uint64_t all); /* go_on, offline */
void wait_end(void);

void query_text(const struct inquiry *, const struct tide_answer *);
void query_json(const struct inquiry *, const struct tide_answer *);

/* The kind of a gap or of a lapse, in a word. */
const char *lapse_name(uint32_t kind);

#endif
