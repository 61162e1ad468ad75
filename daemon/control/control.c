/*
 * control - the control socket: who may ask, who may change.
 */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../collector/collector.h"
#include "../daemon.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/line.h"
#include "tidemark/base/log.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

/*
 * Who may only ask has no more than ASKERS_MAX of the places: however many of
 * them sit there and say nothing, root can still lift a ban.
 */
#define CLIENTS_MAX 32
#define ASKERS_MAX 24
#define FULL_SAID_MS 60000 /* at most one line in the log each minute */
#define REQUEST_TIMEOUT_S 60
#define GROUPS_MOST 4096

static atomic_int clients, askers; /* all of them; who may only ask */
static _Thread_local struct tide_line_in *listening; /* this thread's */

bool
control_has_more(void)
{
	return listening != NULL && listening->at < listening->have;
}

/* What was read with the line, then the rest. */
int
control_take(void *to, size_t size)
{
	size_t have = listening->have - listening->at;

	have = have < size ? have : size;
	memcpy(to, listening->buf + listening->at, have);
	listening->at += have;
	return tide_line_read_bytes(
	    listening->fd, (char *)to + have, size - have);
}

struct client {
	struct collector *c;
	int fd;
	bool may_change;
};

/* ---- rights ------------------------------------------------------------ */

static bool
in_group(const char *group, const struct ucred *who)
{
	struct group g, *found = NULL;
	struct passwd p, *user = NULL;
	char gbuf[8192], pbuf[4096];
	gid_t gids[GROUPS_MOST];
	int i, n = GROUPS_MOST;

	if (getgrnam_r(group, &g, gbuf, sizeof gbuf, &found) != 0 ||
	    found == NULL)
		return false;
	if (g.gr_gid == who->gid)
		return true;
	if (getpwuid_r(who->uid, &p, pbuf, sizeof pbuf, &user) != 0 ||
	    user == NULL || getgrouplist(p.pw_name, p.pw_gid, gids, &n) < 0)
		return false;
	for (i = 0; i < n; i++)
		if (gids[i] == g.gr_gid)
			return true;
	return false;
}

static bool
is_admin(const char *word, const struct ucred *who)
{
	struct passwd p, *user = NULL;
	char buf[4096];

	if (word[0] == '@')
		return in_group(word + 1, who);
	return getpwnam_r(word, &p, buf, sizeof buf, &user) == 0 &&
	    user != NULL && p.pw_uid == who->uid;
}

/* Root and our own user may change; so may the admins. */
static bool
may_change(struct collector *c, int fd)
{
	char admins[TIDE_WORDS_MAX], *word, *save = NULL;
	struct ucred who;
	socklen_t length = sizeof who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0)
		return false;
	if (who.uid == 0 || who.uid == geteuid())
		return true;
	(void)pthread_mutex_lock(&c->lock);
	memcpy(admins, c->config.admins, sizeof admins);
	(void)pthread_mutex_unlock(&c->lock);
	for (word = strtok_r(admins, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save))
		if (is_admin(word, &who))
			return true;
	return false;
}

/* ---- connections ------------------------------------------------------- */

static void
complain(int fd, const char *text)
{
	struct tide_line_out out;

	tide_line_start(&out, "err");
	tide_line_add(&out, "text", text);
	(void)tide_line_send(&out, fd);
}

/* Only the thread that accepts takes places: none can slip in between. */
static bool
take_place(bool may_change)
{
	if (atomic_load(&clients) >= CLIENTS_MAX ||
	    (!may_change && atomic_load(&askers) >= ASKERS_MAX))
		return false;
	atomic_fetch_add(&clients, 1);
	atomic_fetch_add(&askers, !may_change);
	return true;
}

static void
leave(struct client *client)
{
	(void)close(client->fd);
	atomic_fetch_sub(&askers, !client->may_change);
	atomic_fetch_sub(&clients, 1);
	free(client);
}

static void
turn_away(struct collector *c, int fd)
{
	static uint64_t said_ms; /* only one thread accepts */
	uint64_t now = tide_clock_mono_ms();

	complain(fd, "too many control connections");
	(void)close(fd);
	tide_count(c->map->counters, TIDE_COUNT_CONTROL_FULL, 1);
	if (said_ms != 0 && now - said_ms < FULL_SAID_MS)
		return;
	said_ms = now;
	tide_log(TIDE_LOG_WARNING,
	    "control socket: %d connections are open, further ones are turned "
	    "away",
	    atomic_load(&clients));
}

static void *
serve_client(void *arg)
{
	struct client *client = arg;
	struct tide_line_in *in = calloc(1, sizeof *in);
	struct tide_line *line = malloc(sizeof *line);
	int rc = 0;

	if (in != NULL && line != NULL) {
		in->fd = client->fd;
		listening = in;
		while ((rc = tide_line_read(in, line)) > 0)
			answer_request(
			    client->c, client->fd, line, client->may_change);
		if (rc < 0)
			complain(client->fd, "that is no request");
	}
	forget_question();
	forget_message();
	forget_list();
	listening = NULL;
	free(in);
	free(line);
	leave(client);
	return NULL;
}

static void
set_timeouts(int fd)
{
	const struct timeval t = { .tv_sec = REQUEST_TIMEOUT_S };

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

static void
welcome(struct collector *c, int fd)
{
	struct client *client = malloc(sizeof *client);
	bool changes = may_change(c, fd);
	pthread_attr_t detached;
	pthread_t thread;

	set_timeouts(fd);
	if (client == NULL || !take_place(changes)) {
		turn_away(c, fd);
		free(client);
		return;
	}
	*client = (struct client){ .c = c, .fd = fd, .may_change = changes };
	(void)pthread_attr_init(&detached);
	(void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &detached, serve_client, client) != 0)
		leave(client);
	(void)pthread_attr_destroy(&detached);
}

void *
control_run(void *arg)
{
	struct collector *c = arg;
	struct pollfd p = { .fd = c->options->control_fd, .events = POLLIN };
	int fd;

	for (;;) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return NULL;
		fd = accept4(p.fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			welcome(c, fd);
		else if (errno == EINVAL)
			return NULL; /* shut down: we are ending */
		else if (errno == EMFILE || errno == ENFILE)
			(void)usleep(100000);
	}
}
