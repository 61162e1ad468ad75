/*
 * sockets - the listening sockets.  The supervisor opens them once and keeps
 * them while the acceptor comes and goes: whoever connects meanwhile waits in
 * the backlog.  The service manager keeps them while the supervisor comes and
 * goes, if it can.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../daemon.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/listen.h"
#include "tidemark/settings/config.h"

/* ---- inet:PORT@ADDRESS ------------------------------------------------- */

static int
parse_inet(const char *text, struct sockaddr_storage *at, struct tide_err *err)
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
		return 0;
	}
	if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = port;
		return 0;
	}
	return tide_err_set(err, "inet:%s: «%s» is no address", text, host);
}

static int
listen_inet(const char *text, struct tide_err *err)
{
	struct sockaddr_storage at;
	char name[TIDE_PATH_MAX + 8];

	(void)snprintf(name, sizeof name, "inet:%s", text);
	return parse_inet(text, &at, err) < 0
	    ? -1
	    : tide_listen_inet(&at, name, err);
}

/* ---- what the supervisor asks for -------------------------------------- */

static int
listen_anew(
    const char *socket, uint32_t mode, const char *group, struct tide_err *err)
{
	const char *path = socket + strlen("local:");
	int fd;

	if (strncmp(socket, "inet:", 5) == 0)
		return listen_inet(socket + 5, err);
	fd = tide_listen_local(path, mode, group, err);
	if (fd >= 0 && group[0] == '\0') /* nobody has said whom it is for */
		tide_listen_offer(path, TIDE_MTA_GROUP);
	return fd;
}

/* Does the socket listen where it is wanted now?  Its file may be gone. */
static bool
is_at(int fd, const char *socket)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_un local;
	} at = { 0 }, want = { 0 };
	socklen_t size = sizeof at;
	struct tide_err err;
	struct stat st;

	if (getsockname(fd, (struct sockaddr *)&at, &size) < 0)
		return false;
	if (strncmp(socket, "inet:", 5) == 0)
		return parse_inet(socket + 5, &want.any, &err) == 0 &&
		    size <= sizeof at && memcmp(&at, &want, size) == 0;
	socket += strlen("local:");
	return at.any.ss_family == AF_UNIX &&
	    strcmp(at.local.sun_path, socket) == 0 && lstat(socket, &st) == 0 &&
	    S_ISSOCK(st.st_mode);
}

/* Its mode and group may have been set otherwise meanwhile. */
static void
dress_again(const char *socket, uint32_t mode, const char *group)
{
	const char *path = socket + strlen("local:");

	if (strncmp(socket, "local:", 6) != 0)
		return;
	tide_listen_offer(path, group[0] != '\0' ? group : TIDE_MTA_GROUP);
	(void)chmod(path, (mode_t)mode);
}

static int
listen_at(const char *kind, const char *name, const char *socket, uint32_t mode,
    const char *group, struct tide_err *err)
{
	char kept[NOTIFY_NAME_MAX];
	int fd;

	(void)snprintf(kept, sizeof kept, "%s-%.40s", kind, name);
	fd = notify_take(kept);
	if (fd >= 0 && is_at(fd, socket)) {
		dress_again(socket, mode, group);
		return fd;
	}
	if (fd >= 0)
		notify_drop(kept, fd);
	fd = listen_anew(socket, mode, group, err);
	if (fd >= 0)
		notify_store(kept, fd);
	return fd;
}

int
listen_milter(const struct tide_profile *p, struct tide_err *err)
{
	return listen_at(
	    "milter", p->name, p->socket, p->socket_mode, p->socket_group, err);
}

int
listen_policy(const struct tide_policy *p, struct tide_err *err)
{
	return listen_at(
	    "policy", p->name, p->socket, p->socket_mode, p->socket_group, err);
}

int
listen_control(const struct tide_config *c, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/control.sock", c->runtime_dir);
	return tide_listen_local(path, c->control_mode, c->control_group, err);
}

void
unlink_socket(const char *address)
{
	if (strncmp(address, "local:", 6) == 0)
		(void)unlink(address + 6);
}
