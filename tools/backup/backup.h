/*
 * backup - what making a backup and reading one have in common: its MANIFEST.
 *
 * A backup is a folder: archive.mdb, hash.key, copies of the configuration
 * for reference, and MANIFEST, the list of them with their sizes and digests
 * (BLAKE2b of 256 bits: b2sum -l 256).  The list ends in a digest of itself.
 */
#ifndef TOOLS_BACKUP_BACKUP_H
#define TOOLS_BACKUP_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "tidemark/archive/archive.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/settings/config.h"

#define BACKUP_FORMAT 1u
#define BACKUP_FILES_MAX 128u
#define BACKUP_DIGEST 65 /* as text */
#define BACKUP_PATH (2 * TIDE_PATH_MAX)

struct backup_file {
	uint64_t size;
	char digest[BACKUP_DIGEST];
	char name[TIDE_PATH_MAX]; /* within the folder */
	char from[TIDE_PATH_MAX]; /* where it was, for reference; or "" */
};

struct backup {
	uint32_t format;
	char version[32];
	uint32_t archive; /* TIDE_ARCHIVE_FORMAT */
	char node[256];
	uint64_t made_ms;  /* when the copying began */
	uint64_t state_ms; /* what was acknowledged before that is in it */
	struct backup_file file[BACKUP_FILES_MAX];
	unsigned files;
};

/* Where a file of the folder is; the same buffer back. */
const char *
backup_path(const char *dir, const char *name, char path[BACKUP_PATH]);

/* Measure a file that is there, and add it to the list. */
int backup_list(struct backup *, const char *dir, const char *name,
    const char *from, struct tide_err *);

int backup_write_manifest(
    const struct backup *, const char *dir, struct tide_err *);
int backup_read_manifest(struct backup *, const char *dir, struct tide_err *);

/* Is every file there, and as it was?  Then, the archive is looked through. */
int backup_verify(const struct backup *, const char *dir, struct tide_err *);

/* Is the file at that path what the list says of the one so named? */
int backup_compare(const struct backup *, const char *name, const char *path,
    struct tide_err *);

uint64_t backup_bytes(const struct backup *);

/* Copy a file whole and have it on disk. */
int backup_copy(const char *from, const char *to, mode_t, struct tide_err *);
/* The same of one that is open. */
int backup_copy_in(int from, const char *to, mode_t, struct tide_err *);

/* Have a folder's names on disk. */
int backup_sync_dir(const char *dir, struct tide_err *);

#endif
