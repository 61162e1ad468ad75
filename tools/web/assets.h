/*
 * assets - the files of page/, which are part of the program.
 */
#ifndef WEB_ASSETS_H
#define WEB_ASSETS_H

#include <stddef.h>

struct asset {
	const char *path; /* as it is asked for */
	const char *type;
	const char *begin, *end;
};

/* The file that is asked for by that path; NULL. */
const struct asset *asset_find(const char *path);

/* The page itself: a template. */
extern const struct asset asset_page;

#endif
