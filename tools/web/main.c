/*
 * tidemark-web - the page and the metrics, over HTTP on this machine.
 *
 * It reads the live map and asks through the control socket, as one of the
 * group that may ask: it can change nothing, and has nothing to lose.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <unistd.h>

#include "../read/torn.h"
#include "sample.h"
#include "serve.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/listen.h"
#include "tidemark/settings/config.h"

struct wish {
	const char *conf, *user;
	bool allow_root;
};

static void
die(int code, const char *text)
{
	fprintf(stderr, "tidemark-web: %s\n", text);
	exit(code);
}

/* ---- the command line -------------------------------------------------- */

static const char usage[] =
    "usage: tidemark-web [-c FILE] [-u USER] [--allow-root]\n"
    "\n"
    "Serves a page about Tidemark, and /metrics, where web_listen says.\n"
    "\n"
    "  -c, --config FILE  the settings (default $TIDEMARK_CONF, or\n"
    "                     " TIDE_CONF_PATH ")\n"
    "  -u, --user USER    whom to become when started as root\n"
    "      --allow-root   stay root: to try it out\n"
    "  -V, --version      say which version this is\n"
    "  -h, --help         say this\n";

static void
read_options(struct wish *w, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "user", required_argument, NULL, 'u' },
		{ "allow-root", no_argument, NULL, 'r' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:u:Vh", longs, NULL)) != -1)
		switch (c) {
		case 'c':
			w->conf = optarg;
			break;
		case 'u':
			w->user = optarg;
			break;
		case 'r':
			w->allow_root = true;
			break;
		case 'V':
			printf("tidemark-web %s\n", TIDE_VERSION);
			exit(fflush(stdout) == 0 ? 0 : EX_IOERR);
		case 'h':
			(void)fputs(usage, stdout);
			exit(fflush(stdout) == 0 ? 0 : EX_IOERR);
		default:
			exit(EX_USAGE);
		}
	if (optind < argc)
		die(EX_USAGE, "it takes no arguments; see --help");
}

/* ---- settings ---------------------------------------------------------- */

static void
read_config(const struct wish *w, struct tide_config *config)
{
	const char *path = w->conf != NULL ? w->conf : getenv("TIDEMARK_CONF");
	struct tide_complaints complaints = { 0 };
	char text[TIDE_PATH_MAX + 128];

	if (path == NULL || path[0] == '\0')
		path = TIDE_CONF_PATH;
	if (tide_config_load(config, path, &complaints) < 0) {
		(void)fputs(
		    complaints.text != NULL ? complaints.text : "no memory\n",
		    stderr);
		if (!tide_complaints_pass(&complaints))
			exit(EX_CONFIG);
		tide_complaints_free(&complaints);
	}
	if (config->web_listen[0] != '\0')
		return;
	(void)snprintf(text, sizeof text,
	    "web_listen is empty in %s: nothing is served", path);
	die(EX_CONFIG, text);
}

/* ---- who we are -------------------------------------------------------- */

/* The groups of that user, one of which should be the daemon's. */
static void
become(const char *name)
{
	const struct passwd *p = getpwnam(name);

	if (p == NULL)
		die(EX_NOUSER, "there is no such user to become");
	if (p->pw_uid == 0)
		die(EX_USAGE, "--user is meant for somebody else than root");
	if (initgroups(name, p->pw_gid) < 0 || setgid(p->pw_gid) < 0 ||
	    setuid(p->pw_uid) < 0 || setuid(0) == 0)
		die(EX_OSERR, "cannot become that user");
}

/*
 * Root, and the daemon's own user, may change things through the control
 * socket.  A page shall not.
 */
static void
drop_privileges(const struct wish *w)
{
	if (geteuid() == 0 && w->user != NULL)
		become(w->user);
	else if (geteuid() == 0 && !w->allow_root)
		die(EX_NOPERM,
		    "will not run as root: a page needs no rights.  Start it "
		    "by systemctl start tidemark-web, or with --user NAME of "
		    "somebody in the group tidemark");
	else if (geteuid() == 0)
		(void)fputs("tidemark-web: running as root, as you wish; "
			    "only to try it out\n",
		    stderr);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* ---- where ------------------------------------------------------------- */

/* The port may have been the kernel's choice. */
static void
announce(int fd, const char *wanted)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = { .v6 = { .sin6_port = 0 } };
	socklen_t length = sizeof at;
	const char *colon = strrchr(wanted, ':');
	in_port_t port = 0;

	if (strncmp(wanted, "unix:", 5) == 0) {
		printf("tidemark-web: %s\n", wanted);
	} else if (getsockname(fd, &at.any, &length) == 0) {
		port = at.any.sa_family == AF_INET ? at.v4.sin_port
						   : at.v6.sin6_port;
		printf("tidemark-web: http://%.*s:%u/\n", (int)(colon - wanted),
		    wanted, ntohs(port));
	}
	(void)fflush(stdout);
}

static int
open_socket(const struct tide_config *c, struct tide_web_place *place)
{
	struct tide_err err;
	int fd = -1;

	if (tide_web_place(c->web_listen, place, &err) == 0)
		fd = place->path[0] != '\0'
		    ? tide_listen_local(place->path, c->web_socket_mode,
			  c->web_socket_group, &err)
		    : tide_listen_inet(&place->at, c->web_listen, &err);
	if (fd < 0)
		die(EX_UNAVAILABLE, err.text);
	return fd;
}

/* ---- until it is told to end ------------------------------------------- */

static void
wait_for_end(const sigset_t *ends)
{
	int sig;

	while (sigwait(ends, &sig) != 0)
		;
}

int
main(int argc, char **argv)
{
	static struct sample sample; /* it is large */
	struct wish w = { .conf = NULL };
	struct tide_web_place place;
	struct server *server;
	struct tide_err err;
	sigset_t ends;
	int fd;

	read_options(&w, argc, argv);
	read_config(&w, &sample.places);
	drop_privileges(&w);
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &ends, NULL); /* threads inherit it */
	(void)signal(SIGPIPE, SIG_IGN);
	torn_watch();
	fd = open_socket(&sample.places, &place);
	server = serve_start(&sample, fd, place.path[0] != '\0', &err);
	if (server == NULL)
		die(EX_UNAVAILABLE, err.text);
	announce(fd, sample.places.web_listen);
	wait_for_end(&ends);
	if (place.path[0] != '\0')
		(void)unlink(place.path);
	serve_stop(server);
	sample_free(&sample);
	return 0;
}
