/*
 * commands - the table of subcommands.  Help, completion, `help --json' and
 * the dispatcher are all made from it.
 */
#include <string.h>

#include "read/output.h"
#include "tidemark/base/nearest.h"
#include "tool.h"

static const struct command commands[] = {
	{ "status", "[-v] [--json]", "how the daemon and its windows are doing",
	    "  -v, --verbose  each worker, and every counter that is not 0\n"
	    "\n"
	    "Exits 0 if collector and acceptor are at work, 1 if one of them\n"
	    "is not or the archive cannot be written, 2 on an error.\n",
	    run_status },
	{ "top",
	    "[-b] [-n N] [-1] [-s COLUMN] [-F TEXT] [-d SECONDS] [-U]\n"
	    "                [--view levels | bans | flow | memory | workers | "
	    "map]\n"
	    "                [--readonly] [--wait TIME] [--note TEXT] [--json]",
	    "watch levels, bans, flow, memory, workers and the map",
	    "  -b, --batch        print samples instead of drawing a screen\n"
	    "  -n N               so many of them (default: without end)\n"
	    "  -1                 one of them\n"
	    "      --view VIEW    which one (default levels)\n"
	    "  -s, --sort COLUMN  sort by that column\n"
	    "  -F, --filter TEXT  only rows that hold TEXT\n"
	    "  -d, --interval SECONDS\n"
	    "                     how often to look (default 1)\n"
	    "  -U, --ascii        no block characters\n"
	    "      --readonly     neither u nor r\n"
	    "      --wait TIME    for a daemon that is not up yet (default: "
	    "without\n"
	    "                     end on a terminal, 5s in batch)\n"
	    "      --note TEXT    keep it on show above the line of keys\n"
	    "\n"
	    "On a terminal: h for the keys, q to end.  It reads the map alone; "
	    "the\ndaemon does not notice.\n"
	    "Exits 0 when it was ended, 2 on an error.\n",
	    run_top },
	{ "query",
	    "[--text TEXT | --file F | --message F] [--from ADDR]\n"
	    "                [--to ADDR] [--since T] [--until T] "
	    "[--guess F] [--json]\n"
	    "                [--offline DIR]",
	    "did mail from, to or with this pass here, and when",
	    "      --text TEXT    an excerpt, as somebody copied it; a lone "
	    "* in it\n"
	    "                     stands for what is not known\n"
	    "      --guess F      for that one *, try each line of F\n"
	    "      --file F       a file that may have been attached\n"
	    "      --message F    a message: how much of it was seen? - or "
	    "nothing\n"
	    "                     else asked is standard input\n"
	    "      --from ADDR    the sender: an address, @domain, or <>\n"
	    "      --to ADDR      a recipient; all that is asked for has to "
	    "be in\n"
	    "                     one window\n"
	    "      --since T      not before: 2026-11-16, 2026-11-16T12:37,\n"
	    "                     3h (ago), @SECONDS; local time, or UTC with Z\n"
	    "      --until T      not after\n"
	    "      --offline DIR  ask the archive in DIR, without the daemon\n"
	    "\n"
	    "Exits 0 if it was found (probably), 1 if it certainly did not\n"
	    "pass, 2 on an error, 3 if it was not found but there are times of\n"
	    "which nothing is known.  Ctrl-C ends a long question with what "
	    "was\nfound.\n",
	    run_query },
	{ "why", "KEY | QUEUE-ID | SESSION-ID [--json]",
	    "how full the buckets of a sender or client are, and why it was "
	    "refused",
	    "KEY is an address, @domain, IP address, auth:USER, or a key as it "
	    "stands\nin the log.  For an address, its senders of every network "
	    "are shown.\n"
	    "\n"
	    "Exits 0 if something is known of it, 1 if nothing is, 2 on an "
	    "error.\n",
	    run_why },
	{ "tail", "[-n N] [--filter TEXT] [--once] [--json]",
	    "follow the decisions as they are made",
	    "  -n N               begin with the last N (default 10)\n"
	    "      --filter TEXT  only lines that hold TEXT\n"
	    "      --once         do not wait for more\n"
	    "\n"
	    "Says how many it missed when it was too slow.\n",
	    run_tail },
	{ "banned", "[KEY] [--json]", "who is banned, why, and until when",
	    "With KEY, all that stands in its way: also a ban of its domain or\n"
	    "of a network around it.\n"
	    "\n"
	    "Exits 0 if a ban stands, 1 if none does, 2 on an error.\n",
	    run_banned },
	{ "ban", "KEY [--for TIME] [--reason TEXT] [--json]",
	    "refuse a sender, a domain, a client or a network",
	    "KEY is an address, @domain, client or network (192.0.2.0/24), or\n"
	    "a key as in the log.\n"
	    "\n"
	    "      --for TIME     how long (default 1h)\n"
	    "      --reason TEXT  for those who ask later\n"
	    "\n"
	    "Exits 0 if it was done, 1 if it was refused, 2 on an error.\n",
	    run_ban },
	{ "unban", "KEY... [--json]", "lift bans at once",
	    "An address also lifts its bans at some network, as overflows make\n"
	    "them.\n"
	    "\n"
	    "Exits 0 if it was done, 1 if there was no ban, 2 on an error.\n",
	    run_unban },
	{ "bucket",
	    "list [--group G] [--profile P] [--sort level | key] [-n N]\n"
	    "                [--json]\n"
	    "       tidemark bucket reset KEY [--group G] [--profile P] "
	    "[--json]",
	    "how full the leaky buckets are, and emptying them",
	    "      --group G      only that group, as OKSENDER\n"
	    "      --profile P    only that profile\n"
	    "      --sort HOW     by level, the fullest first (default), or by "
	    "key\n"
	    "  -n N               no more than N of them\n"
	    "\n"
	    "Exits 0 if there was one, 1 if not, 2 on an error.\n",
	    run_bucket },
	{ "report",
	    "content-blocked --sender ADDR --ip ADDR [--profile P] [--json]\n"
	    "       tidemark report content-blocked --queue-id QID [--json]",
	    "charge a sender for mail that was blocked elsewhere",
	    "      --sender ADDR  of the envelope\n"
	    "      --ip ADDR      the client that brought it\n"
	    "      --profile P    whose limits count (default the first)\n"
	    "      --queue-id QID all of that, from the decision about it\n"
	    "\n"
	    "Exits 0 if it was done, 1 if it was refused, 2 on an error.\n",
	    run_report },
	{ "bypass", "on [--for TIME] | off | status [--json]",
	    "let every profile accept all mail for a while",
	    "      --for TIME     how long (default 1h)\n"
	    "\n"
	    "Exits 0 if it was done, 1 if it was refused, 2 on an error;\n"
	    "with status, 0 if the bypass is on and 1 if it is off.\n",
	    run_bypass },
	{ "addresses",
	    "load FILE... | merge LIST... | export\n"
	    "       tidemark addresses add | del | test ADDR... [--json]\n"
	    "       tidemark addresses check-against FILE... [--except] "
	    "[--json]\n"
	    "       tidemark addresses stats [--json]",
	    "the list of spam addresses",
	    "FILE is a plain list, an address or @domain a line, # for "
	    "comments, - for\nstandard input; LIST is what export wrote.  "
	    "load replaces the whole list\nat once.\n"
	    "\n"
	    "      --except       make exceptions of the good addresses that "
	    "are found\n"
	    "\n"
	    "Exits 0 if it was done, 1 if it was refused, 2 on an error; test "
	    "exits 0\nif one is spam and 1 if none is, check-against 0 if "
	    "none is.\n",
	    run_addresses },
	{ "except", "add KEY... [--reason TEXT] | del KEY... | list [--json]",
	    "senders that no reputation counts against",
	    "KEY is an address or a domain.\n"
	    "\n"
	    "      --reason TEXT  for those who ask later\n"
	    "\n"
	    "Exits 0 if it was done, 1 if there was none, 2 on an error.\n",
	    run_except },
	{ "spam",
	    "report | revoke | test [--to ADDR]... [--no-files] [--json] "
	    "[MESSAGE]\n"
	    "       tidemark spam stats [--json]",
	    "reported spam: report a message, take that back, look it up",
	    "MESSAGE is a file, headers first; - or none is standard input.\n"
	    "\n"
	    "      --to ADDR      a recipient that no header names: its address "
	    "in the\n"
	    "                     text is not signed\n"
	    "      --no-files     only the text, no attachment\n"
	    "\n"
	    "Exits 0 if it was done, 1 if it was refused, 2 on an error; test "
	    "exits 0\nif it is spam, 1 if not.\n",
	    run_spam },
	{ "bulk", "test [--to ADDRESS]... [--json] [FILE] | stats [--json]",
	    "copies of one message: how many were seen",
	    "test reads a message, on standard input unless a FILE is named.\n"
	    "\n"
	    "      --to ADDRESS   a recipient that its headers do not name\n"
	    "\n"
	    "test exits 0 if copies were seen, 1 if not, 2 on an error.\n",
	    run_bulk },
	{ "export", "[--delta SINCE] > FILE\n       tidemark export --key",
	    "own bulk counts and reports of spam, for neighbours to merge",
	    "      --delta SINCE  only what has changed since that export, a "
	    "number;\n"
	    "                     or since the last one: last\n"
	    "      --key          the hash key instead, a secret: servers that "
	    "exchange\n"
	    "                     counts need the same one\n"
	    "\n"
	    "Exits 0, 1 if it was refused, 2 on an error.\n",
	    run_export },
	{ "merge", "FILE... [--json]",
	    "add a neighbour's counts and reports to ours",
	    "FILE is what export wrote on another server; - is standard "
	    "input.  Each is\nmerged wholly or not at all, and once.\n"
	    "\n"
	    "Exits 0 if all were merged, 1 if one was refused, 2 on an "
	    "error.\n",
	    run_merge },
	{ "egress",
	    "deny add NET... | permit add CUSTOMER SERVER...\n"
	    "                [--for TIME] [--reason TEXT] [--origin TEXT]\n"
	    "       tidemark egress deny del NET... | permit del CUSTOMER "
	    "SERVER...\n"
	    "       tidemark egress deny list | permit list [--json]\n"
	    "       tidemark egress deny import FILE | permit import FILE\n"
	    "                [--for TIME] [--reason TEXT] [--origin TEXT] "
	    "[--replace]\n"
	    "       tidemark egress deny check IP | permit check CUSTOMER "
	    "SERVER\n"
	    "       tidemark egress check [--port N] [--timeout TIME] "
	    "[--rcpt ADDR] [IP...]\n"
	    "       tidemark egress apply [--follow] | show | stats | remove",
	    "which mail servers customers may reach without us",
	    "NET, CUSTOMER and SERVER are addresses or networks.  Nobody may "
	    "reach\nwhat is on the deny list; who is on the permit list may "
	    "reach only the\nservers registered for it.  FILE has an entry a "
	    "line; - is standard input.\n"
	    "\n"
	    "      --for TIME     how long it stands (default for good)\n"
	    "      --reason TEXT  for those who ask later\n"
	    "      --origin TEXT  who or what added it (default you, or the "
	    "file)\n"
	    "      --replace      drop what has the same origin and is not in "
	    "FILE\n"
	    "      --port N       to probe (default 25)\n"
	    "      --timeout TIME for one probe (default 10s)\n"
	    "      --rcpt ADDR    the stranger that must be refused\n"
	    "                     (default postmaster@example.com)\n"
	    "      --follow       stay, and keep the kernel in step\n"
	    "\n"
	    "apply puts the lists into the kernel as a table of nftables; show "
	    "prints\nthat table, stats what it counted, remove takes it away.\n"
	    "Exits 0 if it was done or is so, 1 if not, 2 on an error.\n",
	    run_egress },
	{ "replay", "[--share S] [--profile P] [--json] FILE...",
	    "what the limits would have done to the mail in a log or mailbox",
	    "      --share S      recommend limits that touch no more than this\n"
	    "                     share of the senders (default 0.1%)\n"
	    "      --profile P    whose limits hold for mailboxes (default the\n"
	    "                     first)\n"
	    "\n"
	    "FILE is a log of ours, an mbox or a maildir, - for standard "
	    "input.  No\ndaemon is needed.\n"
	    "Exits 0 if nothing would have overflowed, 1 if something would, "
	    "2 on\nan error.\n",
	    run_replay },
	{ "size",
	    "leaky --limit M/T [--leak TIME | --depth K] [--json]\n"
	    "       tidemark size tokens --burst B --rate R [--json]\n"
	    "       tidemark size tokens --most M/T --sustained R [--json]\n"
	    "       tidemark size [map] [--json]",
	    "work out limits, and what they let through; or the live map",
	    "      --limit M/T    at most M in T, as 100/1h\n"
	    "      --leak TIME    one drop leaks each; gives the depth\n"
	    "      --depth K      how much at once (default M/2); gives the "
	    "leak\n"
	    "      --burst B      tokens at most\n"
	    "      --rate R       of refilling, as 100/1d\n"
	    "      --most M/T     at most M in T; with\n"
	    "      --sustained R  gives the burst\n"
	    "\n"
	    "map: how large the live map is with these settings, region by "
	    "region.\n"
	    "Exits 0 if it fits, 1 if not, with the arithmetic, 2 on an "
	    "error.\n",
	    run_size },
	{ "normalise", "[--text TEXT | FILE] [--json]",
	    "what is kept of a message to be found by, part by part",
	    "      --text TEXT    an excerpt instead of a message\n"
	    "\n"
	    "FILE is a message, headers first; - or none is standard input.\n"
	    "Exits 0, 1 if a cap cut something off, 2 on an error.\n",
	    run_normalise },
	{ "configtest", "", "check the configuration",
	    "Exits 0 if it is fine, 1 if not, with every complaint.\n",
	    run_configtest },
	{ "config", "[-n] [--json] | --sample | --man", "show the settings",
	    "  -n                 only what differs from the defaults\n"
	    "      --sample       a commented configuration file\n"
	    "      --man          the list for the manual, in mdoc(7)\n",
	    run_config },
	{ "reload", "[--json]", "make the daemon read its configuration again",
	    "It is checked first; the old one stays if the new one is wrong.\n"
	    "Exits 0 if it was taken over, 1 if it was refused, 2 on an "
	    "error.\n",
	    run_reload },
	{ "setup",
	    "sendmail | postfix\n"
	    "                [--apply | --undo [--if-unchanged] | --check] "
	    "[--json]\n"
	    "                [--mc FILE] [--cf FILE] [--main-cf DIR]\n"
	    "                [--program FILE]",
	    "attach Tidemark to the mail server, or find what is wrong",
	    "Without an option it prints what has to be changed, and changes "
	    "nothing.\n"
	    "\n"
	    "      --apply        do it; each file is checked first, and kept "
	    "as\n"
	    "                     FILE.tidemark-DATE\n"
	    "      --undo         put all of that back\n"
	    "      --if-unchanged all of it or nothing: only if nobody has "
	    "changed\n"
	    "                     one of the files since\n"
	    "      --check        look at what is there, and say what is "
	    "wrong\n"
	    "      --mc FILE      sendmail.mc (default /etc/mail/sendmail.mc)\n"
	    "      --cf FILE      sendmail.cf (default /etc/mail/sendmail.cf)\n"
	    "      --main-cf DIR  main.cf and master.cf (default "
	    "/etc/postfix)\n"
	    "      --program FILE the sendmail or postconf that checks\n"
	    "\n"
	    "Here --root DIR is a whole configuration tree: every file, user "
	    "and\ngroup below DIR.\n"
	    "Exits 0 if it was done or nothing is wrong, 1 if something is, 2 "
	    "on an\nerror.\n",
	    run_setup },
	{ "seal", "[--json]", "end the open window and store it now",
	    "Exits 0 if it was done, 1 if it was refused, 2 on an error.\n",
	    run_seal },
	{ "checkpoint", "[--json]", "save the live map in the archive now",
	    "Exits 0 if it was done, 1 if it was refused, 2 on an error.\n",
	    run_checkpoint },
	{ "backup", "DIR [--json]",
	    "copy everything that this Tidemark knows, while mail flows",
	    "DIR is new, or an empty folder.  The hash key goes with it: keep "
	    "it safe.\n"
	    "\n"
	    "Exits 0 if it was made, 1 if it was refused, 2 on an error.\n",
	    run_backup },
	{ "restore", "DIR [--check] [--force] [--json]",
	    "put a backup in the place of the state",
	    "      --check        only look whether DIR is whole\n"
	    "      --force        put a state that is there aside\n"
	    "\n"
	    "For a daemon that is stopped.\n"
	    "Exits 0 if it was done, 1 if it was refused, 2 on an error.\n",
	    run_restore },
	{ "forget", "ADDR [--dry-run] [--yes] [--unban] [--json]",
	    "remove what is known about somebody, and say what cannot be",
	    "ADDR is an address; or @domain, a client or network, auth:USER, "
	    "or a key as\nit stands in the log.\n"
	    "\n"
	    "      --dry-run      only say what would go\n"
	    "      --yes          do not ask first, on a terminal\n"
	    "      --unban        bans made by hand may go, too\n"
	    "\n"
	    "Exits 0 if something was removed, 1 if nothing was known, 2 on "
	    "an error.\n",
	    run_forget },
	{ "dump", "[--json | --mdb] [--live | --archive] [--offline DIR]",
	    "what the live map and the archive hold",
	    "      --live         only the live map\n"
	    "      --archive      only the archive\n"
	    "      --offline DIR  the archive in DIR\n"
	    "      --mdb          for mdb_load -n FILE; the archive, unless\n"
	    "                     --live is given.  Guard it as you\n"
	    "                     guard the archive\n",
	    run_dump },
	{ "counters", "[--json | --man]", "every counter, with its meaning",
	    "      --man          the list for the manual, in mdoc(7)\n",
	    run_counters },
	{ "metrics", "[--json]", "all that is counted, for Prometheus",
	    "The text format 0.0.4; no address is in it.\n"
	    "Exits 0, or 2 if there is no live map to read.\n",
	    run_metrics },
	{ "audit", "[--json]", "have the daemon check the buckets' books",
	    "Exits 0 if all agree, 1 if not, 2 on an error.\n", run_audit },
	{ "completion", "bash", "what bash completes, to be sourced",
	    "  source <(tidemark completion bash)\n", run_completion },
	{ "help", "[COMMAND] [--json]", "this list, or more about one command",
	    "", run_help },
};

#define COMMANDS (sizeof commands / sizeof *commands)

const struct command *
tool_commands(size_t *count)
{
	*count = COMMANDS;
	return commands;
}

const struct command *
tool_command(const char *name)
{
	const char *names[COMMANDS], *close;
	size_t i;

	for (i = 0; i < COMMANDS; i++) {
		names[i] = commands[i].name;
		if (strcmp(names[i], name) == 0)
			return &commands[i];
	}
	close = tide_nearest(name, names, COMMANDS);
	if (close != NULL)
		complain(
		    "there is no command «%s»; did you mean %s?", name, close);
	else
		complain("there is no command «%s»; see tidemark help", name);
	return NULL;
}
