/*
 * The published configuration: what is read is what was written, or nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"

static const char *
published(const struct tide_config *c)
{
	static char path[TIDE_PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/config", c->runtime_dir);
	return path;
}

static void
config_round_trip(void)
{
	struct tide_config c, back;
	struct tide_err err;
	uint64_t generation = 0;

	fixture_config(&c);
	CHECK_INT(tide_config_publish(&c, 42, &err), 0);
	CHECK_INT(
	    tide_config_published(c.runtime_dir, &back, &generation, &err), 0);
	CHECK_INT(generation, 42);
	CHECK(memcmp(&c, &back, sizeof c) == 0);
	c.max_workers = 7;
	CHECK_INT(tide_config_publish(&c, 43, &err), 0);
	CHECK_INT(
	    tide_config_published(c.runtime_dir, &back, &generation, &err), 0);
	CHECK_INT(generation, 43);
	CHECK_INT(back.max_workers, 7);
}

static void
must_be_refused(const struct tide_config *c, const char *what)
{
	struct tide_config back = { .max_workers = 4711 };
	uint64_t generation = 4711;
	struct tide_err err = { "" };

	CHECK_MSG(tide_config_published(
		      c->runtime_dir, &back, &generation, &err) == -1,
	    "%s was taken", what);
	CHECK_MSG(
	    strstr(err.text, "is no published configuration of ours") != NULL,
	    "%s: %s", what, err.text);
	CHECK_INT(generation, 4711);
	CHECK_INT(back.max_workers, 4711);
}

static void
damaged_configs(void)
{
	struct tide_config c;
	struct tide_err err;
	uint64_t state = 7;
	size_t size, i;
	char *bytes;

	fixture_config(&c);
	CHECK_INT(tide_config_publish(&c, 42, &err), 0);
	bytes = fixture_slurp(published(&c), &size);
	for (i = 0; i < 200; i++) {
		fixture_spit(published(&c), bytes, size);
		fixture_flip(published(&c), fixture_random(&state) % size,
		    (unsigned)(fixture_random(&state) % 8));
		must_be_refused(&c, "a bent one");
	}
	fixture_spit(published(&c), bytes, size - 1);
	must_be_refused(&c, "a short one");
	fixture_spit(published(&c), "", 0);
	must_be_refused(&c, "an empty one");
	fixture_spit(published(&c), "max_workers = 3\n", 16);
	must_be_refused(&c, "a foreign one");
	free(bytes);
}

static void
no_config(void)
{
	struct tide_config c, back;
	struct tide_err err = { "" };
	uint64_t generation;

	fixture_config(&c);
	CHECK_INT(
	    tide_config_published(c.runtime_dir, &back, &generation, &err), -1);
	CHECK(strstr(err.text, "/config: No such file") != NULL);
}

CHECK_CASES({ "a configuration is published and read", config_round_trip },
    { "damaged ones are refused", damaged_configs },
    { "none at all", no_config })
