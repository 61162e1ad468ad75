/*
 * prepare - what the supervisor needs before anything runs: folders, the lock,
 * the sockets, the published configuration - and then no more rights than
 * those of its user.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../daemon.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"
#include "tidemark/settings/overrides.h"

/* What was there before stays whose it is; is it of use to us? */
static int
make_folder(const char *path, mode_t mode, const struct passwd *owner,
    struct tide_err *err)
{
	uid_t uid = owner != NULL ? owner->pw_uid : (uid_t)-1;
	gid_t gid = owner != NULL ? owner->pw_gid : (gid_t)-1;
	struct stat st;

	if (tide_files_folder(path, mode, uid, gid, err) < 0)
		return -1;
	if (owner == NULL)
		return access(path, W_OK | X_OK) == 0
		    ? 0
		    : tide_err_errno(err, "%s", path);
	if (stat(path, &st) < 0)
		return tide_err_errno(err, "%s", path);
	return st.st_uid == uid
	    ? 0
	    : tide_err_set(err, "%s: is not %s's: chown %s %s", path,
		  owner->pw_name, owner->pw_name, path);
}

static int
find_user(const char *name, const struct passwd **owner, struct tide_err *err)
{
	*owner = NULL;
	if (name[0] == '\0' || geteuid() != 0)
		return 0;
	*owner = getpwnam(name);
	return *owner != NULL
	    ? 0
	    : tide_err_set(err, "there is no user «%s»", name);
}

static int
drop_to(const struct passwd *owner, struct tide_err *err)
{
	if (owner == NULL)
		return 0;
	if (initgroups(owner->pw_name, owner->pw_gid) < 0 ||
	    setgid(owner->pw_gid) < 0 || setuid(owner->pw_uid) < 0)
		return tide_err_errno(err, "becoming user %s", owner->pw_name);
	return 0;
}

/* The lock is ours, so whoever still listens there is a collector on its way
 * out: give it a moment. */
static int
open_control(const struct tide_config *config, struct tide_err *err)
{
	int tries, fd = listen_control(config, err);

	for (tries = 0; fd < 0 && tries < 100; tries++) {
		(void)usleep(20000);
		fd = listen_control(config, err);
	}
	return fd;
}

static int
open_sockets(
    const struct tide_config *config, struct ground *g, struct tide_err *err)
{
	uint32_t i;

	g->control_fd = open_control(config, err);
	if (g->control_fd < 0)
		return -1;
	for (i = 0; i < config->profiles; i++) {
		g->milter_fd[i] = listen_milter(&config->profile[i], err);
		if (g->milter_fd[i] < 0)
			return -1;
	}
	for (i = 0; i < config->policies; i++) {
		g->policy_fd[i] = listen_policy(&config->policy[i], err);
		if (g->policy_fd[i] < 0)
			return -1;
	}
	return 0;
}

static int
lock_runtime(const struct tide_config *config, struct tide_err *err)
{
	char path[TIDE_PATH_MAX + 32];
	pid_t holder = 0;

	(void)snprintf(
	    path, sizeof path, "%s/tidemarkd.lock", config->runtime_dir);
	if (tide_files_lock(path, 0, &holder, err) >= 0)
		return 0;
	if (holder > 0)
		return tide_err_set(err, "%s: tidemarkd runs already, as %d",
		    config->runtime_dir, (int)holder);
	return -1;
}

/* Workers of an earlier run compare generations: ours must be new to them. */
static int
publish(const struct tide_config *config, struct tide_err *err)
{
	struct tide_config old;
	uint64_t generation = 0;

	if (tide_config_published(config->runtime_dir, &old, &generation, err) <
	    0)
		generation = 0;
	if (tide_overrides_publish(config, err) < 0)
		return -1;
	return tide_config_publish(config, generation + 1, err);
}

static int
find_bin(struct ground *g, struct tide_err *err)
{
	char self[TIDE_PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return tide_err_errno(err, "/proc/self/exe");
	self[n] = '\0';
	tide_files_dirname(self, g->bin, sizeof g->bin);
	return 0;
}

/*
 * A pipe that nobody writes to.  The service manager and we hold the one end,
 * workers the other: it ends when there is no service any more, neither us nor
 * a successor.  Both ends are kept, as the successor's workers need theirs.
 */
static int
open_alive(
    const struct options *options, struct ground *g, struct tide_err *err)
{
	static const char *const name[2] = { "alive-read", "alive-write" };
	unsigned i;

	g->alive_fd[0] = g->alive_fd[1] = -1;
	if (!notify_keep(options->keep_sockets))
		return 0;
	for (i = 0; i < 2; i++)
		g->alive_fd[i] = notify_take(name[i]);
	if (g->alive_fd[0] >= 0 && g->alive_fd[1] >= 0)
		return 0;
	if (pipe2(g->alive_fd, O_CLOEXEC) < 0)
		return tide_err_errno(err, "pipe");
	for (i = 0; i < 2; i++)
		notify_store(name[i], g->alive_fd[i]);
	return 0;
}

int
prepare_ground(const struct options *options, const struct tide_config *config,
    struct ground *g, struct tide_err *err)
{
	const struct passwd *owner;

	if (find_user(config->user, &owner, err) < 0 ||
	    (options->root != NULL &&
		make_folder(options->root, 0755, owner, err) < 0) ||
	    make_folder(config->runtime_dir, 0755, owner, err) < 0 ||
	    make_folder(config->state_dir, 0750, owner, err) < 0 ||
	    find_bin(g, err) < 0 || lock_runtime(config, err) < 0 ||
	    open_alive(options, g, err) < 0 ||
	    open_sockets(config, g, err) < 0 || drop_to(owner, err) < 0)
		return -1;
	notify_drop_rest();
	return publish(config, err);
}
