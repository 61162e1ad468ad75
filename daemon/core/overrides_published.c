/*
 * overrides_published - put overrides where workers find them; look them up.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "overrides_order.h"
#include "tidemark/files.h"
#include "tidemark/overrides.h"

#define OVERRIDES_MAGIC 0x737265766f646974ull /* "tidovers" */

struct head {
	uint64_t magic;
	uint32_t size; /* of one */
	uint32_t count;
};

static void
path_of(const char *runtime_dir, char *path, size_t size)
{
	(void)snprintf(path, size, "%s/overrides", runtime_dir);
}

static int
write_out(const struct tide_overrides *all, const char *runtime_dir,
    struct tide_err *err)
{
	const struct head head = { OVERRIDES_MAGIC, (uint32_t)sizeof *all->list,
		(uint32_t)all->count };
	size_t length = sizeof head + all->count * sizeof *all->list;
	char *bytes = malloc(length), path[TIDE_PATH_MAX + 16];
	int rc;

	if (bytes == NULL)
		return tide_err_errno(err, "publishing overrides");
	memcpy(bytes, &head, sizeof head);
	if (all->count > 0)
		memcpy(bytes + sizeof head, all->list, length - sizeof head);
	path_of(runtime_dir, path, sizeof path);
	rc = tide_files_replace(path, bytes, length, 0640, err);
	free(bytes);
	return rc;
}

int
tide_overrides_publish(const struct tide_config *c, struct tide_err *err)
{
	struct tide_overrides all = { 0 };
	unsigned i;
	int rc = 0;

	for (i = 0; rc == 0 && i < c->profiles; i++)
		if (c->profile[i].tokens_overrides[0] != '\0')
			rc = tide_overrides_read(
			    &all, c->profile[i].tokens_overrides, i, err);
	if (rc == 0)
		rc = write_out(&all, c->runtime_dir, err);
	tide_overrides_free(&all);
	return rc;
}

static int
map_file(
    struct tide_overrides *all, int fd, const char *path, struct tide_err *err)
{
	const struct head *head;
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return tide_err_errno(err, "%s", path);
	if ((uint64_t)st.st_size < sizeof *head)
		return tide_err_set(err, "%s: is truncated", path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return tide_err_errno(err, "%s", path);
	head = p;
	if (head->magic != OVERRIDES_MAGIC || head->size != sizeof *all->list ||
	    (uint64_t)st.st_size !=
		sizeof *head + (uint64_t)head->count * head->size) {
		(void)munmap(p, (size_t)st.st_size);
		return tide_err_set(err, "%s: are no overrides of ours", path);
	}
	*all =
	    (struct tide_overrides){ .list = (void *)((char *)p + sizeof *head),
		    .count = head->count,
		    .mapped = p,
		    .length = (size_t)st.st_size };
	return 0;
}

int
tide_overrides_attach(
    struct tide_overrides *all, const char *runtime_dir, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 16];
	int fd, rc;

	path_of(runtime_dir, path, sizeof path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	rc = map_file(all, fd, path, err);
	(void)close(fd);
	return rc;
}

void
tide_overrides_free(struct tide_overrides *all)
{
	if (all->mapped != NULL)
		(void)munmap(all->mapped, all->length);
	else
		free(all->list);
	memset(all, 0, sizeof *all);
}

/* ---- looking up -------------------------------------------------------- */

const struct tide_override *
tide_overrides_find(
    const struct tide_overrides *all, unsigned profile, const char *key)
{
	struct tide_override want = { .profile = profile };

	if (all->count == 0 || strlen(key) >= sizeof want.key)
		return NULL;
	memcpy(want.key, key, strlen(key) + 1);
	return bsearch(&want, all->list, all->count, sizeof *all->list,
	    tide_overrides_compare);
}

const struct tide_override *
tide_overrides_find_client(const struct tide_overrides *all, unsigned profile,
    const struct tide_ip *ip)
{
	const struct tide_override *best = NULL;
	size_t i;

	for (i = 0; i < all->count; i++) {
		const struct tide_override *o = &all->list[i];

		if (o->profile == profile && o->is_net &&
		    tide_net_contains(&o->net, ip) &&
		    (best == NULL || o->net.bits > best->net.bits))
			best = o;
	}
	return best;
}

uint64_t
tide_allowance_depth_ms(const struct tide_allowance *a)
{
	return a->depth / TIDE_TOKENS_TICKS + 1;
}

uint64_t
tide_overrides_longest_ms(const struct tide_overrides *all)
{
	uint64_t longest = 0;
	size_t i;

	for (i = 0; i < all->count; i++) {
		uint64_t ms = tide_allowance_depth_ms(&all->list[i].allowance);

		if (ms > longest)
			longest = ms;
	}
	return longest;
}
