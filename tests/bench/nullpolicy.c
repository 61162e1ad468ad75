/*
 * nullpolicy - a policy server that does nothing: a process a connection, as
 * Tidemark has it, DUNNO for whatever ends in an empty line.
 *
 *	nullpolicy PATH
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void
serve(int fd)
{
	static const char answer[] = "action=DUNNO\n\n";
	char text[65536];
	size_t have = 0;
	ssize_t got;

	while ((got = recv(fd, text + have, sizeof text - have, 0)) > 0) {
		have += (size_t)got;
		if (have < 2 || memcmp(text + have - 2, "\n\n", 2) != 0)
			continue;
		have = 0;
		if (send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

int
main(int argc, char **argv)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	if (argc != 2)
		return 2;
	(void)snprintf(at.sun_path, sizeof at.sun_path, "%s", argv[1]);
	(void)unlink(argv[1]);
	(void)signal(SIGCHLD, SIG_IGN);
	if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 ||
	    listen(listener, 512) < 0) {
		perror(argv[1]);
		return 1;
	}
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		if (fork() == 0)
			serve(fd);
		(void)close(fd);
	}
	return 1;
}
