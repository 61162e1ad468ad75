/*
 * setup, journal - what --apply leaves for --undo: a line for each file that
 * was changed or made,
 *	file HASH BACKUP PATH	BACKUP is - for a file that was not there;
 *				HASH is of what we wrote
 *	folder TOP DEEPEST	that were made
 * It is written before the first rename: whoever comes after a crash finds
 * in it all that may have happened.
 */
#ifndef TOOLS_SETUP_JOURNAL_H
#define TOOLS_SETUP_JOURNAL_H

#include "setup.h"

/* Beside tidemark.conf; to be freed. */
char *journal_path(const struct setup *, const char *mta);

/* FNV-1a: only to see that nobody has changed the file since. */
unsigned long long journal_hash(const char *text);

/* From the deepest up to the top; they stay, if somebody else uses them. */
void journal_remove_folders(const char *top, const char *deepest);

#endif
