/*
 * b_text - the text pipeline in MB/s of wire on one core, beside GMime, which
 * parses and decodes the same messages (and normalises nothing), and beside
 * XXH3 over the bytes.  Rounds in turns; ratios in one run are what counts.
 *
 * On the corpus of tests/corpus/fetch.sh if it is at hand, else on a mailbox
 * of the tree.
 */
#include <dirent.h>
#include <gmime/gmime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixture.h"
#include "tidemark/base/hash.h"
#include "tidemark/text/text.h"

#define ROUNDS 5
#define LEAST (8u << 20) /* bytes a round */

struct mail {
	char *bytes;
	size_t size;
};

static struct mail *mail;
static size_t mails, total;
static struct tide_hash_key key;
static volatile uint64_t sum;

static void
add(char *bytes, size_t size)
{
	mail = realloc(mail, (mails + 1) * sizeof *mail);
	if (mail == NULL)
		exit(1);
	mail[mails++] = (struct mail){ bytes, size };
	total += size;
}

static bool
load_corpus(void)
{
	char folder[400] = "", path[700];
	FILE *p = popen("tests/corpus/fetch.sh 2>/dev/null", "r");
	struct dirent *e;
	size_t size;
	DIR *d;

	if (p == NULL)
		return false;
	if (fgets(folder, sizeof folder, p) == NULL)
		folder[0] = '\0';
	if (pclose(p) != 0)
		return false;
	folder[strcspn(folder, "\n")] = '\0';
	d = opendir(folder);
	while (d != NULL && (e = readdir(d)) != NULL) {
		char *bytes;

		if (strstr(e->d_name, ".eml") == NULL)
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		bytes = fixture_slurp(path, &size);
		add(bytes, size);
	}
	if (d != NULL)
		(void)closedir(d);
	return mails > 0;
}

/* Its messages, without their first line. */
static void
load_sample(void)
{
	size_t size;
	char *box = fixture_slurp("tests/demo/sample.mbox", &size);
	char *p = box, *next;

	while (p != NULL && *p != '\0') {
		p = strchr(p, '\n') + 1;
		next = strstr(p, "\nFrom ");
		add(p, next != NULL ? (size_t)(next - p) + 1 : strlen(p));
		p = next != NULL ? next + 1 : NULL;
	}
}

/* ---- the three --------------------------------------------------------- */

static void
on_text(void *arg, const char *text, size_t n)
{
	(void)arg;
	sum += (unsigned char)text[n - 1];
}

static void
on_file(void *arg, const struct tide_part *p, struct tide_hash h, uint64_t n)
{
	(void)arg;
	(void)p;
	sum += h.low + n;
}

static void
run_ours(void)
{
	static const struct tide_text_caps caps = { 16, 1000, 65536,
		64u << 20 };
	const struct tide_text_sink sink = { .text = on_text, .file = on_file };
	struct tide_text *t = tide_text_new(&key, &caps, "Subject", &sink);
	size_t i;

	for (i = 0; i < mails; i++) {
		tide_text_message(t, mail[i].bytes, mail[i].size);
		sum += tide_text_end(t);
	}
	tide_text_free(t);
}

static void
decode(GMimeObject *parent, GMimeObject *part, gpointer arg)
{
	GMimeDataWrapper *content;
	char *text;

	(void)parent;
	(void)arg;
	if (GMIME_IS_TEXT_PART(part)) {
		text = g_mime_text_part_get_text((GMimeTextPart *)part);
		sum += text != NULL ? (unsigned char)text[0] : 0;
		g_free(text);
	} else if (GMIME_IS_PART(part)) {
		GMimeStream *null = g_mime_stream_null_new();

		content = g_mime_part_get_content((GMimePart *)part);
		if (content != NULL)
			sum += (uint64_t)g_mime_data_wrapper_write_to_stream(
			    content, null);
		g_object_unref(null);
	}
}

static void
run_gmime(void)
{
	size_t i;

	for (i = 0; i < mails; i++) {
		GMimeStream *s = g_mime_stream_mem_new_with_buffer(
		    mail[i].bytes, mail[i].size);
		GMimeParser *p = g_mime_parser_new_with_stream(s);
		GMimeMessage *m = g_mime_parser_construct_message(p, NULL);

		if (m != NULL) {
			const char *subject = g_mime_message_get_subject(m);

			sum += subject != NULL ? (unsigned char)subject[0] : 0;
			g_mime_message_foreach(m, decode, NULL);
			g_object_unref(m);
		}
		g_object_unref(p);
		g_object_unref(s);
	}
}

static void
run_hash(void)
{
	size_t i;

	for (i = 0; i < mails; i++)
		sum += tide_hash(&key, mail[i].bytes, mail[i].size).low;
}

/* ---- measuring --------------------------------------------------------- */

static double
cpu_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
measure(void (*run)(void))
{
	unsigned i, times = (unsigned)(LEAST / total) + 1;
	double start = cpu_now();

	for (i = 0; i < times; i++)
		run();
	return (double)total * times / 1e6 / (cpu_now() - start);
}

static int
ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int
main(void)
{
	double ours[ROUNDS], gmime[ROUNDS], hash[ROUNDS], ratio[ROUNDS];
	bool corpus = load_corpus();
	int i;

	if (!corpus)
		load_sample();
	g_mime_init();
	printf("== text pipeline, MB/s of wire on one core: %zu messages, "
	       "%.1f MB%s\n"
	       "    ours   GMime    XXH3   ours/GMime\n",
	    mails, (double)total / 1e6,
	    corpus ? "" : " (no corpus: the sample)");
	for (i = 0; i < ROUNDS; i++) {
		ours[i] = measure(run_ours);
		gmime[i] = measure(run_gmime);
		hash[i] = measure(run_hash);
		ratio[i] = ours[i] / gmime[i];
		printf("%8.1f%8.1f%8.0f   x%.2f\n", ours[i], gmime[i], hash[i],
		    ratio[i]);
	}
	qsort(ratio, ROUNDS, sizeof *ratio, ascending);
	qsort(ours, ROUNDS, sizeof *ours, ascending);
	qsort(hash, ROUNDS, sizeof *hash, ascending);
	printf("median: x%.2f of GMime, 1/%.0f of XXH3 (at least x2 wanted)\n",
	    ratio[ROUNDS / 2], hash[ROUNDS / 2] / ours[ROUNDS / 2]);
	return 0;
}
