/*
 * hook - tell a program of the postmaster's about a new ban.
 *
 * The keeper starts it (posix_spawn, so that no copy of the collector is made)
 * and looks at each round whether it has ended; nothing waits for it.  It has
 * a process group of its own, which is killed after HOOK_MS.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "collector.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/files.h"
#include "tidemark/base/log.h"
#include "tidemark/flow/bans.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/settings/config.h"
#include "tidemark/shared/counters.h"

#define HOOK_MS 30000u

/* ---- starting ---------------------------------------------------------- */

struct hook_facts {
	char line[6][TIDE_KEY_MAX + 64];
	char *env[7];
};

__attribute__((format(printf, 3, 4))) static void
add_fact(struct hook_facts *f, unsigned i, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->line[i], sizeof f->line[i], fmt, ap);
	va_end(ap);
	f->env[i] = f->line[i];
}

static void
gather(struct hook_facts *f, const struct tide_ban *ban, const char *profile)
{
	char until[32];

	memset(f, 0, sizeof *f);
	add_fact(f, 0, "TIDEMARK_KEY=%s", ban->key);
	add_fact(f, 1, "TIDEMARK_GROUP=%s",
	    tide_group_name[ban->group % TIDE_GROUPS]);
	add_fact(f, 2, "TIDEMARK_PROFILE=%s", profile);
	add_fact(f, 3, "TIDEMARK_UNTIL=%s",
	    tide_clock_show(ban->until_ms, until, sizeof until));
	add_fact(f, 4, "TIDEMARK_TIMES=%u", ban->times);
	add_fact(f, 5, "PATH=/usr/local/bin:/usr/bin:/bin");
}

/* Nothing of ours goes with it: no descriptor, no blocked signal. */
static int
spawn(const char *path, char **env, pid_t *pid)
{
	char name[TIDE_PATH_MAX], *argv[] = { name, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none, all;
	int rc;

	(void)snprintf(name, sizeof name, "%s", path);
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	rc = posix_spawn_file_actions_init(&files);
	if (rc != 0)
		return rc;
	rc = posix_spawnattr_init(&how);
	if (rc != 0)
		goto out;
	(void)posix_spawnattr_setflags(&how,
	    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
		POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setpgroup(&how, 0);
	(void)posix_spawnattr_setsigmask(&how, &none);
	(void)posix_spawnattr_setsigdefault(&how, &all);
	rc =
	    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&files, 0, 1);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&files, 0, 2);
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(&files, 3);
	if (rc == 0)
		rc = posix_spawn(pid, name, &files, &how, argv, env);
	(void)posix_spawnattr_destroy(&how);
out:
	(void)posix_spawn_file_actions_destroy(&files);
	return rc;
}

static void
hook_failed(struct collector *c, unsigned profile, const char *why)
{
	tide_count_profile(
	    c->map->counters, profile, TIDE_COUNT_HOOKS_FAILED, 1);
	tide_log(TIDE_LOG_WARNING, "ban_hook: %s", why);
}

void
hook_start(struct collector *c, const struct tide_ban *ban, unsigned profile)
{
	struct hook_facts facts;
	unsigned i;
	int rc;

	if (c->config.ban_hook[0] == '\0')
		return;
	for (i = 0; i < HOOKS && c->hook[i].pid != 0; i++)
		;
	if (i == HOOKS) {
		hook_failed(c, profile, "too many are running already");
		return;
	}
	gather(&facts, ban, c->config.profile[profile].name);
	rc = spawn(c->config.ban_hook, facts.env, &c->hook[i].pid);
	if (rc != 0) {
		c->hook[i].pid = 0;
		hook_failed(c, profile, strerror(rc));
		return;
	}
	c->hook[i].profile = profile;
	c->hook[i].began_ms = tide_clock_mono_ms();
	tide_count_profile(c->map->counters, profile, TIDE_COUNT_HOOKS_RUN, 1);
}

/* ---- ending ------------------------------------------------------------ */

static void
say_how_it_ended(struct collector *c, const struct hook *h, int status)
{
	char why[64];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (WIFEXITED(status))
		(void)snprintf(
		    why, sizeof why, "exit status %d", WEXITSTATUS(status));
	else
		(void)snprintf(why, sizeof why, "%s by signal %d",
		    h->killed ? "took too long, ended" : "ended",
		    WTERMSIG(status));
	hook_failed(c, h->profile, why);
}

void
hook_round(struct collector *c)
{
	uint64_t now = tide_clock_mono_ms();
	unsigned i;
	int status;

	for (i = 0; i < HOOKS; i++) {
		struct hook *h = &c->hook[i];
		pid_t ended =
		    h->pid == 0 ? 0 : waitpid(h->pid, &status, WNOHANG);

		if (ended == h->pid && ended != 0)
			say_how_it_ended(c, h, status);
		if (ended != 0) { /* or -1: not ours to wait for any more */
			memset(h, 0, sizeof *h);
		} else if (h->pid != 0 && !h->killed &&
		    now >= h->began_ms + HOOK_MS) {
			h->killed = true;
			(void)kill(-h->pid, SIGKILL);
		}
	}
}
