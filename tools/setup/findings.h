/*
 * setup, findings - what can be wrong with a set-up, in one table.
 *
 * A note is no fault: it says what somebody should know.  Each finding is in
 * tidemark-setup(1) and has a case in tests/tools/setup/t_setup.sh.
 */
#ifndef TOOLS_SETUP_FINDINGS_H
#define TOOLS_SETUP_FINDINGS_H

enum setup_severity {
	SETUP_ERROR,
	SETUP_WARNING,
	SETUP_NOTE,
	SETUP_SEVERITIES
};

/* X(constant, "name", severity, what happens because of it, how to mend it) */
/* clang-format off */
#define SETUP_FINDINGS(X) \
	X(CONF_WRONG, "conf-wrong", ERROR, \
	    "The daemon does not start with it, and a reload keeps the old " \
	    "settings.", \
	    "tidemark configtest lists every mistake.") \
	X(SOCKET_MISSING, "socket-missing", ERROR, \
	    "The mail server cannot connect: all mail is treated as if " \
	    "Tidemark were down.", \
	    "Start Tidemark (systemctl start tidemark).") \
	X(SOCKET_KIND, "socket-kind", ERROR, \
	    "What is there is no socket: all mail is treated as if Tidemark " \
	    "were down.", \
	    "Remove what is there, and restart Tidemark.") \
	X(SOCKET_LINK, "socket-link", ERROR, \
	    "sendmail follows no link to a socket, and treats all mail as " \
	    "if Tidemark were down.", \
	    "Write the path that the link leads to, in S= and in socket =.") \
	X(SOCKET_DEAF, "socket-deaf", ERROR, \
	    "Nobody listens there: all mail is treated as if Tidemark were " \
	    "down.", \
	    "Start Tidemark (systemctl start tidemark).") \
	X(SOCKET_RIGHTS, "socket-rights", ERROR, \
	    "The mail server's user may not connect: all mail is treated as " \
	    "if Tidemark were down.", \
	    "Set socket_group to a group of that user (setup --apply does), " \
	    "and leave the folders at 0755.") \
	X(SOCKET_FOLDER, "socket-folder", ERROR, \
	    "sendmail refuses a socket that others could replace, and " \
	    "treats all mail as if Tidemark were down.", \
	    "Take the right to write away from group and world (chmod " \
	    "go-w), or move the socket.") \
	X(SOCKET_UNKNOWN, "socket-unknown", ERROR, \
	    "No profile and no policy server listens there: all mail is " \
	    "treated as if Tidemark were down.", \
	    "Write the path of socket = in tidemark.conf.") \
	X(SOCKET_INET, "socket-inet", WARNING, \
	    "Over TCP each step of a message may take 44 ms longer: the " \
	    "acknowledgement of one side waits for the other.", \
	    "Use a local: socket on the same machine.") \
	X(GROUP_UNKNOWN, "group-unknown", ERROR, \
	    "The daemon cannot give its socket to a group that is not " \
	    "there.", \
	    "Make the group, or name another as socket_group.") \
	X(GROUP_DENIED, "group-denied", ERROR, \
	    "Nobody can give a file to a group that he is not in: the daemon " \
	    "fails at its next start.", \
	    "SupplementaryGroups= in a drop-in of tidemark.service (setup " \
	    "--apply writes it).") \
	X(FILTERS_COMMA, "filters-comma", ERROR, \
	    "A comma ends the list: sendmail drops what is behind it, and " \
	    "says nothing.", \
	    "Write ; between the filters of a daemon.") \
	X(FILTER_UNDEFINED, "filter-undefined", ERROR, \
	    "sendmail's daemon does not start with a filter that is not " \
	    "defined.", \
	    "Define it with MAIL_FILTER, or take its name off the list.") \
	X(FILTER_UNUSED, "filter-unused", ERROR, \
	    "It is defined, but in the list of no daemon: it is never " \
	    "called.", \
	    "Put its name into InputMailFilters= of a daemon.") \
	X(DAEMON_UNFILTERED, "daemon-unfiltered", ERROR, \
	    "Mail that comes in there passes unseen, unlimited, and is not " \
	    "found later.", \
	    "Give it Tidemark's filter (setup --apply does).") \
	X(MSA_UNFILTERED, "msa-unfiltered", ERROR, \
	    "sendmail adds this daemon by itself, without any filter: mail " \
	    "to port 587 passes unseen.", \
	    "FEATURE(`no_default_msa') and a DAEMON_OPTIONS of your own " \
	    "(setup --apply writes them).") \
	X(DAEMON_PROFILE, "daemon-profile", ERROR, \
	    "The name decides, not the socket: this mail gets the other " \
	    "profile's limits.", \
	    "Give it the socket of that profile, or its name to the other " \
	    "one's daemons =.") \
	X(DAEMON_SAME, "daemon-same", ERROR, \
	    "Both have one name, and the name decides on the profile: one of " \
	    "them gets the limits of the other.", \
	    "Give each a name of its own.") \
	X(DAEMON_UNNAMED, "daemon-unnamed", WARNING, \
	    "Its name is in no profile's daemons =, so the socket decides: " \
	    "mail of our own people gets the world's limits, or the other " \
	    "way round.", \
	    "Use the other profile's socket, or put the name into its " \
	    "daemons =.") \
	X(CF_OLDER, "cf-older", ERROR, \
	    "What was written there last is not yet in the file that " \
	    "sendmail reads.", \
	    "make -C /etc/mail, and restart sendmail.") \
	X(FLAG_REFUSES, "flag-refuses", WARNING, \
	    "While Tidemark is away, be it for a second, mail of the world " \
	    "is refused for good.", \
	    "Use no flag (mail passes unseen), or one that makes them try " \
	    "again: F=T, tempfail.") \
	X(TIMEOUT_SHORT, "timeout-short", WARNING, \
	    "A busy moment is enough, and mail is treated as if Tidemark " \
	    "were down.", \
	    "T=C:10s;S:30s;R:30s;E:60s, or the same in milter_..._timeout.") \
	X(TIMEOUT_LONG, "timeout-long", WARNING, \
	    "If Tidemark hangs, so does every connection, for minutes.", \
	    "T=C:10s;S:30s;R:30s;E:60s: Tidemark answers in milliseconds.") \
	X(ORDER, "order", WARNING, \
	    "What a filter behind Tidemark refuses is remembered and counted " \
	    "as if it had passed: nobody tells us.", \
	    "Put Tidemark last, behind everything that may refuse.") \
	X(WORKERS, "workers", WARNING, \
	    "Connections past max_workers wait for a worker to end, until " \
	    "the mail server gives up.", \
	    "Raise max_workers in tidemark.conf, or limit the mail server: " \
	    "confMAX_DAEMON_CHILDREN of sendmail (0 is no limit), maxproc in " \
	    "master.cf of Postfix.") \
	X(CHROOT, "chroot", ERROR, \
	    "A chrooted smtpd cannot see that path: all mail is treated as " \
	    "if Tidemark were down.", \
	    "Write n in the chroot column of master.cf (setup --apply does); " \
	    "or, where the package has brought it, systemctl start " \
	    "var-spool-postfix-run-tidemark.mount; or have Tidemark listen " \
	    "inside.") \
	X(ACTION_UNKNOWN, "action-unknown", ERROR, \
	    "Postfix does not know that word: while Tidemark is away it " \
	    "refuses all mail for now, and writes a warning for each.", \
	    "accept, tempfail, reject, quarantine or shutdown.") \
	X(PROTOCOL, "protocol", WARNING, \
	    "Before version 6 Tidemark cannot say what it wants to see: " \
	    "Postfix sends it every step, and no refused recipients.", \
	    "milter_protocol = 6") \
	X(POLICY_PLACES, "policy-places", ERROR, \
	    "Where a request is missing, Tidemark does not learn what became " \
	    "of the mail, and gives tokens back, or keeps them.", \
	    "check_policy_service in smtpd_recipient_restrictions, " \
	    "smtpd_data_restrictions and smtpd_end_of_data_restrictions, or " \
	    "last_request in tidemark.conf.") \
	X(POLICY_ACTION, "policy-action", WARNING, \
	    "While Tidemark is away, all mail gets 451 4.3.5.", \
	    "smtpd_policy_service_default_action = DUNNO") \
	X(POLICY_CHARGED, "policy-charged", WARNING, \
	    "The policy server is asked, but its profile leaves the charging " \
	    "to the milter.", \
	    "charged_by = policy in that profile.") \
	X(WHILE_AWAY, "while-away", NOTE, \
	    "That is what happens to mail while Tidemark is down.", \
	    "F= of the filter, default_action of the filter in Postfix, or else " \
	    "milter_default_action says what.") \
	X(LEFT_ALONE, "left-alone", NOTE, \
	    "Mail that a content filter gives back was seen when it came in.", \
	    "Nothing, unless mail of others comes in there.") \
	X(LOCAL_ROUTE, "local-route", NOTE, \
	    "Mail of this machine itself (cron, sendmail -t) takes this way.", \
	    "FEATURE(`msp') in submit.mc, or non_smtpd_milters in main.cf, " \
	    "changes it.")
/* clang-format on */

enum setup_finding {
#define X(constant, name, severity, because, mend) SETUP_##constant,
	SETUP_FINDINGS(X)
#undef X
	    SETUP_FINDINGS_COUNT
};

struct setup;

/* Say that it was found at file:line (0: no line); the text says what. */
void setup_find(struct setup *, enum setup_finding, const char *file,
    unsigned line, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* How many faults there were, in words; the exit code. */
int setup_verdict(const struct setup *);

#endif
