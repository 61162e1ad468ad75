/*
 * Bad configurations, every one with its exact message.
 */
#include "config_files.h"
#include "tidemark/settings/config.h"

static void
refused(const char *text, const char *want)
{
	struct tide_complaints c;
	struct tide_config config;
	unsigned lines = 0;

	put("t.conf", text);
	CHECK_MSG(tide_config_load(&config, "t.conf", &c) == -1, "accepted: %s",
	    text);
	CHECK_STR(c.text, want);
	CHECK_INT(c.length, strlen(c.text));
	for (const char *s = c.text; (s = strchr(s, '\n')) != NULL; s++)
		lines++;
	CHECK_INT(c.count, lines);
	tide_complaints_free(&c);
	CHECK(c.text == NULL);
}

struct bad_case {
	const char *text;
	const char *says;
};

static void
run_bad(const struct bad_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		refused(cases[i].text, cases[i].says);
}

static void
bad_lines(void)
{
	static const struct bad_case cases[] = {
		{ "user\n", "t.conf:1: expected «key = value»\n" },
		{ "\n# c\n  = root\n",
		    "t.conf:3: a key is missing before the «=»\n" },
		{ "max_worker = 3",
		    "t.conf:1: unknown key «max_worker»; did you mean "
		    "«max_workers»?\n" },
		{ "Log Level = info\n",
		    "t.conf:1: unknown key «Log Level»; did you mean "
		    "«log_level»?\n" },
		{ "colour = blue\n", "t.conf:1: unknown key «colour»\n" },
		{ "user = \"a\" b\n",
		    "t.conf:1: double quotes may only stand around the whole "
		    "value\n" },
		{ "user = \"a\n",
		    "t.conf:1: double quotes may only stand around the whole "
		    "value\n" },
		{ "user = root\n\nuser = root\n",
		    "t.conf:3: «user» was already set at t.conf:1\n" },
		{ "user = a\x1b[1m\n",
		    "t.conf:1: control character 0x1b in column 9\n" },
		{ "user = " HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED
			HUNDRED HUNDRED HUNDRED HUNDRED FIFTY "\n",
		    "t.conf:1: the line has 1057 bytes; at most 1023\n" },
	};

	run_bad(cases, LENGTH(cases));
}

#define CHARGED "[profile internal]\ncharged_by = policy\n"

static void
bad_sections(void)
{
	static const struct bad_case cases[] = {
		{ "on_error = accept\n",
		    "t.conf:1: «on_error» belongs into a [profile NAME] "
		    "section\n" },
		{ "[profile a]\nlog_level = info\n",
		    "t.conf:2: «log_level» is global; it must stand before "
		    "the first section\n" },
		{ "[profile a]\non_eror = accept\n",
		    "t.conf:2: unknown key «on_eror»; did you mean "
		    "«on_error»?\n" },
		{ "[profle a]\nwhatever = 1\n",
		    "t.conf:1: unknown section «profle»; did you mean "
		    "«profile»?\n" },
		{ "[external]\n",
		    "t.conf:1: unknown section «external»; sections are "
		    "[profile NAME] and [policy NAME]\n" },
		{ "[]\n",
		    "t.conf:1: unknown section «»; sections are "
		    "[profile NAME] and [policy NAME]\n" },
		{ "[profile ]\n", "t.conf:1: [profile NAME] needs a name\n" },
		{ "[profile a b]\n",
		    "t.conf:1: «a b» is no name for a profile: at most 31 "
		    "letters, digits, «-» and «_»\n" },
		{ "[profile ../x]\n",
		    "t.conf:1: «../x» is no name for a profile: at most 31 "
		    "letters, digits, «-» and «_»\n" },
		{ "[profile " TEN TEN TEN "12]\n",
		    "t.conf:1: «" TEN TEN TEN "12» is no name for a profile: "
		    "at most 31 letters, digits, «-» and «_»\n" },
		{ "[profile a\n", "t.conf:1: the closing «]» is missing\n" },
		{ "[profile a] b\n", "t.conf:1: nothing may follow the «]»\n" },
		{ "[profile a]\nsocket_mode = 0600\n[profile b]\n[profile a]\n"
		  "socket_mode = 0660\n",
		    "t.conf:5: «socket_mode» was already set at t.conf:2\n" },
		{ "[profile a]\n[profile b]\n[profile c]\n[profile d]\n"
		  "[profile e]\n[profile f]\n[profile g]\n[profile h]\n"
		  "[profile i]\non_error = no\n",
		    "t.conf:9: [profile i] is one too many; at most 8 "
		    "profiles\n"
		    "t.conf:10: on_error: «no» is none of accept, tempfail, "
		    "reject\n" },
		{ "[polcy a]\n",
		    "t.conf:1: unknown section «polcy»; did you mean "
		    "«policy»?\n" },
		{ "[policy]\n", "t.conf:1: [policy NAME] needs a name\n" },
		{ "[policy a/b]\n",
		    "t.conf:1: «a/b» is no name for a policy: at most 31 "
		    "letters, digits, «-» and «_»\n" },
		{ "idle_timeout = 1s\n",
		    "t.conf:1: «idle_timeout» belongs into a [policy NAME] "
		    "section\n" },
		{ CHARGED "[policy a]\non_error = accept\n",
		    "t.conf:4: «on_error» belongs into a [profile NAME] "
		    "section\n" },
		{ "[policy a]\nprofile = out\n",
		    "t.conf:2: profile: there is no [profile out]\n" },
		{ "[profile b]\n[policy a]\n",
		    "t.conf:2: profile: there is no [profile internal]\n" },
		{ "[profile b]\ncharged_by = policy\n",
		    "t.conf:2: charged_by: no [policy NAME] has profile = "
		    "b\n" },
		{ CHARGED "[policy a]\nprepend_header = X:\n",
		    "t.conf:4: prepend_header: «X:» is no name for a "
		    "header\n" },
		{ CHARGED "[policy a]\nsocket = inet:1@::1\n"
			  "[policy b]\nsocket = inet:1@::1\n",
		    "t.conf:6: socket: inet:1@::1 is already the socket of "
		    "[policy a]\n" },
		{ CHARGED
		    "[policy a]\nsocket = local:/run/tidemark/internal.sock\n",
		    "t.conf:4: socket: local:/run/tidemark/internal.sock is "
		    "already the socket of [profile internal]\n" },
		{ CHARGED "[policy a]\n[policy b]\n[policy c]\n[policy d]\n"
			  "[policy e]\n[policy f]\n[policy g]\n[policy h]\n"
			  "[policy i]\naction = no\n",
		    "t.conf:11: [policy i] is one too many; at most 8 policy "
		    "servers\n" },
	};

	run_bad(cases, LENGTH(cases));
}

#define NO_SOCKET                                                     \
	" is not a socket, such as local:/run/tidemark/NAME.sock or " \
	"inet:8891@127.0.0.1\n"

static void
bad_values(void)
{
	static const struct bad_case cases[] = {
		{ "log_level = inof\n",
		    "t.conf:1: log_level: «inof» is none of error, warning, "
		    "info, debug; did you mean «info»?\n" },
		{ "log_level = warn\n",
		    "t.conf:1: log_level: «warn» is none of error, warning, "
		    "info, debug; did you mean «warning»?\n" },
		{ "log = sysloog\n",
		    "t.conf:1: log: «sysloog» is neither syslog nor stderr "
		    "nor an absolute path; did you mean «syslog»?\n" },
		{ "log = tidemark.log\n",
		    "t.conf:1: log: «tidemark.log» is neither syslog nor "
		    "stderr nor an absolute path\n" },
		{ "log_level =\n",
		    "t.conf:1: log_level: a value is missing\n" },
		{ "state_dir = lib\n",
		    "t.conf:1: state_dir: «lib» is not an absolute path\n" },
		{ "state_dir = /" HUNDRED HUNDRED FIFTY "12345\n",
		    "t.conf:1: state_dir: 256 bytes are too long; at most "
		    "255\n" },
		{ "user = a b\n", "t.conf:1: user: «a b» is not one word\n" },
		{ "user = " TEN TEN TEN "12\n",
		    "t.conf:1: user: 32 bytes are too long; at most 31\n" },
		{ "control_mode = rw\n",
		    "t.conf:1: control_mode: «rw» is not a mode, such as 0660 "
		    "(octal)\n" },
		{ "max_workers = 0\n",
		    "t.conf:1: max_workers: «0» is too small; at least 1\n" },
		{ "max_workers = 5k # many\n",
		    "t.conf:1: max_workers: «5k» is too large; at most "
		    "4096\n" },
		{ "max_workers = 99999999999999999999\n",
		    "t.conf:1: max_workers: «99999999999999999999» is too "
		    "large\n" },
		{ "max_workers = -1\n",
		    "t.conf:1: max_workers: «-1» is not a count, such as 256, "
		    "100k or 5m\n" },
		{ "window_span = 999ms\n",
		    "t.conf:1: window_span: «999ms» is too small; at least "
		    "1s\n" },
		{ "window_span = 60\n",
		    "t.conf:1: window_span: «60» needs a unit, such as 500ms, "
		    "90s, 5min, 1h, 180d or 2w\n" },
		{ "retain_size = 1 Q\n",
		    "t.conf:1: retain_size: «1 Q» is not a size, such as "
		    "512K, 64M or 1G\n" },
		{ "window_error = 1\n",
		    "t.conf:1: window_error: «1» is not a share between 0 and "
		    "1, such as 0.001 or 0.1%\n" },
		{ "window_error = 20%\n",
		    "t.conf:1: window_error: «20%» is too large; at most "
		    "0.1\n" },
		{ "window_error = 0.0000001\n",
		    "t.conf:1: window_error: «0.0000001» is too small; at "
		    "least 0.000001\n" },
		{ "[profile a]\nsocket = unix:/x\n",
		    "t.conf:2: socket: «unix:/x»" NO_SOCKET },
		{ "[profile a]\nsocket = local:x\n",
		    "t.conf:2: socket: «local:x»" NO_SOCKET },
		{ "[profile a]\nsocket = inet:8891\n",
		    "t.conf:2: socket: «inet:8891»" NO_SOCKET },
		{ "[profile a]\nsocket = inet:65536@::1\n",
		    "t.conf:2: socket: «inet:65536@::1»" NO_SOCKET },
		{ "[profile a]\nsocket = inet:1@a/b\n",
		    "t.conf:2: socket: «inet:1@a/b»" NO_SOCKET },
		{ "[profile a]\nsocket =\n",
		    "t.conf:2: socket: a value is missing\n" },
		{ "[profile a]\non_error = tempfial\n",
		    "t.conf:2: on_error: «tempfial» is none of accept, "
		    "tempfail, reject; did you mean «tempfail»?\n" },
		{ "[profile a]\ntext_log = on\n",
		    "t.conf:2: text_log: «on» is none of no, yes; did you mean "
		    "«yes»?\n" },
		{ "egress_bans = false\n",
		    "t.conf:1: egress_bans: «false» is none of off, on; did "
		    "you mean «off»?\n" },
	};

	run_bad(cases, LENGTH(cases));
}

static void
bad_together(void)
{
	static const struct bad_case cases[] = {
		{ "[profile a]\nsocket = local:/x/s\n[profile b]\n"
		  "socket = local:/x//s\n",
		    "t.conf:4: socket: local:/x/s is already the socket of "
		    "[profile a]\n" },
		{ "[profile a]\nsocket = local:/run/tidemark/b.sock\n"
		  "[profile b]\n",
		    "t.conf:3: socket: local:/run/tidemark/b.sock is already "
		    "the socket of [profile a]\n" },
		{ "[profile a]\ndaemons = X, Y\n[profile b]\ndaemons = Z Y\n",
		    "t.conf:4: daemons: Y already belongs to [profile a]\n" },
		{ "bulk_bits = 4\n[profile a]\nbulk_mode = dry-run\n",
		    "t.conf:2: bulk_threshold: cells of 4 bits (bulk_bits) "
		    "count to 15 only\n" },
		{ "[profile a]\nbulk_mode = enforce\nbulk_threshold = 32\n",
		    "t.conf:3: bulk_threshold: cells of 5 bits (bulk_bits) "
		    "count to 31 only\n" },
		{ "[profile a]\ncontent_blocked_header = X-A:YES X-B: NO\n",
		    "t.conf:2: content_blocked_header: «X-B:» is not "
		    "NAME:BEGINNING, without a space, such as X-Spam-Flag:YES\n"
		    "t.conf:2: content_blocked_header: «NO» is not "
		    "NAME:BEGINNING, without a space, such as "
		    "X-Spam-Flag:YES\n" },
		{ "[profile a]\ncontent_blocked_mark = secret7\n",
		    "t.conf:2: content_blocked_mark: «secret7» is not 8 "
		    "letters and digits or more\n" },
		{ "[profile a]\ncontent_blocked_mark = secret-7\n",
		    "t.conf:2: content_blocked_mark: «secret-7» is not 8 "
		    "letters and digits or more\n" },
		{ "[profile a]\ndaemons = MTA-int\n[profile internal]\n",
		    "t.conf:3: daemons: MTA-int already belongs to "
		    "[profile a]\n" },
		{ "[profile a]\nsocket = local:/" HUNDRED "1234567\n",
		    "t.conf:2: socket: the path of a local socket has at most "
		    "107 bytes, not 108\n" },
		{ "runtime_dir = /" FIFTY TEN TEN TEN "12345\n"
		  "[profile " TEN TEN TEN "]\n",
		    "t.conf:2: socket: the path of a local socket has at most "
		    "107 bytes, not 122\n" },
		{ "runtime_dir = /" FIFTY TEN TEN TEN TEN "\n",
		    "t.conf:1: runtime_dir: 91 bytes are too long for the "
		    "sockets in it; at most 90\n" },
		{ "runtime_dir = /" HUNDRED HUNDRED FIFTY "\n",
		    "t.conf:1: runtime_dir: 251 bytes are too long for the "
		    "sockets in it; at most 90\n" },
		{ "retain_size = 4G\n",
		    "t.conf:1: retain_size: 4G must be smaller than "
		    "archive_map, 4G\n" },
		{ "archive_map = 512M\n",
		    "t.conf:1: retain_size: 1G must be smaller than "
		    "archive_map, 512M\n" },
		{ "window_span = 2h\nretain_for = 90min\n",
		    "t.conf:2: retain_for: 90min is shorter than window_span, "
		    "2h\n" },
		{ "retain_size = 256K\n",
		    "t.conf:1: retain_size: one window takes about 352K, more "
		    "than 256K\n" },
		{ "max_workers = 10\n[profile a]\nworkers_reserved = 10\n"
		  "[profile b]\n",
		    "t.conf:3: workers_reserved: 11 in all, one for each "
		    "socket at least, are more than max_workers, 10\n" },
		{ "max_workers = 10\n[profile a]\nworkers_reserved = 5\n"
		  "charged_by = policy\n"
		  "[policy b]\nprofile = a\nworkers_reserved = 6\n",
		    "t.conf:7: workers_reserved: 11 in all, one for each "
		    "socket at least, are more than max_workers, 10\n" },
		{ "[profile a]\nsocket = inet:1@192.0.2.1\n"
		  "peers = 192.0.2.0/33 mx.example 192.0.2.1\n",
		    "t.conf:3: peers: the prefix of «192.0.2.0/33» is not from "
		    "0 to 32\n"
		    "t.conf:3: peers: «mx.example» is neither an IP address "
		    "nor a network\n" },
		{ "[profile a]\nsocket = local:/s\npeers = 192.0.2.1\n",
		    "t.conf:3: peers: local:/s is not for the network; who may "
		    "open it is socket_mode's and socket_group's\n" },
		/* one mistake, one complaint */
		{ "archive_map = 512M\nretain_size = 1Q\n",
		    "t.conf:2: retain_size: «1Q» is not a size, such as 512K, "
		    "64M or 1G\n" },
	};

	run_bad(cases, LENGTH(cases));
}

static void
all_at_once(void)
{
	refused("max_workers = lots\n"
		"[profile external]\n"
		"on_eror = accept\n"
		"socket = local:/x\n"
		"include sub/wrong.conf\n"
		"[profile b]\n"
		"socket = local:/x\n",
	    "t.conf:1: max_workers: «lots» is not a count, such as 256, 100k "
	    "or 5m\n"
	    "t.conf:3: unknown key «on_eror»; did you mean «on_error»?\n"
	    "sub/wrong.conf:2: unknown key «usr»; did you mean «user»?\n"
	    "t.conf:7: socket: local:/x is already the socket of "
	    "[profile external]\n");
}

static void
enough_is_enough(void)
{
	struct tide_complaints c;
	struct tide_config config;
	char text[3001];

	for (size_t i = 0; i < 3000; i += 2)
		memcpy(text + i, "x\n", 3);
	put("t.conf", text);
	CHECK_INT(tide_config_load(&config, "t.conf", &c), -1);
	CHECK_INT(c.count, 1500);
	CHECK(c.length < 6000);
	CHECK_STR(strstr(c.text, "t.conf:100:"),
	    "t.conf:100: expected «key = value»\nand 1400 more\n");
	tide_complaints_free(&c);
}

static void
bad_includes(void)
{
	static const struct bad_case cases[] = {
		{ "include sub/gone.conf\n",
		    "t.conf:1: cannot read sub/gone.conf: No such file or "
		    "directory\n" },
		{ "include sub\n",
		    "t.conf:1: cannot read sub: Is a directory\n" },
		{ "include fifo\n",
		    "t.conf:1: cannot read fifo: Invalid argument\n" },
		{ "include knot/*.conf\n",
		    "t.conf:1: cannot read knot/*.conf: Too many levels of "
		    "symbolic links\n" },
		{ "include\n", "t.conf:1: include needs a file\n" },
		{ "include = x\n",
		    "t.conf:1: write «include FILE», without «=»\n" },
		{ "includ conf.d/*.conf\n",
		    "t.conf:1: expected «key = value»; did you mean "
		    "«include»?\n" },
		{ "include t.conf\n",
		    "t.conf:1: t.conf includes itself, directly or through "
		    "others\n" },
		{ "include sub/back.conf\n",
		    "sub/back.conf:1: sub/../t.conf includes itself, directly "
		    "or through others\n" },
		{ "include deep0\n",
		    "deep7:1: includes are nested too deep; at most 8\n" },
		{ "user = root\ninclude good.d/*.conf\n",
		    "good.d/20.conf:1: «user» was already set at t.conf:1\n" },
	};

	run_bad(cases, LENGTH(cases));
}

static void
bad_files(void)
{
	static const char nul[] = "user = a\0b\nlog = x\n";
	static char large[(1 << 20) + 1];
	struct tide_complaints c;
	struct tide_config config;

	CHECK_INT(tide_config_load(&config, "none.conf", &c), -1);
	CHECK_STR(c.text, "cannot read none.conf: No such file or directory\n");
	tide_complaints_free(&c);
	put_bytes("t.conf", nul, sizeof nul - 1);
	CHECK_INT(tide_config_load(&config, "t.conf", &c), -1);
	CHECK_STR(c.text,
	    "t.conf:1: control character 0x00 in column 9\n"
	    "t.conf:2: log: «x» is neither syslog nor stderr nor an absolute "
	    "path\n");
	tide_complaints_free(&c);
	memset(large, '\n', sizeof large);
	put_bytes("t.conf", large, sizeof large);
	CHECK_INT(tide_config_load(&config, "t.conf", &c), -1);
	CHECK_STR(c.text, "cannot read t.conf: File too large\n");
	tide_complaints_free(&c);
	put_bytes("t.conf", large, sizeof large - 1);
	CHECK_INT(tide_config_load(&config, "t.conf", &c), 0);
}

/* A ban_hook in this folder, and what is wrong with it; NULL: nothing. */
static void
hooked(const char *name, const char *fault)
{
	struct tide_complaints c;
	struct tide_config config;
	char here[256], text[512], want[600];

	CHECK(getcwd(here, sizeof here) != NULL);
	(void)snprintf(text, sizeof text, "ban_hook = %s/%s\n", here, name);
	put("t.conf", text);
	CHECK_INT(
	    tide_config_load(&config, "t.conf", &c), fault == NULL ? 0 : -1);
	if (fault != NULL) {
		(void)snprintf(want, sizeof want,
		    "t.conf:1: ban_hook: %s/%s: %s\n", here, name, fault);
		CHECK_STR(c.text, want);
	}
	tide_complaints_free(&c);
}

#define NO_PEERS                                                        \
	" can get anybody banned and use up anybody's allowance; name " \
	"your mail servers in peers, or take a local: socket\n"

/*
 * What an earlier version let pass: refused, but a start goes on, without the
 * words that are wrong.
 */
static void
passable(void)
{
	struct tide_complaints c;
	struct tide_config config;

	put("t.conf",
	    "[profile a]\n"
	    "allow = 192.0.2.0/33 nonsense auth:lists a@b.example,"
	    " n@b.example|192.0.2.0/24 @c.example 192.0.2.7"
	    " n@b.example|0.0.0.0/0 auth:x|192.0.2.0/24\n"
	    "allow_forgeable = 192.0.2.7 @c.example auth:x\n"
	    "protected_to = boss@b.example @b.example\n"
	    "protected_from = @b.example 192.0.2.7\n");
	CHECK_INT(tide_config_load(&config, "t.conf", &c), -1);
	CHECK_STR(c.text,
	    "t.conf:2: allow: the prefix of «192.0.2.0/33» is not from 0 to "
	    "32\n"
	    "t.conf:2: allow: «nonsense» is neither an IP address nor a "
	    "network\n"
	    "t.conf:2: allow: «a@b.example» can be forged; write it with its "
	    "network, such as a@example.org|192.0.2.0/24, or name the account, "
	    "auth:NAME, or see allow_forgeable\n"
	    "t.conf:2: allow: «@c.example» can be forged; write it with its "
	    "network, such as a@example.org|192.0.2.0/24, or name the account, "
	    "auth:NAME, or see allow_forgeable\n"
	    "t.conf:2: allow: «n@b.example|0.0.0.0/0» can be forged: that "
	    "network is everybody\n"
	    "t.conf:2: allow: «auth:x|192.0.2.0/24»: an account is the same "
	    "from everywhere; leave out what follows the |\n"
	    "t.conf:3: allow_forgeable: «192.0.2.7» is neither an address nor "
	    "a @domain; it belongs into allow\n"
	    "t.conf:3: allow_forgeable: «auth:x» is neither an address nor a "
	    "@domain; it belongs into allow\n"
	    "t.conf:4: protected_to: «@b.example» is not the address of a "
	    "mailbox\n"
	    "t.conf:5: protected_from: «192.0.2.7» is neither an address nor "
	    "a @domain\n");
	CHECK(tide_complaints_pass(&c));
	tide_complaints_free(&c);
	CHECK_STR(config.profile[0].allow,
	    "auth:lists n@b.example|192.0.2.0/24 192.0.2.7");
	CHECK_STR(config.profile[0].allow_forgeable, "@c.example");
	CHECK_STR(config.profile[0].protected_to, "boss@b.example");
	CHECK_STR(config.profile[0].protected_from, "@b.example");

	put("t.conf",
	    "[profile a]\nsocket = inet:8891@0.0.0.0\n"
	    "[profile b]\nsocket = inet:8892@127.0.0.1\n"
	    "[profile c]\nsocket = inet:8893@::\npeers = 2001:db8::/64\n"
	    "charged_by = policy\n"
	    "[policy d]\nprofile = c\nsocket = inet:8894@2001:db8::1\n");
	CHECK_INT(tide_config_load(&config, "t.conf", &c), -1);
	CHECK_STR(c.text,
	    "t.conf:2: socket: whoever reaches inet:8891@0.0.0.0" NO_PEERS
	    "t.conf:11: socket: whoever reaches "
	    "inet:8894@2001:db8::1" NO_PEERS);
	CHECK(tide_complaints_pass(&c));
	tide_complaints_free(&c);
	CHECK_STR(config.profile[0].socket, "inet:8891@0.0.0.0");

	put("t.conf",
	    "[profile a]\ncontent_blocked_header = X-Spam-Flag:YES\n"
	    "cbip_mode = dry-run\n"
	    "[profile b]\ncontent_blocked_header = X-Spam-Flag:YES\n"
	    "content_blocked_mark = k7Qf2mP9\ncbip_mode = enforce\n"
	    "[profile c]\ncontent_blocked_header = X-Spam-Flag:YES\n");
	CHECK_INT(tide_config_load(&config, "t.conf", &c), -1);
	CHECK_STR(c.text,
	    "t.conf:2: content_blocked_header: anybody can write such a "
	    "header, so it counts in no group; let your filter write a word "
	    "that only you know, and set content_blocked_mark\n");
	CHECK(tide_complaints_pass(&c));
	tide_complaints_free(&c);

	put("t.conf", "max_buckets = 17m\n[profile a]\n");
	CHECK_INT(tide_config_load(&config, "t.conf", &c), -1);
	CHECK_STR(c.text,
	    "t.conf:1: max_buckets: 17000000 are too many; 16777200, the most "
	    "there can be, are used\n");
	CHECK(tide_complaints_pass(&c));
	tide_complaints_free(&c);
	put("t.conf",
	    "user = nosuchuser\ncontrol_group = nosuchgroup\n"
	    "ban_hook = /nonexistent/hook\n"
	    "[profile internal]\nsocket_group = nosuchgroup\n"
	    "[profile both]\ncharged_by = milter\n"
	    "[policy out]\n[policy too]\nprofile = both\n");
	CHECK_INT(tide_config_load(&config, "t.conf", &c), -1);
	CHECK_STR(c.text,
	    "t.conf:8: profile: [profile internal] is charged by its milter, "
	    "so that this policy server charges nobody; set charged_by = "
	    "policy there, or charged_by = milter if Postfix asks that, too\n"
	    "t.conf:1: user: there is no user «nosuchuser»\n"
	    "t.conf:2: control_group: there is no group «nosuchgroup»\n"
	    "t.conf:5: socket_group: there is no group «nosuchgroup»\n"
	    "t.conf:3: ban_hook: /nonexistent/hook: No such file or "
	    "directory\n");
	CHECK(tide_complaints_pass(&c));
	tide_complaints_free(&c);
	put("hook", "#!/bin/sh\n");
	hooked("hook", "is not executable");
	hooked("sub", "is not a file");
	CHECK_INT(chmod("hook", 0755), 0);
	hooked("hook", NULL);

	put("t.conf", "log = x\n[profile a]\nallow = nonsense\n");
	CHECK_INT(tide_config_load(&config, "t.conf", &c), -1);
	CHECK(!tide_complaints_pass(&c));
	tide_complaints_free(&c);
	put("t.conf", "[profile a]\nallow = 192.0.2.7\n");
	CHECK_INT(tide_config_load(&config, "t.conf", &c), 0);
	CHECK(tide_complaints_pass(&c));
}

static const struct check_case cases[] = {
	{ "bad lines", bad_lines },
	{ "bad sections", bad_sections },
	{ "bad values", bad_values },
	{ "values that do not fit together", bad_together },
	{ "every mistake is named at once", all_at_once },
	{ "what an earlier version let pass", passable },
	{ "a hundred complaints are enough", enough_is_enough },
	{ "bad includes", bad_includes },
	{ "files that are no configuration", bad_files },
};

int
main(void)
{
	if (put_files() == -1)
		return 99;
	return check_main(cases, LENGTH(cases));
}
