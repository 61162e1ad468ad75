/*
 * listen - open, bind, hand out; and read web_listen.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tidemark/base/err.h"
#include "tidemark/base/listen.h"
#include "tidemark/base/rights.h"

#define BACKLOG 1024

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

/* The group, or -1 for "". */
static int
find_group(
    const char *path, const char *group, gid_t *gid, struct tide_err *err)
{
	const struct group *g;

	*gid = (gid_t)-1;
	if (group[0] == '\0')
		return 0;
	g = getgrnam(group);
	if (g == NULL)
		return tide_err_set(
		    err, "%s: there is no group «%s»", path, group);
	*gid = g->gr_gid;
	return 0;
}

static int
set_group(const char *path, const char *group, gid_t gid, struct tide_err *err)
{
	return gid != (gid_t)-1 && lchown(path, (uid_t)-1, gid) < 0
	    ? tide_err_errno(err, "%s: group %s", path, group)
	    : 0;
}

static int
listen_there(const struct sockaddr_un *at, uint32_t mode, const char *group,
    gid_t gid, struct tide_err *err)
{
	const char *path = at->sun_path;
	mode_t mask;
	int fd, rc;

	if (clear_leftover(at, err) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return tide_err_errno(err, "%s", path);
	mask = umask(0777); /* nobody gets in before mode and group are set */
	rc = bind(fd, (const struct sockaddr *)at, sizeof *at);
	(void)umask(mask);
	if (rc == 0 && set_group(path, group, gid, err) < 0)
		rc = -2;
	if (rc == 0)
		rc = chmod(path, (mode_t)mode);
	if (rc == 0)
		rc = listen(fd, BACKLOG);
	if (rc == 0)
		return fd;
	if (rc == -1)
		(void)tide_err_errno(err, "%s", path);
	(void)close(fd);
	return -1;
}

/* Root in a folder of somebody else's is that somebody: rights.h. */
int
tide_listen_local(
    const char *path, uint32_t mode, const char *group, struct tide_err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct tide_rights was;
	gid_t gid;
	int fd;

	if (strlen(path) >= sizeof at.sun_path)
		return tide_err_set(err, "%s: is too long for a socket", path);
	memcpy(at.sun_path, path, strlen(path) + 1);
	if (find_group(path, group, &gid, err) < 0 ||
	    tide_rights_of_place(&was, path, gid, err) < 0)
		return -1;
	fd = listen_there(&at, mode, group, gid, err);
	tide_rights_return(&was);
	return fd;
}

void
tide_listen_offer(const char *path, const char *group)
{
	struct tide_rights was;
	struct tide_err err;
	gid_t gid;

	if (find_group(path, group, &gid, &err) < 0 ||
	    tide_rights_of_place(&was, path, gid, &err) < 0)
		return;
	(void)set_group(path, group, gid, &err);
	tide_rights_return(&was);
}

/* ---- addresses --------------------------------------------------------- */

int
tide_listen_inet(
    const struct sockaddr_storage *at, const char *name, struct tide_err *err)
{
	socklen_t length = at->ss_family == AF_INET
	    ? sizeof(struct sockaddr_in)
	    : sizeof(struct sockaddr_in6);
	const int on = 1;
	int fd;

	fd = socket(
	    at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return tide_err_errno(err, "%s", name);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	/* Accepted sockets inherit it; without it each stage may wait 40 ms. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (bind(fd, (const struct sockaddr *)at, length) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		(void)tide_err_errno(err, "%s", name);
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* ---- web_listen -------------------------------------------------------- */

/* The port behind the last colon; -1 if it is none. */
static long
port_of(const char *colon)
{
	char *end;
	long port = strtol(colon + 1, &end, 10);

	return colon[1] < '0' || colon[1] > '9' || *end != '\0' || port > 65535
	    ? -1
	    : port;
}

static bool
read_address(const char *host, long port, struct sockaddr_storage *at)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)at;
	struct sockaddr_in *four = (struct sockaddr_in *)at;
	size_t n = strlen(host);
	char inner[64];

	memset(at, 0, sizeof *at);
	if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((in_port_t)port);
		return true;
	}
	if (n < 3 || n > sizeof inner || host[0] != '[' || host[n - 1] != ']')
		return false;
	memcpy(inner, host + 1, n - 2);
	inner[n - 2] = '\0';
	six->sin6_family = AF_INET6;
	six->sin6_port = htons((in_port_t)port);
	return inet_pton(AF_INET6, inner, &six->sin6_addr) == 1;
}

static bool
is_loopback(const struct sockaddr_storage *at)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)at;
	const struct sockaddr_in *four = (const struct sockaddr_in *)at;

	return at->ss_family == AF_INET
	    ? ntohl(four->sin_addr.s_addr) >> 24 == 127
	    : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static int
read_path(const char *path, struct tide_web_place *place, struct tide_err *err)
{
	size_t n = strlen(path);

	if (path[0] != '/')
		return tide_err_set(err, "unix: wants an absolute path");
	if (n >= sizeof place->path)
		return tide_err_set(err,
		    "the path of a socket has at most %d bytes, not %zu",
		    TIDE_LOCAL_SOCKET_MAX, n);
	memcpy(place->path, path, n + 1);
	return 0;
}

int
tide_web_place(
    const char *text, struct tide_web_place *place, struct tide_err *err)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon == NULL ? 0 : (size_t)(colon - text);
	char host[64] = "";
	long port;

	memset(place, 0, sizeof *place);
	if (strncmp(text, "unix:", 5) == 0)
		return read_path(text + 5, place, err);
	port = colon == NULL ? -1 : port_of(colon);
	if (n < sizeof host)
		memcpy(host, text, n);
	if (port < 0 || !read_address(host, port, &place->at))
		return tide_err_set(err,
		    "«%.64s» is none of 127.0.0.1:PORT, [::1]:PORT and "
		    "unix:PATH",
		    text);
	if (!is_loopback(&place->at))
		return tide_err_set(err,
		    "«%.64s» can be reached from other machines, and the page "
		    "asks nobody who they are: use 127.0.0.1, [::1] or "
		    "unix:PATH, and ssh -L or a proxy that does ask",
		    text);
	return 0;
}
