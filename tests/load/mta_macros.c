/*
 * mta_macros - the server's macros, and which of them go ahead of a stage.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mta_priv.h"

/* As in the sendmail.cf that Debian makes. */
static const struct stage_macros {
	char cmd;
	int stage;
	const char *by_default;
} stages[] = {
	{ SMFIC_CONNECT, SMFIM_CONNECT,
	    "j _ {daemon_name} {if_name} {if_addr}" },
	{ SMFIC_HELO, SMFIM_HELO, "{tls_version} {cipher} {cipher_bits}" },
	{ SMFIC_MAIL, SMFIM_ENVFROM,
	    "i {auth_type} {auth_authen} {auth_ssf} {auth_author} "
	    "{mail_mailer} {mail_host} {mail_addr}" },
	{ SMFIC_RCPT, SMFIM_ENVRCPT, "{rcpt_mailer} {rcpt_host} {rcpt_addr}" },
	{ SMFIC_DATA, SMFIM_DATA, "" },
	{ SMFIC_EOH, SMFIM_EOH, "" },
	{ SMFIC_BODYEOB, SMFIM_EOM, "{msg_id}" },
};

static struct mta_macro *
find(struct mta *m, const char *name)
{
	for (size_t i = 0; i < m->n_macros; i++)
		if (strcmp(m->macros[i].name, name) == 0)
			return &m->macros[i];
	return NULL;
}

void
mta_macro(struct mta *m, const char *name, const char *value)
{
	struct mta_macro *macro = find(m, name);

	if (!macro) {
		assert(m->n_macros < MTA_MACROS_MAX);
		macro = &m->macros[m->n_macros++];
		macro->name = strdup(name);
		macro->value = NULL;
	}
	free(macro->value);
	macro->value = value ? strdup(value) : NULL;
}

void
mta_macro_int(struct mta *m, const char *name, unsigned value)
{
	char digits[12];

	snprintf(digits, sizeof digits, "%u", value);
	mta_macro(m, name, digits);
}

void
mta_macros_free(struct mta *m)
{
	for (size_t i = 0; i < m->n_macros; i++) {
		free(m->macros[i].name);
		free(m->macros[i].value);
	}
	m->n_macros = 0;
}

void
mta_macros_message_end(struct mta *m)
{
	static const char *const of_message[] = { "i", "{mail_mailer}",
		"{mail_host}", "{mail_addr}", "{rcpt_mailer}", "{rcpt_host}",
		"{rcpt_addr}", "{msg_id}" };

	for (size_t i = 0; i < sizeof of_message / sizeof *of_message; i++)
		mta_macro(m, of_message[i], NULL);
}

/* Add the named macro to the frame if it has a value. */
static void
add(struct mta *m, const char *name, size_t len)
{
	struct mta_macro *macro;
	char key[64];

	if (len >= sizeof key)
		return;
	memcpy(key, name, len);
	key[len] = '\0';
	macro = find(m, key);
	if (!macro || !macro->value)
		return;
	wire_add_str(&m->wire, macro->name);
	wire_add_str(&m->wire, macro->value);
}

static void
send_list(struct mta *m, char cmd, const char *list)
{
	size_t len;

	wire_begin(&m->wire, SMFIC_MACRO);
	wire_add(&m->wire, &cmd, 1);
	for (list += strspn(list, " ,"); *list; list += strspn(list, " ,")) {
		len = strcspn(list, " ,");
		add(m, list, len);
		list += len;
	}
	/* A full buffer that cannot leave shows at the next flush. */
	wire_end(&m->wire);
	m->sent[SMFIC_MACRO]++;
}

void
mta_macros_send(struct mta *m, char cmd)
{
	const char *list;

	for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
		if (stages[i].cmd != cmd)
			continue;
		list = m->lists[stages[i].stage];
		if (!list)
			list = stages[i].by_default;
		if (*list)
			send_list(m, cmd, list);
	}
}

/* ---- the filter's lists: stage number, names, NUL, and again ---- */

void
mta_lists_free(struct mta *m)
{
	for (int i = 0; i < MTA_STAGES; i++) {
		free(m->lists[i]);
		m->lists[i] = NULL;
	}
}

bool
mta_lists_read(struct mta *m, const char *data, size_t len)
{
	uint32_t stage;
	size_t used;

	while (len > sizeof stage) {
		memcpy(&stage, data, sizeof stage);
		stage = ntohl(stage);
		data += sizeof stage;
		len -= sizeof stage;
		used = strnlen(data, len);
		if (stage >= MTA_STAGES || used == len)
			return false;
		free(m->lists[stage]);
		m->lists[stage] = strdup(data);
		data += used + 1;
		len -= used + 1;
	}
	return len == 0;
}
