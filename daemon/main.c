/*
 * tidemarkd - the daemon's command line.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "daemon.h"
#include "tidemark/settings/config.h"

static const char usage[] =
    "usage: tidemarkd [-c FILE | --root DIR] [-t]\n"
    "\n"
    "  -c, --config FILE  read FILE (default " TIDE_CONF_PATH ";\n"
    "                     built-in settings if that is not there)\n"
    "      --root DIR     built-in settings, everything below DIR\n"
    "  -t, --test         check the configuration and exit\n"
    "      --keep-sockets the service manager keeps our sockets over a restart\n"
    "  -f, --foreground   stay in the foreground (always so; accepted)\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "\n"
    "Runs in the foreground; stops on SIGTERM when running sessions are\n"
    "finished; reads its configuration again on SIGHUP.  See tidemarkd(8).\n";

enum {
	OPT_ROOT = 256,
	OPT_COLLECTOR,
	OPT_RUNTIME,
	OPT_CONTROL,
	OPT_READY,
	OPT_KEEP,
	OPT_ASIDE,
	OPT_SILENT
};

static const struct option longopts[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "root", required_argument, NULL, OPT_ROOT },
	{ "test", no_argument, NULL, 't' },
	{ "keep-sockets", no_argument, NULL, OPT_KEEP },
	{ "foreground", no_argument, NULL, 'f' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	/* from the supervisor to the collector */
	{ "collector", no_argument, NULL, OPT_COLLECTOR },
	{ "runtime", required_argument, NULL, OPT_RUNTIME },
	{ "control-fd", required_argument, NULL, OPT_CONTROL },
	{ "ready-fd", required_argument, NULL, OPT_READY },
	{ "map-aside", no_argument, NULL, OPT_ASIDE },
	/* for tests */
	{ "silent-ms", required_argument, NULL, OPT_SILENT },
	{ NULL, 0, NULL, 0 },
};

/*
 * Read the settings that the command line points to.  -1 with complaints on
 * stderr; what an earlier version let pass keeps nobody from starting, only a
 * test from succeeding.
 */
static int
load_config(struct options *o, struct tide_config *config, bool test)
{
	struct tide_complaints complaints = { 0 };
	const char *path = o->conf != NULL ? o->conf : TIDE_CONF_PATH;

	if (o->root != NULL || (o->conf == NULL && access(path, F_OK) != 0)) {
		tide_config_defaults(config, o->root);
		return 0;
	}
	if (tide_config_load(config, path, &complaints) == 0)
		return 0;
	if (!test && tide_complaints_pass(&complaints)) {
		o->warnings = complaints.text;
		return 0;
	}
	(void)fputs(
	    complaints.text != NULL ? complaints.text : "no memory\n", stderr);
	tide_complaints_free(&complaints);
	return -1;
}

static void
say_and_exit(const char *text)
{
	exit(fputs(text, stdout) < 0 || fflush(stdout) != 0 ? EX_IOERR : 0);
}

/* True if only a check of the configuration is wanted. */
static bool
parse_options(int argc, char **argv, struct options *o)
{
	bool test = false;
	int c;

	while ((c = getopt_long(argc, argv, "c:tfVh", longopts, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->conf = optarg;
			break;
		case OPT_ROOT:
			o->root = optarg;
			break;
		case 't':
			test = true;
			break;
		case 'f':
			break;
		case 'V':
			say_and_exit("tidemarkd " TIDE_VERSION "\n");
			break;
		case 'h':
			say_and_exit(usage);
			break;
		case OPT_ASIDE:
			o->map_aside = true;
			break;
		case OPT_SILENT:
			o->silent_ms = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case OPT_KEEP:
			o->keep_sockets = true;
			break;
		case OPT_COLLECTOR:
			o->collector = true;
			break;
		case OPT_RUNTIME:
			o->runtime = optarg;
			break;
		case OPT_CONTROL:
			o->control_fd = atoi(optarg);
			break;
		case OPT_READY:
			o->ready_fd = atoi(optarg);
			break;
		default:
			(void)fputs("try tidemarkd --help\n", stderr);
			exit(EX_USAGE);
		}
	}
	if (optind < argc || (o->conf != NULL && o->root != NULL)) {
		(void)fputs(usage, stderr);
		exit(EX_USAGE);
	}
	return test;
}

int
main(int argc, char **argv)
{
	struct options o = {
		.control_fd = -1, .ready_fd = -1, .silent_ms = 30000
	};
	struct tide_config config;
	char root[4096];
	bool test = parse_options(argc, argv, &o);

	if (o.root != NULL && realpath(o.root, root) != NULL)
		o.root = root;
	if (o.collector)
		return collect(&o);
	if (load_config(&o, &config, test) < 0)
		return EX_CONFIG;
	if (test) {
		printf("%s: fine\n",
		    o.root != NULL	 ? "built-in settings"
			: o.conf != NULL ? o.conf
					 : TIDE_CONF_PATH);
		return fflush(stdout) == 0 ? 0 : EX_IOERR;
	}
	return supervise(&o, &config);
}
