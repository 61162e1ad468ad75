/*
 * output - how the tool speaks: colour, moments, ages, chances, and the last
 * check that everything was written.
 */
#ifndef TOOLS_READ_OUTPUT_H
#define TOOLS_READ_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How it ends: well; well, with no for an answer; with a complaint. */
enum { TOOL_OK = 0, TOOL_NO = 1, TOOL_ERROR = 2 };

enum tone {
	TONE_PLAIN,
	TONE_GOOD,
	TONE_BAD,
	TONE_STRONG,
	TONE_FAINT,
	TONE_WARN
};

#define SHOW_MAX 80 /* a buffer that holds whatever is shown below */

/* auto, always or never; false if it is none of them. */
bool output_color(const char *when);

bool output_is_colored(void);

/* What switches a terminal to that tone; "" without colour. */
const char *tone(enum tone);

/* Local time with its zone; "never" for 0. */
const char *show_moment(uint64_t wall_ms, char *buf, size_t);

/* A duration for the eye: 0.2 s, 12 s, 5 min, 3 h 20 min, 12 d 4 h. */
const char *show_span(uint64_t ms, char *buf, size_t);

/* 4.2 MiB */
const char *show_bytes(uint64_t, char *buf, size_t);

/* "s", unless it is one. */
const char *plural(uint64_t);

/* A small probability: 1.2%, 1 in 8 million. */
const char *show_chance(double, char *buf, size_t);

/*
 * What others wrote: a terminal must not take it for commands.  A ? stands for
 * each character that is not printable; ends of lines and tabs stay.
 */
void put_foreign(FILE *, const char *);

/* "tidemark: ..." on stderr. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * From now on this thread's complaints go there, without a prefix; NULL: to
 * stderr again.
 */
void complain_to(FILE *);

/* All complaints until the next call name this first; NULL: nothing. */
void complain_about(const char *);

/* Write out what there is.  False if not: output_finish() will say why. */
bool output_flush(void);

/* The exit code, once stdout is known to be written; else TOOL_ERROR. */
int output_finish(int code);

#endif
