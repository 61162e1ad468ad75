/*
 * exceptions_archive - exceptions, kept for good.
 *
 * Written by the collector alone.
 */
#ifndef TIDEMARK_EXCEPTIONS_ARCHIVE_H
#define TIDEMARK_EXCEPTIONS_ARCHIVE_H

#include <stddef.h>

#include "tidemark/archive/archive.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/reputation/exceptions.h"

/* All of them, or none; one that is there keeps its time. */
int tide_archive_put_exceptions(struct tide_archive *,
    const struct tide_exception *, size_t n, struct tide_err *);
/* 1 deleted, 0 it was not there, -1. */
int tide_archive_del_exception(
    struct tide_archive *, const struct tide_key *, struct tide_err *);

/* Publish what the archive holds. */
int tide_exceptions_publish(
    struct tide_archive *, const char *runtime_dir, struct tide_err *);

#endif
