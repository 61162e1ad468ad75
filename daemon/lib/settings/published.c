/*
 * published - written, and mapped.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/settings/published.h"

#define PATH_ROOM (TIDE_PATH_MAX + 16)

struct head {
	uint64_t magic;
	uint32_t size; /* of a record */
	uint32_t count;
};

static void
path_of(char path[PATH_ROOM], const char *runtime_dir, const char *name)
{
	(void)snprintf(path, PATH_ROOM, "%s/%s", runtime_dir, name);
}

int
tide_published_write(const char *runtime_dir, const char *name, uint64_t magic,
    const void *records, size_t size, size_t count, struct tide_err *err)
{
	const struct head head = { magic, (uint32_t)size, (uint32_t)count };
	size_t length = sizeof head + count * size;
	char *bytes = malloc(length), path[PATH_ROOM];
	int rc;

	if (bytes == NULL)
		return tide_err_errno(err, "publishing %s", name);
	memcpy(bytes, &head, sizeof head);
	if (count > 0)
		memcpy(bytes + sizeof head, records, count * size);
	path_of(path, runtime_dir, name);
	rc = tide_files_replace(path, bytes, length, 0640, err);
	free(bytes);
	return rc;
}

static int
map_file(struct tide_published *p, int fd, const char *path, uint64_t magic,
    size_t size, struct tide_err *err)
{
	const struct head *head;
	struct stat st;
	void *mapped;

	if (fstat(fd, &st) < 0)
		return tide_err_errno(err, "%s", path);
	if ((uint64_t)st.st_size < sizeof *head)
		return tide_err_set(err, "%s: is truncated", path);
	mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return tide_err_errno(err, "%s", path);
	head = mapped;
	if (head->magic != magic || head->size != size ||
	    (uint64_t)st.st_size !=
		sizeof *head + (uint64_t)head->count * head->size) {
		(void)munmap(mapped, (size_t)st.st_size);
		return tide_err_set(err, "%s: is no list of ours", path);
	}
	*p = (struct tide_published){ .mapped = mapped,
		.length = (size_t)st.st_size,
		.records = (const char *)mapped + sizeof *head,
		.count = head->count };
	return 0;
}

int
tide_published_map(struct tide_published *p, const char *runtime_dir,
    const char *name, uint64_t magic, size_t size, struct tide_err *err)
{
	char path[PATH_ROOM];
	int fd, rc;

	path_of(path, runtime_dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	rc = map_file(p, fd, path, magic, size, err);
	(void)close(fd);
	return rc;
}

void
tide_published_unmap(struct tide_published *p)
{
	if (p->mapped != NULL)
		(void)munmap(p->mapped, p->length);
	memset(p, 0, sizeof *p);
}
