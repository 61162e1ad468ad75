/*
 * torn - put zeroes where the file has ended.  mmap() in a handler is not on
 * POSIX's list, but here it is a plain system call.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "torn.h"

static const struct tide_map *volatile watched;
static volatile sig_atomic_t torn;

/* From the page that was touched to the end of its region. */
static bool
patch(const struct tide_map *map, uintptr_t at)
{
	unsigned i;

	at -= at % TIDE_PAGE;
	for (i = 0; map != NULL && i < TIDE_REGIONS; i++) {
		uintptr_t start = (uintptr_t)map->base[i];

		if (at >= start && at - start < map->length[i])
			return mmap((void *)at, map->length[i] - (at - start),
				   PROT_READ,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				   0) != MAP_FAILED;
	}
	return false;
}

/* What is not ours to mend happens again, and ends us as it always did. */
static void
on_bus(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (patch(watched, (uintptr_t)info->si_addr))
		torn = 1;
	else
		(void)signal(sig, SIG_DFL);
	errno = saved;
}

void
torn_watch(const struct tide_map *map)
{
	struct sigaction act = { .sa_flags = SA_SIGINFO };

	act.sa_sigaction = on_bus;
	watched = map;
	torn = 0;
	(void)sigaction(SIGBUS, &act, NULL);
}

void
torn_leave(const struct tide_map *map)
{
	if (watched != map)
		return;
	watched = NULL;
	torn = 0;
}

bool
torn_is(void)
{
	return torn != 0;
}
