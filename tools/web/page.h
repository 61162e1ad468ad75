/*
 * page - the page itself: its template, with a summary for browsers without
 * scripts and, where they asked, the answer.
 */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include "sample.h"

void page_print(FILE *, const struct sample *);

/* To be freed; NULL without memory. */
char *
page_with_answer(const struct sample *, const char *answer, size_t *length);

#endif
