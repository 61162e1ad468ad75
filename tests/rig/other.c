/*
 * other - somebody else's filter: stock threaded libmilter, one line an event.
 *
 *	other SOCKET LOG [headers]
 *
 * A line is "mono_ns=N stage=S daemon=D qid=Q key=value..."; all keys of an
 * event, "-" where there is nothing.  Written with one write(), so lines of
 * several threads or processes never mix.
 *
 * Hooks, by the recipient's local part:
 *	slow-N		sleeps N ms at RCPT
 *	other-refuses	550 at RCPT (also other-refuses-ANYTHING)
 *	spam-ANYTHING	the message is marked, see below
 * and by the sender's:
 *	marks-ANYTHING	the message is marked
 *	inserts-ANYTHING	so, with smfi_insheader() instead of addheader
 * One that is marked gets "X-Spam-Flag: YES k7Qf2mP9" and "X-Tidemark-Verdict:
 * blocked k7Qf2mP9".  Each message gets the header "X-Other: seen".  With the
 * third argument headers are logged, too.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <libmilter/mfapi.h>

#define BACKLOG 512

static int log_fd = -1;
static bool sees_headers;

/* A session's private data points into this: what its message gets. */
enum { MARKS = 1, INSERTS = 2 };
static char fate[4];

static bool
starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static const char *
macro(SMFICTX *ctx, const char *name)
{
	char copy[32];
	const char *value;

	(void)snprintf(copy, sizeof copy, "%s", name);
	value = smfi_getsymval(ctx, copy);
	return value != NULL && *value != '\0' ? value : "-";
}

__attribute__((format(printf, 3, 4))) static void
note(SMFICTX *ctx, const char *stage, const char *fmt, ...)
{
	char line[2048];
	struct timespec t;
	size_t n;
	va_list ap;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	(void)snprintf(line, sizeof line,
	    "mono_ns=%lld%09ld stage=%s daemon=%s qid=%s ", (long long)t.tv_sec,
	    t.tv_nsec, stage, macro(ctx, "{daemon_name}"), macro(ctx, "i"));
	n = strlen(line);
	va_start(ap, fmt);
	(void)vsnprintf(line + n, sizeof line - n - 1, fmt, ap);
	va_end(ap);
	n = strlen(line);
	line[n++] = '\n';
	if (write(log_fd, line, n) == -1)
		abort(); /* a rig without its log proves nothing */
}

static sfsistat
at_negotiate(SMFICTX *ctx, unsigned long actions, unsigned long steps,
    unsigned long f2, unsigned long f3, unsigned long *want_actions,
    unsigned long *want_steps, unsigned long *w2, unsigned long *w3)
{
	(void)ctx;
	(void)f2;
	(void)f3;
	*want_actions = actions & SMFIF_ADDHDRS;
	*want_steps = steps &
	    (SMFIP_RCPT_REJ | SMFIP_NOBODY | SMFIP_NOHDRS | SMFIP_NOEOH |
		SMFIP_NOUNKNOWN | SMFIP_NOHELO | SMFIP_NODATA);
	if (sees_headers)
		*want_steps &= ~(unsigned long)SMFIP_NOHDRS;
	*w2 = *w3 = 0;
	return SMFIS_CONTINUE;
}

static sfsistat
at_connect(SMFICTX *ctx, char *host, _SOCK_ADDR *address)
{
	(void)address;
	note(ctx, "connect", "host=%s", host);
	return SMFIS_CONTINUE;
}

static sfsistat
at_mail(SMFICTX *ctx, char **argv)
{
	const char *from = argv[0] + (argv[0][0] == '<');
	int will = starts(from, "marks-") ? MARKS
	    : starts(from, "inserts-")	  ? MARKS | INSERTS
					  : 0;

	(void)smfi_setpriv(ctx, &fate[will]);
	note(ctx, "mail", "from=%s auth=%s", argv[0],
	    macro(ctx, "{auth_authen}"));
	return SMFIS_CONTINUE;
}

static void
sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) == -1)
		continue;
}

static sfsistat
at_rcpt(SMFICTX *ctx, char **argv)
{
	static char code[] = "550", xcode[] = "5.7.1";
	static char text[] = "the other filter does not want this";
	const char *to = argv[0] + (argv[0][0] == '<');

	note(ctx, "rcpt", "to=%s rcpt_mailer=%s rcpt_host=%s", argv[0],
	    macro(ctx, "{rcpt_mailer}"), macro(ctx, "{rcpt_host}"));
	if (starts(to, "slow-"))
		sleep_ms(strtol(to + 5, NULL, 10));
	if (starts(to, "spam-"))
		(void)smfi_setpriv(ctx, &fate[MARKS]);
	if (!starts(to, "other-refuses"))
		return SMFIS_CONTINUE;
	(void)smfi_setreply(ctx, code, xcode, text);
	return SMFIS_REJECT;
}

static sfsistat
at_header(SMFICTX *ctx, char *name, char *value)
{
	note(ctx, "header", "name=%s value=%s", name, value);
	return SMFIS_CONTINUE;
}

static void
mark(SMFICTX *ctx, bool inserts)
{
	static char flag[] = "X-Spam-Flag", yes[] = "YES k7Qf2mP9";
	static char verdict[] = "X-Tidemark-Verdict",
		    blocked[] = "blocked k7Qf2mP9";

	if (inserts) {
		(void)smfi_insheader(ctx, 0, flag, yes);
		(void)smfi_insheader(ctx, 0, verdict, blocked);
	} else {
		(void)smfi_addheader(ctx, flag, yes);
		(void)smfi_addheader(ctx, verdict, blocked);
	}
}

static sfsistat
at_eom(SMFICTX *ctx)
{
	static char name[] = "X-Other", value[] = "seen";
	const char *will = smfi_getpriv(ctx);

	note(ctx, "eom", "auth=%s", macro(ctx, "{auth_authen}"));
	(void)smfi_addheader(ctx, name, value);
	if (will != NULL && ((will - fate) & MARKS) != 0)
		mark(ctx, ((will - fate) & INSERTS) != 0);
	return SMFIS_CONTINUE;
}

static sfsistat
at_abort(SMFICTX *ctx)
{
	note(ctx, "abort", "-");
	return SMFIS_CONTINUE;
}

static sfsistat
at_close(SMFICTX *ctx)
{
	note(ctx, "close", "-");
	(void)smfi_setpriv(ctx, NULL);
	return SMFIS_CONTINUE;
}

int
main(int argc, char **argv)
{
	static char name[] = "other";
	struct smfiDesc filter = {
		.xxfi_name = name,
		.xxfi_version = SMFI_VERSION,
		.xxfi_flags = SMFIF_ADDHDRS,
		.xxfi_connect = at_connect,
		.xxfi_envfrom = at_mail,
		.xxfi_envrcpt = at_rcpt,
		.xxfi_header = at_header,
		.xxfi_eom = at_eom,
		.xxfi_abort = at_abort,
		.xxfi_close = at_close,
		.xxfi_negotiate = at_negotiate,
	};
	char address[512];

	if (argc != 3 && argc != 4) {
		(void)fputs("usage: other SOCKET LOG [headers]\n", stderr);
		return 64;
	}
	sees_headers = argc == 4;
	log_fd = open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (log_fd == -1) {
		perror(argv[2]);
		return 73;
	}
	(void)umask(077);
	(void)snprintf(address, sizeof address, "local:%s", argv[1]);
	if (smfi_setconn(address) != MI_SUCCESS ||
	    smfi_setbacklog(BACKLOG) != MI_SUCCESS ||
	    smfi_register(filter) != MI_SUCCESS) {
		(void)fprintf(stderr, "other: cannot listen on %s\n", address);
		return 70;
	}
	return smfi_main() == MI_SUCCESS ? 0 : 70;
}
