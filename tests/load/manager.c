/*
 * manager DIR COMMAND... - a service manager of a hundred lines, as far as
 * descriptors go: it listens to NOTIFY_SOCKET=DIR/notify, keeps what it is
 * given with FDSTORE=1, and hands it to the next one that it starts.
 *
 * USR1 restarts the command (TERM, wait, start), TERM stops it and closes what
 * was kept.  A command that ends by itself is started again.  Its pid is in
 * DIR/main, as soon as it has said READY=1.
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT_MAX 32
#define NAME_MAX_ 64
#define FIRST 3
#define ASIDE 200 /* numbers above those we hand over */

static struct {
	const char *dir;
	char **command;
	int notify_fd;
	pid_t main;
	unsigned kept;
	int fd[KEPT_MAX];
	char name[KEPT_MAX][NAME_MAX_];
} m;

static volatile sig_atomic_t got_restart, got_stop;

static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		got_restart = 1;
	else
		got_stop = 1;
}

static void
start(void)
{
	char names[KEPT_MAX * NAME_MAX_] = "", number[16];
	unsigned i;

	m.main = fork();
	if (m.main != 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (i = 0; i < m.kept; i++) {
		if (dup2(m.fd[i], FIRST + (int)i) < 0)
			_exit(1);
		(void)strcat(strcat(names, i > 0 ? ":" : ""), m.name[i]);
	}
	if (m.kept > 0) {
		(void)snprintf(number, sizeof number, "%d", (int)getpid());
		(void)setenv("LISTEN_PID", number, 1);
		(void)snprintf(number, sizeof number, "%u", m.kept);
		(void)setenv("LISTEN_FDS", number, 1);
		(void)setenv("LISTEN_FDNAMES", names, 1);
	}
	(void)execv(m.command[0], m.command);
	_exit(127);
}

static void
say_ready(void)
{
	char path[512];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/main", m.dir);
	f = fopen(path, "w");
	if (f == NULL || fprintf(f, "%d\n", (int)m.main) < 0 || fclose(f) != 0)
		err(1, "%s", path);
}

static void
keep(const char *text, int fd)
{
	const char *name = strstr(text, "FDNAME=");

	if (fd < 0 || name == NULL || m.kept == KEPT_MAX)
		errx(1, "cannot keep: %s", text);
	m.fd[m.kept] = fcntl(fd, F_DUPFD_CLOEXEC, ASIDE);
	(void)snprintf(m.name[m.kept], NAME_MAX_, "%.*s",
	    (int)strcspn(name + 7, "\n"), name + 7);
	m.kept++;
	(void)close(fd);
}

static void
hear(void)
{
	char text[1024], control[256];
	struct iovec v = { .iov_base = text, .iov_len = sizeof text - 1 };
	struct msghdr h = { .msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof control };
	ssize_t n = recvmsg(m.notify_fd, &h, MSG_DONTWAIT);
	const struct cmsghdr *c;
	int fd = -1;

	if (n < 0)
		return;
	text[n] = '\0';
	c = CMSG_FIRSTHDR(&h);
	if (c != NULL && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	if (strstr(text, "FDSTORE=1") != NULL)
		keep(text, fd);
	if (strstr(text, "READY=1") != NULL)
		say_ready();
}

static void
wait_for_end(void)
{
	struct pollfd p = { .fd = m.notify_fd, .events = POLLIN };

	while (waitpid(m.main, NULL, WNOHANG) == 0)
		if (poll(&p, 1, 10) == 1)
			hear();
}

static void
run(void)
{
	struct pollfd p = { .fd = m.notify_fd, .events = POLLIN };

	start();
	while (!got_stop) {
		if (poll(&p, 1, 50) == 1)
			hear();
		if (got_restart) {
			got_restart = 0;
			(void)kill(m.main, SIGTERM);
			wait_for_end();
			start();
		} else if (waitpid(m.main, NULL, WNOHANG) == m.main) {
			start();
		}
	}
	(void)kill(m.main, SIGTERM);
	wait_for_end();
}

int
main(int argc, char **argv)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct sigaction sa = { .sa_handler = on_signal };

	if (argc < 3)
		errx(2, "usage: manager DIR COMMAND...");
	m.dir = argv[1];
	m.command = argv + 2;
	(void)snprintf(at.sun_path, sizeof at.sun_path, "%s/notify", m.dir);
	m.notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (m.notify_fd < 0 ||
	    bind(m.notify_fd, (struct sockaddr *)&at, sizeof at) < 0)
		err(1, "%s", at.sun_path);
	(void)setenv("NOTIFY_SOCKET", at.sun_path, 1);
	(void)sigaction(SIGUSR1, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	run();
	return 0;
}
