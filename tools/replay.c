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

#include "output.h"
#include "replay.h"
#include "replay_report.h"
#include "tidemark/clock.h"
#include "tidemark/sizing.h"
#include "tidemark/units.h"
#include "tool.h"

#define BUCKETS (1u << 20)
#define IPV6_CLIENT 64 /* as the milter counts clients */

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

static void
set_classes(struct replay *r)
{
	unsigned p, i, class;
	struct tide_err err;
	uint64_t depth;

	for (p = 0; p < r->config.profiles; p++) {
		for (i = 0; i < GROUPS; i++) {
			const struct tide_limit *l =
			    &r->config.profile[p].group[groups[i]];

			class = p * TIDE_GROUPS + groups[i];
			if (tide_size_leaky(l->limit, l->leak, &depth, &err) <
			    0)
				continue;
			if (depth > TIDE_DEPTH_MAX)
				depth = TIDE_DEPTH_MAX;
			tide_pool_set_class(&r->limits.pool, class,
			    (uint32_t)depth, l->leak, r->now);
			tide_pool_set_class(&r->deepest.pool, class,
			    TIDE_DEPTH_MAX, l->leak, r->now);
		}
	}
}

static bool
is_banned(struct replay *r, unsigned profile, const struct tide_key *key,
    bool is_client)
{
	unsigned i;

	for (i = 0; i < GROUPS; i++)
		if ((groups[i] == TIDE_OKIP || groups[i] == TIDE_UNIP) ==
			is_client &&
		    find_key(r, profile * TIDE_GROUPS + groups[i], key)
			    ->banned_until > r->now)
			return true;
	return false;
}

static void
charge(struct replay *r, unsigned class, const struct tide_key *key,
    uint32_t drops, bool banned)
{
	struct replay_key *k = find_key(r, class, key);
	uint32_t level;

	if (drops == 0)
		return;
	k->drops += drops;
	basin_add(&r->deepest, class, key, drops);
	level = basin_level(&r->deepest, class, key);
	if (level > k->peak)
		k->peak = level;
	if (!banned)
		basin_add(&r->limits, class, key, drops);
}

static void
take(struct replay *r, unsigned profile, const struct replay_line *l)
{
	struct tide_key_rules rules;
	struct tide_keys keys = { .rules = &rules, .secret = &r->secret };
	struct tide_key sender, client;
	struct tide_ip ip;
	bool has_ip = tide_ip_parse(l->client, &ip), has_sender, banned;
	struct tide_key_facts facts = { .user = l->auth[0] ? l->auth : NULL,
		.sender = l->from,
		.client = has_ip ? &ip : NULL };
	unsigned first = profile * TIDE_GROUPS;
	uint32_t ok = l->recipients > 0;

	tide_key_rules_defaults(&rules);
	rules.sender_key = r->config.profile[profile].sender_key;
	has_sender = tide_key_sender(&keys, &facts, &sender);
	tide_key_client(facts.client, IPV6_CLIENT, &client);
	banned = (has_sender && is_banned(r, profile, &sender, false)) ||
	    (has_ip && is_banned(r, profile, &client, true));
	r->refused += banned;
	if (has_sender) {
		charge(r, first + TIDE_UNSENDER, &sender, l->unknown, banned);
		charge(r, first + TIDE_OKSENDER, &sender, ok, banned);
	}
	if (has_ip) {
		charge(r, first + TIDE_UNIP, &client, l->unknown, banned);
		charge(r, first + TIDE_OKIP, &client, ok, banned);
	}
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
	return r->overflows > 0 ? TOOL_NO : TOOL_OK;
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
