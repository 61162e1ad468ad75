/*
 * params - the one table of settings.  See params.h.
 *
 * To add a setting: a field in config.h, a row here, the sample made anew as
 * t_params.c says.  Defaults and bounds are written as people write them,
 * defaults in the very form that tide_param_show() prints.
 */
#include <string.h>

#include "tidemark/base/units.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/params.h"

#define FIELD(type, field)                                      \
	.name = #field, .offset = offsetof(struct type, field), \
	.size = sizeof(((struct type *)NULL)->field)
#define GLOBAL(field) FIELD(tide_config, field)
#define PROFILE(field) .section = TIDE_OF_PROFILE, FIELD(tide_profile, field)
#define POLICY(field) .section = TIDE_OF_POLICY, FIELD(tide_policy, field)
#define RELOAD .change = TIDE_CHANGE_RELOAD
#define RESTART .change = TIDE_CHANGE_RESTART
#define RANGE(low, high) .least = low, .most = high

/* Four settings for each of the eight groups of leaky buckets. */
#define GROUP_FIELD(id, low, field)                                      \
	.section = TIDE_OF_PROFILE, .name = #low "_" #field,             \
	.offset = offsetof(struct tide_profile, group[TIDE_##id].field), \
	.size = sizeof(((struct tide_profile *)NULL)->group[0].field)
#define GROUP(id, low, most_, leak_, ban_, drop)                                  \
	{ GROUP_FIELD(id, low, mode), RELOAD, .kind = TIDE_PARAM_CHOICE,          \
		.fallback = "off", .choices = modes,                              \
		.help =                                                           \
		    "Group " #id ", a drop for " drop ": off; dry-run counts "    \
		    "what it would have done; enforce bans." },                   \
	    { GROUP_FIELD(id, low, limit), RELOAD, .kind = TIDE_PARAM_RATE,       \
		    .fallback = most_,                                            \
		    .help = "At most so many in so long." },                      \
	    { GROUP_FIELD(id, low, leak), RELOAD, .kind = TIDE_PARAM_TIME,        \
		    .fallback = leak_, RANGE("100ms", "1w"),                      \
		    .help =                                                       \
			"One drop is forgotten each time. The bucket is limit - " \
			"time / leak drops deep." },                              \
	{                                                                         \
		GROUP_FIELD(id, low, ban), RELOAD,                                \
		    .kind = TIDE_PARAM_TIME, .fallback = ban_,                    \
		    RANGE("1s", "52w"), .help = "How long an overflow bans."      \
	}

static const char *const log_levels[] = { "error", "warning", "info", "debug",
	NULL };
static const char *const modes[] = { "off", "dry-run", "enforce", NULL };
static const char *const switches[] = { "off", "on", NULL };
static const char *const egress_modes[] = { "dry-run", "enforce", NULL };
static const char *const sender_keys[] = { "address+network", "address", NULL };
static const char *const ban_places[] = { "rcpt", "mail", NULL };
static const char *const ban_answers[] = { "reject", "tempfail", NULL };
static const char *const tokens_actions[] = { "reject", "delay", NULL };
static const char *const memories[] = { "off", "default", "classic", NULL };
static const char *const no_yes[] = { "no", "yes", NULL };
static const char *const bulk_copies[] = { "message", "recipient", NULL };
static const char *const chargers[] = { "milter", "policy", NULL };
static const char *const last_requests[] = { "end-of-message", "data", "rcpt",
	NULL };
static const char *const policy_actions[] = { "refuse", "hold", "prepend",
	NULL };
static const char *const on_errors[] = { "accept", "tempfail", "reject", NULL };

const char *const tide_group_name[TIDE_GROUPS] = { "OKSENDER", "OKIP",
	"UNSENDER", "UNIP", "CBSENDER", "CBIP", "RBSENDER", "SBSENDER" };
const char *const tide_group_setting[TIDE_GROUPS] = { "oksender", "okip",
	"unsender", "unip", "cbsender", "cbip", "rbsender", "sbsender" };

static const char *const check_actions[] = { "reject", "tempfail", "tag",
	"block", NULL };
static const char *const addresses_forms[] = { "plain", "counting", NULL };

/* clang-format off */
const struct tide_param tide_params[] = {
	{ GLOBAL(user), RESTART, .kind = TIDE_PARAM_STRING, .fallback = "",
	  .topic = "Places and people",
	  .help = "The user to become when started as root. "
		"Empty keeps the user that started the daemon." },
	{ GLOBAL(runtime_dir), RESTART, .kind = TIDE_PARAM_PATH,
	  .fallback = "/run/tidemark",
	  .help = "The folder of the sockets and the live map. "
		"It should lie in memory (tmpfs)." },
	{ GLOBAL(state_dir), RESTART, .kind = TIDE_PARAM_PATH,
	  .fallback = "/var/lib/tidemark",
	  .help = "The folder of the archive and of the checkpoints, "
		"on a disk that survives a reboot." },
	{ GLOBAL(live_file), RESTART, .kind = TIDE_PARAM_PATH, .fallback = "",
	  .help = "The file of the live map. "
		"Empty means live.mdb in runtime_dir." },
	{ GLOBAL(log), RESTART, .kind = TIDE_PARAM_LOG, .fallback = "syslog",
	  .help = "Where messages go: "
		"syslog (facility mail), stderr, or the path of a file." },
	{ GLOBAL(log_level), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "info", .choices = log_levels,
	  .help = "The least weighty messages that are still logged." },

	{ GLOBAL(admins), RELOAD, .kind = TIDE_PARAM_WORDS, .fallback = "",
	  .topic = "The control socket",
	  .help = "Users and @groups that may change things "
		"through the control socket. "
		"Root and the daemon's own user always may; "
		"everyone else who can open the socket may only ask." },
	{ GLOBAL(control_mode), RESTART, .kind = TIDE_PARAM_MODE,
	  .fallback = "0660",
	  .help = "Permissions of the control socket." },
	{ GLOBAL(control_group), RESTART, .kind = TIDE_PARAM_STRING,
	  .fallback = "",
	  .help = "The group of the control socket. "
		"Empty leaves the daemon's own." },

	{ GLOBAL(max_workers), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "256", RANGE("1", "4096"), .topic = "Processes",
	  .help = "How many connections are served at once, "
		"each by a process of its own. "
		"Further ones wait until one ends." },
	{ GLOBAL(worker_stuck), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "1min", RANGE("100ms", "1d"),
	  .help = "A worker that spends this long on one step of a message "
		"is killed." },
	{ GLOBAL(worker_idle), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "2h", RANGE("1s", "4w"),
	  .help = "A worker that the mail server has not spoken to "
		"for this long is killed." },
	{ GLOBAL(worker_silent), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "10s", RANGE("100ms", "1h"),
	  .help = "A connection that has not begun to speak the protocol "
		"(the milter's negotiation, the first policy request) "
		"within this time is closed." },
	{ GLOBAL(shutdown_grace), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "30s", RANGE("0", "1h"),
	  .help = "How long running sessions may take to finish "
		"when the daemon is stopped, or restarted under systemd." },
	{ GLOBAL(pulse_stale), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "5s", RANGE("100ms", "10min"),
	  .help = "When the collector has given no sign of life "
		"for this long, it counts as absent." },

	{ GLOBAL(max_buckets), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "50k", RANGE("64", "60m"), .topic = "Flow",
	  .help = "How many leaky buckets there are for all groups together, "
		"16777200 at most. "
		"When they run out, the emptiest of the largest group go." },
	{ GLOBAL(max_bans), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "8k", RANGE("64", "1m"),
	  .help = "How many bans may stand at once. A quarter is kept for "
		"those by hand and of accounts, an eighth for clients; a "
		"profile gets half, a network (/24, of IPv6 /48) a 64th, at "
		"least 16, of senders and of clients each. One more than that "
		"is not made; it is counted (bans_unplaced) and logged." },
	{ GLOBAL(max_accounts), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "16k", RANGE("64", "4m"),
	  .help = "How many accounts may have less than their full allowance "
		"at once, rounded up to a power of two. Each takes 272 bytes. "
		"Half of the places are kept for accounts that log in. "
		"When there is none, the client is charged." },
	{ GLOBAL(max_decisions), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "4k", RANGE("64", "10m"),
	  .help = "How many of the last decisions are kept "
		"for tidemark why and tidemark tail, 256 bytes each." },
	{ GLOBAL(ban_most), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "1w", RANGE("1s", "520w"),
	  .help = "The longest a ban gets, however often it is lengthened." },
	{ GLOBAL(ban_hook), RELOAD, .kind = TIDE_PARAM_PATH, .fallback = "",
	  .help = "A program to run when an overflow bans somebody who was "
		"not banned. Its environment has TIDEMARK_KEY, "
		"TIDEMARK_GROUP, TIDEMARK_PROFILE, TIDEMARK_UNTIL and "
		"TIDEMARK_TIMES; the key is partly the sender's own text. "
		"It is killed after 30s. Under tidemark.service it may write "
		"below state_dir and reach local sockets, but no network, and "
		"sends no mail; the examples in share/tidemark/hook hand bans "
		"to a unit that does." },

	{ GLOBAL(checkpoint_every), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "5min", RANGE("1s", "1d"), .topic = "Memory",
	  .help = "How often the live map is saved in state_dir. "
		"A power loss forgets at most what came "
		"since the last time." },
	{ GLOBAL(window_span), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "1h", RANGE("1s", "4w"),
	  .help = "The longest time that one window of addresses covers. "
		"A window that is full ends earlier." },
	{ GLOBAL(window_senders), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "100k", RANGE("16", "100m"),
	  .help = "How many different senders a window has room for. "
		"A domain counts once beside its addresses." },
	{ GLOBAL(window_recipients), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "100k", RANGE("16", "100m"),
	  .help = "How many different recipients a window has room for. "
		"A domain counts once beside its addresses." },
	{ GLOBAL(window_error), RESTART, .kind = TIDE_PARAM_SHARE,
	  .fallback = "0.001", RANGE("0.000001", "0.1"),
	  .help = "The share of wrong answers \"probably seen\" "
		"that a full window gives." },
	{ GLOBAL(memory), RESTART, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "default", .choices = memories,
	  .help = "Whether the text of mail can be asked for later, and in "
		"which form it is remembered: off; default, sized by "
		"memory_size and memory_error; classic, in windows of 65536 "
		"bits with 4369 blocks each, whatever the settings of size." },
	{ GLOBAL(memory_size), RESTART, .kind = TIDE_PARAM_SIZE,
	  .fallback = "1M", RANGE("4K", "1G"),
	  .help = "What a window's filter of content takes in memory, twice. "
		"It holds about eight times as much text; a window that is "
		"full ends early, and one that is not takes less on disk." },
	{ GLOBAL(memory_error), RESTART, .kind = TIDE_PARAM_SHARE,
	  .fallback = "0.0005", RANGE("0.000001", "0.1"),
	  .help = "The share of blocks of text that a full window takes for "
		"seen by mistake. A question is made of several blocks, which "
		"all have to agree." },
	{ GLOBAL(retain_for), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "180d", RANGE("1s", "5200w"),
	  .help = "Windows older than this are deleted." },
	{ GLOBAL(retain_size), RELOAD, .kind = TIDE_PARAM_SIZE,
	  .fallback = "1G", RANGE("64K", "8T"),
	  .help = "When the windows take more room than this, "
		"the oldest are deleted. "
		"Must be smaller than archive_map." },
	{ GLOBAL(archive_map), RESTART, .kind = TIDE_PARAM_SIZE,
	  .fallback = "4G", RANGE("1M", "16T"),
	  .help = "The most that the archive's file may grow to. "
		"Address space is set aside for it, not disk space." },

	{ GLOBAL(text_depth), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "16", RANGE("1", "64"), .topic = "Text",
	  .help = "How deep multiparts and forwarded messages may lie inside "
		"each other. What lies deeper is not read." },
	{ GLOBAL(text_parts), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "1k", RANGE("1", "100k"),
	  .help = "How many parts of a message are read." },
	{ GLOBAL(text_header_bytes), RELOAD, .kind = TIDE_PARAM_SIZE,
	  .fallback = "64K", RANGE("1K", "1M"),
	  .help = "How much of the header of a message, and of each of its "
		"parts, is read." },
	{ GLOBAL(text_total_bytes), RELOAD, .kind = TIDE_PARAM_SIZE,
	  .fallback = "64M", RANGE("1K", "4G"),
	  .help = "How much of a message's body is read. "
		"The mail server is told to send no more." },
	{ GLOBAL(text_headers), RELOAD, .kind = TIDE_PARAM_WORDS,
	  .fallback = "Subject",
	  .help = "Headers of a message, and of those forwarded in it, "
		"that are read as text, each by itself." },
	{ GLOBAL(addresses_capacity), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "200k", RANGE("100", "100m"), .topic = "Reputation",
	  .help = "How many spam addresses the list has room for. "
		"It takes n ln(1/p) / (ln 2)^2 bits, twice." },
	{ GLOBAL(addresses_error), RESTART, .kind = TIDE_PARAM_SHARE,
	  .fallback = "0.0001", RANGE("0.0000001", "0.1"),
	  .help = "The share of other addresses that a full list takes for "
		"spam. Exceptions take care of those that are known: see "
		"tidemark addresses check-against." },
	{ GLOBAL(addresses_form), RESTART, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "plain", .choices = addresses_forms,
	  .help = "plain: a bit a cell. counting: four bits a cell, so that an "
		"address can also be taken out, in four times the memory. "
		"After a change the list has to be loaded again." },
	{ GLOBAL(spam_reports), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "5k", RANGE("100", "10m"),
	  .help = "How many reported messages a generation of spam signatures "
		"has room for, and how many revoked ones. With the other "
		"defaults each takes 560 bytes. One that is full ends early." },
	{ GLOBAL(spam_error), RESTART, .kind = TIDE_PARAM_SHARE,
	  .fallback = "0.000001", RANGE("0.000000001", "0.01"),
	  .help = "The share of other texts and attachments that a full "
		"generation takes for reported ones." },
	{ GLOBAL(spam_generations), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "4", RANGE("1", "15"),
	  .help = "How many generations of reports are met. When a new one "
		"begins, the oldest is forgotten. After a change all are." },
	{ GLOBAL(spam_generation), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "1w", RANGE("1s", "520w"),
	  .help = "How long a generation of reports lasts." },
	{ GLOBAL(bulk_keys), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "100k", RANGE("1k", "100m"),
	  .help = "How many different messages a generation of bulk counts "
		"has room for. With the other defaults each takes 38 bytes." },
	{ GLOBAL(bulk_error), RESTART, .kind = TIDE_PARAM_SHARE,
	  .fallback = "0.001", RANGE("0.000001", "0.1"),
	  .help = "In a full generation, at most this share of the counts "
		"is too high. None is ever too low." },
	{ GLOBAL(bulk_bits), RESTART, .kind = TIDE_PARAM_COUNT,
	  .fallback = "5", RANGE("2", "8"),
	  .help = "Bits of a counting cell. With 5 it counts to 31 and stays "
		"there." },
	{ GLOBAL(bulk_span), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "1d", RANGE("1s", "52w"),
	  .help = "How long a generation of bulk counts lasts. Copies of this "
		"and of the one before are counted. Generations begin at whole "
		"multiples of it since 1970, so that servers which exchange "
		"counts turn together." },

	{ GLOBAL(egress_mode), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "enforce", .choices = egress_modes,
	  .topic = "Other ways out",
	  .help = "What tidemark egress apply makes the kernel do with a "
		"connection that the lists refuse: dry-run only counts it, "
		"enforce resets it." },
	{ GLOBAL(egress_ports), RELOAD, .kind = TIDE_PARAM_WORDS,
	  .fallback = "25 465 587",
	  .help = "The TCP ports that the lists are about." },
	{ GLOBAL(egress_hooks), RELOAD, .kind = TIDE_PARAM_WORDS,
	  .fallback = "forward",
	  .help = "Which packets are looked at: forward, those that pass "
		"through this machine; output, its own, where customers have "
		"programs on it." },
	{ GLOBAL(egress_bans), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "off", .choices = switches,
	  .help = "Whether a banned client's address or network may reach "
		"none of these ports while the ban stands." },
	{ GLOBAL(egress_table), RELOAD, .kind = TIDE_PARAM_STRING,
	  .fallback = "tidemark",
	  .help = "The name of the nftables table (of family inet) that is "
		"ours alone: it is replaced and removed as a whole." },

	{ GLOBAL(web_listen), RELOAD, .kind = TIDE_PARAM_STRING,
	  .fallback = "", .topic = "The page",
	  .help = "Where tidemark-web serves its page and /metrics: "
		"127.0.0.1:PORT, [::1]:PORT or unix:PATH. Nothing that other "
		"machines could reach: it asks nobody who they are. Empty "
		"serves nothing. tidemark-web reads these settings when it "
		"starts." },
	{ GLOBAL(web_mask), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "yes", .choices = no_yes,
	  .help = "Whether addresses are masked on the page, in what it "
		"exports and in all else that it sends: s***s@example.org, "
		"192.0.*.*." },
	{ GLOBAL(web_socket_mode), RELOAD, .kind = TIDE_PARAM_MODE,
	  .fallback = "0660",
	  .help = "Permissions of a socket at unix:PATH." },
	{ GLOBAL(web_socket_group), RELOAD, .kind = TIDE_PARAM_STRING,
	  .fallback = "",
	  .help = "The group of a socket at unix:PATH, such as a proxy's. "
		"Empty leaves that of tidemark-web." },

	{ PROFILE(socket), RESTART, .kind = TIDE_PARAM_SOCKET,
	  .fallback = "local:RUNTIME_DIR/NAME.sock",
	  .help = "Where the mail server finds this profile: "
		"local:PATH, or inet:PORT@ADDRESS, which off loopback needs "
		"peers." },
	{ PROFILE(socket_mode), RESTART, .kind = TIDE_PARAM_MODE,
	  .fallback = "0660",
	  .help = "Permissions of a local socket." },
	{ PROFILE(socket_group), RESTART, .kind = TIDE_PARAM_STRING,
	  .fallback = "",
	  .help = "The group of a local socket, such as the mail server's; "
		"the daemon's user has to be in it. Empty means tidemark-mta "
		"where that is so, and else the daemon's own." },
	{ PROFILE(peers), RELOAD, .kind = TIDE_PARAM_WORDS, .fallback = "",
	  .help = "Of an inet: socket: addresses and networks of the mail "
		"servers that may connect, such as 192.0.2.7 2001:db8::/64. "
		"Any other connection is closed at once; loopback always may. "
		"A server on this machine that connects to another address "
		"than loopback comes from that address: name it, too." },
	{ PROFILE(workers_reserved), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "0", RANGE("0", "4096"),
	  .help = "How many of max_workers are kept for connections of this "
		"profile: whoever fills up the others leaves it these. "
		"0 means an equal part of a quarter of max_workers." },
	{ PROFILE(workers_most), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "0", RANGE("0", "4096"),
	  .help = "How many of max_workers it may have at once; further "
		"connections wait. 0 means all but what is kept for the "
		"others." },
	{ PROFILE(daemons), RELOAD, .kind = TIDE_PARAM_WORDS, .fallback = "",
	  .help = "Mail that comes from a daemon with one of these names "
		"({daemon_name}) gets this profile, "
		"whichever socket it came through. "
		"The default is MTA-ext for the profile external, "
		"MTA-int for internal, and empty for any other." },
	{ PROFILE(on_error), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "accept", .choices = on_errors,
	  .help = "What happens to mail while Tidemark cannot do its work." },
	{ PROFILE(sender_key), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "address+network", .choices = sender_keys,
	  .help = "Who a sender is: the address together with the client's "
		"network, so that nobody is banned by forgery, or the address "
		"alone. Where the sender is authenticated it is the account." },
	{ PROFILE(ban_answer), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "reject", .choices = ban_answers,
	  .help = "How a banned sender is answered." },
	{ PROFILE(ban_at), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "rcpt", .choices = ban_places,
	  .help = "When a banned sender is answered. At rcpt, postmaster and "
		"abuse can still be written to, but who guesses addresses "
		"goes on learning which ones there are: the mail server "
		"itself answers 5.1.1 for those that are not. mail refuses "
		"before any recipient is named, and shuts out postmaster@ and "
		"abuse@, too. A policy server is only asked at RCPT." },
	{ PROFILE(allow), RELOAD, .kind = TIDE_PARAM_WORDS, .fallback = "",
	  .help = "Never charged and never refused: client addresses and "
		"networks (192.0.2.0/24), such as your own and your secondary "
		"MX; accounts, auth:NAME; an address or @domain in a network, "
		"news@example.org|192.0.2.0/24. Where the sender is "
		"authenticated, what it writes into the envelope does not "
		"count: only its account and its client do." },
	{ PROFILE(allow_forgeable), RELOAD, .kind = TIDE_PARAM_WORDS,
	  .fallback = "",
	  .help = "Addresses and @domains that are never charged and never "
		"refused, wherever they come from. Anybody who is not "
		"authenticated and writes one of them into the envelope "
		"escapes every limit and every ban: better name their "
		"networks in allow." },
	{ PROFILE(protected_to), RELOAD, .kind = TIDE_PARAM_WORDS,
	  .fallback = "",
	  .help = "Mailboxes that only protected_from may write to." },
	{ PROFILE(protected_from), RELOAD, .kind = TIDE_PARAM_WORDS,
	  .fallback = "",
	  .help = "Addresses and @domains that may write to protected_to." },
	{ PROFILE(ipv6_64), RELOAD, .kind = TIDE_PARAM_COUNT, .fallback = "1",
	  RANGE("0", "1k"),
	  .help = "All addresses of an IPv6 /64 together may send so many "
		"times what one client may. 0: not counted." },
	{ PROFILE(ipv6_56), RELOAD, .kind = TIDE_PARAM_COUNT, .fallback = "4",
	  RANGE("0", "1k"), .help = "The same for a /56." },
	{ PROFILE(ipv6_48), RELOAD, .kind = TIDE_PARAM_COUNT, .fallback = "16",
	  RANGE("0", "1k"), .help = "The same for a /48." },
	{ PROFILE(content_blocked_header), RELOAD, .kind = TIDE_PARAM_WORDS,
	  .fallback = "",
	  .help = "Headers by which a filter that ran before Tidemark marks "
		"a message as blocked, each as NAME:BEGINNING without a space, "
		"such as X-Spam-Flag:YES. Anybody outside can write such a "
		"header: it counts towards bans only with "
		"content_blocked_mark. Without it the message is treated as "
		"any other, with content=flagged in its log line." },
	{ PROFILE(content_blocked_mark), RELOAD, .kind = TIDE_PARAM_STRING,
	  .fallback = "",
	  .help = "A word of 8 letters and digits or more that your filter "
		"writes into such a header and outsiders do not know. A "
		"message with it is a drop in the groups CBSENDER and CBIP, "
		"beside OKSENDER and OKIP. A header whose name begins with "
		"X-Tidemark- is taken off again, so that the mark reaches "
		"nobody: let the filter write, say, X-Tidemark-Verdict: "
		"blocked and the mark." },
	GROUP(OKSENDER, oksender, "500/h", "10s", "1h", "each message accepted"),
	GROUP(OKIP, okip, "2k/h", "2s", "1h", "each message accepted"),
	GROUP(UNSENDER, unsender, "30/h", "3min", "1h",
	    "each recipient that does not exist"),
	GROUP(UNIP, unip, "60/h", "2min", "1h",
	    "each recipient that does not exist"),
	GROUP(CBSENDER, cbsender, "20/h", "4min", "2h",
	    "each message blocked for its content"),
	GROUP(CBIP, cbip, "50/h", "2min", "2h",
	    "each message blocked for its content"),
	GROUP(RBSENDER, rbsender, "10/h", "10min", "2h",
	    "each attempt on a protected mailbox"),
	GROUP(SBSENDER, sbsender, "20/h", "5min", "2h",
	    "each attempt while banned, which lengthens the ban"),
	{ PROFILE(tokens_mode), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "off", .choices = modes,
	  .help = "Outgoing allowances, in tokens: off; dry-run counts what "
		"it would have refused; enforce refuses." },
	{ PROFILE(tokens_burst), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "100", RANGE("0", "1m"),
	  .help = "The most tokens that an account holds, "
		"and has when it is new." },
	{ PROFILE(tokens_rate), RELOAD, .kind = TIDE_PARAM_RATE,
	  .fallback = "100/d",
	  .help = "How fast they come back. In any time an account gets no "
		"more than the burst and what came back in it." },
	{ PROFILE(tokens_cost), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "1", RANGE("1", "1m"),
	  .help = "How many tokens a recipient costs." },
	{ PROFILE(tokens_per_data), RELOAD, .kind = TIDE_PARAM_SIZE,
	  .fallback = "0", RANGE("0", "1T"),
	  .help = "A recipient costs one token more for each so much data, and "
		"a part of one for a part of it. It goes by the size that the "
		"client announces in MAIL; one that announces none pays only "
		"tokens_cost. 0 is no such cost." },
	{ PROFILE(tokens_action), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "reject", .choices = tokens_actions,
	  .help = "How a recipient is answered that the tokens do not suffice "
		"for, or that is one too many: reject (554), or delay (451), "
		"which says when to come back." },
	{ PROFILE(account_key), RELOAD, .kind = TIDE_PARAM_WORDS,
	  .fallback = "user sender client",
	  .help = "Whose the allowance is: the first of these that the message "
		"has. user is the authenticated one, sender that of the "
		"envelope (see sender_key), client the client's address." },
	{ PROFILE(tokens_overrides), RELOAD, .kind = TIDE_PARAM_PATH,
	  .fallback = "",
	  .help = "A file with allowances of their own, a line each: "
		"KEY BURST RATE. It is read again with the configuration." },
	{ PROFILE(tokens_also), RELOAD, .kind = TIDE_PARAM_WORDS,
	  .fallback = "",
	  .help = "Further limits on every account beside tokens_burst and "
		"tokens_rate, up to four, a word each: BURST:RATE, such as "
		"20:20/1h. A recipient is charged to all of them or to none. "
		"They do not hold for accounts in tokens_overrides." },
	{ PROFILE(distinct_mode), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "off", .choices = modes,
	  .help = "A limit on different recipients: off; dry-run counts what "
		"it would have refused; enforce refuses." },
	{ PROFILE(distinct_limit), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "0", RANGE("0", "1m"),
	  .help = "How many different recipients an account may write to in "
		"a day, an estimate within a tenth. 0 is no limit." },
	{ PROFILE(clients_mode), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "off", .choices = modes,
	  .help = "A limit on different client addresses: off; dry-run counts "
		"what it would have refused; enforce refuses." },
	{ PROFILE(clients_limit), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "0", RANGE("0", "1m"),
	  .help = "How many different client addresses an account may send "
		"from in a day, an estimate within a tenth. An IPv6 /64 is "
		"one. 0 is no limit. For profiles whose senders authenticate: "
		"elsewhere an account is often a client's network, and a "
		"forged sender would shut out its owner. An account with this "
		"and distinct_limit counts twice for max_accounts." },
	{ PROFILE(text_log), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "no", .choices = no_yes,
	  .help = "Log a line for each part of a message: its kind, type and "
		"size, and how much text was found in it." },
	{ PROFILE(remember_content), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "yes", .choices = no_yes,
	  .help = "Whether the text of this profile's mail can be asked for "
		"later (see memory)." },
	{ PROFILE(remember_refused), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "no", .choices = no_yes,
	  .help = "Whether mail that Tidemark itself refused at the end of "
		"the message is remembered as well: its addresses and its "
		"text." },
	{ PROFILE(addresses_mode), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "off", .choices = modes,
	  .help = "Senders on the list of spam addresses (tidemark addresses) "
		"that are no exception (tidemark except): off; dry-run counts "
		"what it would have done; enforce does it." },
	{ PROFILE(addresses_action), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "reject", .choices = check_actions,
	  .help = "What is done to them: reject and tempfail answer each "
		"recipient, but for postmaster and abuse; tag adds the header "
		"X-Tidemark-Address; block does so and counts the message as "
		"blocked for its content (CBSENDER and CBIP)." },
	{ PROFILE(spam_mode), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "off", .choices = modes,
	  .help = "Messages that were reported as spam, or are near copies of "
		"one (tidemark spam), unless the sender is an exception: off; "
		"dry-run counts what it would have done; enforce does it." },
	{ PROFILE(spam_action), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "reject", .choices = check_actions,
	  .help = "What is done to them: reject, which counts them as blocked "
		"for their content; tempfail; tag, which adds the header "
		"X-Tidemark-Spam; block, which does so and counts." },
	{ PROFILE(bulk_mode), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "off", .choices = modes,
	  .help = "Copies of one text, or of one attachment where there is no "
		"text: off; dry-run counts them and says what it would have "
		"done; enforce does it." },
	{ PROFILE(bulk_threshold), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "20", RANGE("2", "255"),
	  .help = "So many copies are bulk mail, unless the sender is among "
		"the exceptions." },
	{ PROFILE(bulk_action), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "tag", .choices = check_actions,
	  .help = "What becomes of it: tag passes it with a header "
		"X-Tidemark-Bulk, which has the count; tempfail (451); reject "
		"(550). Nobody is banned for it: the first copies may have "
		"been somebody else's. block is the same as tag here." },
	{ PROFILE(bulk_counts), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "message", .choices = bulk_copies,
	  .help = "What is a copy: the message, or each of its recipients." },
	{ PROFILE(charged_by), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "milter", .choices = chargers,
	  .help = "Who charges where Postfix asks both for the same mail, so "
		"that a message is charged once: the milter, or the policy "
		"server. The other one still refuses the banned. Unknown users "
		"and blocked content are always the milter's: nobody else sees "
		"them. Where only the policy server is asked, it must be "
		"policy." },

	{ POLICY(profile), RESTART, .kind = TIDE_PARAM_STRING,
	  .fallback = "internal",
	  .help = "The profile that its mail is treated by, which needs "
		"charged_by = policy, or, if its milter is asked as well and "
		"is to charge, charged_by = milter in so many words." },
	{ POLICY(socket), RESTART, .kind = TIDE_PARAM_SOCKET,
	  .fallback = "local:RUNTIME_DIR/NAME-policy.sock",
	  .help = "Where Postfix finds it: local:PATH, or inet:PORT@ADDRESS, "
		"which off loopback needs peers. In main.cf the same is unix:PATH or inet:ADDRESS:PORT." },
	{ POLICY(socket_mode), RESTART, .kind = TIDE_PARAM_MODE,
	  .fallback = "0660",
	  .help = "Permissions of a local socket." },
	{ POLICY(socket_group), RESTART, .kind = TIDE_PARAM_STRING,
	  .fallback = "",
	  .help = "The group of a local socket, such as postfix; the "
		"daemon's user has to be in it. Empty means tidemark-mta "
		"where that is so, and else the daemon's own." },
	{ POLICY(peers), RELOAD, .kind = TIDE_PARAM_WORDS, .fallback = "",
	  .help = "Of an inet: socket: addresses and networks of the mail "
		"servers that may connect, such as 192.0.2.7 2001:db8::/64. "
		"Any other connection is closed at once; loopback always may. "
		"A server on this machine that connects to another address "
		"than loopback comes from that address: name it, too." },
	{ POLICY(workers_reserved), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "0", RANGE("0", "4096"),
	  .help = "How many of max_workers are kept for connections of this "
		"policy service: whoever fills up the others leaves it these. "
		"0 means an equal part of a quarter of max_workers." },
	{ POLICY(workers_most), RELOAD, .kind = TIDE_PARAM_COUNT,
	  .fallback = "0", RANGE("0", "4096"),
	  .help = "How many of max_workers it may have at once; further "
		"connections wait. 0 means all but what is kept for the "
		"others." },
	{ POLICY(last_request), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "end-of-message", .choices = last_requests,
	  .help = "The last request that Postfix makes for a message, by the "
		"restrictions that check_policy_service stands in: "
		"smtpd_end_of_data_restrictions, smtpd_data_restrictions, or "
		"smtpd_recipient_restrictions alone. A message that does not "
		"get so far is given its tokens back; after rcpt nothing is." },
	{ POLICY(action), RELOAD, .kind = TIDE_PARAM_CHOICE,
	  .fallback = "refuse", .choices = policy_actions,
	  .help = "What happens to mail that would be refused: refuse answers "
		"as the profile says; hold puts the message into Postfix's "
		"hold queue; prepend lets it pass with a header." },
	{ POLICY(prepend_header), RELOAD, .kind = TIDE_PARAM_STRING,
	  .fallback = "X-Tidemark",
	  .help = "The name of that header. Its value says why." },
	{ POLICY(request_timeout), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "10s", RANGE("10ms", "10min"),
	  .help = "A request that has begun must be here, and an answer be "
		"taken, within this time, or the connection is closed." },
	{ POLICY(idle_timeout), RELOAD, .kind = TIDE_PARAM_TIME,
	  .fallback = "15min", RANGE("10ms", "1d"),
	  .help = "A connection without a request for this long is closed. "
		"Postfix itself closes it after smtpd_policy_service_max_idle, "
		"300s." },
};
/* clang-format on */

#define COUNT (sizeof tide_params / sizeof *tide_params)
_Static_assert(COUNT <= TIDE_PARAMS_MAX, "raise TIDE_PARAMS_MAX");
const size_t tide_params_count = COUNT;

const struct tide_param tide_param_profiles = { GLOBAL(profiles), RESTART,
	.kind = TIDE_PARAM_COUNT, .fallback = "2",
	.help = "The profiles there are." };
const struct tide_param tide_param_policies = { GLOBAL(policies), RESTART,
	.kind = TIDE_PARAM_COUNT, .fallback = "0",
	.help = "The policy servers there are." };

const struct tide_param *
tide_param_find(const char *name, enum tide_param_section section)
{
	for (size_t i = 0; i < COUNT; i++)
		if (tide_params[i].section == section &&
		    strcmp(tide_params[i].name, name) == 0)
			return &tide_params[i];
	return NULL;
}

static bool
same_profiles(const struct tide_config *a, const struct tide_config *b)
{
	if (a->profiles != b->profiles)
		return false;
	for (unsigned i = 0; i < a->profiles; i++)
		if (strcmp(a->profile[i].name, b->profile[i].name) != 0)
			return false;
	return true;
}

static bool
same_policies(const struct tide_config *a, const struct tide_config *b)
{
	if (a->policies != b->policies)
		return false;
	for (unsigned i = 0; i < a->policies; i++)
		if (strcmp(a->policy[i].name, b->policy[i].name) != 0)
			return false;
	return true;
}

static bool
same_value(const struct tide_param *p, const struct tide_config *a,
    const struct tide_config *b, unsigned index)
{
	char one[TIDE_PARAM_TEXT_MAX], other[TIDE_PARAM_TEXT_MAX];

	return strcmp(tide_param_show(p, a, index, one, sizeof one),
		   tide_param_show(p, b, index, other, sizeof other)) == 0;
}

/* The first RESTART setting of one section that differs. */
static const struct tide_param *
first_change(const struct tide_config *old, const struct tide_config *new,
    enum tide_param_section section, unsigned index)
{
	for (size_t i = 0; i < COUNT; i++) {
		const struct tide_param *p = &tide_params[i];

		if (p->change == TIDE_CHANGE_RESTART && p->section == section &&
		    !same_value(p, old, new, index))
			return p;
	}
	return NULL;
}

const struct tide_param *
tide_params_need_restart(
    const struct tide_config *old, const struct tide_config *new, int *index)
{
	const struct tide_param *p = first_change(old, new, TIDE_OF_ALL, 0);

	*index = -1;
	if (p == NULL && !same_profiles(old, new))
		p = &tide_param_profiles;
	if (p == NULL && !same_policies(old, new))
		p = &tide_param_policies;
	for (unsigned i = 0; p == NULL && i < old->profiles; i++) {
		p = first_change(old, new, TIDE_OF_PROFILE, i);
		*index = p != NULL ? (int)i : -1;
	}
	for (unsigned i = 0; p == NULL && i < old->policies; i++) {
		p = first_change(old, new, TIDE_OF_POLICY, i);
		*index = p != NULL ? (int)i : -1;
	}
	return p;
}

bool
tide_profiles_are_default(const struct tide_config *c)
{
	struct tide_config built_in;

	tide_config_defaults(&built_in, NULL);
	if (!same_profiles(c, &built_in))
		return false;
	for (unsigned i = 0; i < c->profiles; i++)
		for (size_t k = 0; k < COUNT; k++)
			if (tide_params[k].section == TIDE_OF_PROFILE &&
			    !tide_param_is_default(&tide_params[k], c, i))
				return false;
	return true;
}
