/*
 * progress - drawn over itself.
 */
#include <stdio.h>
#include <unistd.h>

#include "progress.h"
#include "tidemark/base/clock.h"

#define WIDTH 40u
#define EVERY_MS 100

void
progress_begin(struct progress *p, const char *what, uint64_t whole)
{
	*p = (struct progress){ .shown = isatty(STDERR_FILENO) == 1,
		.what = what,
		.whole = whole,
		.began_ms = tide_clock_mono_ms() };
}

void
progress_at(struct progress *p, uint64_t done)
{
	char bar[WIDTH + 1];
	uint64_t now;
	unsigned i, full;

	if (!p->shown)
		return;
	now = tide_clock_mono_ms();
	if (now < p->next_ms)
		return;
	p->next_ms = now + EVERY_MS;
	if (p->whole == 0) {
		(void)fprintf(
		    stderr, "\r%s  %llu ", p->what, (unsigned long long)done);
		return;
	}
	full = done >= p->whole
	    ? WIDTH
	    : (unsigned)((double)done / (double)p->whole * WIDTH);
	for (i = 0; i < WIDTH; i++)
		bar[i] = i < full ? '#' : '.';
	bar[WIDTH] = '\0';
	(void)fprintf(stderr, "\r%s [%s] %3.0f%% ", p->what, bar,
	    100 * (double)done / (double)p->whole);
}

void
progress_end(struct progress *p)
{
	if (p->shown)
		(void)fputs("\r\033[K", stderr);
	p->shown = false;
}
