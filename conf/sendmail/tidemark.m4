dnl
dnl Tidemark beside sendmail: two daemons, each with its own filters in its own
dnl order.  In sendmail.mc, after the FEATURE lines and before the MAILER lines:
dnl
dnl	FEATURE(`tidemark')dnl
dnl
dnl if it lies among sendmail's features, where Debian's package puts it, or
dnl
dnl	include(`/etc/mail/tidemark.m4')dnl
dnl
dnl for a copy that you have changed (other ports, other filters beside it).
dnl
dnl Take out the DAEMON_OPTIONS lines that are there already, and write
dnl FEATURE(`no_default_msa'): what sendmail adds by itself knows none of these
dnl filters, and would take the port that MTA-int wants.  Then
dnl make -C /etc/mail, and restart sendmail.
dnl
dnl What goes wrong most often:
dnl
dnl ;  between filters, never a comma.  InputMailFilters=a,b runs a alone, and
dnl    nothing says so.  A name that no MAIL_FILTER defines stops the daemon; a
dnl    daemon without InputMailFilters= runs the filters of
dnl    confINPUT_MAIL_FILTERS.
dnl
dnl S= local: sockets.  sendmail refuses one whose folder, or any folder above
dnl    it, is writable for group or world without the sticky bit: so leave
dnl    /run/tidemark at 0755.  inet: works, but costs up to 44 ms a
dnl    step of a message, and asks nobody who they are.  The paths are
dnl    those of socket = in tidemark.conf(5).
dnl
dnl F= what happens to mail while Tidemark is away (being restarted, or killed
dnl    in the middle of a session; sendmail does not come back to a filter
dnl    within one SMTP session):
dnl	none	it passes, unseen; `tidemark query' says so later
dnl	F=T	451, the client tries again later
dnl	F=R	550, the client gives up
dnl	F=4	421, and the connection is closed
dnl    From outside, a mail unseen is better than a mail late: no flag.  Our
dnl    own people's mail can wait a minute in their outbox: F=T.
dnl
dnl T= how long sendmail waits: C to connect (a connection past max_workers
dnl    waits, so leave it some seconds), S to send, R for each answer, E from
dnl    the end of the message to the verdict.  The defaults (E: five minutes)
dnl    are made for filters that scan; Tidemark answers in milliseconds.
dnl    Past these times F= decides.
dnl
dnl Order.  Tidemark remembers what it has accepted, and sendmail tells it
dnl    nothing afterwards: mail that a filter behind it refuses counts as
dnl    passed.  So it stands last, behind everything that may refuse; what
dnl    only signs may stand behind it:
dnl	InputMailFilters=spamass;tidemark-ext
dnl	InputMailFilters=tidemark-int;opendkim
dnl
dnl Listen= how many connections may wait for sendmail.  With the default of 10
dnl    a burst of 200 lost most of them.  The kernel's net.core.somaxconn is the
dnl    upper limit.
dnl
dnl confMAX_DAEMON_CHILDREN limits how many sessions sendmail has at once.  It
dnl    is 0, no limit, by default: let it be no more than max_workers in
dnl    tidemark.conf, or sessions past that wait.
dnl
dnl Name= reaches Tidemark as {daemon_name}, which it asks for itself, as it
dnl    does for all macros it needs: nothing to add to confMILTER_MACROS_*.  A
dnl    name that stands in a profile's daemons = chooses that profile,
dnl    whichever socket the mail came through.
dnl
dnl Mail of this machine itself (cron, sendmail -t) comes in where submit.mc
dnl sends it, as a rule port 25 of 127.0.0.1, and so through MTA-ext.
dnl
ifdef(`TIDEMARK_DIR', `', `define(`TIDEMARK_DIR', `/run/tidemark')')dnl
VERSIONID(`Tidemark')dnl
MAIL_FILTER(`tidemark-ext', `S=local:TIDEMARK_DIR/external.sock, T=C:10s;S:30s;R:30s;E:60s')dnl
MAIL_FILTER(`tidemark-int', `S=local:TIDEMARK_DIR/internal.sock, F=T, T=C:10s;S:30s;R:30s;E:60s')dnl
dnl
dnl From the world:
DAEMON_OPTIONS(`Name=MTA-ext, Port=smtp, Listen=512, InputMailFilters=tidemark-ext')dnl
dnl From our own people: M=a only after AUTH, M=E no ETRN.
DAEMON_OPTIONS(`Name=MTA-int, Port=submission, M=Ea, Listen=512, InputMailFilters=tidemark-int')dnl
