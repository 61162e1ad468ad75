/*
 * restore - put a backup into state_dir, for the daemon that starts next.
 *
 * What was there is moved, never deleted.
 *
 * PROTOCOL restore: at no moment is there half a state.
 *  R1 the archive and the key are copied beside the old ones, compared with
 *     the list, synced
 *  R2 the old ones get a second name in a folder aside, which is synced
 *  R3 the live map is moved there, since it would be resumed: it knows of a
 *     time that the backup does not; both folders are synced
 *  R4 the new archive, then the new key take the old names by rename; synced
 * Crash: before R3: the old state, whole.  From R3 to the first rename: the old
 *        archive without the live map, as after a reboot: a daemon that was
 *        stopped has put everything into the archive, what another one knew
 *        since its last checkpoint is in the map aside.  Between the two: the
 *        new state; whoever opens the archive finds that the old key is not
 *        its own, and takes hash.key.restoring (archive.c).  After them: the
 *        new state.  Copies that are left over are overwritten by the next
 *        restore.
 * Fault: before the last rename, what was moved is moved back.
 * Test:  tests/tools/backup/t_backup.sh, which kills it before each of these
 *        steps
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "backup.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/rights.h"
#include "tidemark/settings/config.h"

/* What belongs to a state. */
static const char *const parts[] = { "archive.mdb", "hash.key" };
static const mode_t part_mode[] = { 0640, 0600 };
#define PARTS (sizeof parts / sizeof *parts)

struct restoring {
	const struct tool *tool;
	const char *dir;
	bool force, check;
	struct tide_config config;
	struct backup b;
	int part[PARTS];	       /* open, of the backup, as in parts[] */
	char aside[TIDE_PATH_MAX];     /* "": there was nothing */
	char live[TIDE_PATH_MAX + 64]; /* where the live map went, or "" */
};

/* ---- may we? ----------------------------------------------------------- */

static int
lock_out(const struct restoring *r, struct tide_err *err)
{
	const char *run = r->config.runtime_dir;
	const char *state = r->config.state_dir;
	char path[BACKUP_PATH];
	struct tide_err why;
	pid_t holder = 0;

	if ((access(run, F_OK) == 0 &&
		tide_files_lock(backup_path(run, "tidemarkd.lock", path), 0,
		    &holder, &why) < 0) ||
	    tide_files_lock(backup_path(state, "collector.lock", path), 0,
		&holder, &why) < 0) {
		if (holder == 0)
			return tide_err_set(err, "%s", why.text);
		return tide_err_set(err,
		    "%s: a daemon is at work there, as %d; stop it first",
		    state, (int)holder);
	}
	return 0;
}

static bool
is_there(const char *dir, const char *name)
{
	char path[BACKUP_PATH];

	return access(backup_path(dir, name, path), F_OK) == 0;
}

static bool
has_live(const struct restoring *r)
{
	char path[TIDE_PATH_MAX];

	return access(tide_config_live(&r->config, path, sizeof path), F_OK) ==
	    0;
}

static int
check_room(const struct restoring *r, struct tide_err *err)
{
	const char *state = r->config.state_dir;

	if (r->force ||
	    (!is_there(state, "archive.mdb") && !is_there(state, "hash.key") &&
		!has_live(r)))
		return 0;
	return tide_err_set(err,
	    "%s: holds a state already; with --force it is put aside", state);
}

/* Made if it is not there; its owner is the state's. */
static int
find_state(struct restoring *r, struct tide_err *err)
{
	const char *state = r->config.state_dir;
	const struct passwd *user = NULL;

	if (geteuid() == 0 && r->config.user[0] != '\0')
		user = getpwnam(r->config.user);
	if (tide_files_folder(state, 0750,
		user != NULL ? user->pw_uid : (uid_t)-1,
		user != NULL ? user->pw_gid : (gid_t)-1, err) < 0)
		return -1;
	if (access(state, R_OK | W_OK | X_OK) < 0)
		return tide_err_errno(err, "%s", state);
	return 0;
}

/* The backup as who we are; from then on, root is the state's owner: in that
 * folder no name can be trusted (rights.h). */
static int
open_parts(struct restoring *r, struct tide_err *err)
{
	struct tide_rights was; /* for good */
	char path[BACKUP_PATH];
	unsigned i;

	for (i = 0; i < PARTS; i++) {
		(void)backup_path(r->dir, parts[i], path);
		r->part[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (r->part[i] < 0)
			return tide_err_errno(err, "%s", path);
	}
	return tide_rights_of_folder(&was, r->config.state_dir, (gid_t)-1, err);
}

/* ---- putting the old aside --------------------------------------------- */

#define STAMP_MAX 48
#define ASIDES_A_SECOND 100

/* The second restore within a second gets a number. */
static int
make_aside(struct restoring *r, char stamp[STAMP_MAX], struct tide_err *err)
{
	size_t n = strlen(stamp);
	unsigned i;

	for (i = 1; i <= ASIDES_A_SECOND; i++) {
		if (i > 1)
			(void)snprintf(stamp + n, STAMP_MAX - n, "-%u", i);
		if (snprintf(r->aside, sizeof r->aside, "%s/before-restore-%s",
			r->config.state_dir, stamp) >= (int)sizeof r->aside)
			return tide_err_set(err, "%s: the name is too long",
			    r->config.state_dir);
		if (mkdir(r->aside, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return tide_err_errno(err, "%s", r->aside);
}

/* On another file system it stays beside where it was. */
static int
move_live(struct restoring *r, const char *stamp, struct tide_err *err)
{
	char path[TIDE_PATH_MAX], lock[TIDE_PATH_MAX + 8];
	char to[sizeof r->live];
	int rc;

	(void)tide_config_live(&r->config, path, sizeof path);
	(void)snprintf(to, sizeof to, "%s/live.mdb", r->aside);
	rc = rename(path, to); /* R3 */
	if (rc < 0 && errno == EXDEV) {
		(void)snprintf(
		    to, sizeof to, "%s.before-restore-%s", path, stamp);
		rc = rename(path, to);
	}
	if (rc < 0)
		return tide_err_errno(err, "%s", path);
	(void)memcpy(r->live, to, sizeof to);
	(void)snprintf(lock, sizeof lock, "%s-lock", path);
	(void)unlink(lock); /* LMDB's, and empty of anything to keep */
	return 0;
}

static int
sync_around(const char *path, struct tide_err *err)
{
	char dir[TIDE_PATH_MAX];

	tide_files_dirname(path, dir, sizeof dir);
	return backup_sync_dir(dir, err);
}

/* R2: the old name stays until the new file takes it. */
static int
link_part(const struct restoring *r, const char *name, struct tide_err *err)
{
	char from[BACKUP_PATH], to[BACKUP_PATH];

	(void)backup_path(r->config.state_dir, name, from);
	(void)backup_path(r->aside, name, to);
	if (link(from, to) < 0 && errno != ENOENT)
		return tide_err_errno(err, "%s", to);
	return 0;
}

static int
put_aside(struct restoring *r, struct tide_err *err)
{
	const time_t now = (time_t)(tide_clock_wall_ms() / 1000);
	bool live = has_live(r), any = live;
	char stamp[STAMP_MAX] = "", path[TIDE_PATH_MAX];
	struct tm tm;
	unsigned i;

	for (i = 0; i < PARTS; i++)
		any |= is_there(r->config.state_dir, parts[i]);
	if (!any)
		return 0;
	if (gmtime_r(&now, &tm) != NULL)
		(void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
	if (make_aside(r, stamp, err) < 0)
		return -1;
	for (i = 0; i < PARTS; i++)
		if (link_part(r, parts[i], err) < 0)
			return -1;
	if (backup_sync_dir(r->aside, err) < 0)
		return -1;
	if (!live)
		return 0;
	(void)tide_config_live(&r->config, path, sizeof path);
	if (move_live(r, stamp, err) < 0 || sync_around(r->live, err) < 0)
		return -1;
	return sync_around(path, err);
}

/* Whoever has two names needs the one aside no more. */
static void
put_back_part(const struct restoring *r, const char *name)
{
	char here[BACKUP_PATH], there[BACKUP_PATH];
	struct stat a, b;

	if (stat(backup_path(r->config.state_dir, name, here), &a) == 0 &&
	    stat(backup_path(r->aside, name, there), &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		(void)unlink(there);
}

static void
put_back(struct restoring *r)
{
	char path[TIDE_PATH_MAX];
	unsigned i;

	if (r->live[0] != '\0')
		(void)rename(
		    r->live, tide_config_live(&r->config, path, sizeof path));
	for (i = 0; r->aside[0] != '\0' && i < PARTS; i++)
		put_back_part(r, parts[i]);
	if (r->aside[0] != '\0')
		(void)rmdir(r->aside);
}

/* ---- bringing the new -------------------------------------------------- */

static int
bring(const struct restoring *r, unsigned part, struct tide_err *err)
{
	char to[BACKUP_PATH], temp[TIDE_PATH_MAX];

	(void)snprintf(temp, sizeof temp, "%s.restoring", parts[part]);
	if (backup_copy_in(r->part[part],
		backup_path(r->config.state_dir, temp, to), part_mode[part],
		err) < 0)
		return -1;
	return backup_compare(&r->b, parts[part], to, err);
}

static int
take_over(const struct restoring *r, const char *name, struct tide_err *err)
{
	char from[BACKUP_PATH], to[BACKUP_PATH];
	char temp[TIDE_PATH_MAX];

	(void)snprintf(temp, sizeof temp, "%s.restoring", name);
	if (rename(backup_path(r->config.state_dir, temp, from),
		backup_path(r->config.state_dir, name, to)) < 0)
		return tide_err_errno(err, "%s", to);
	return 0;
}

/* The old one has its second name still, if there was one. */
static void
put_back_archive(const struct restoring *r)
{
	char here[BACKUP_PATH], there[BACKUP_PATH];

	(void)backup_path(r->config.state_dir, "archive.mdb", here);
	(void)backup_path(r->aside, "archive.mdb", there);
	if (r->aside[0] == '\0' || rename(there, here) < 0)
		(void)unlink(here);
}

/* R4 */
static int
take_both(const struct restoring *r, struct tide_err *err)
{
	if (take_over(r, "archive.mdb", err) < 0)
		return -1;
	if (take_over(r, "hash.key", err) == 0)
		return 0;
	put_back_archive(r);
	return -1;
}

static void
drop_copies(const struct restoring *r)
{
	char path[BACKUP_PATH];

	(void)unlink(
	    backup_path(r->config.state_dir, "archive.mdb.restoring", path));
	(void)unlink(
	    backup_path(r->config.state_dir, "hash.key.restoring", path));
}

static int
restore(struct restoring *r, struct tide_err *err)
{
	char lock[BACKUP_PATH];

	if (bring(r, 0, err) < 0 || bring(r, 1, err) < 0 || /* R1 */
	    put_aside(r, err) < 0 ||			    /* R2, R3 */
	    take_both(r, err) < 0) {			    /* R4 */
		put_back(r);
		drop_copies(r);
		return -1;
	}
	(void)unlink(
	    backup_path(r->config.state_dir, "archive.mdb-lock", lock));
	return backup_sync_dir(r->config.state_dir, err);
}

/* ---- the command ------------------------------------------------------- */

static void
tell_json(const struct restoring *r)
{
	struct json j = json_record(stdout, "restore");

	json_text(&j, "dir", r->dir);
	json_bool(&j, "whole", true);
	json_bool(&j, "restored", !r->check);
	json_text(&j, "node", r->b.node);
	json_text(&j, "made_by", r->b.version);
	json_time(&j, "state", r->b.state_ms);
	json_number(&j, "bytes", backup_bytes(&r->b));
	if (r->aside[0] != '\0')
		json_text(&j, "aside", r->aside);
	if (r->live[0] != '\0')
		json_text(&j, "aside_live", r->live);
	json_record_end(&j);
}

static void
tell(const struct restoring *r)
{
	char when[SHOW_MAX], size[SHOW_MAX];

	if (r->tool->json) {
		tell_json(r);
		return;
	}
	printf("%s: whole; %s, the state of %s at %s\n", r->dir,
	    show_bytes(backup_bytes(&r->b), size, sizeof size), r->b.node,
	    show_moment(r->b.state_ms, when, sizeof when));
	if (r->check)
		return;
	if (r->aside[0] != '\0')
		printf("What was there is in %s\n", r->aside);
	if (r->live[0] != '\0' &&
	    strncmp(r->live, r->aside, strlen(r->aside)) != 0)
		printf("and the live map is %s\n", r->live);
	printf("%s is restored; start tidemarkd.  The time since the backup "
	       "counts as not covered.\n",
	    r->config.state_dir);
}

/* What of it the daemon will not be able to take over. */
static void
warn(const struct restoring *r)
{
	struct tide_checkpoint checkpoint = { 0 };
	struct tide_archive archive;
	struct tide_err err;

	if (tide_archive_open(&archive, r->dir, TIDE_ARCHIVE_FROZEN, 0, &err) <
	    0)
		return; /* it was looked through before */
	if (tide_checkpoint_load(&archive, &checkpoint, &err) < 0)
		complain("%s: levels, allowances and the window that was open "
			 "cannot be taken over; the rest can",
		    err.text);
	else if (checkpoint.lacks.text[0] != '\0')
		complain("this cannot be taken over: %s; the rest can",
		    checkpoint.lacks.text);
	tide_checkpoint_free(&checkpoint);
	tide_archive_close(&archive);
}

static int
go(struct restoring *r)
{
	struct tide_err err;

	if (backup_read_manifest(&r->b, r->dir, &err) < 0 ||
	    backup_verify(&r->b, r->dir, &err) < 0) {
		complain("%s", err.text);
		return TOOL_NO;
	}
	warn(r);
	if (r->check) {
		tell(r);
		return TOOL_OK;
	}
	if (tool_config(r->tool, &r->config) < 0)
		return TOOL_ERROR; /* else it might go to another place */
	if (find_state(r, &err) < 0) {
		complain("%s", err.text);
		return TOOL_ERROR;
	}
	if (lock_out(r, &err) < 0 || check_room(r, &err) < 0) {
		complain("%s", err.text);
		return TOOL_NO;
	}
	if (open_parts(r, &err) < 0 || restore(r, &err) < 0) {
		complain("%s", err.text);
		return TOOL_ERROR;
	}
	tell(r);
	return TOOL_OK;
}

int
run_restore(struct tool *t)
{
	static const struct option longs[] = {
		{ "force", no_argument, NULL, OPT_OWN },
		{ "check", no_argument, NULL, OPT_OWN + 1 },
		{ NULL, 0, NULL, 0 },
	};
	static struct restoring r;
	int c;

	r.tool = t;
	while ((c = tool_getopt(t, "", longs)) != -1) {
		r.force |= c == OPT_OWN;
		r.check |= c == OPT_OWN + 1;
	}
	r.dir = tool_arguments(t, 1)[0];
	if (strlen(r.dir) + 32 >= TIDE_PATH_MAX)
		tool_misused(t, "%s: the name is too long", r.dir);
	return go(&r);
}
