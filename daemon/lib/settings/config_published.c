/*
 * config_published - write it whole, take it whole.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"
#include "tidemark/settings/params.h"

#define CONFIG_MAGIC 0x666e6f6365646974ull /* "tideconf" */

struct published {
	uint64_t magic;
	uint64_t format;
	uint64_t generation;
	struct tide_config config;
	uint64_t check;
};

/* Which settings there are, and where each stands. */
static uint64_t
format_word(void)
{
	uint64_t word = sizeof(struct published);
	size_t i;

	for (i = 0; i < tide_params_count; i++) {
		const struct tide_param *p = &tide_params[i];
		const uint64_t row[] = { word, p->section, p->kind, p->offset,
			p->size, tide_hash_check(p->name, strlen(p->name)) };

		word = tide_hash_check(row, sizeof row);
	}
	return word;
}

static void
config_path(const char *runtime_dir, char *path, size_t size)
{
	(void)snprintf(path, size, "%s/config", runtime_dir);
}

int
tide_config_publish(
    const struct tide_config *config, uint64_t generation, struct tide_err *err)
{
	struct published *p = calloc(1, sizeof *p);
	char path[TIDE_PATH_MAX + 16];
	int rc;

	if (p == NULL)
		return tide_err_errno(err, "publishing the configuration");
	p->magic = CONFIG_MAGIC;
	p->format = format_word();
	p->generation = generation;
	p->config = *config;
	p->check = tide_hash_check(p, offsetof(struct published, check));
	config_path(config->runtime_dir, path, sizeof path);
	rc = tide_files_replace(path, p, sizeof *p, 0640, err);
	free(p);
	return rc;
}

static int
read_published(const char *path, struct published *p, struct tide_err *err)
{
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	n = read(fd, p, sizeof *p);
	(void)close(fd);
	if (n != (ssize_t)sizeof *p || p->magic != CONFIG_MAGIC ||
	    p->format != format_word() ||
	    p->check != tide_hash_check(p, offsetof(struct published, check)))
		return tide_err_set(
		    err, "%s: is no published configuration of ours", path);
	return 0;
}

int
tide_config_published(const char *runtime_dir, struct tide_config *config,
    uint64_t *generation, struct tide_err *err)
{
	struct published *p = malloc(sizeof *p);
	char path[TIDE_PATH_MAX + 16];
	int rc;

	if (p == NULL)
		return tide_err_errno(err, "reading the configuration");
	config_path(runtime_dir, path, sizeof path);
	rc = read_published(path, p, err);
	if (rc == 0) {
		*config = p->config;
		*generation = p->generation;
	}
	free(p);
	return rc;
}
