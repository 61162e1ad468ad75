/*
 * probe - see probe.h.
 */
#include "probe.h"

#include <libmilter/mfapi.h>
#include <libmilter/mfdef.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

struct seen {
	int helo, mail, rcpt, bad, data, header, eoh, chunks;
	size_t body;
	char sender[128], qid[64], user[64], client[64], daemon[64];
	char last_header[256];
};

static pid_t running;
static unsigned long wanted;

static const struct verdict {
	const char *local_part;
	sfsistat status;
	const char *code, *status_code, *text;
} verdicts[] = {
	{ "reject", SMFIS_REJECT, NULL, NULL, NULL },
	{ "later", SMFIS_TEMPFAIL, NULL, NULL, NULL },
	{ "accept", SMFIS_ACCEPT, NULL, NULL, NULL },
	{ "discard", SMFIS_DISCARD, NULL, NULL, NULL },
	{ "banned", SMFIS_REJECT, "550", "5.7.1", "too many strangers" },
	{ "slower", SMFIS_TEMPFAIL, "451", "4.7.1", "come back in a minute" },
};

static bool
is_from(const char *addr, const char *local_part)
{
	const size_t n = strlen(local_part);

	addr += *addr == '<';
	return strncmp(addr, local_part, n) == 0 && addr[n] == '@';
}

static sfsistat
judge(SMFICTX *ctx, const char *addr)
{
	const struct verdict *v = verdicts;

	if (is_from(addr, "slow"))
		sleep(2);
	for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++, v++) {
		if (!is_from(addr, v->local_part))
			continue;
		if (v->code)
			smfi_setreply(ctx, (char *)(uintptr_t)v->code,
			    (char *)(uintptr_t)v->status_code,
			    (char *)(uintptr_t)v->text);
		return v->status;
	}
	return SMFIS_CONTINUE;
}

/* libmilter complains in syslog when a quiet stage returns anything else. */
static sfsistat
unless_quiet(unsigned long step, sfsistat status)
{
	return wanted & step ? SMFIS_NOREPLY : status;
}

static void
get(SMFICTX *ctx, const char *macro, char *to, size_t size)
{
	const char *value = smfi_getsymval(ctx, (char *)(uintptr_t)macro);

	snprintf(to, size, "%s", value ? value : "-");
}

static sfsistat
on_negotiate(SMFICTX *ctx, unsigned long actions, unsigned long steps,
    unsigned long f2, unsigned long f3, unsigned long *want_actions,
    unsigned long *want_steps, unsigned long *out2, unsigned long *out3)
{
	static char at_connect[] = "{daemon_name} {client_addr}";

	(void)f2;
	(void)f3;
	*want_actions = actions;
	*want_steps = steps & wanted;
	*out2 = *out3 = 0;
	smfi_setsymlist(ctx, SMFIM_CONNECT, at_connect);
	smfi_setpriv(ctx, calloc(1, sizeof(struct seen)));
	return SMFIS_CONTINUE;
}

static sfsistat
on_connect(SMFICTX *ctx, char *host, _SOCK_ADDR *addr)
{
	struct seen *s = smfi_getpriv(ctx);

	(void)addr;
	get(ctx, "{daemon_name}", s->daemon, sizeof s->daemon);
	get(ctx, "{client_addr}", s->client, sizeof s->client);
	return unless_quiet(SMFIP_NR_CONN,
	    strcmp(host, "unwelcome.example") ? SMFIS_CONTINUE : SMFIS_REJECT);
}

static sfsistat
on_helo(SMFICTX *ctx, char *name)
{
	struct seen *s = smfi_getpriv(ctx);

	(void)name;
	s->helo++;
	return unless_quiet(SMFIP_NR_HELO, SMFIS_CONTINUE);
}

static sfsistat
on_mail(SMFICTX *ctx, char **args)
{
	struct seen *s = smfi_getpriv(ctx);

	s->mail++;
	s->rcpt = s->bad = s->data = s->header = s->eoh = s->chunks = 0;
	s->body = 0;
	snprintf(s->sender, sizeof s->sender, "%s", args[0]);
	get(ctx, "i", s->qid, sizeof s->qid);
	get(ctx, "{auth_authen}", s->user, sizeof s->user);
	return unless_quiet(SMFIP_NR_MAIL, judge(ctx, args[0]));
}

static sfsistat
on_rcpt(SMFICTX *ctx, char **args)
{
	struct seen *s = smfi_getpriv(ctx);
	char mailer[32], host[64];

	get(ctx, "{rcpt_mailer}", mailer, sizeof mailer);
	get(ctx, "{rcpt_host}", host, sizeof host);
	s->rcpt++;
	s->bad += strcmp(mailer, "error") == 0 && strcmp(host, "5.1.1") == 0;
	return unless_quiet(SMFIP_NR_RCPT, judge(ctx, args[0]));
}

static sfsistat
on_data(SMFICTX *ctx)
{
	((struct seen *)smfi_getpriv(ctx))->data++;
	return unless_quiet(SMFIP_NR_DATA, SMFIS_CONTINUE);
}

static sfsistat
on_header(SMFICTX *ctx, char *name, char *value)
{
	struct seen *s = smfi_getpriv(ctx);

	s->header++;
	snprintf(s->last_header, sizeof s->last_header, "%s|%s", name, value);
	return unless_quiet(SMFIP_NR_HDR, SMFIS_CONTINUE);
}

static sfsistat
on_eoh(SMFICTX *ctx)
{
	((struct seen *)smfi_getpriv(ctx))->eoh++;
	return unless_quiet(SMFIP_NR_EOH, SMFIS_CONTINUE);
}

static sfsistat
on_body(SMFICTX *ctx, unsigned char *chunk, size_t len)
{
	struct seen *s = smfi_getpriv(ctx);

	(void)chunk;
	s->chunks++;
	s->body += len;
	return unless_quiet(SMFIP_NR_BODY,
	    is_from(s->sender, "enough") ? SMFIS_SKIP : SMFIS_CONTINUE);
}

static void
change_everything(SMFICTX *ctx)
{
	static char name[] = "X-Old", value[] = "new", rcpt[] = "<a@b.example>";
	static char why[] = "a closer look";

	smfi_insheader(ctx, 1, name, value);
	smfi_chgheader(ctx, name, 2, value);
	smfi_addrcpt(ctx, rcpt);
	smfi_quarantine(ctx, why);
}

static sfsistat
on_eom(SMFICTX *ctx)
{
	static char x_seen[] = "X-Seen", x_last[] = "X-Last";
	struct seen *s = smfi_getpriv(ctx);
	char line[512];

	if (is_from(s->sender, "die"))
		raise(SIGKILL);
	smfi_progress(ctx);
	snprintf(line, sizeof line,
	    "daemon=%s client=%s i=%s user=%s helo=%d mail=%d rcpt=%d bad=%d "
	    "data=%d header=%d eoh=%d chunks=%d body=%zu",
	    s->daemon, s->client, s->qid, s->user, s->helo, s->mail, s->rcpt,
	    s->bad, s->data, s->header, s->eoh, s->chunks, s->body);
	smfi_addheader(ctx, x_seen, line);
	smfi_addheader(ctx, x_last, s->last_header);
	if (is_from(s->sender, "changes"))
		change_everything(ctx);
	return SMFIS_CONTINUE;
}

static sfsistat
on_close(SMFICTX *ctx)
{
	free(smfi_getpriv(ctx));
	smfi_setpriv(ctx, NULL);
	return SMFIS_CONTINUE;
}

static void
serve(const char *where, int ready)
{
	static char name[] = "probe";
	struct smfiDesc d = { .xxfi_name = name,
		.xxfi_version = SMFI_VERSION,
		.xxfi_flags = SMFI_CURR_ACTS,
		.xxfi_connect = on_connect,
		.xxfi_helo = on_helo,
		.xxfi_envfrom = on_mail,
		.xxfi_envrcpt = on_rcpt,
		.xxfi_header = on_header,
		.xxfi_eoh = on_eoh,
		.xxfi_body = on_body,
		.xxfi_eom = on_eom,
		.xxfi_close = on_close,
		.xxfi_data = on_data,
		.xxfi_negotiate = on_negotiate };

	smfi_setconn((char *)(uintptr_t)where);
	if (smfi_register(d) == MI_SUCCESS &&
	    smfi_opensocket(true) == MI_SUCCESS && write(ready, "", 1) == 1)
		smfi_main();
	_exit(1);
}

static void
serve_raw(const char *path, int ready, const char *bytes, unsigned len)
{
	/* Options: version 6, every action, no step left out. */
	static const char options[17] = { 0, 0, 0, 13, 'O', 0, 0, 0, 6, 0, 0, 1,
		(char)0xff, 0, 0, 0, 0 };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char in[4096];
	int s = socket(AF_UNIX, SOCK_STREAM, 0), c;

	strcpy(a.sun_path, path);
	if (bind(s, (struct sockaddr *)&a, sizeof a) || listen(s, 1) ||
	    write(ready, "", 1) != 1)
		_exit(1);
	c = accept(s, NULL, NULL);
	if (read(c, in, sizeof in) > 0 &&
	    write(c, options, sizeof options) > 0 &&
	    read(c, in, sizeof in) > 0 && write(c, bytes, len) >= 0)
		while (read(c, in, sizeof in) > 0)
			continue;
	_exit(0);
}

/* Fork; in the child 0 is returned, in the parent once the child is ready. */
static pid_t
start(int *ready)
{
	int p[2];
	char c;

	probe_stop();
	CHECK(pipe(p) == 0);
	running = fork();
	CHECK(running >= 0);
	*ready = p[1];
	if (running == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(p[0]);
		return 0;
	}
	close(p[1]);
	CHECK_MSG(read(p[0], &c, 1) == 1, "the probe does not start");
	close(p[0]);
	return running;
}

void
probe_start(const char *where, unsigned long steps)
{
	int ready;

	wanted = steps;
	if (start(&ready) == 0)
		serve(where, ready);
}

void
probe_start_raw(const char *path, const char *bytes, unsigned len)
{
	int ready;

	probe_stop();
	unlink(path);
	if (start(&ready) == 0)
		serve_raw(path, ready, bytes, len);
}

void
probe_stop(void)
{
	if (running <= 0)
		return;
	kill(running, SIGKILL);
	waitpid(running, NULL, 0);
	running = 0;
}
