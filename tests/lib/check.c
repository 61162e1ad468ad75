/*
 * check - run cases, print TAP.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static jmp_buf out;
static char said[2048];
static bool skipped;
static char tmpdir[512];
static pid_t owner;

void
check_fail(const char *file, int line, const char *fmt, ...)
{
	char why[1536];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	(void)snprintf(said, sizeof said, "%s:%d: %s", file, line, why);
	if (getpid() != owner) { /* a forked child has no case to end */
		(void)fprintf(stderr, "# in a child: %s\n", said);
		_exit(99);
	}
	longjmp(out, 1);
}

void
check_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(said, sizeof said, fmt, ap);
	va_end(ap);
	skipped = true;
	longjmp(out, 1);
}

bool
check_same(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void
remove_tmpdir(void)
{
	if (getpid() == owner && tmpdir[0] != '\0')
		(void)nftw(tmpdir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *
check_tmpdir(void)
{
	const char *base = getenv("TMPDIR");

	if (tmpdir[0] != '\0')
		return tmpdir;
	(void)snprintf(tmpdir, sizeof tmpdir, "%s/tidemark.XXXXXX",
	    base != NULL ? base : "/tmp");
	if (mkdtemp(tmpdir) == NULL) {
		perror(tmpdir);
		exit(99);
	}
	(void)atexit(remove_tmpdir);
	return tmpdir;
}

static bool
run_case(const struct check_case *c)
{
	said[0] = '\0';
	skipped = false;
	if (setjmp(out) == 0) {
		c->run();
		printf("ok - %s\n", c->name);
	} else if (skipped) {
		printf("ok - %s # SKIP %s\n", c->name, said);
	} else {
		printf("not ok - %s\n# %s\n", c->name, said);
		(void)fflush(stdout);
		return false;
	}
	(void)fflush(stdout);
	return true;
}

int
check_main(const struct check_case *cases, size_t n)
{
	const char *words = getenv("CASE");
	size_t i, ran = 0, failed = 0;

	owner = getpid();
	for (i = 0; i < n; i++) {
		if (words != NULL && strstr(cases[i].name, words) == NULL)
			continue;
		ran++;
		if (!run_case(&cases[i]))
			failed++;
	}
	printf("1..%zu%s\n", ran, ran > 0 ? "" : " # no such case");
	return ran > 0 && failed == 0 ? 0 : 1;
}

void *
check_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}
