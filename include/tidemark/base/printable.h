/*
 * printable - what may be shown on a terminal, and in a log that somebody
 * will read on one.
 *
 * Printable is every whole character of UTF-8 in its shortest form, but for
 * the controls (C0, DEL, C1: U+009B is ESC [ to a terminal) and for what
 * reverses, hides or breaks a line of text (U+202E and its like).
 */
#ifndef TIDEMARK_PRINTABLE_H
#define TIDEMARK_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

/* The whole, shortest-form character at s (n > 0 left): its length, or 0. */
size_t tide_printable_decode(const char *s, size_t n, uint32_t *character);

/* Bytes of the printable character at s (n left); 0 if it is none. */
size_t tide_printable_character(const char *s, size_t n);

/* Bytes to step over at something that is no printable character. */
size_t tide_printable_stumble(const char *s, size_t n);

/* In place: a ? for each byte of what is not printable. */
void tide_printable_disarm(char *text);

/*
 * Copy, with what is not printable as \u202e (a character) or \x9b (a byte).
 * Tabs stay.  Cut at a whole character or escape where there is no room.
 */
const char *tide_printable_escape(char *to, size_t, const char *from);

#endif
