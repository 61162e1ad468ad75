/*
 * files - small things done to files, done right.
 */
#ifndef TIDEMARK_FILES_H
#define TIDEMARK_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidemark/base/err.h"

#define TIDE_PATH_MAX 256

/* Write a file whole and put it in place by rename: readers see the old one
 * or the new one. */
int tide_files_replace(
    const char *path, const void *, size_t, mode_t, struct tide_err *);

/* The folder part of a path ("." if it has none). */
void tide_files_dirname(const char *path, char *, size_t);

/*
 * Make a folder, if it is not there.  Root gives one that is empty, in a
 * folder of its own, to that user (-1: to nobody); any other is left to whom
 * it belongs, and a link is refused.
 */
int
tide_files_folder(const char *path, mode_t, uid_t, gid_t, struct tide_err *);

/*
 * Lock the file for this process (not its children) until it ends, waiting
 * at most wait_ms.  The descriptor, to be kept open, or -1.  holder, unless
 * NULL, is set to the pid of who has it.  A lock that root makes in a folder
 * of somebody else's is theirs.
 */
int tide_files_lock(
    const char *path, unsigned wait_ms, pid_t *holder, struct tide_err *);

#endif
