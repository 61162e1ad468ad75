/*
 * dump - facts, one record a line, as text or as JSON.
 *
 *   window number=3 from=2026-11-16T12:00:00Z ...
 *   {"version":1,"type":"window","number":3,"from":"2026-11-16T12:00:00Z",...
 */
#ifndef TOOLS_DUMP_H
#define TOOLS_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "../read/json.h"
#include "tidemark/settings/config.h"
#include "tidemark/base/err.h"

struct dump {
	bool as_json;
	struct json json; /* of the record that is open */
	uint64_t records; /* written so far */
};

void fact_begin(struct dump *, const char *type);
void fact_end(struct dump *);
void fact_text(struct dump *, const char *key, const char *);
void fact_number(struct dump *, const char *key, uint64_t);
void fact_real(struct dump *, const char *key, double);
void fact_bool(struct dump *, const char *key, bool);
void fact_time(struct dump *, const char *key, uint64_t wall_ms);

/* 0, or -1 with a sentence. */
int dump_live(struct dump *, const struct tide_config *, struct tide_err *);
int dump_archive(struct dump *, const char *state_dir, struct tide_err *);

/* The form that mdb_load reads, of the tables in one file. */
int dump_mdb_live(const struct tide_config *, struct tide_err *);
int dump_mdb_archive(const char *state_dir, struct tide_err *);

#endif
