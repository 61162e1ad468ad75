/*
 * beats - does the collector still move?  The caller passes the time.
 *
 * PROTOCOL beats: the collector writes to the pipe by which it says that it is
 * ready, and the supervisor, which touches no map, reads.
 *  B1 "." the archive is open; from now on it works on the map
 *  B2 "1" it is ready
 *  B3 "." twice a second, by the thread that works on the map
 *  S1 silent for 30 s after B2 or B3, or for ten times as long after B1: killed
 *  S2 two in a row: the third is told to put the map aside
 * Why:   a bad word in the map may send it round for ever, and the next one
 *        would find the same word.  Before B1 an archive is looked through,
 *        which takes as long as it takes.  Whoever waits for a disk is not
 *        killed: that would not help, and is not the map's fault.
 * Crash: of the collector: the pipe ends, and it is restarted in any case.
 * Test:  tests/daemon/t_silence.sh
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../daemon.h"
#include "tidemark/base/clock.h"

#define OPENING_TIMES 10     /* as long, before it is ready */
#define ROW_MS (600 * 1000u) /* ran so long: the next silence is a new one */

void
beats_begin(struct beats *b, uint64_t now)
{
	b->begun = b->ready = false;
	b->started_ms = b->checked_ms = now;
}

void
beats_hear(struct beats *b, const char *bytes, size_t n, uint64_t now)
{
	b->begun = true;
	if (memchr(bytes, '1', n) != NULL)
		b->ready = true;
	b->heard_ms = now;
}

bool
beats_are_missing(struct beats *b, unsigned limit_ms, uint64_t now)
{
	uint64_t limit = (uint64_t)limit_ms * (b->ready ? 1 : OPENING_TIMES);

	if (now > b->checked_ms + limit_ms / 2)
		b->heard_ms = now; /* it was us who stood still, or all did */
	b->checked_ms = now;
	return b->begun && now > b->heard_ms + limit;
}

void
beats_note_kill(struct beats *b, uint64_t now)
{
	b->row = now > b->started_ms + ROW_MS ? 1 : b->row + 1;
	b->begun = false;
}

bool
beats_blame_map(struct beats *b)
{
	bool two = b->row >= 2;

	if (two)
		b->row = 0;
	return two;
}

/* ---- waiting for a disk -------------------------------------------------- */

static bool
is_waiting(pid_t pid, const char *thread)
{
	char path[320], text[512], *p;
	ssize_t n;
	int fd;

	(void)snprintf(
	    path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	p = strrchr(text, ')'); /* the name may hold anything */
	return p != NULL && strncmp(p, ") D", 3) == 0;
}

bool
beats_waits_for_disk(pid_t pid)
{
	char path[64];
	const struct dirent *e;
	bool waits = false;
	DIR *d;

	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d != NULL && !waits && (e = readdir(d)) != NULL)
		waits = e->d_name[0] != '.' && is_waiting(pid, e->d_name);
	if (d != NULL)
		(void)closedir(d);
	return waits;
}
