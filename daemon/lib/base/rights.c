/*
 * rights - take those of a folder's owner, and give them back.
 *
 * setfsuid(2) is what file servers use for this: it takes the capabilities
 * over files away with it, and leaves signals, ports and our way back alone.
 */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidemark/base/err.h"
#include "tidemark/base/files.h"
#include "tidemark/base/rights.h"

#define NOBODY_NEW ((uid_t)-1) /* refused, so it only asks */

/* They have no error but the old value. */
static bool
set_fs(uid_t uid, gid_t gid)
{
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	return (uid_t)setfsuid(NOBODY_NEW) == uid &&
	    (gid_t)setfsgid(NOBODY_NEW) == gid;
}

static int
take(struct tide_rights *was, const struct stat *st, gid_t more)
{
	const gid_t group[2] = { st->st_gid, more };

	was->groups = getgroups(TIDE_RIGHTS_GROUPS, was->group);
	if (was->groups < 0 || setgroups(more == (gid_t)-1 ? 1 : 2, group) < 0)
		return -1;
	was->taken = true;
	if (set_fs(st->st_uid, st->st_gid))
		return 0;
	tide_rights_return(was);
	errno = EPERM;
	return -1;
}

int
tide_rights_of_folder(
    struct tide_rights *was, const char *dir, gid_t more, struct tide_err *err)
{
	struct stat st;

	was->taken = false;
	if (geteuid() != 0)
		return 0;
	if (stat(dir, &st) < 0)
		return tide_err_errno(err, "%s", dir);
	if (st.st_uid == 0)
		return 0;
	return take(was, &st, more) < 0
	    ? tide_err_errno(err, "%s: acting as its owner", dir)
	    : 0;
}

int
tide_rights_of_place(
    struct tide_rights *was, const char *path, gid_t more, struct tide_err *err)
{
	char dir[TIDE_PATH_MAX + 64];

	tide_files_dirname(path, dir, sizeof dir);
	return tide_rights_of_folder(was, dir, more, err) < 0
	    ? tide_err_errno(err, "%s", path)
	    : 0;
}

/* Root that cannot be root again must not go on as somebody else. */
void
tide_rights_return(const struct tide_rights *was)
{
	int kept = errno;

	if (was->taken &&
	    (!set_fs(geteuid(), getegid()) ||
		setgroups((size_t)was->groups, was->group) < 0))
		abort();
	errno = kept;
}
