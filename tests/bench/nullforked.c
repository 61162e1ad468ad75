/*
 * nullforked - a filter that does nothing, on the product's own way of
 * serving: accept, fork, one connection a process (milter/serve.c).  What
 * Tidemark costs beyond it is what Tidemark does.
 *
 *   nullforked [-x] SOCKETPATH
 */
#include <libmilter/mfapi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../milter/milter.h"
#include "nullfilter.h"
#include "tidemark/base/err.h"

static struct smfiDesc filter;
static sfsistat (*negotiate)(SMFICTX *, unsigned long, unsigned long,
    unsigned long, unsigned long, unsigned long *, unsigned long *,
    unsigned long *, unsigned long *);

static sfsistat
on_negotiate(SMFICTX *ctx, unsigned long f0, unsigned long f1, unsigned long f2,
    unsigned long f3, unsigned long *o0, unsigned long *o1, unsigned long *o2,
    unsigned long *o3)
{
	serve_negotiated();
	return negotiate(ctx, f0, f1, f2, f3, o0, o1, o2, o3);
}

static sfsistat
on_close(SMFICTX *ctx)
{
	(void)ctx;
	serve_finished();
}

static int
listen_on(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	(void)unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 ||
	    listen(fd, 1024) < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

int
main(int argc, char **argv)
{
	bool envelope_only = argc > 2 && strcmp(argv[1], "-x") == 0;
	struct tide_err err;
	sigset_t blocked;
	int fd, c;

	if (argc < 2)
		return 64;
	null_filter(&filter, envelope_only);
	negotiate = filter.xxfi_negotiate;
	filter.xxfi_negotiate = on_negotiate;
	filter.xxfi_close = on_close;
	if (serve_prepare(&err) < 0)
		return 71;
	fd = listen_on(argv[argc - 1]);
	for (;;) {
		c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (c >= 0 && fork() == 0) {
			sigemptyset(&blocked);
			sigaddset(&blocked, SIGTERM);
			sigaddset(&blocked, SIGHUP);
			(void)sigprocmask(SIG_BLOCK, &blocked, NULL);
			(void)close(fd);
			serve_connection(c, &filter, UINT32_MAX);
		}
		(void)close(c);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}
