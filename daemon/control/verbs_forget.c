/*
 * verbs, forget - forget key=..., dry=1, unban=1: what went, what is left and until
 * when.  The log says that it was done, and not about whom.
 */
#include <stdlib.h>
#include <string.h>

#include "../collector/collector.h"
#include "../collector/forget.h"
#include "verbs.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/base/log.h"
#include "tidemark/keys/keys.h"
#include "tidemark/keys/subject.h"
#include "tidemark/map/map.h"

static const char *const gone_name[FORGOTTEN] = { "buckets", "bans",
	"allowances", "estimates", "decisions", "exceptions", "listed" };
static const char *const left_name[LEFTS] = { "windows", "listed", "accounts",
	"estimates", "reasons", "settings", "workers", "memory", "readers",
	"records", "long", "egress" };

static int
read_request(
    struct forgetting *f, const struct tide_line *line, struct tide_err *err)
{
	struct tide_key_rules rules;
	struct tide_keys keys = { .rules = &rules, .secret = f->c->map->key };

	f->text = tide_line_get(line, "key");
	f->dry = tide_line_number(line, "dry", 0) != 0;
	f->unban = tide_line_number(line, "unban", 0) != 0;
	f->now_ms = tide_clock_wall_ms();
	(void)pthread_mutex_lock(&f->c->lock);
	f->config = f->c->config;
	(void)pthread_mutex_unlock(&f->c->lock);
	if (f->text == NULL)
		return tide_err_set(err, "there is no key=");
	tide_key_rules_defaults(&rules);
	return tide_subject_parse(&f->subject, &keys, f->text, err);
}

static int
tell(int fd, const struct forgetting *f)
{
	struct tide_line_out out;
	unsigned i;
	int rc = 0;

	for (i = 0; rc == 0 && i < FORGOTTEN; i++) {
		tide_line_start(&out, "gone");
		tide_line_add(&out, "what", gone_name[i]);
		tide_line_add_number(&out, "count", f->gone[i]);
		if (i == FORGOT_BANS)
			tide_line_add_number(&out, "by_hand", f->by_hand);
		rc = tide_line_send(&out, fd);
	}
	for (i = 0; rc == 0 && i < LEFTS; i++) {
		if (f->left[i].count == 0)
			continue;
		tide_line_start(&out, "left");
		tide_line_add(&out, "what", left_name[i]);
		tide_line_add_number(&out, "count", f->left[i].count);
		tide_line_add_number(&out, "until_ms", f->left[i].until_ms);
		rc = tide_line_send(&out, fd);
	}
	return rc;
}

static void
log_it(const struct forgetting *f)
{
	tide_log(TIDE_LOG_WARNING,
	    "forget: by request: %u buckets, %u bans, %u allowances, %u "
	    "estimates, %u decisions, %u exceptions, %u listed",
	    f->gone[FORGOT_BUCKETS], f->gone[FORGOT_BANS],
	    f->gone[FORGOT_ALLOWANCES], f->gone[FORGOT_ESTIMATES],
	    f->gone[FORGOT_DECISIONS], f->gone[FORGOT_EXCEPTIONS],
	    f->gone[FORGOT_LISTED]);
}

static int
forget(struct forgetting *f, struct tide_err *err)
{
	struct tide_err why;

	if (forget_may(f, err) < 0)
		return -1;
	if (forget_all(f, &why) < 0)
		return tide_err_set(err,
		    "%.200s (what went is gone; ask again for the rest)",
		    why.text);
	forget_look_for_rest(f);
	if (!f->dry)
		log_it(f);
	return 0;
}

/* One at a time: it is rare, and takes what time it takes. */
void
do_forget(struct collector *c, int fd, const struct tide_line *line)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	struct forgetting *f = calloc(1, sizeof *f);
	struct tide_err err;
	int rc;

	if (f == NULL) {
		say_err(fd, "no memory");
		return;
	}
	f->c = c;
	f->fd = fd;
	(void)pthread_mutex_lock(&one);
	rc = read_request(f, line, &err);
	if (rc == 0)
		rc = forget(f, &err);
	(void)pthread_mutex_unlock(&one);
	if (rc < 0)
		say_err(fd, err.text);
	else if (tell(fd, f) == 0)
		say_ok(fd);
	explicit_bzero(f, sizeof *f);
	free(f);
}
