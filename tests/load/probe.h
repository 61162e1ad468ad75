/*
 * probe - a small real filter on stock libmilter, for testing the client.
 *
 * What it answers hangs on the address: the sender "reject@..." is refused at
 * MAIL, the recipient "reject@..." at RCPT, and so on (see probe.c).  At the
 * end of a message it tells what it saw in the added header X-Seen.
 */
#ifndef TESTS_LOAD_PROBE_H
#define TESTS_LOAD_PROBE_H

/*
 * Start it in a process of its own, asking for these SMFIP_* steps; it listens
 * when this returns.  A probe started before is ended first.
 */
void probe_start(const char *socket, unsigned long steps);

/*
 * In its place, a process that answers the options and then, to whatever comes
 * first, these bytes.
 */
void probe_start_raw(const char *socket, const char *bytes, unsigned len);

void probe_stop(void);

#endif
