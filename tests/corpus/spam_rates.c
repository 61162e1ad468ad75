/*
 * spam_rates - how well the signatures tell: over a corpus of real mail, the
 * share of near copies that are met, and of strangers that are met wrongly.
 *
 *   spam_rates CHANGED REPORTED-PREFIX FOLDER [SEED]
 *
 * Reported are the messages whose names begin with the prefix; each is then
 * looked for again with that share of its words changed.  Strangers are all
 * other messages, but for those whose text was reported as well.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/signature.h"
#include "tidemark/reputation/spam.h"
#include "tidemark/shared/epoch.h"
#include "tidemark/shared/slots.h"
#include "tidemark/text/text.h"

#define MOST 20000u

struct mail {
	char *bytes;
	size_t length;
	bool reported;
	struct tide_signatures s;
};

static struct mail mail[MOST];
static size_t mails;
static struct tide_hash_key key;
static struct tide_signer *signer;
static struct tide_text *pipeline;

static void
give_up(const char *what)
{
	fprintf(stderr, "spam_rates: %s\n", what);
	exit(2);
}

/* ---- reading ----------------------------------------------------------- */

static void
read_mail(const char *folder, const char *name, const char *prefix)
{
	struct mail *m = &mail[mails];
	char path[1024];
	long size;
	FILE *f;

	if (mails == MOST)
		return;
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	(void)fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	m->bytes = malloc((size_t)size + 1);
	if (m->bytes == NULL)
		give_up("no memory");
	m->length = fread(m->bytes, 1, (size_t)size, f);
	m->bytes[m->length] = '\0';
	m->reported = strncmp(name, prefix, strlen(prefix)) == 0;
	(void)fclose(f);
	mails++;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void
read_folder(const char *folder, const char *prefix)
{
	struct dirent **entry;
	int i, n = scandir(folder, &entry, NULL, by_name);

	if (n < 0)
		give_up("no such folder");
	for (i = 0; i < n; i++) {
		if (entry[i]->d_name[0] != '.')
			read_mail(folder, entry[i]->d_name, prefix);
		free(entry[i]);
	}
	free(entry);
}

static struct tide_signatures
sign(const char *bytes, size_t length)
{
	struct tide_signatures s;

	tide_signer_begin(signer);
	tide_text_message(pipeline, bytes, length);
	(void)tide_text_end(pipeline);
	tide_signer_end(signer, &s);
	return s;
}

/* ---- changing words ---------------------------------------------------- */

static uint64_t seed = 1;

static uint64_t
draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Transfer encodings and what the mail is held together by stay. */
static bool
is_words(const char *line, size_t n)
{
	size_t i;

	if (n >= 2 && line[0] == '-' && line[1] == '-')
		return false;
	if (n > 60 && memchr(line, ' ', n) == NULL)
		return false; /* base64 */
	for (i = 0;
	     i < n && (isalnum((unsigned char)line[i]) || line[i] == '-'); i++)
		;
	return i == 0 || i == n || line[i] != ':';
}

/* Other letters, as many; returns whether anything was. */
static unsigned
change_line(char *line, size_t n, double share, bool *in_tag)
{
	unsigned changed = 0;
	size_t i, end;

	for (i = 0; i < n; i = end) {
		end = i + 1;
		if (line[i] == '<')
			*in_tag = true;
		else if (line[i] == '>')
			*in_tag = false;
		if (*in_tag || !isalpha((unsigned char)line[i]))
			continue;
		while (end < n && isalpha((unsigned char)line[end]))
			end++;
		if ((double)(draw() >> 11) / 9007199254740992.0 >= share)
			continue;
		for (; i < end; i++)
			line[i] = (char)('a' + draw() % 26);
		changed++;
	}
	return changed;
}

static unsigned
change(char *bytes, double share)
{
	char *body = strstr(bytes, "\n\n"), *line, *end;
	unsigned changed = 0;
	bool in_tag = false;

	for (line = body != NULL ? body + 2 : bytes + strlen(bytes);
	     *line != '\0'; line = *end != '\0' ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (is_words(line, (size_t)(end - line)))
			changed += change_line(
			    line, (size_t)(end - line), share, &in_tag);
	}
	return changed;
}

/* ---- measuring --------------------------------------------------------- */

struct rates {
	unsigned of, met, exact, near, met_pairs[TIDE_SKETCH + 1];
};

static void
look(
    const struct tide_spam *m, const struct tide_signatures *s, struct rates *r)
{
	struct tide_spam_match match;

	if (!s->has_text)
		return;
	r->of++;
	r->met += tide_spam_test(m, NULL, NULL, s, &match);
	r->exact += match.how == TIDE_SPAM_TEXT || match.how == TIDE_SPAM_FILE;
	r->near += match.how == TIDE_SPAM_NEAR;
	r->met_pairs[match.met]++;
}

static void
put(const char *what, const struct rates *r)
{
	unsigned i, n = 0;

	printf("%s %u met %u rate %.4f exact %u near %u pairs_met", what, r->of,
	    r->met, r->of > 0 ? (double)r->met / r->of : 0, r->exact, r->near);
	for (i = 0; i <= TIDE_SKETCH; i++) {
		n += r->met_pairs[i];
		if (i % 8 == 7)
			printf(" <=%u:%u", i, n);
	}
	printf("\n");
}

static bool
same_text(const struct mail *m)
{
	size_t i;

	for (i = 0; i < mails; i++)
		if (mail[i].reported && mail[i].s.has_text &&
		    memcmp(&mail[i].s.text, &m->s.text, sizeof m->s.text) == 0)
			return true;
	return false;
}

int
main(int argc, char **argv)
{
	const struct tide_text_caps caps = { 16, 1000, 65536, 64u << 20 };
	struct rates nears = { 0 }, strangers = { 0 }, again = { 0 };
	struct tide_spam_shape shape;
	struct tide_text_sink sink;
	struct tide_signatures s;
	struct tide_slot *slots = calloc(1, sizeof *slots);
	struct tide_spam spam;
	tide_epoch epoch = 1;
	struct tide_workers workers = { slots, 1, &epoch };
	struct tide_err err;
	unsigned twins = 0, reports = 0;
	size_t i;

	if (argc == 5)
		seed = strtoull(argv[4], NULL, 10) * 0x9e3779b97f4a7c15ull;
	else if (argc != 4)
		give_up("usage: spam_rates CHANGED PREFIX FOLDER");
	for (i = 0; i < sizeof key.secret; i++)
		key.secret[i] = (uint8_t)(draw() >> 24);
	signer = tide_signer_new(&key);
	sink = tide_signer_sink(signer);
	pipeline = tide_text_new(&key, &caps, "", &sink);
	read_folder(argv[3], argv[2]);
	shape = tide_spam_size(2000, 1e-6, 1);
	tide_spam_attach(
	    &spam, aligned_alloc(4096, tide_spam_bytes(&shape)), &shape);
	memset((void *)spam.head, 0, tide_spam_bytes(&shape));
	if (tide_spam_begin_generation(&spam, &workers, 1, 1, 0, &err) < 0)
		give_up(err.text);
	for (i = 0; i < mails; i++) {
		mail[i].s = sign(mail[i].bytes, mail[i].length);
		if (!mail[i].reported || !mail[i].s.has_text)
			continue;
		tide_spam_put(&spam, 1, TIDE_SPAM_REPORTED, &mail[i].s);
		reports++;
	}
	for (i = 0; i < mails; i++) {
		if (mail[i].reported) {
			look(&spam, &mail[i].s, &again);
			if (!mail[i].s.has_text ||
			    change(mail[i].bytes, strtod(argv[1], NULL)) == 0)
				continue;
			s = sign(mail[i].bytes, mail[i].length);
			look(&spam, &s, &nears);
		} else if (same_text(&mail[i])) {
			twins++;
		} else {
			look(&spam, &mail[i].s, &strangers);
			if (getenv("SHOW") != NULL &&
			    tide_spam_test(&spam, NULL, NULL, &mail[i].s,
				&(struct tide_spam_match){ 0 }))
				printf("stranger %zu: %.200s\n", i,
				    strstr(mail[i].bytes, "\nSubject:"));
		}
	}
	printf("messages %zu reported %u twins %u\n", mails, reports, twins);
	put("again", &again);
	put("near", &nears);
	put("strangers", &strangers);
	return 0;
}
