/*
 * addresses lines - plain lists, one entry a line, # for comments.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../progress.h"
#include "../read/output.h"
#include "addresses.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"
#include "tidemark/reputation/addresses.h"

#define SHOWN 5u /* lines that are no address */

static uint64_t
bytes_of(char *const *files, int n)
{
	uint64_t sum = 0;
	struct stat st;
	int i;

	for (i = 0; i < n; i++) {
		if (stat(files[i], &st) < 0 || !S_ISREG(st.st_mode))
			return 0;
		sum += (uint64_t)st.st_size;
	}
	return sum;
}

static void
leave_out(struct lines *l, const char *path, uint64_t number, const char *line)
{
	char shown[64];
	size_t i;

	if (l->left_out++ >= SHOWN)
		return;
	for (i = 0; i + 1 < sizeof shown && line[i] != '\0' && line[i] != '\n';
	     i++)
		shown[i] = line[i];
	shown[i] = '\0';
	complain("%s:%llu: «%s» is no address and no @domain; left out", path,
	    (unsigned long long)number, shown);
}

static int
take_line(struct lines *l, const char *path, uint64_t number, const char *line)
{
	static const struct tide_hash_key none; /* for long ones, another */
	struct tide_key key;

	switch (tide_address_entry(&none, line, &key)) {
	case 0:
		return 0;
	case 1:
		l->read++;
		return l->each(l->arg, line, &key);
	default:
		leave_out(l, path, number, line);
		return 0;
	}
}

static int
read_file(struct lines *l, FILE *f, const char *path, struct progress *p,
    uint64_t *bytes)
{
	uint64_t number = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int rc = 0;

	while (rc == 0 && (n = getline(&line, &room, f)) > 0) {
		*bytes += (uint64_t)n;
		rc = take_line(l, path, ++number, line);
		if (number % 1024 == 0)
			progress_at(p, *bytes);
	}
	if (rc == 0 && ferror(f)) {
		complain("%s: %s", path, strerror(errno));
		rc = -1;
	}
	free(line);
	return rc;
}

int
lines_read(struct lines *l, const char *what, char *const *files, int n)
{
	struct progress p;
	uint64_t bytes = 0;
	int i, rc = 0;
	FILE *f;

	progress_begin(&p, what, bytes_of(files, n));
	for (i = 0; rc == 0 && i < n; i++) {
		bool standard = strcmp(files[i], "-") == 0;

		f = standard ? stdin : fopen(files[i], "re");
		if (f == NULL) {
			complain("%s: %s", files[i], strerror(errno));
			rc = -1;
			break;
		}
		rc = read_file(l, f, files[i], &p, &bytes);
		if (!standard)
			(void)fclose(f);
	}
	progress_end(&p);
	return rc;
}
