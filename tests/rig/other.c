/*
 * other - somebody else's filter: stock threaded libmilter, one line an event.
 *
 *	other SOCKET LOG
 *
 * A line is "mono_ns=N stage=S daemon=D qid=Q key=value..."; all keys of an
 * event, "-" where there is nothing.  Written with one write(), so lines of
 * several threads or processes never mix.
 *
 * Hooks, by the recipient's local part:
 *	slow-N		sleeps N ms at RCPT
 *	other-refuses	550 at RCPT (also other-refuses-ANYTHING)
 *	spam-ANYTHING	the message gets the header "X-Spam-Flag: YES"
 * Each message gets the header "X-Other: seen".
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
static char is_spam; /* a session whose private data is this has spam */

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
	(void)smfi_setpriv(ctx, NULL);
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

static bool
starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
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
		(void)smfi_setpriv(ctx, &is_spam);
	if (!starts(to, "other-refuses"))
		return SMFIS_CONTINUE;
	(void)smfi_setreply(ctx, code, xcode, text);
	return SMFIS_REJECT;
}

static sfsistat
at_eom(SMFICTX *ctx)
{
	static char name[] = "X-Other", value[] = "seen";
	static char flag[] = "X-Spam-Flag", yes[] = "YES";

	note(ctx, "eom", "auth=%s", macro(ctx, "{auth_authen}"));
	(void)smfi_addheader(ctx, name, value);
	if (smfi_getpriv(ctx) == &is_spam)
		(void)smfi_addheader(ctx, flag, yes);
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
		.xxfi_eom = at_eom,
		.xxfi_abort = at_abort,
		.xxfi_close = at_close,
		.xxfi_negotiate = at_negotiate,
	};
	char address[512];

	if (argc != 3) {
		(void)fputs("usage: other SOCKET LOG\n", stderr);
		return 64;
	}
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
