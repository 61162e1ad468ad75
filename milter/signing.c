/*
 * signing - one signer, message after message.
 */
#include "session.h"
#include "signing.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

static struct {
	struct tide_signer *signer; /* made at the first message */
	bool active;
	struct tide_text_sink sink;
	struct tide_signatures result;
} signing;

static bool
wants(const struct tide_profile *p)
{
	return p->spam_mode != TIDE_MODE_OFF || p->bulk_mode != TIDE_MODE_OFF;
}

static const struct tide_text_sink *
begin(void)
{
	signing.active = false;
	if (signing.signer == NULL)
		signing.signer = tide_signer_new(session.map->key);
	if (signing.signer == NULL)
		return NULL;
	tide_signer_begin(signing.signer);
	signing.sink = tide_signer_sink(signing.signer);
	signing.active = true;
	return &signing.sink;
}

static void
header(const char *name, const char *value)
{
	if (signing.active)
		tide_signer_header(signing.signer, name, value);
}

static void
give_up(void)
{
	signing.active = false;
}

const struct content_reader content_signing = { wants, begin, give_up, header };

void
signing_recipient(const char *address)
{
	if (signing.active)
		tide_signer_recipient(signing.signer, address);
}

const struct tide_signatures *
signing_result(void)
{
	if (!signing.active)
		return NULL;
	signing.active = false;
	tide_signer_end(signing.signer, &signing.result);
	return &signing.result;
}
