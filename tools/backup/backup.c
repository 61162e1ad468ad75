/*
 * backup - everything needed to be this Tidemark on another machine, copied
 * while mail flows.
 *
 * PROTOCOL backup: what is in it.
 *  K1 the daemon is asked for a checkpoint; it drains the workers' mailboxes,
 *     takes lapses, commits bans, and writes a checkpoint that it began after
 *     it was asked
 *  K2 the answer comes once that is durable in archive.mdb
 *  K3 the archive is copied through one read transaction, begun after K2
 *  K4 files and folders are synced, looked through, listed in MANIFEST
 *  K5 the folder gets its name by rename, and that is synced
 * Why:   a worker answers a message after it has set its bits, posted its
 *        drops, taken its tokens; so all that was acknowledged before K1 is
 *        in the map or in a mailbox by then, and in the checkpoint at K2.
 *        Windows sealed, bans made and checkpoints written between K2 and K3
 *        are in the copy as well: the archivist never makes the newest
 *        checkpoint invalid before the next one is whole.
 * Crash: of the daemon before K2: no answer, no backup.  Of the tool before
 *        K5: a folder NAME.PID.partial is left, which nobody takes for a
 *        backup.  Its read transaction is swept by the collector.
 * Test:  tests/tools/backup/t_backup.sh
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../order.h"
#include "../progress.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "backup.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/checkpoint.h"
#include "tidemark/archive/store.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/config_published.h"

#define COLLECTOR_ENDS_MS 15000 /* one that outlives its supervisor */

struct making {
	const struct tool *tool;
	struct tide_config config; /* the running daemon's, if there is one */
	bool hot;
	char dir[TIDE_PATH_MAX];     /* as it will be called */
	char partial[TIDE_PATH_MAX]; /* as it is called until then */
	struct backup b;
};

/* ---- giving up --------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void
note_signal(int sig)
{
	stopped = sig;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void
remove_partial(const struct making *m)
{
	(void)nftw(m->partial, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- the place --------------------------------------------------------- */

static bool
is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	if (d == NULL)
		return false;
	while (n < 3 && readdir(d) != NULL)
		n++;
	(void)closedir(d);
	return n <= 2;
}

/* "x", "x/" and a link to x are one place. */
static int
find_place(struct making *m, const char *dir, struct tide_err *err)
{
	char *real = realpath(dir, NULL);
	struct stat st;
	size_t n;

	if (real == NULL && errno != ENOENT)
		return tide_err_errno(err, "%s", dir);
	if (real == NULL && lstat(dir, &st) == 0)
		return tide_err_set(err, "%s: is a link to nothing", dir);
	n = strlen(real != NULL ? real : dir);
	if (n + 32 >= sizeof m->dir || n == 0) {
		free(real);
		return tide_err_set(err, "%s: the name is too long", dir);
	}
	(void)snprintf(m->dir, sizeof m->dir, "%s", real != NULL ? real : dir);
	while (n > 1 && m->dir[n - 1] == '/')
		m->dir[--n] = '\0';
	(void)snprintf(m->partial, sizeof m->partial, "%.*s.%d.partial", (int)n,
	    m->dir, (int)getpid());
	if (real != NULL && !is_empty(real)) {
		free(real);
		return tide_err_set(
		    err, "%s: is there already, and no empty folder", m->dir);
	}
	free(real);
	return 0;
}

/* ---- the daemon -------------------------------------------------------- */

static int
check_rights(const struct making *m, struct tide_err *err)
{
	char path[BACKUP_PATH];
	struct stat st;
	bool denied;

	(void)backup_path(m->config.state_dir, "archive.mdb", path);
	if (stat(path, &st) < 0) {
		if (errno != EACCES)
			return tide_err_errno(
			    err, "%s: there is nothing to keep", path);
		denied = true;
	} else {
		denied = geteuid() != 0 && geteuid() != st.st_uid;
	}
	if (denied)
		return tide_err_set(err,
		    "%s: only its owner and root may make a backup: the hash "
		    "key goes with it",
		    path);
	return 0;
}

/* The locks stay with us until we end: nobody starts meanwhile. */
static int
look_for_daemon(struct making *m, struct tide_err *err)
{
	const char *run = m->config.runtime_dir;
	struct tide_config running;
	char path[BACKUP_PATH];
	uint64_t generation;
	pid_t holder = 0;

	if (access(run, F_OK) == 0 &&
	    tide_files_lock(backup_path(run, "tidemarkd.lock", path), 0,
		&holder, err) < 0) {
		if (holder == 0)
			return -1;
		m->hot = true;
		if (tide_config_published(run, &running, &generation, err) == 0)
			m->config = running;
		return 0;
	}
	(void)backup_path(m->config.state_dir, "collector.lock", path);
	return tide_files_lock(path, COLLECTOR_ENDS_MS, NULL, err) < 0 ? -1 : 0;
}

static int
ask_for_checkpoint(const struct making *m)
{
	static struct order o;
	struct tide_line_out request;

	tide_line_start(&request, "checkpoint");
	return order_give(m->tool, &o, &request);
}

/* ---- copying ----------------------------------------------------------- */

struct copying {
	struct tide_store *store;
	int fd;
	int rc;
	struct tide_err err;
	atomic_bool done;
};

static void *
copy(void *arg)
{
	struct copying *c = arg;

	c->rc = tide_store_copy(c->store, c->fd, &c->err);
	if (c->rc == 0 && fsync(c->fd) < 0)
		c->rc = tide_err_errno(&c->err, "archive.mdb");
	atomic_store(&c->done, true);
	return NULL;
}

/* LMDB does not say how far it is; the file does. */
static void
watch(struct copying *c, const struct making *m)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	struct progress bar;
	struct stat st;

	progress_begin(&bar, "copying", tide_store_used(c->store));
	while (!atomic_load(&c->done)) {
		(void)nanosleep(&nap, NULL);
		if (fstat(c->fd, &st) == 0)
			progress_at(&bar, (uint64_t)st.st_size);
		if (stopped != 0) {
			progress_end(&bar);
			remove_partial(m);
			complain("stopped; nothing is left of it");
			_exit(128 + stopped);
		}
	}
	progress_end(&bar);
}

static int
copy_store(
    const struct making *m, struct tide_store *store, struct tide_err *err)
{
	struct copying c = { .store = store };
	char path[BACKUP_PATH];
	pthread_t thread;

	(void)backup_path(m->partial, "archive.mdb", path);
	c.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (c.fd < 0)
		return tide_err_errno(err, "%s", path);
	if (pthread_create(&thread, NULL, copy, &c) == 0) {
		watch(&c, m);
		(void)pthread_join(thread, NULL);
	} else {
		(void)copy(&c);
	}
	(void)close(c.fd);
	if (c.rc < 0)
		*err = c.err;
	return c.rc;
}

static int
write_key(const struct making *m, const struct tide_hash_key *key,
    struct tide_err *err)
{
	char path[BACKUP_PATH], text[TIDE_HASH_KEY_TEXT + 1];

	tide_hash_key_show(key, text);
	(void)strcat(text, "\n");
	return tide_files_replace(backup_path(m->partial, "hash.key", path),
	    text, strlen(text), 0600, err);
}

static int
copy_archive(struct making *m, struct tide_err *err)
{
	struct tide_archive a;
	int rc;

	if (tide_archive_open(
		&a, m->config.state_dir, TIDE_ARCHIVE_READ, 0, err) < 0)
		return -1;
	rc = a.has_key ? 0 : tide_err_set(err, "%s", a.keyless.text);
	if (rc == 0)
		rc = copy_store(m, a.store, err);
	if (rc == 0)
		rc = write_key(m, &a.key, err);
	tide_archive_close(&a);
	return rc;
}

/* ---- the configuration, for reference ---------------------------------- */

/* What cannot be read or named in a line is left out, and that is said. */
static void
keep_conf(void *arg, const char *path)
{
	struct making *m = arg;
	const char *base = strrchr(path, '/');
	char name[TIDE_PATH_MAX], to[BACKUP_PATH];
	struct tide_err err;

	base = base != NULL ? base + 1 : path;
	(void)snprintf(
	    name, sizeof name, "conf/%02u-%.200s", m->b.files - 1, base);
	if (strlen(path) >= TIDE_PATH_MAX || strchr(path, '\n') != NULL ||
	    strstr(path, " from ") != NULL) {
		complain("%s is left out", path);
		return;
	}
	if (backup_copy(path, backup_path(m->partial, name, to), 0600, &err) <
		0 ||
	    backup_list(&m->b, m->partial, name, path, &err) < 0)
		complain("%s; it is left out", err.text);
}

static int
keep_configuration(struct making *m, struct tide_err *err)
{
	const char *conf = tool_config_path(m->tool);
	char path[BACKUP_PATH];
	unsigned i;

	if (mkdir(backup_path(m->partial, "conf", path), 0700) < 0)
		return tide_err_errno(err, "%s", path);
	if (conf != NULL)
		tide_config_sources(conf, keep_conf, m);
	for (i = 0; i < m->config.profiles; i++)
		if (m->config.profile[i].tokens_overrides[0] != '\0')
			keep_conf(m, m->config.profile[i].tokens_overrides);
	return backup_sync_dir(path, err);
}

/* ---- the whole --------------------------------------------------------- */

/* When the state in the copy was taken. */
static int
look_at_copy(struct making *m, struct tide_err *err)
{
	struct tide_archive a;
	int rc;

	if (tide_archive_open(&a, m->partial, TIDE_ARCHIVE_FROZEN, 0, err) < 0)
		return -1;
	rc = tide_checkpoint_taken(&a, &m->b.state_ms, err);
	tide_archive_close(&a);
	return rc;
}

static void
describe(struct making *m)
{
	struct backup *b = &m->b;

	b->format = BACKUP_FORMAT;
	b->archive = TIDE_ARCHIVE_FORMAT;
	b->made_ms = tide_clock_wall_ms();
	(void)snprintf(b->version, sizeof b->version, "%s", TIDE_VERSION);
	if (gethostname(b->node, sizeof b->node - 1) < 0 || b->node[0] == '\0')
		(void)snprintf(b->node, sizeof b->node, "unknown");
}

/* As restore will look at it: by the list, read again. */
static int
check(const struct making *m, struct tide_err *err)
{
	static struct backup again;

	if (backup_read_manifest(&again, m->partial, err) < 0)
		return -1;
	return backup_verify(&again, m->partial, err);
}

static int
fill(struct making *m, struct tide_err *err)
{
	describe(m);
	if (copy_archive(m, err) < 0 || look_at_copy(m, err) < 0 ||
	    backup_list(&m->b, m->partial, "archive.mdb", "", err) < 0 ||
	    backup_list(&m->b, m->partial, "hash.key", "", err) < 0 ||
	    keep_configuration(m, err) < 0 ||
	    backup_write_manifest(&m->b, m->partial, err) < 0 ||
	    check(m, err) < 0)
		return -1;
	return stopped != 0 ? tide_err_set(err, "stopped") : 0;
}

static int
name_it(const struct making *m, struct tide_err *err)
{
	char parent[TIDE_PATH_MAX];

	if (backup_sync_dir(m->partial, err) < 0)
		return -1;
	if (rename(m->partial, m->dir) < 0)
		return errno == EBUSY
		    ? tide_err_set(err,
			  "%s: something is mounted there; name a folder "
			  "below it",
			  m->dir)
		    : tide_err_errno(err, "%s", m->dir); /* K5 */
	tide_files_dirname(m->dir, parent, sizeof parent);
	if (backup_sync_dir(parent, err) == 0)
		return 0;
	(void)rename(m->dir, m->partial); /* it may not last: it is none */
	return -1;
}

static int
make(struct making *m, struct tide_err *err)
{
	int rc;

	if (mkdir(m->partial, 0700) < 0)
		return tide_err_errno(err, "%s", m->partial);
	rc = fill(m, err);
	if (rc == 0)
		rc = name_it(m, err);
	if (rc < 0)
		remove_partial(m);
	return rc;
}

static void
tell(const struct making *m)
{
	char size[SHOW_MAX], when[SHOW_MAX];
	struct json j;

	if (m->tool->json) {
		j = json_record(stdout, "backup");
		json_text(&j, "dir", m->dir);
		json_bool(&j, "hot", m->hot);
		json_time(&j, "state", m->b.state_ms);
		json_number(&j, "files", m->b.files);
		json_number(&j, "bytes", backup_bytes(&m->b));
		json_record_end(&j);
		return;
	}
	printf("%s: %s in %u files, the state of %s\n", m->dir,
	    show_bytes(backup_bytes(&m->b), size, sizeof size), m->b.files,
	    show_moment(m->b.state_ms, when, sizeof when));
	if (!m->hot)
		printf("No daemon runs: that is what it had stored by then.\n");
	printf("It holds the hash key: keep it where only root can read.\n");
}

static void
heed_signals(void)
{
	const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_handler = note_signal };
	unsigned i;

	(void)sigemptyset(&act.sa_mask);
	for (i = 0; i < 3; i++)
		(void)sigaction(signals[i], &act, NULL);
}

int
run_backup(struct tool *t)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	static struct making m;
	struct tide_err err;
	int code;

	while (tool_getopt(t, "", none) != -1)
		;
	m.tool = t;
	if (tool_places(t, &m.config) < 0)
		return TOOL_ERROR;
	if (find_place(&m, tool_arguments(t, 1)[0], &err) < 0) {
		complain("%s", err.text);
		return TOOL_NO;
	}
	if (check_rights(&m, &err) < 0 || look_for_daemon(&m, &err) < 0) {
		complain("%s", err.text);
		return TOOL_ERROR;
	}
	code = m.hot ? ask_for_checkpoint(&m) : TOOL_OK; /* K1, K2 */
	if (code != TOOL_OK)
		return code;
	heed_signals();
	if (make(&m, &err) < 0) { /* K3 to K5 */
		complain("no backup was made: %s", err.text);
		return TOOL_ERROR;
	}
	tell(&m);
	return TOOL_OK;
}
