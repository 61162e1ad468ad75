/*
 * sockets - the listening sockets.  The supervisor opens them once and keeps
 * them while the acceptor comes and goes: whoever connects meanwhile waits in
 * the backlog.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon.h"

#define BACKLOG 1024
#define MTA_GROUP "tidemark-mta"

/* ---- unix sockets ------------------------------------------------------ */

/* A socket file that nobody listens on is left over and may go. */
static int
clear_leftover(const struct sockaddr_un *at, struct tide_err *err)
{
	struct stat st;
	int fd, rc;

	if (lstat(at->sun_path, &st) < 0)
		return errno == ENOENT
		    ? 0
		    : tide_err_errno(err, "%s", at->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return tide_err_set(
		    err, "%s: is there already, and no socket", at->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return tide_err_errno(err, "%s", at->sun_path);
	rc = connect(fd, (const struct sockaddr *)at, sizeof *at);
	(void)close(fd);
	if (rc == 0)
		return tide_err_set(err,
		    "%s: another program is listening there", at->sun_path);
	if (unlink(at->sun_path) < 0)
		return tide_err_errno(err, "%s", at->sun_path);
	return 0;
}

static int
set_group(const char *path, const char *group, struct tide_err *err)
{
	struct group *g;

	if (group[0] == '\0')
		return 0;
	g = getgrnam(group);
	if (g == NULL)
		return tide_err_set(
		    err, "%s: there is no group «%s»", path, group);
	if (chown(path, (uid_t)-1, g->gr_gid) < 0)
		return tide_err_errno(err, "%s: group %s", path, group);
	return 0;
}

static int
listen_local(
    const char *path, mode_t mode, const char *group, struct tide_err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	mode_t mask;
	int fd, rc;

	if (strlen(path) >= sizeof at.sun_path)
		return tide_err_set(err, "%s: is too long for a socket", path);
	memcpy(at.sun_path, path, strlen(path) + 1);
	if (clear_leftover(&at, err) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	mask = umask(0777); /* nobody gets in before mode and group are set */
	rc = bind(fd, (struct sockaddr *)&at, sizeof at);
	(void)umask(mask);
	if (rc == 0 && set_group(path, group, err) < 0)
		rc = -2;
	if (rc == 0)
		rc = chmod(path, mode);
	if (rc == 0)
		rc = listen(fd, BACKLOG);
	if (rc == 0)
		return fd;
	if (rc == -1)
		(void)tide_err_errno(err, "%s", path);
	(void)close(fd);
	return -1;
}

/* ---- inet:PORT@ADDRESS ------------------------------------------------- */

static int
parse_inet(const char *text, struct sockaddr_storage *at, socklen_t *length,
    struct tide_err *err)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)at;
	struct sockaddr_in *four = (struct sockaddr_in *)at;
	const char *host = strchr(text, '@');
	in_port_t port = htons((uint16_t)atoi(text));

	memset(at, 0, sizeof *at);
	host = host == NULL ? "127.0.0.1" : host + 1;
	if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = port;
		*length = sizeof *four;
		return 0;
	}
	if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = port;
		*length = sizeof *six;
		return 0;
	}
	return tide_err_set(err, "inet:%s: «%s» is no address", text, host);
}

static int
listen_inet(const char *text, struct tide_err *err)
{
	struct sockaddr_storage at;
	socklen_t length = 0;
	const int on = 1;
	int fd;

	if (parse_inet(text, &at, &length, err) < 0)
		return -1;
	fd =
	    socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return tide_err_errno(err, "inet:%s", text);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	/* Accepted sockets inherit it; without it each stage may wait 40 ms. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&at, length) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		(void)tide_err_errno(err, "inet:%s", text);
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* ---- what the supervisor asks for -------------------------------------- */

/*
 * Nobody has said whom a socket is for: offer it to the mail servers' group, if
 * there is one and we are in it.  If not, it stays with our own group.
 */
static void
offer_to_mta(const char *path)
{
	const struct group *g = getgrnam(MTA_GROUP);

	if (g != NULL)
		(void)!chown(path, (uid_t)-1, g->gr_gid);
}

static int
listen_at(
    const char *socket, uint32_t mode, const char *group, struct tide_err *err)
{
	const char *path = socket + strlen("local:");
	int fd;

	if (strncmp(socket, "inet:", 5) == 0)
		return listen_inet(socket + 5, err);
	fd = listen_local(path, (mode_t)mode, group, err);
	if (fd >= 0 && group[0] == '\0')
		offer_to_mta(path);
	return fd;
}

int
listen_milter(const struct tide_profile *p, struct tide_err *err)
{
	return listen_at(p->socket, p->socket_mode, p->socket_group, err);
}

int
listen_policy(const struct tide_policy *p, struct tide_err *err)
{
	return listen_at(p->socket, p->socket_mode, p->socket_group, err);
}

int
listen_control(const struct tide_config *c, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/control.sock", c->runtime_dir);
	return listen_local(
	    path, (mode_t)c->control_mode, c->control_group, err);
}

void
unlink_socket(const char *address)
{
	if (strncmp(address, "local:", 6) == 0)
		(void)unlink(address + 6);
}
