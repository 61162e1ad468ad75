/*
 * query - a question's answer, on paper.
 */
#ifndef TOOLS_QUERY_H
#define TOOLS_QUERY_H

#include "tidemark/query.h"

void query_text(const struct tide_question *, const struct tide_answer *);
void query_json(const struct tide_question *, const struct tide_answer *);

/* The kind of a gap or of a lapse, in a word. */
const char *lapse_name(uint32_t kind);

#endif
