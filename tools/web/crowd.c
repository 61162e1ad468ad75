/*
 * crowd - places, and the oldest of them.
 */
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "crowd.h"

struct crowd_place {
	bool taken, told; /* to go */
	bool kept;
	int fd;
	uint64_t since_ms; /* its request began */
};

static struct crowd_place places[CROWD_ROOM];

static struct crowd_place *
find_free(void)
{
	size_t i;

	for (i = 0; i < CROWD_ROOM; i++)
		if (!places[i].taken)
			return &places[i];
	return NULL;
}

/* How many are here to stay, and which of them has been longest at it. */
static unsigned
count_staying(struct crowd_place **oldest)
{
	unsigned n = 0;
	size_t i;

	*oldest = NULL;
	for (i = 0; i < CROWD_ROOM; i++) {
		struct crowd_place *p = &places[i];

		if (!p->taken || p->told)
			continue;
		n++;
		if (!p->kept &&
		    (*oldest == NULL || p->since_ms < (*oldest)->since_ms))
			*oldest = p;
	}
	return n;
}

struct crowd_place *
crowd_enter(int fd, uint64_t now_ms)
{
	struct crowd_place *p = find_free(), *oldest;

	if (p == NULL)
		return NULL;
	if (count_staying(&oldest) >= CROWD_MOST && oldest != NULL) {
		oldest->told = true;
		(void)shutdown(oldest->fd, SHUT_RDWR);
	}
	*p =
	    (struct crowd_place){ .taken = true, .fd = fd, .since_ms = now_ms };
	return p;
}

void
crowd_anew(struct crowd_place *p, uint64_t now_ms)
{
	if (p != NULL)
		p->since_ms = now_ms;
}

void
crowd_keep(struct crowd_place *p, bool keep)
{
	if (p != NULL)
		p->kept = keep;
}

void
crowd_leave(struct crowd_place *p)
{
	if (p != NULL)
		memset(p, 0, sizeof *p);
}
