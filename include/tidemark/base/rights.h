/*
 * rights - root at work in a folder that is somebody else's.
 *
 * Whoever owns a folder may put a link in place of any name in it, at any
 * moment.  Root that opens, makes or chowns by such a name does so wherever
 * the link leads.  So root takes the rights of the folder's owner first: the
 * kernel then allows no more than the owner could have done alone, and what
 * is made is the owner's without a chown.
 */
#ifndef TIDEMARK_RIGHTS_H
#define TIDEMARK_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "tidemark/base/err.h"

#define TIDE_RIGHTS_GROUPS 64

/* What we had before. */
struct tide_rights {
	bool taken;
	int groups;
	gid_t group[TIDE_RIGHTS_GROUPS];
};

/*
 * For files, be the owner of that folder from now on.  One group more, unless
 * it is -1, is for giving files to it.  Nothing changes if we are not root, or
 * if the folder is root's.  This thread alone; 0, or -1 with a sentence.
 */
int tide_rights_of_folder(
    struct tide_rights *was, const char *dir, gid_t more, struct tide_err *);

/* The same for the folder that a file is in. */
int tide_rights_of_place(
    struct tide_rights *was, const char *path, gid_t more, struct tide_err *);

/* Back to what we had; errno stays. */
void tide_rights_return(const struct tide_rights *was);

#endif
