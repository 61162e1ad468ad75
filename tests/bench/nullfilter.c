/*
 * nullfilter - see nullfilter.h.  Stages without an answer return
 * SMFIS_NOREPLY: for any other status libmilter writes a line to syslog.
 */
#include "nullfilter.h"

#include <libmilter/mfdef.h>
#include <string.h>

enum {
	QUIET = SMFIP_NR_HELO | SMFIP_NR_DATA | SMFIP_NR_UNKN | SMFIP_NR_HDR |
	    SMFIP_NR_EOH | SMFIP_NR_BODY,
	UNWANTED = SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOUNKNOWN,
	CONTENT = SMFIP_NOHDRS | SMFIP_NOEOH | SMFIP_NOBODY,
};

static unsigned long wanted_off = UNWANTED;

static sfsistat
on_negotiate(SMFICTX *ctx, unsigned long actions, unsigned long steps,
    unsigned long f2, unsigned long f3, unsigned long *want_actions,
    unsigned long *want_steps, unsigned long *out2, unsigned long *out3)
{
	(void)ctx;
	(void)f2;
	(void)f3;
	*want_actions = actions & SMFIF_ADDHDRS;
	*want_steps = steps & (QUIET | SMFIP_RCPT_REJ | wanted_off);
	*out2 = *out3 = 0;
	return SMFIS_CONTINUE;
}

static sfsistat
on_connect(SMFICTX *ctx, char *host, _SOCK_ADDR *addr)
{
	(void)ctx;
	(void)host;
	(void)addr;
	return SMFIS_CONTINUE;
}

static sfsistat
on_address(SMFICTX *ctx, char **args)
{
	(void)ctx;
	(void)args;
	return SMFIS_CONTINUE;
}

static sfsistat
on_header(SMFICTX *ctx, char *name, char *value)
{
	(void)ctx;
	(void)name;
	(void)value;
	return SMFIS_NOREPLY;
}

static sfsistat
on_body(SMFICTX *ctx, unsigned char *chunk, size_t len)
{
	(void)ctx;
	(void)chunk;
	(void)len;
	return SMFIS_NOREPLY;
}

static sfsistat
on_eoh(SMFICTX *ctx)
{
	(void)ctx;
	return SMFIS_NOREPLY;
}

static sfsistat
on_event(SMFICTX *ctx)
{
	(void)ctx;
	return SMFIS_CONTINUE;
}

void
null_filter(struct smfiDesc *d, bool envelope_only)
{
	static char name[] = "null";

	memset(d, 0, sizeof *d);
	d->xxfi_name = name;
	d->xxfi_version = SMFI_VERSION;
	d->xxfi_flags = SMFIF_ADDHDRS;
	d->xxfi_negotiate = on_negotiate;
	d->xxfi_connect = on_connect;
	d->xxfi_envfrom = on_address;
	d->xxfi_envrcpt = on_address;
	d->xxfi_eom = on_event;
	d->xxfi_abort = on_event;
	d->xxfi_close = on_event;
	if (envelope_only) {
		wanted_off = UNWANTED | CONTENT;
		return;
	}
	d->xxfi_header = on_header;
	d->xxfi_eoh = on_eoh;
	d->xxfi_body = on_body;
}
