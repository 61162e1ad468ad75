/*
 * callbacks - libmilter's calls, translated into facts, and a verdict
 * translated into its answer.  Nothing is decided here.
 *
 * Round trips are what a filter costs: only connect, mail, rcpt and the end
 * of message are answered; all other stages are switched off, or, where a
 * mail server cannot do that, not replied to.  Headers are taken, without a
 * reply, because a forged X-Tidemark- one has to go; bodies where content is
 * read.  These are replied to only if the replies may save more than they
 * cost: see content_would_skip().
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <libmilter/mfapi.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "content.h"
#include "milter.h"
#include "session.h"
#include "tags.h"
#include "tidemark/base/log.h"
#include "tidemark/flow/verdict.h"
#include "tidemark/shared/slots.h"

#define UNUSED_STAGES                                                  \
	(SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOUNKNOWN | SMFIP_NOEOH | \
	    SMFIP_NOBODY)
#define UNANSWERED_STAGES                                               \
	(SMFIP_NR_HELO | SMFIP_NR_DATA | SMFIP_NR_UNKN | SMFIP_NR_HDR | \
	    SMFIP_NR_EOH | SMFIP_NR_BODY)

static bool may_skip; /* "no more of this body" was negotiated */

static const char *
macro(SMFICTX *ctx, const char *name)
{
	return smfi_getsymval(ctx, (char *)(uintptr_t)name);
}

/* Ask only for the macros we use. */
static void
ask_for_macros(SMFICTX *ctx)
{
	static char at_connect[] = "{daemon_name} {client_addr}";
	static char at_mail[] = "i {auth_authen}";
	static char at_rcpt[] = "i {rcpt_mailer} {rcpt_host} {nbadrcpts}";
	static char at_eom[] = "i";

	(void)smfi_setsymlist(ctx, SMFIM_CONNECT, at_connect);
	(void)smfi_setsymlist(ctx, SMFIM_ENVFROM, at_mail);
	(void)smfi_setsymlist(ctx, SMFIM_ENVRCPT, at_rcpt);
	(void)smfi_setsymlist(ctx, SMFIM_EOM, at_eom);
}

/* A body that is skipped has to be replied to, chunk by chunk. */
static unsigned long
steps_with_content(unsigned long wanted, unsigned long offered)
{
	wanted &= ~(unsigned long)SMFIP_NOBODY;
	may_skip = (offered & SMFIP_SKIP) != 0 && content_would_skip();
	if (may_skip) {
		wanted |= SMFIP_SKIP;
		wanted &= ~(unsigned long)SMFIP_NR_BODY;
	}
	return wanted;
}

static sfsistat
on_negotiate(SMFICTX *ctx, unsigned long actions, unsigned long steps,
    unsigned long reserved2, unsigned long reserved3, unsigned long *out0,
    unsigned long *out1, unsigned long *out2, unsigned long *out3)
{
	(void)reserved2;
	(void)reserved3;
	*out0 = actions & (SMFIF_SETSYMLIST | SMFIF_ADDHDRS | SMFIF_CHGHDRS);
	*out1 = steps & (UNUSED_STAGES | UNANSWERED_STAGES | SMFIP_RCPT_REJ);
	if (content_wanted())
		*out1 = steps_with_content(*out1, steps);
	*out2 = *out3 = 0;
	if ((actions & SMFIF_SETSYMLIST) != 0)
		ask_for_macros(ctx);
	serve_negotiated();
	return SMFIS_CONTINUE;
}

/* ---- connect, mail, rcpt ----------------------------------------------- */

static const char *
show_address(const struct sockaddr *sa, char *text, socklen_t size)
{
	if (sa == NULL)
		return NULL;
	if (sa->sa_family == AF_INET)
		return inet_ntop(AF_INET,
		    &((const struct sockaddr_in *)(const void *)sa)->sin_addr,
		    text, size);
	if (sa->sa_family == AF_INET6)
		return inet_ntop(AF_INET6,
		    &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr,
		    text, size);
	return NULL;
}

static sfsistat
on_connect(SMFICTX *ctx, char *host, _SOCK_ADDR *sa)
{
	char text[INET6_ADDRSTRLEN];
	const char *client = show_address(sa, text, sizeof text);

	(void)host;
	session_enter(TIDE_STAGE_CONNECT);
	session_connected(client != NULL ? client : macro(ctx, "{client_addr}"),
	    macro(ctx, "{daemon_name}"));
	session_trace();
	session_leave();
	return SMFIS_CONTINUE;
}

/* SIZE=n (RFC 1870) among the parameters of MAIL; 0 if there is none. */
static uint64_t
announced_size(char **parameters)
{
	const char *p;

	for (; *parameters != NULL; parameters++) {
		p = *parameters;
		if (strncasecmp(p, "SIZE=", 5) == 0 &&
		    isdigit((unsigned char)p[5])) /* no sign, no space */
			return strtoull(p + 5, NULL, 10);
	}
	return 0;
}

/*
 * The mail server shows us the recipients it has refused (SMFIP_RCPT_REJ).
 * Only 5.1.1 says that there is no such user; relaying denied, greylisting
 * and the like are refusals of another kind.
 */
static enum recipient_fate
fate_of(SMFICTX *ctx)
{
	const char *mailer = macro(ctx, "{rcpt_mailer}");
	const char *host = macro(ctx, "{rcpt_host}");

	if (mailer == NULL || strcmp(mailer, "error") != 0)
		return RECIPIENT_ACCEPTED;
	if (host != NULL && strncmp(host, "5.1.1", 5) == 0)
		return RECIPIENT_UNKNOWN;
	return RECIPIENT_REFUSED;
}

static sfsistat
translate(SMFICTX *ctx, const struct tide_verdict *v)
{
	if (v->answer == TIDE_REPLY_ACCEPT)
		return SMFIS_CONTINUE;
	(void)smfi_setreply(ctx, (char *)(uintptr_t)v->code,
	    (char *)(uintptr_t)v->status, (char *)(uintptr_t)v->text);
	return v->answer == TIDE_REPLY_TEMPFAIL ? SMFIS_TEMPFAIL : SMFIS_REJECT;
}

static sfsistat
on_mail(SMFICTX *ctx, char **args)
{
	struct tide_verdict v;

	session_enter(TIDE_STAGE_MAIL);
	session_mail(
	    args[0], macro(ctx, "{auth_authen}"), announced_size(args + 1));
	session_qid(macro(ctx, "i"));
	tags_begin();
	session_trace();
	v = session_judge_sender();
	session_leave();
	return translate(ctx, &v);
}

static sfsistat
on_rcpt(SMFICTX *ctx, char **args)
{
	struct tide_verdict v;

	session_enter(TIDE_STAGE_RCPT);
	session_qid(macro(ctx, "i"));
	session_bad_recipients(macro(ctx, "{nbadrcpts}"));
	session_trace();
	v = session_recipient(args[0], fate_of(ctx));
	session_leave();
	return translate(ctx, &v);
}

static sfsistat
on_header(SMFICTX *ctx, char *name, char *value)
{
	(void)ctx;
	session_enter(TIDE_STAGE_BODY);
	session_header(name, value);
	content_header(name, value);
	session_leave();
	tags_seen(name);
	return SMFIS_NOREPLY;
}

static sfsistat
on_body(SMFICTX *ctx, unsigned char *chunk, size_t size)
{
	(void)ctx;
	session_enter(TIDE_STAGE_BODY);
	content_body(chunk, size);
	session_leave();
	if (!may_skip)
		return SMFIS_NOREPLY;
	if (!content_full())
		return SMFIS_CONTINUE;
	tide_log(TIDE_LOG_DEBUG, "no more of the body of this message");
	return SMFIS_SKIP;
}

/* ---- the stages that are switched off, should a server send them -------- */

static sfsistat
on_helo(SMFICTX *ctx, char *name)
{
	(void)ctx;
	(void)name;
	return SMFIS_NOREPLY;
}

static sfsistat
on_nothing(SMFICTX *ctx)
{
	(void)ctx;
	return SMFIS_NOREPLY;
}

static sfsistat
on_unknown(SMFICTX *ctx, const char *command)
{
	(void)ctx;
	(void)command;
	return SMFIS_NOREPLY;
}

/* ---- end, abort, close ------------------------------------------------- */

static sfsistat
on_eom(SMFICTX *ctx)
{
	struct tide_verdict v;

	session_enter(TIDE_STAGE_EOM);
	session_qid(macro(ctx, "i"));
	session_trace();
	v = session_decide();
	session_leave();
	if (v.answer == TIDE_REPLY_ACCEPT)
		tags_apply(ctx);
	return translate(ctx, &v);
}

static sfsistat
on_abort(SMFICTX *ctx)
{
	(void)ctx;
	session_abort();
	return SMFIS_CONTINUE;
}

static sfsistat
on_close(SMFICTX *ctx)
{
	(void)ctx;
	session_end();
	serve_finished();
}

const struct smfiDesc milter_filter = {
	.xxfi_name = (char *)(uintptr_t) "tidemark",
	.xxfi_version = SMFI_VERSION,
	.xxfi_flags = SMFIF_SETSYMLIST | SMFIF_ADDHDRS | SMFIF_CHGHDRS,
	.xxfi_connect = on_connect,
	.xxfi_helo = on_helo,
	.xxfi_envfrom = on_mail,
	.xxfi_envrcpt = on_rcpt,
	.xxfi_header = on_header,
	.xxfi_eoh = on_nothing,
	.xxfi_body = on_body,
	.xxfi_eom = on_eom,
	.xxfi_abort = on_abort,
	.xxfi_close = on_close,
	.xxfi_unknown = on_unknown,
	.xxfi_data = on_nothing,
	.xxfi_negotiate = on_negotiate,
};
