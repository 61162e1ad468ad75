/*
 * torn - a page of zeros in place of the one that is gone.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "torn.h"

static atomic_bool torn;
static uintptr_t page;

/* Whatever else it is comes again, and ends us as it should. */
static void
on_bus(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr & ~(page - 1);

	(void)context;
	if (info->si_code != BUS_ADRERR ||
	    mmap((void *)at, page, PROT_READ,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		(void)signal(sig, SIG_DFL);
	atomic_store(&torn, true);
}

void
torn_watch(void)
{
	struct sigaction act = { .sa_sigaction = on_bus,
		.sa_flags = SA_SIGINFO };

	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	(void)sigaction(SIGBUS, &act, NULL);
}

bool
torn_seen(void)
{
	return atomic_load(&torn);
}

void
torn_forget(void)
{
	atomic_store(&torn, false);
}
