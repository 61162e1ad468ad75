/*
 * content_sign - the reader that signs.
 */
#include "content.h"
#include "content_sign.h"
#include "session.h"

static struct tide_signer *signer;
static struct tide_signatures signatures;
static bool reading; /* the message at hand */

/* Each check that compares signatures adds its own mode. */
static bool
wants(const struct tide_profile *p)
{
	return p->bulk_mode != TIDE_MODE_OFF;
}

static const struct tide_text_sink *
begin(void)
{
	static struct tide_text_sink sink;

	if (signer == NULL)
		signer = tide_signer_new(&session.map->control->head.key);
	reading = signer != NULL;
	if (!reading)
		return NULL;
	tide_signer_begin(signer);
	sink = tide_signer_sink(signer);
	return &sink;
}

static void
give_up(void)
{
	reading = false;
}

void
content_sign_recipient(const char *address)
{
	if (reading)
		tide_signer_recipient(signer, address);
}

const struct tide_signatures *
content_signatures(void)
{
	if (!reading)
		return NULL;
	reading = false;
	tide_signer_end(signer, &signatures);
	return &signatures;
}

const struct content_reader content_sign = { wants, begin, give_up };
