/*
 * children - the command lines of collector and acceptor; orphans.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "../daemon.h"
#include "tidemark/base/files.h"
#include "tidemark/settings/config.h"

#define ARGS_MAX (8 + 2 * (TIDE_PROFILES_MAX + TIDE_POLICIES_MAX) + 8)
#define NUMBER 16

/* The descriptor is the child's from now on; its number as an argument. */
static const char *
pass_on(int fd, char text[NUMBER])
{
	(void)fcntl(fd, F_SETFD, 0);
	(void)snprintf(text, NUMBER, "%d", fd);
	return text;
}

void
exec_collector(const struct options *options, const struct tide_config *config,
    const struct ground *g, int ready_fd)
{
	const char *argv[ARGS_MAX];
	char program[TIDE_PATH_MAX + 32], control[NUMBER], ready[NUMBER];
	int n = 0;

	(void)snprintf(program, sizeof program, "%s/tidemarkd", g->bin);
	argv[n++] = "tidemarkd";
	argv[n++] = "--collector";
	argv[n++] = "--runtime";
	argv[n++] = config->runtime_dir;
	argv[n++] = "--control-fd";
	argv[n++] = pass_on(g->control_fd, control);
	argv[n++] = "--ready-fd";
	argv[n++] = pass_on(ready_fd, ready);
	if (g->map_aside)
		argv[n++] = "--map-aside";
	if (options->root != NULL) {
		argv[n++] = "--root";
		argv[n++] = options->root;
	} else if (options->conf != NULL) {
		argv[n++] = "-c";
		argv[n++] = options->conf;
	}
	argv[n] = NULL;
	(void)execv(program, (char *const *)(uintptr_t)argv);
}

/* PROFILE=FD, or the same of a policy. */
static const char *
name_fd(const char *name, int fd, char text[TIDE_NAME_MAX + NUMBER])
{
	char number[NUMBER];

	(void)snprintf(
	    text, TIDE_NAME_MAX + NUMBER, "%s=%s", name, pass_on(fd, number));
	return text;
}

void
exec_acceptor(
    const struct tide_config *config, const struct ground *g, int ready_fd)
{
	const char *argv[ARGS_MAX];
	char program[TIDE_PATH_MAX + 32], ready[NUMBER], alive[NUMBER];
	char listen_arg[TIDE_PROFILES_MAX][TIDE_NAME_MAX + NUMBER];
	char policy_arg[TIDE_POLICIES_MAX][TIDE_NAME_MAX + NUMBER];
	uint32_t i;
	int n = 0;

	(void)snprintf(program, sizeof program, "%s/tidemark-milter", g->bin);
	argv[n++] = "tidemark-milter";
	argv[n++] = "--runtime";
	argv[n++] = config->runtime_dir;
	argv[n++] = "--ready-fd";
	argv[n++] = pass_on(ready_fd, ready);
	if (g->alive_fd[0] >= 0) {
		argv[n++] = "--alive-fd";
		argv[n++] = pass_on(g->alive_fd[0], alive);
	}
	for (i = 0; i < config->profiles; i++) {
		argv[n++] = "--listen";
		argv[n++] = name_fd(
		    config->profile[i].name, g->milter_fd[i], listen_arg[i]);
	}
	for (i = 0; i < config->policies; i++) {
		argv[n++] = "--policy";
		argv[n++] = name_fd(
		    config->policy[i].name, g->policy_fd[i], policy_arg[i]);
	}
	argv[n] = NULL;
	(void)execv(program, (char *const *)(uintptr_t)argv);
}

void
kill_orphans(pid_t collector)
{
	FILE *f = fopen("/proc/thread-self/children", "re");
	int pid;

	if (f == NULL)
		return;
	while (fscanf(f, "%d", &pid) == 1)
		if (pid != (int)collector)
			(void)kill(pid, SIGKILL);
	(void)fclose(f);
}
