/*
 * Good configurations, and what they come to.
 */
#include "config_files.h"
#include "tidemark/base/files.h"
#include "tidemark/base/log.h"
#include "tidemark/settings/config.h"

static void
accepted(struct tide_config *config, const char *text)
{
	struct tide_complaints c;

	put("t.conf", text);
	if (tide_config_load(config, "t.conf", &c) == -1)
		CHECK_MSG(false, "%s", c.text);
	CHECK(c.text == NULL && c.count == 0);
}

static void
empty_is_default(void)
{
	struct tide_config c, built_in;

	tide_config_defaults(&built_in, NULL);
	accepted(&c, "");
	CHECK(memcmp(&c, &built_in, sizeof c) == 0);
	CHECK_INT(c.max_workers, 256);
	CHECK_INT(c.worker_idle, 7200000);
	CHECK_INT(c.retain_size, 1 << 30);
	CHECK_INT(c.log_level, TIDE_LOG_INFO);
	CHECK_INT(c.profiles, 2);
	CHECK_STR(c.profile[0].name, "external");
	CHECK_STR(c.profile[0].socket, "local:/run/tidemark/external.sock");
	CHECK_STR(c.profile[1].daemons, "MTA-int");
	CHECK_INT(c.profile[1].socket_mode, 0660);
}

static void
good_lines(void)
{
	struct tide_config c;

	accepted(&c,
	    "\xef\xbb\xbf# comment\r\n"
	    "\tuser=mail\t# after a blank\r\n"
	    "state_dir =/var/lib/a#b\r\n"
	    "live_file = \"/tmp/a  # b\" # c\r\n"
	    "log = \"stderr\"\r\n"
	    "admins = bob, alice @ops,bob\r\n"
	    "worker_stuck = 90 s\r\n"
	    "window_error = 1%\r\n"
	    "log_level = debug");
	CHECK_STR(c.user, "mail");
	CHECK_STR(c.state_dir, "/var/lib/a#b");
	CHECK_STR(c.live_file, "/tmp/a  # b");
	CHECK_STR(c.log, "stderr");
	CHECK_STR(c.admins, "bob alice @ops");
	CHECK_INT(c.worker_stuck, 90000);
	CHECK(c.window_error > 0.0099 && c.window_error < 0.0101);
	CHECK_INT(c.log_level, TIDE_LOG_DEBUG);
	CHECK_INT(c.profiles, 2);
}

static void
good_profiles(void)
{
	struct tide_config c;

	accepted(&c, "runtime_dir = /tmp/r\n");
	CHECK_INT(c.profiles, 2);
	CHECK_STR(c.profile[1].socket, "local:/tmp/r/internal.sock");
	accepted(&c,
	    "[ profile\tmx ]\non_error = tempfail\ndaemons = A B\n"
	    "[profile internal]\nsocket = inet:8891@::1\n"
	    "[profile mx]\nsocket_group = mail\n");
	CHECK_INT(c.profiles, 2);
	CHECK_INT(tide_config_profile(&c, "mx"), 0);
	CHECK_INT(tide_config_profile(&c, "internal"), 1);
	CHECK_INT(tide_config_profile(&c, "external"), -1);
	CHECK_STR(c.profile[0].socket, "local:/run/tidemark/mx.sock");
	CHECK_STR(c.profile[0].socket_group, "mail");
	CHECK_STR(c.profile[0].daemons, "A B");
	CHECK_INT(c.profile[0].on_error, TIDE_ON_ERROR_TEMPFAIL);
	CHECK_STR(c.profile[1].socket, "inet:8891@::1");
	CHECK_STR(c.profile[1].daemons, "MTA-int");
	/* empty is a value too */
	accepted(&c, "[profile internal]\ndaemons =\n");
	CHECK_STR(c.profile[0].daemons, "");
}

static void
good_includes(void)
{
	struct tide_complaints bad;
	struct tide_config c;

	accepted(&c, "include none.d/*.conf\ninclude good.d/*.gone\n");
	accepted(&c, "include many.d/*\n");
	CHECK_INT(c.profiles, 7);
	for (int i = 0; i < 7; i++)
		CHECK_INT(c.profile[i].name[1], '0' + i);
	/* an include leaves the section as it was, and starts in none */
	accepted(&c,
	    "[profile a]\ninclude good.d/*.conf # sorted\n"
	    "on_error = reject\n");
	CHECK_STR(c.user, "nobody");
	CHECK_INT(c.max_workers, 10);
	CHECK_INT(c.profiles, 2);
	CHECK_STR(c.profile[1].name, "ten");
	CHECK_INT(c.profile[0].on_error, TIDE_ON_ERROR_REJECT);
	/* wildcards in the folder's own name mean nothing */
	CHECK_INT(tide_config_load(&c, "odd[x] *dir/main.conf", &bad), 0);
	CHECK_STR(c.user, "daemon");
	CHECK_INT(c.max_workers, 7);
	accepted(&c, "include deep1\n");
}

static void
root_defaults(void)
{
	struct tide_config c;
	struct tide_complaints bad;
	char path[TIDE_PATH_MAX];

	tide_config_defaults(&c, "/t");
	CHECK_STR(c.runtime_dir, "/t/run");
	CHECK_STR(c.state_dir, "/t/state");
	CHECK_STR(c.log, "/t/log");
	CHECK_STR(c.profile[0].socket, "local:/t/run/external.sock");
	CHECK_STR(tide_config_live(&c, path, sizeof path), "/t/run/live.mdb");
	CHECK_INT(tide_config_check(&c, &bad), 0);
	(void)strcpy(c.live_file, "/x");
	CHECK_STR(tide_config_live(&c, path, sizeof path), "/x");
	tide_config_defaults(&c, "/" HUNDRED HUNDRED HUNDRED);
	CHECK_INT(tide_config_check(&c, &bad), -1);
	CHECK_STR(bad.text,
	    "runtime_dir: 255 bytes are too long for the sockets in it; at "
	    "most 90\n");
	tide_complaints_free(&bad);
	tide_config_defaults(&c, NULL);
	c.profiles = 0;
	CHECK_INT(tide_config_check(&c, &bad), -1);
	CHECK_STR(bad.text, "there is no profile\n");
	tide_complaints_free(&bad);
}

static void
words(void)
{
	CHECK(tide_config_has_word("a bb c", "bb"));
	CHECK(tide_config_has_word("a bb c", "c"));
	CHECK(!tide_config_has_word("a bb c", "b"));
	CHECK(!tide_config_has_word("a bb c", "bb c"));
	CHECK(!tide_config_has_word("a bb c", ""));
	CHECK(!tide_config_has_word("", "a"));
}

static const struct check_case cases[] = {
	{ "no line at all is the default", empty_is_default },
	{ "comments, quotes, blanks, CRLF, units", good_lines },
	{ "profiles of one's own", good_profiles },
	{ "includes", good_includes },
	{ "defaults below a root", root_defaults },
	{ "words", words },
};

int
main(void)
{
	if (put_files() == -1)
		return 99;
	return check_main(cases, LENGTH(cases));
}
