/*
 * Small configurations for tests, written into a temporary folder that is
 * also the current one, so that messages name short paths.
 */
#ifndef TESTS_CORE_CONFIG_FILES_H
#define TESTS_CORE_CONFIG_FILES_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "tidemark/settings/config.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define HUNDRED FIFTY FIFTY

static inline void
put_bytes(const char *path, const char *bytes, size_t n)
{
	FILE *f = fopen(path, "w");

	CHECK_MSG(f != NULL, "%s: %s", path, strerror(errno));
	CHECK(fwrite(bytes, 1, n, f) == n);
	CHECK(fclose(f) == 0);
}

static inline void
put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

/* Go to the temporary folder and fill it. */
static inline int
put_files(void)
{
	char name[16], text[32];

	if (chdir(check_tmpdir()) == -1)
		return -1;
	(void)mkdir("sub", 0700);
	(void)mkdir("good.d", 0700);
	(void)mkdir("odd[x] *dir", 0700);
	(void)mkfifo("fifo", 0600);
	(void)!symlink("knot", "knot");
	put("sub/wrong.conf", "# no\nusr = x\n");
	put("sub/back.conf", "include ../t.conf\n");
	put("good.d/10.conf", "max_workers = 10\n[profile ten]\n");
	put("good.d/20.conf", "user = nobody\n");
	put("good.d/.hidden.conf", "nonsense\n");
	put("good.d/30.conf~", "nonsense\n");
	put("odd[x] *dir/main.conf", "user = daemon\ninclude *.more\n");
	put("odd[x] *dir/a.more", "max_workers = 7\n");
	(void)mkdir("many.d", 0700);
	for (int i = 0; i < 7; i++) { /* not in the order of their names */
		(void)snprintf(name, sizeof name, "many.d/%d", i * 3 % 7);
		(void)snprintf(text, sizeof text, "[profile p%d]\n", i * 3 % 7);
		put(name, text);
	}
	for (int i = 0; i < 9; i++) {
		(void)snprintf(name, sizeof name, "deep%d", i);
		(void)snprintf(text, sizeof text, "include deep%d\n", i + 1);
		put(name, i < 8 ? text : "");
	}
	return 0;
}

#endif
