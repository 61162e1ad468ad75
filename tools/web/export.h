/*
 * export - /export/NAME.csv and /export/NAME.ndjson, a piece at a time: there
 * may be millions of rows, and a client that reads slowly.
 */
#ifndef WEB_EXPORT_H
#define WEB_EXPORT_H

#include "sample.h"
#include "sheet.h"

struct export;

/* What "levels.csv" means; NULL and *known false if there is no such. */
struct export *export_begin(struct sample *, const char *name, bool *known);
void export_end(struct export *);

bool export_is_csv(const struct export *);

/*
 * The next bytes of it: how many, 0 at its end, -1 if the rest is lost: there is
 * another map now, or no memory.
 */
long export_read(struct export *, char *buf, size_t);

#endif
