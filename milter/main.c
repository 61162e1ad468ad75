/*
 * tidemark-milter - the command line.  tidemarkd writes it; nobody else
 * should.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "milter.h"
#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"

/*
 * For jemalloc: a worker lives for one connection, with little memory and a
 * few short threads.  One arena and no thread caches save a third of the page
 * faults that a fresh worker costs.
 */
extern const char *malloc_conf;
__attribute__((visibility("default"))) const char *malloc_conf =
    "narenas:1,tcache:false";

static const char usage[] =
    "usage: tidemark-milter --runtime DIR --listen PROFILE=FD ... "
    "[--policy NAME=FD ...] [--ready-fd FD]\n"
    "       [--alive-fd FD]\n"
    "\n"
    "  --runtime DIR        where tidemarkd has published the configuration\n"
    "  --listen PROFILE=FD  serve a listening descriptor with a profile\n"
    "  --policy NAME=FD     serve policy requests of Postfix there\n"
    "  --ready-fd FD        write a byte there when ready\n"
    "  --alive-fd FD        ends when nobody comes after us\n"
    "  --self-test          try one connection through libmilter and exit\n"
    "  --version\n"
    "  --help\n"
    "\n"
    "Accepts connections of mail servers and forks a worker for each.  Started by\n"
    "tidemarkd(8), which opens the sockets.  See tidemark-milter(8).\n";

enum {
	OPT_RUNTIME = 256,
	OPT_LISTEN,
	OPT_POLICY,
	OPT_READY,
	OPT_ALIVE,
	OPT_TEST,
	OPT_VERSION,
	OPT_HELP
};

static const struct option longopts[] = {
	{ "runtime", required_argument, NULL, OPT_RUNTIME },
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "ready-fd", required_argument, NULL, OPT_READY },
	{ "alive-fd", required_argument, NULL, OPT_ALIVE },
	{ "self-test", no_argument, NULL, OPT_TEST },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static void
add_listener(struct acceptor_options *o, const char *arg, bool is_policy)
{
	const char *equals = strrchr(arg, '=');

	if (equals == NULL || o->listeners == LISTENERS_MAX ||
	    equals - arg >= TIDE_NAME_MAX) {
		(void)fprintf(stderr, "tidemark-milter: --%s %s?\n",
		    is_policy ? "policy" : "listen", arg);
		exit(EX_USAGE);
	}
	memcpy(o->name[o->listeners], arg, (size_t)(equals - arg));
	o->listener[o->listeners].fd = atoi(equals + 1);
	o->listener[o->listeners].is_policy = is_policy;
	o->listeners++;
}

static int
self_test(void)
{
	struct tide_err err;

	if (serve_prepare(&err) == 0 &&
	    serve_self_test(&milter_filter, &err) == 0) {
		(void)puts("self-test passed");
		return fflush(stdout) == 0 ? 0 : EX_IOERR;
	}
	(void)fprintf(stderr, "tidemark-milter: %s\n", err.text);
	return EX_SOFTWARE;
}

static int
say(const char *text)
{
	return fputs(text, stdout) < 0 || fflush(stdout) != 0 ? EX_IOERR : 0;
}

int
main(int argc, char **argv)
{
	static struct acceptor_options o = { .ready_fd = -1, .alive_fd = -1 };
	int c;

	while ((c = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		switch (c) {
		case OPT_RUNTIME:
			o.runtime = optarg;
			break;
		case OPT_LISTEN:
			add_listener(&o, optarg, false);
			break;
		case OPT_POLICY:
			add_listener(&o, optarg, true);
			break;
		case OPT_READY:
			o.ready_fd = atoi(optarg);
			break;
		case OPT_ALIVE:
			o.alive_fd = atoi(optarg);
			break;
		case OPT_TEST:
			return self_test();
		case OPT_VERSION:
			return say("tidemark-milter " TIDE_VERSION "\n");
		case OPT_HELP:
			return say(usage);
		default:
			return EX_USAGE;
		}
	}
	if (o.runtime == NULL || o.listeners == 0 || optind < argc) {
		(void)fputs(usage, stderr);
		return EX_USAGE;
	}
	return acceptor_run(&o);
}
