/*
 * pages - how large the kernel's are.
 *
 * Alone in its file: a test that wants larger ones brings its own.
 */
#include <unistd.h>

#include "tidemark/shared/pages.h"

size_t
tide_page_size(void)
{
	long size = sysconf(_SC_PAGESIZE);

	return size > (long)TIDE_PAGE ? (size_t)size : TIDE_PAGE;
}
