/*
 * keys_local - what mail software writes into local parts, taken out again.
 *
 *   prvs=0123456789=user         BATV: signed for a few days
 *   prvs=user/0123456789         BATV, as first drafted
 *   btv1==0123456789ab==user     Barracuda's
 *   msprvs1=19876abcDEF=user     Message Systems'
 *   SRS0=HHH=TT=domain=user      rewritten by a forwarder
 *   SRS1=HHH=first==HHH=TT=domain=user      and by the next one
 *   user+tag                     a tag of the user's own
 */
#include "keys_priv.h"
#include "tidemark/keys/keys.h"

#define BATV_TAG 10

static const struct signature {
	const char *before, *after;
	size_t tag; /* its length in hex digits; 0: any tag */
} signatures[] = {
	{ "prvs=", "=", BATV_TAG },
	{ "btv1==", "==", 0 },
	{ "msprvs1=", "=", 0 },
};

static bool
begins(const struct keytext *t, const char *with)
{
	size_t n = strlen(with);

	return t->length >= n && strncasecmp(t->bytes, with, n) == 0;
}

/* How much of the front is this signature; 0: it is not there. */
static size_t
signature_length(const struct keytext *t, const struct signature *s)
{
	size_t front = strlen(s->before), back = strlen(s->after), tag;
	const char *end;

	if (!begins(t, s->before))
		return 0;
	end = memmem(t->bytes + front, t->length - front, s->after, back);
	if (end == NULL)
		return 0;
	tag = (size_t)(end - t->bytes) - front;
	if (tag == 0 || front + tag + back == t->length)
		return 0;
	if (s->tag > 0 && (tag != s->tag || !tide_key_is_hex(end - tag, tag)))
		return 0;
	return front + tag + back;
}

static void
unsign(struct keytext *t)
{
	const size_t front = strlen("prvs="), tail = BATV_TAG + 1;
	size_t i, n;

	for (i = 0; i < sizeof signatures / sizeof *signatures; i++) {
		n = signature_length(t, &signatures[i]);
		tide_keytext_cut(t, 0, n);
	}
	if (!begins(t, "prvs=") || t->length <= front + tail ||
	    t->bytes[t->length - tail] != '/' ||
	    !tide_key_is_hex(t->bytes + t->length - BATV_TAG, BATV_TAG))
		return;
	t->length -= tail;
	tide_keytext_cut(t, 0, front);
}

/* The bytes up to the next =, which is stepped over; NULL if there is none. */
static const char *
field(const char **at, const char *end, size_t *n)
{
	const char *from = *at, *stop;

	stop = memchr(from, '=', (size_t)(end - from));
	if (stop == NULL || stop == from)
		return NULL;
	*n = (size_t)(stop - from);
	*at = stop + 1;
	return from;
}

static bool
is_srs_separator(const char *at, const char *end)
{
	return at < end && (*at == '=' || *at == '+' || *at == '-');
}

static bool
skip_fields(const char **at, const char *end, unsigned count)
{
	size_t n;

	for (; count > 0; count--)
		if (field(at, end, &n) == NULL)
			return false;
	return true;
}

bool
tide_key_srs_original(const struct keytext *local, struct keytext *original)
{
	const char *at = local->bytes + 4, *end = local->bytes + local->length;
	const char *domain;
	size_t n;
	bool again = begins(local, "SRS1");

	if ((!again && !begins(local, "SRS0")) || !is_srs_separator(at, end))
		return false;
	at++;
	if (again) { /* hash, first forwarder, and then as SRS0 */
		if (!skip_fields(&at, end, 2) || !is_srs_separator(at, end))
			return false;
		at++;
	}
	if (!skip_fields(&at, end, 2))
		return false;
	domain = field(&at, end, &n);
	if (domain == NULL || at == end)
		return false;
	original->length = 0;
	tide_keytext_add(original, at, (size_t)(end - at));
	tide_keytext_add(original, "@", 1);
	tide_keytext_add(original, domain, n);
	return true;
}

static void
rename_forwarded(struct keytext *local)
{
	struct keytext original;

	if (!tide_key_srs_original(local, &original))
		return;
	local->length = 0;
	tide_keytext_add_text(local, "srs");
}

static void
untag(struct keytext *local, const struct tide_key_rules *rules)
{
	size_t separators =
	    strnlen(rules->tag_separators, sizeof rules->tag_separators);
	size_t i;

	for (i = 1; i < local->length; i++) {
		if (memchr(rules->tag_separators, local->bytes[i],
			separators) != NULL) {
			local->length = i;
			return;
		}
	}
}

/*
 * One rewriting may uncover another (a signed VERP address, a tag behind a
 * signature), so all of them again until nothing changes.  Each only ever
 * shortens, so that this ends.
 */
void
tide_key_local_reduce(const struct tide_key_rules *rules, struct keytext *local)
{
	size_t before;

	if (rules->fold_local)
		tide_key_fold(local->bytes, local->length);
	do {
		before = local->length;
		if (rules->batv)
			unsign(local);
		if (rules->srs)
			rename_forwarded(local);
		if (rules->verp != TIDE_VERP_OFF)
			tide_key_verp_recipient(local);
		untag(local, rules);
		if (rules->verp != TIDE_VERP_OFF)
			tide_key_verp_serials(local, rules->verp);
	} while (local->length != before);
}
