/*
 * pages - regions, and the parts of one, begin on a page of their own.
 */
#ifndef TIDEMARK_PAGES_H
#define TIDEMARK_PAGES_H

#include <stddef.h>

#define TIDE_PAGE 4096u

/* So many bytes, in whole pages. */
static inline size_t
tide_pages(size_t bytes)
{
	return (bytes + TIDE_PAGE - 1) / TIDE_PAGE * TIDE_PAGE;
}

#endif
