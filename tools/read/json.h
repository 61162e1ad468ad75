/*
 * json - a small writer.  Objects and arrays may nest; commas come by
 * themselves.  A key is NULL for the elements of an array.
 */
#ifndef TOOLS_READ_JSON_H
#define TOOLS_READ_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH 8

struct json {
	FILE *out;
	unsigned depth;
	bool filled[JSON_DEPTH + 1]; /* something stands before, at a depth */
};

/* A string in its quotes; bytes that are no UTF-8 become U+FFFD. */
void json_quote(FILE *, const char *);

void json_object(struct json *, const char *key);
void json_object_end(struct json *);
void json_array(struct json *, const char *key);
void json_array_end(struct json *);

void json_text(struct json *, const char *key, const char *);
void json_number(struct json *, const char *key, uint64_t);
void json_real(struct json *, const char *key, double);
void json_bool(struct json *, const char *key, bool);
void json_null(struct json *, const char *key);

/* "key": ISO 8601 in UTC (null for 0), "key_ms": milliseconds. */
void json_time(struct json *, const char *key, uint64_t wall_ms);

/* A record of its own line: {"version":1,"type":TYPE,...}\n */
struct json json_record(FILE *, const char *type);
void json_record_end(struct json *);

#endif
