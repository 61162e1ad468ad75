/*
 * pages - regions, and the parts of one, begin on a page of their own.
 *
 * Two sizes: a region is laid out in pages of 4 KiB on every machine, so that
 * its format is one; its place in the file goes by the pages of the kernel,
 * which may have 16 or 64 KiB and map nothing smaller.
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

/* The kernel's, but no less than ours. */
size_t tide_page_size(void);

/* So many bytes, in whole pages of the kernel. */
static inline size_t
tide_kernel_pages(size_t bytes)
{
	const size_t page = tide_page_size();

	return (bytes + page - 1) / page * page;
}

#endif
