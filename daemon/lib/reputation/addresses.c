/*
 * addresses - the two copies in the map, and the keys that are looked for.
 */
#include <string.h>
#include <strings.h>

#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/keys/keys.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/pages.h"
#include "tidemark/shared/slots.h"

/* ---- the region -------------------------------------------------------- */

_Static_assert(
    sizeof(struct tide_addresses_head) <= TIDE_PAGE, "the head is one page");

size_t
tide_addresses_size(const struct tide_list_shape *s)
{
	return TIDE_PAGE + 2 * tide_pages(tide_list_bytes(s));
}

void
tide_addresses_attach(
    struct tide_addresses *a, void *region, const struct tide_list_shape *s)
{
	char *first = (char *)region + TIDE_PAGE;

	*a = (struct tide_addresses){ .head = region,
		.shape = *s,
		.words = { (tide_bloom_word *)first,
		    (tide_bloom_word *)(first +
			tide_pages(tide_list_bytes(s))) } };
}

static int
find(const struct tide_addresses *a, uint64_t current,
    const struct tide_hash *hash, unsigned n)
{
	unsigned i;

	for (i = 0; current != 0 && i < n; i++)
		if (tide_list_has(&a->shape, a->words[current % 2], hash[i]))
			return (int)i;
	return -1;
}

int
tide_addresses_find(const struct tide_addresses *a, tide_epoch *mine,
    tide_epoch *now, const struct tide_hash *hash, unsigned n)
{
	uint64_t current;
	int found;

	if (mine == NULL)
		return find(a, atomic_load(&a->head->current), hash, n);
	tide_epoch_enter(mine, now);
	current = tide_epoch_current(&a->head->current); /* W1 */
	found = find(a, current, hash, n);		 /* W2 */
	tide_epoch_leave(mine);				 /* W3 */
	return found;
}

struct tide_addresses_copy *
tide_addresses_now(const struct tide_addresses *a, tide_bloom_word **words)
{
	uint64_t current = atomic_load(&a->head->current);

	if (current == 0)
		return NULL;
	if (words != NULL)
		*words = a->words[current % 2];
	return &a->head->copy[current % 2];
}

/* ---- a new list -------------------------------------------------------- */

int
tide_addresses_install(struct tide_addresses *a,
    const struct tide_workers *workers, const struct tide_addresses_fresh *f,
    uint64_t wait_ms, struct tide_err *err)
{
	uint64_t i, next, words = tide_list_bytes(&a->shape) / 8;
	struct tide_addresses_copy *copy;
	tide_bloom_word *to;

	next = atomic_load(&a->head->current) + 1;
	copy = &a->head->copy[next % 2];
	to = a->words[next % 2];
	if (tide_workers_wait(workers, wait_ms, err) < 0) /* C1 */
		return -1;
	for (i = 0; i < words; i++) /* C2 */
		atomic_store_explicit(&to[i],
		    f->words != NULL ? atomic_load_explicit(
					   &f->words[i], memory_order_relaxed)
				     : 0,
		    memory_order_relaxed);
	atomic_store(&copy->version, f->version);
	atomic_store(&copy->sequence, f->sequence);
	atomic_store(&copy->loaded_ms, f->loaded_ms);
	atomic_store(&copy->elements, f->elements);
	(void)tide_epoch_replace(
	    &a->head->current, next, workers->epoch); /* C3 */
	return 0;
}

/* ---- keys -------------------------------------------------------------- */

struct tide_hash
tide_address_hash(
    const struct tide_hash_key *secret, const struct tide_key *key)
{
	return tide_hash(secret, key->text, key->length);
}

static void
add_form(struct tide_sender_forms *f, const struct tide_hash_key *secret)
{
	f->hash[f->count] = tide_address_hash(secret, &f->key[f->count]);
	f->count++;
}

void
tide_sender_forms(const struct tide_hash_key *secret, const char *sender,
    struct tide_sender_forms *f)
{
	struct tide_key_rules rules;
	const struct tide_keys keys = { &rules, secret };
	char domain[TIDE_DOMAIN_MAX];

	tide_key_rules_defaults(&rules);
	memset(f, 0, sizeof *f);
	tide_key_address(&keys, sender, &f->key[0]);
	if (strcmp(f->key[0].text, "<>") == 0)
		return;
	add_form(f, secret);
	tide_domain_of(sender, domain);
	if (domain[0] != '\0') {
		tide_key_domain(&keys, domain, &f->key[f->count]);
		add_form(f, secret);
	}
	if (tide_key_original(&keys, sender, &f->key[f->count]))
		add_form(f, secret);
}

/* One word, then nothing or a comment. */
static bool
take_word(const char *line, char *word, size_t size)
{
	size_t n;

	line += strspn(line, " \t\r\n");
	n = strcspn(line, " \t\r\n");
	if (n >= size)
		return false;
	memcpy(word, line, n);
	word[n] = '\0';
	line += n + strspn(line + n, " \t\r\n");
	return word[0] == '#' || *line == '\0' || *line == '#';
}

int
tide_address_entry(
    const struct tide_hash_key *secret, const char *line, struct tide_key *key)
{
	struct tide_key_rules rules;
	const struct tide_keys keys = { &rules, secret };
	char word[512], *at;

	if (!take_word(line, word, sizeof word))
		return -1;
	if (word[0] == '\0' || word[0] == '#')
		return 0;
	at = strrchr(word, '@');
	if (at == NULL || at[1] == '\0' || at[1] == '>')
		return -1;
	tide_key_rules_defaults(&rules);
	if (at == word)
		tide_key_domain(&keys, word, key);
	else if (strncasecmp(word + (word[0] == '<'), "srs", 3) != 0 ||
	    !tide_key_original(&keys, word, key))
		tide_key_address(&keys, word, key);
	return key->length > 0 ? 1 : -1;
}
