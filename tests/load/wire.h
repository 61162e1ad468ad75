/*
 * wire - milter frames over a socket, with a time limit on every wait.
 *
 * A wire belongs to one thread.  Frames are gathered and leave together when
 * an answer is awaited, or at 64 KB: a frame that nobody answers costs no
 * system call of its own, so a load test measures the filter and not us.
 */
#ifndef TESTS_LOAD_WIRE_H
#define TESTS_LOAD_WIRE_H

#include <stdbool.h>
#include <stddef.h>

enum wire_state {
	WIRE_OK,
	WIRE_REFUSED, /* nobody listens there */
	WIRE_LOST,    /* the other side closed or reset */
	WIRE_LATE,    /* no answer within the time limit */
	WIRE_BAD,     /* bytes that are no milter frame */
};

struct wire_buf {
	char *data;
	size_t len, room;
};

struct wire {
	int fd; /* -1: closed */
	int timeout_ms;
	enum wire_state broken; /* a flush failed: send no more */
	struct wire_buf out;	/* whole frames, and the one being built */
	size_t frame;		/* where in out that one begins */
	struct wire_buf in;	/* received, not yet taken */
	struct wire_buf taken;	/* the frame given out last */
	char why[160];		/* what went wrong, for people */
};

void wire_init(struct wire *, int timeout_ms);
void wire_free(struct wire *);

/* local:PATH, unix:PATH, PATH, inet:PORT[@HOST] or inet6:PORT[@HOST]. */
enum wire_state wire_dial(struct wire *, const char *socket);
void wire_close(struct wire *);

/* Build a frame: begin, add any number of times, end. */
void wire_begin(struct wire *, char cmd);
void wire_add(struct wire *, const void *data, size_t len);
void wire_add_str(struct wire *, const char *); /* with its NUL */
enum wire_state wire_end(struct wire *);

enum wire_state wire_flush(struct wire *);

/*
 * Take the next frame.  *data is followed by a NUL that is not counted in
 * *len, and stays valid until the next wire_take.
 */
enum wire_state
wire_take(struct wire *, char *cmd, const char **data, size_t *len);

/* True if bytes have come that nobody asked for. */
bool wire_unasked(struct wire *);

#endif
