/*
 * replay - what would the limits have done to this mail, and which limits
 * would have touched hardly anybody?
 *
 * Two sets of buckets: one with the configured limits, whose overflows ban as
 * the daemon would; one as deep as can be, whose highest levels say how deep
 * a bucket has to be for each key.  Groups that are off are tried as well.
 */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../read/output.h"
#include "../tool.h"
#include "mail.h"
#include "replay.h"
#include "report.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/units.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/flow/pool.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/lists.h"

#define BUCKETS (1u << 20)

/* Of a log file: the groups whose drops stand in it. */
static const enum tide_group groups[] = { TIDE_OKSENDER, TIDE_OKIP,
	TIDE_UNSENDER, TIDE_UNIP };

#define GROUPS (sizeof groups / sizeof *groups)

/* ---- keys seen --------------------------------------------------------- */

static _Noreturn void
no_memory(void)
{
	complain("no memory for the keys");
	exit(TOOL_ERROR);
}

static int
compare(const void *a, const void *b)
{
	const struct replay_key *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return strcmp(x->key.text, y->key.text);
}

static struct replay_key *
find_key(struct replay *r, unsigned class, const struct tide_key *key)
{
	struct replay_key want = { .class = class, .key = *key }, *k, **more;
	struct replay_key *const *found = tfind(&want, &r->tree, compare);

	if (found != NULL)
		return *found;
	if (r->keys == r->room) {
		r->room = r->room == 0 ? 1024 : 2 * r->room;
		more = realloc(r->key, r->room * sizeof(struct replay_key *));
		if (more == NULL)
			no_memory();
		r->key = more;
	}
	k = malloc(sizeof *k);
	if (k == NULL)
		no_memory();
	*k = want;
	r->key[r->keys++] = k;
	if (tsearch(k, &r->tree, compare) == NULL)
		no_memory();
	return k;
}

static struct replay_key *
find_overflowed(struct replay *r, const struct tide_overflow *o)
{
	struct tide_key key = { .length = (uint8_t)o->length };

	if (o->length > TIDE_KEY_MAX)
		return NULL;
	memcpy(key.text, o->key, o->length);
	return find_key(r, o->class, &key);
}

static bool
on_overflow(void *arg, const struct tide_overflow *o)
{
	struct replay *r = arg;
	struct replay_key *k = find_overflowed(r, o);

	if (k != NULL) {
		k->overflows += o->times;
		k->banned_until = r->now + replay_limit(r, k->class)->ban;
		r->overflows += o->times;
	}
	return true;
}

static bool
on_deepest(void *arg, const struct tide_overflow *o)
{
	struct replay_key *k = find_overflowed(arg, o);

	if (k != NULL)
		k->peak = TIDE_DEPTH_MAX + 1;
	return true;
}

/* ---- one message ------------------------------------------------------- */

/* Groups that are off are tried as well. */
static void
set_classes(struct replay *r)
{
	struct tide_class_id id;
	unsigned class, p, i;
	uint64_t leak;
	uint32_t depth;

	r->trial = r->config;
	for (p = 0; p < r->trial.profiles; p++)
		for (i = 0; i < GROUPS; i++)
			r->trial.profile[p].group[groups[i]].mode =
			    TIDE_MODE_ENFORCE;
	for (class = 0; class < TIDE_CLASSES; class ++) {
		if (!tide_class_describe(r->trial.profiles, class, &id))
			continue;
		depth = tide_class_depth(&r->trial, id, &leak);
		if (depth == 0)
			continue;
		tide_pool_set_class(
		    &r->limits.pool, class, depth, leak, r->now);
		tide_pool_set_class(
		    &r->deepest.pool, class, TIDE_DEPTH_MAX, leak, r->now);
	}
}

/* Who pays for a message, and where. */
struct payer {
	unsigned profile;
	bool has_sender, has_ip;
	struct tide_key sender;
	struct tide_ip ip;
};

/* A bucket of theirs; false if there is none at that tier. */
static bool
bucket_of(const struct replay *r, const struct payer *p, enum tide_group group,
    unsigned tier, struct tide_key *key, unsigned *class)
{
	const struct tide_class_id id = {
		.profile = p->profile, .group = group, .tier = tier
	};
	int number = tide_class_number(r->config.profiles, id);

	if (number < 0)
		return false;
	*class = (unsigned)number;
	if (!tide_group_is_ip(group)) {
		*key = p->sender;
		return p->has_sender;
	}
	if (!p->has_ip || (tier > 0 && tide_ip_is_v4(&p->ip)))
		return false;
	tide_key_client(&p->ip, tide_key_tiers[tier], key);
	return true;
}

/* When the last of their bans ends; 0 if none stands. */
static uint64_t
banned_until(struct replay *r, const struct payer *p)
{
	uint64_t until = 0, ends;
	unsigned i, tier, class;
	struct tide_key key;

	for (i = 0; i < GROUPS; i++)
		for (tier = 0; tier < TIDE_KEY_TIERS; tier++) {
			if (!bucket_of(r, p, groups[i], tier, &key, &class))
				continue;
			ends = find_key(r, class, &key)->banned_until;
			if (ends > r->now && ends > until)
				until = ends;
		}
	return until;
}

/* True if a bucket overflowed.  Who is refused fills only the deepest. */
static bool
charge(struct replay *r, const struct payer *p, enum tide_group group,
    uint32_t drops, bool refused)
{
	uint64_t before = r->overflows;
	struct replay_key *k;
	struct tide_key key;
	unsigned tier, class;
	uint32_t level;

	for (tier = 0; drops > 0 && tier < TIDE_KEY_TIERS; tier++) {
		if (!bucket_of(r, p, group, tier, &key, &class))
			continue;
		k = find_key(r, class, &key);
		k->drops += drops;
		basin_add(&r->deepest, class, &key, drops);
		level = basin_level(&r->deepest, class, &key);
		if (level > k->peak)
			k->peak = level;
		if (!refused)
			basin_add(&r->limits, class, &key, drops);
	}
	return r->overflows > before;
}

/* By which full bucket, if many share the sender's key, is it put off? */
static void
put_off(struct replay *r, const struct payer *p, struct tide_facts *f)
{
	struct tide_key key;
	unsigned i, class;

	for (i = 0; i < GROUPS && f->over == NULL; i++) {
		if (tide_group_is_ip(groups[i]) ||
		    !bucket_of(r, p, groups[i], 0, &key, &class) ||
		    !tide_key_is_shared(key.text, key.length) ||
		    basin_has_room(&r->limits, class, &key, 1))
			continue;
		find_key(r, class, &key)->deferred++;
		f->over = tide_group_name[groups[i]];
		f->put_off_ms = replay_limit(r, class)->leak;
		r->deferred++;
	}
}

/* False: on the allow list, never charged. */
static bool
find_payer(const struct replay *r, const struct replay_line *l, struct payer *p)
{
	const struct tide_profile *profile = &r->config.profile[p->profile];
	struct tide_key_rules rules;
	struct tide_keys keys = { .rules = &rules, .secret = &r->secret };
	struct tide_key_facts facts = { .user = l->auth[0] ? l->auth : NULL,
		.sender = l->from };
	struct tide_key account, address, at;
	char domain[TIDE_DOMAIN_MAX];

	p->has_ip = tide_ip_parse(l->client, &p->ip);
	facts.client = p->has_ip ? &p->ip : NULL;
	tide_key_rules_defaults(&rules);
	rules.sender_key = profile->sender_key;
	p->has_sender = tide_key_sender(&keys, &facts, &p->sender);
	tide_key_address(&keys, l->from, &address);
	tide_domain_of(l->from, domain);
	tide_key_domain(&keys, domain, &at);
	tide_key_user(&keys, l->auth, &account);
	return !tide_allows(profile,
	    &(struct tide_listed){ .keys = &keys,
		.account = facts.user != NULL ? &account : NULL,
		.address = &address,
		.domain = &at,
		.client = facts.client });
}

/* As a session goes: the ban at RCPT, the buckets at the end of message. */
static void
take(struct replay *r, unsigned profile, const struct replay_line *l)
{
	struct payer p = { .profile = profile };
	struct tide_facts f = { .map_usable = true,
		.ban_answer = r->config.profile[profile].ban_answer };
	uint32_t ok = l->recipients > 0;
	uint64_t until;
	bool refused;

	if (!find_payer(r, l, &p)) {
		r->allowed++;
		return;
	}
	until = banned_until(r, &p);
	f.banned = until > 0;
	f.banned_for_ms = until > 0 ? until - r->now : 0;
	refused = tide_verdict_recipient(&f).answer != TIDE_REPLY_ACCEPT;
	r->banned += refused;
	if (!refused && ok > 0)
		put_off(r, &p, &f);
	(void)charge(r, &p, TIDE_UNSENDER, l->unknown, refused);
	(void)charge(r, &p, TIDE_UNIP, l->unknown, refused);
	refused = refused || f.over != NULL;
	if (charge(r, &p, TIDE_OKSENDER, ok, refused))
		f.over = tide_group_name[TIDE_OKSENDER];
	if (charge(r, &p, TIDE_OKIP, ok, refused) && f.over == NULL)
		f.over = tide_group_name[TIDE_OKIP];
	r->refused += tide_verdict_message(&f).answer != TIDE_REPLY_ACCEPT;
}

static void
replay_message(struct replay *r, unsigned profile, const struct replay_line *l)
{
	if (r->messages++ == 0) {
		r->from = r->now = l->wall_ms;
		set_classes(r);
	}
	if (l->wall_ms > r->now) /* workers' lines may be out of order */
		r->now = l->wall_ms;
	basin_leak(&r->limits, r->now);
	basin_leak(&r->deepest, r->now);
	take(r, profile, l);
}

static void
replay_line(struct replay *r, const char *text)
{
	struct replay_line l;
	int profile;

	if (!replay_parse(text, r->today, &l))
		return;
	profile = tide_config_profile(&r->config, l.profile);
	if (profile < 0)
		r->strangers++;
	else
		replay_message(r, (unsigned)profile, &l);
}

static void
replay_mail(void *arg, struct replay_line *l)
{
	struct replay *r = arg;

	replay_message(r, r->profile, l);
}

/* ---- files ------------------------------------------------------------- */

/* Its first line says what it is. */
static int
replay_stream(struct replay *r, FILE *f)
{
	static char line[MAIL_LINE_MAX];

	if (!mail_get_line(f, line, sizeof line))
		return 0;
	if (strncmp(line, "From ", 5) == 0)
		return mails_read_mbox(&r->mails, f, line);
	do
		replay_line(r, line);
	while (mail_get_line(f, line, sizeof line));
	return 0;
}

static bool
is_folder(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 &&
	    S_ISDIR(st.st_mode);
}

static int
replay_file(struct replay *r, const char *path)
{
	FILE *f;
	int rc;

	if (is_folder(path))
		return mails_read_maildir(&r->mails, path);
	f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	if (f == NULL) {
		complain("%s: %s", path, strerror(errno));
		return -1;
	}
	rc = replay_stream(r, f);
	if (rc == 0 && ferror(f)) {
		complain("%s: %s", path, strerror(errno));
		rc = -1;
	}
	if (f != stdin)
		(void)fclose(f);
	return rc;
}

/* Mail waits until all of it can be sorted; a log goes by at once. */
static int
replay_mails(struct replay *r)
{
	if (r->mails.undated > 0)
		complain("%llu message%s without a time left out",
		    (unsigned long long)r->mails.undated,
		    plural(r->mails.undated));
	if (r->mails.left_out > 0)
		complain("only %u messages of mailboxes were read, %llu left "
			 "out",
		    MAILS_MAX, (unsigned long long)r->mails.left_out);
	if (r->mails.count > 0 && r->messages > 0) {
		complain("logs and mailboxes are not replayed together: their "
			 "messages may be the same");
		return -1;
	}
	mails_each(&r->mails, replay_mail, r);
	return 0;
}

static int
replay_all(struct replay *r, char **paths)
{
	for (; *paths != NULL; paths++)
		if (replay_file(r, *paths) < 0)
			return TOOL_ERROR;
	if (replay_mails(r) < 0)
		return TOOL_ERROR;
	if (r->messages == 0) {
		complain("there is no message in it%s",
		    r->strangers > 0 ? ", but of profiles that are not in the "
				       "configuration"
				     : "");
		return TOOL_ERROR;
	}
	replay_report(r);
	return r->overflows + r->deferred > 0 ? TOOL_NO : TOOL_OK;
}

static void
nothing(void *p)
{
	(void)p;
}

static void
clean_up(struct replay *r)
{
	size_t i;

	tdestroy(r->tree, nothing);
	for (i = 0; i < r->keys; i++)
		free(r->key[i]);
	free(r->key);
	mails_free(&r->mails);
	basin_free(&r->limits);
	basin_free(&r->deepest);
}

/* Whose limits hold for mailboxes: -1 once it was complained of. */
static int
find_profile(struct replay *r, const char *name)
{
	int i = name == NULL ? 0 : tide_config_profile(&r->config, name);

	if (i < 0 || (unsigned)i >= r->config.profiles) {
		complain("there is no profile %s", name != NULL ? name : "");
		return -1;
	}
	r->profile = (unsigned)i;
	return 0;
}

int
run_replay(struct tool *t)
{
	enum { OPT_SHARE = OPT_OWN, OPT_PROFILE };
	static const struct option longs[] = {
		{ "share", required_argument, NULL, OPT_SHARE },
		{ "profile", required_argument, NULL, OPT_PROFILE },
		{ NULL, 0, NULL, 0 },
	};
	static struct replay r; /* too large for the stack */
	const char *profile = NULL;
	struct tide_err err;
	int c, code;

	r = (struct replay){ .share = 0.001, .today = tide_clock_wall_ms() };
	r.mails.today = r.today;
	while ((c = tool_getopt(t, "", longs)) != -1) {
		if (c == OPT_PROFILE)
			profile = optarg;
		else if (tide_share_parse(optarg, &r.share, &err) < 0)
			tool_misused(t, "%s", err.text);
	}
	if (optind >= t->argc)
		tool_misused(t, "which file?");
	r.json = t->json;
	if (tool_config(t, &r.config) < 0 || find_profile(&r, profile) < 0)
		return TOOL_ERROR;
	if (basin_make(&r.limits, BUCKETS, on_overflow, &r) < 0 ||
	    basin_make(&r.deepest, BUCKETS, on_deepest, &r) < 0) {
		complain("no memory for the buckets");
		return TOOL_ERROR;
	}
	code = replay_all(&r, t->argv + optind);
	clean_up(&r);
	return code;
}
