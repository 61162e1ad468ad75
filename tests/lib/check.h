/*
 * check - the few macros our test programs need.  Output is TAP, one line a
 * case; tests/run adds the lines of all programs up.
 *
 * A case fails at its first false CHECK and goes no further.  None may need
 * what another one left: with CASE=words in the environment only those are run
 * that have the words in their name, and it is a failure if there is none.
 */
#ifndef TESTS_LIB_CHECK_H
#define TESTS_LIB_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct check_case {
	const char *name;
	void (*run)(void);
};

/* Run the cases, print their TAP lines; the exit status of main(). */
int check_main(const struct check_case *cases, size_t n);

/* End the running case: as a failure with a message, or as a skip. */
void check_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), noreturn));
void check_skip(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/* Zeroed memory that forked children share; a failure if there is none. */
void *check_shared(size_t bytes);

/* A fresh folder below $TMPDIR or /tmp, removed when the program ends. */
const char *check_tmpdir(void);

#define CHECK(cond)                                                  \
	do {                                                         \
		if (!(cond))                                         \
			check_fail(__FILE__, __LINE__, "%s", #cond); \
	} while (0)

#define CHECK_MSG(cond, ...)                                         \
	do {                                                         \
		if (!(cond))                                         \
			check_fail(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)

#define CHECK_INT(got, want)                                                   \
	do {                                                                   \
		long long got_ = (long long)(got);                             \
		long long want_ = (long long)(want);                           \
		if (got_ != want_)                                             \
			check_fail(__FILE__, __LINE__, "%s is %lld, not %lld", \
			    #got, got_, want_);                                \
	} while (0)

#define CHECK_STR(got, want)                                                   \
	do {                                                                   \
		const char *got_ = (got), *want_ = (want);                     \
		if (!check_same(got_, want_))                                  \
			check_fail(__FILE__, __LINE__,                         \
			    "%s is\n#   «%s», not\n#   «%s»", #got,            \
			    got_ ? got_ : "(null)", want_ ? want_ : "(null)"); \
	} while (0)

bool check_same(const char *, const char *);

#define CHECK_CASES(...)                                                   \
	int main(void)                                                     \
	{                                                                  \
		static const struct check_case cases_[] = { __VA_ARGS__ }; \
		return check_main(cases_, sizeof cases_ / sizeof *cases_); \
	}

#endif
