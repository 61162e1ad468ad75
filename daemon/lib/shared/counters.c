/*
 * counters - the table, and reading it.
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

const struct tide_counter_info tide_counter_info[TIDE_COUNTER_COUNT] = {
#define X(id, name, scope, by, help, act) \
	{ #name, TIDE_SCOPE_##scope, TIDE_BY_##by, help, act },
	TIDE_COUNTERS(X)
#undef X
};

uint64_t
tide_counter_get(const struct tide_counters *c, int row, enum tide_counter id)
{
	uint64_t sum = 0;
	unsigned i;

	if (row >= 0)
		return atomic_load_explicit(
		    &c->value[row][id], memory_order_relaxed);
	for (i = 0; i < 1 + TIDE_PROFILES_MAX; i++)
		sum += atomic_load_explicit(
		    &c->value[i][id], memory_order_relaxed);
	return sum;
}

/* ---- by name ----------------------------------------------------------- */

#define X(id, name, scope, by, help, act) #name "\n"
const char *const tide_counters_names = TIDE_COUNTERS(X);
#undef X

#define ROWS (1 + TIDE_PROFILES_MAX)

struct record {
	uint64_t value;
	uint8_t row;
	uint8_t length; /* of the name that follows */
	uint8_t pad[6];
};

uint32_t
tide_counters_format(void)
{
	return (uint32_t)tide_hash_check(
	    tide_counters_names, strlen(tide_counters_names));
}

static size_t
count_lines(const char *names)
{
	size_t n = 0;

	for (; *names != '\0'; names++)
		n += *names == '\n';
	return n;
}

size_t
tide_counters_bytes(const char *names)
{
	return ROWS * count_lines(names) * sizeof(uint64_t);
}

static int
append(char **bytes, size_t *size, const struct record *r, const char *name,
    struct tide_err *err)
{
	char *more = realloc(*bytes, *size + sizeof *r + r->length);

	if (more == NULL)
		return tide_err_errno(err, "saving the counters");
	memcpy(more + *size, r, sizeof *r);
	memcpy(more + *size + sizeof *r, name, r->length);
	*bytes = more;
	*size += sizeof *r + r->length;
	return 0;
}

int
tide_counters_save(const _Atomic uint64_t *value, const char *names,
    char **bytes, size_t *size, struct tide_err *err)
{
	size_t count = count_lines(names), i = 0;
	struct record r = { 0 };
	const char *end;

	for (; (end = strchr(names, '\n')) != NULL; names = end + 1, i++) {
		r.length = (uint8_t)(end - names);
		for (r.row = 0; r.row < ROWS; r.row++) {
			r.value = atomic_load_explicit(
			    &value[r.row * count + i], memory_order_relaxed);
			if (r.value != 0 &&
			    append(bytes, size, &r, names, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int
find(const char *name, size_t length)
{
	int i;

	for (i = 0; i < TIDE_COUNTER_COUNT; i++)
		if (strncmp(tide_counter_info[i].name, name, length) == 0 &&
		    tide_counter_info[i].name[length] == '\0')
			return i;
	return -1;
}

unsigned
tide_counters_load(struct tide_counters *to,
    const struct tide_profile_names *to_names, const char *bytes, size_t size,
    const struct tide_profile_names *from)
{
	unsigned unknown = 0;
	struct record r;
	size_t at = 0;
	int id, row;

	while (at + sizeof r <= size) {
		memcpy(&r, bytes + at, sizeof r);
		at += sizeof r;
		if (r.length == 0 || r.length > size - at || r.row >= ROWS)
			break; /* padding */
		id = find(bytes + at, r.length);
		at += r.length;
		row = r.row == 0
		    ? 0
		    : tide_names_translate(from, r.row - 1u, to_names) + 1;
		if (id >= 0)
			atomic_fetch_add(&to->value[row][id], r.value);
		else
			unknown++;
	}
	return unknown;
}
