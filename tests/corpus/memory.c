/*
 * memory - the memory of content on real mail: what a corpus leaves in the
 * archive, and how excerpts of it, and excerpts of nothing, are answered.
 *
 * memory FOLDER [QUESTIONS]
 *
 * Everything goes the worker's and the collector's own way: text pipeline,
 * samples, one burst a message into the open window, sealed when it is full,
 * stored and asked by tide_query().  For each form: QUESTIONS excerpts of 100
 * letters out of random parts, wrapped, quoted and spelt anew, must all be
 * found; as many that never passed, of 100, 150 and 200 letters, should not.
 * Exits 1 if the default form does not do what it is for.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/archive/archive.h"
#include "tidemark/archive/live.h"
#include "tidemark/archive/sealer.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/map/map.h"
#include "tidemark/map/window.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

#define EXCERPT 100u /* letters */
#define LENGTHS 3u
static const size_t lengths[LENGTHS] = { 100, 150, 200 };

/* ---- the corpus -------------------------------------------------------- */

struct text {
	char *bytes;
	size_t length, room;
};

static struct {
	char **path;
	size_t paths;
	struct text *part; /* all text, for cutting excerpts */
	size_t parts;
	uint64_t wire, text;
} corpus;

static void *
more(void *array, size_t n, size_t size)
{
	if ((n & (n - 1)) == 0)
		array = realloc(array, (n == 0 ? 1 : n * 2) * size);
	CHECK(array != NULL);
	return array;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
list(const char *folder)
{
	char path[4096];
	DIR *d = opendir(folder);
	struct dirent *e;

	CHECK_MSG(d != NULL, "%s", folder);
	while ((e = readdir(d)) != NULL) {
		if (strstr(e->d_name, ".eml") == NULL)
			continue;
		corpus.path =
		    more(corpus.path, corpus.paths, sizeof *corpus.path);
		(void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		corpus.path[corpus.paths++] = strdup(path);
	}
	(void)closedir(d);
	CHECK(corpus.paths > 0);
	qsort(corpus.path, corpus.paths, sizeof *corpus.path, by_name);
}

/* Its text is kept as well, part by part, when it is read for the first
 * time. */
static void
keep_begin(void *arg, const struct tide_part *part)
{
	(void)arg;
	(void)part;
	corpus.part = more(corpus.part, corpus.parts, sizeof *corpus.part);
	memset(&corpus.part[corpus.parts++], 0, sizeof *corpus.part);
}

static void
keep_text(void *arg, const char *text, size_t length)
{
	struct text *t = &corpus.part[corpus.parts - 1];

	(void)arg;
	if (t->length + length > t->room) {
		t->room = 2 * (t->length + length);
		t->bytes = realloc(t->bytes, t->room);
		CHECK(t->bytes != NULL);
	}
	memcpy(t->bytes + t->length, text, length);
	t->length += length;
}

static void
read_corpus(const struct tide_text_caps *caps)
{
	static const struct tide_hash_key key;
	const struct tide_text_sink sink = { .begin = keep_begin,
		.text = keep_text };
	struct tide_text *t = tide_text_new(&key, caps, "Subject", &sink);
	size_t i, size;
	void *bytes;

	for (i = 0; i < corpus.paths; i++) {
		bytes = fixture_slurp(corpus.path[i], &size);
		corpus.wire += size;
		tide_text_message(t, bytes, size);
		(void)tide_text_end(t);
		free(bytes);
	}
	for (i = 0; i < corpus.parts; i++)
		corpus.text += corpus.part[i].length;
	tide_text_free(t);
}

/* ---- into the archive -------------------------------------------------- */

struct run {
	const char *name;
	struct tide_config config;
	struct tide_archive archive;
	struct tide_map *map;
	struct tide_sealer sealer;
	struct tide_archive_summary sum;
	uint64_t missed;
	uint64_t false_yes[LENGTHS];
	double lookups[LENGTHS], ms[LENGTHS], predicted[LENGTHS];
};

static void
pass(struct run *r, struct tide_samples *samples, struct tide_text *t,
    const char *path)
{
	struct tide_harvest h;
	struct tide_traces traces = { .text = &h };
	struct tide_err err;
	size_t size;
	void *bytes = fixture_slurp(path, &size);

	tide_samples_begin(
	    samples, tide_hbf_profile(r->map->profiles->name[0]));
	tide_text_message(t, bytes, size);
	traces.cut = tide_text_end(t) != 0;
	h = tide_samples_harvest(samples);
	traces.wire = size;
	CHECK(tide_window_remember(r->map, &r->map->slots[0], &traces));
	CHECK(tide_sealer_round(
		  &r->sealer, tide_moment_now(), UINT64_MAX / 2, &err) >= 0);
	free(bytes);
}

static void
fill(struct run *r, const struct tide_text_caps *caps)
{
	struct tide_samples *samples;
	struct tide_text_sink sink;
	struct tide_text *t;
	struct tide_err err = { "" };
	size_t i;

	fixture_open_archive(&r->config, &r->archive);
	r->map = fixture_make_map(&r->config, &r->archive);
	CHECK(tide_sealer_open(&r->sealer, r->map, &r->archive,
		  tide_moment_now(), &err) == 0);
	samples = tide_samples_new(
	    &r->archive.key, r->config.memory, TIDE_SAMPLES_MOST);
	sink = tide_samples_sink(samples);
	t = tide_text_new(&r->archive.key, caps, "Subject", &sink);
	for (i = 0; i < corpus.paths; i++)
		pass(r, samples, t, corpus.path[i]);
	CHECK(tide_sealer_round(&r->sealer, tide_moment_now(), 0, &err) >=
	    0); /* the last one */
	tide_text_free(t);
	tide_samples_free(samples);
	CHECK(tide_archive_summary(&r->archive, &r->sum, &err) == 0);
}

/* ---- questions --------------------------------------------------------- */

static uint64_t seed = 1;

static size_t
below(size_t n)
{
	return (size_t)(fixture_random(&seed) % n);
}

/* That many characters of UTF-8 out of a random part; their bytes. */
static const char *
cut_out(size_t letters, size_t *bytes)
{
	const struct text *t;
	size_t at, end, n;

	for (;;) {
		t = &corpus.part[below(corpus.parts)];
		if (t->length < letters)
			continue;
		at = below(t->length - letters + 1);
		while (at < t->length && (t->bytes[at] & 0xc0) == 0x80)
			at++;
		for (end = at, n = 0; end < t->length; end++)
			if ((t->bytes[end] & 0xc0) != 0x80 && n++ == letters)
				break;
		if (n < letters)
			continue;
		*bytes = end - at;
		return t->bytes + at;
	}
}

/* As people copy it: spaces, lines, quote marks, smart quotes, capitals. */
static size_t
spell_anew(char *to, const char *from, size_t n)
{
	static const char *const between[] = { " ", "\n", "\n> ", ", ",
		"\r\n> > ", " \xe2\x80\x9c", "\xe2\x80\x9d ", "\xe2\x80\x99",
		" - ", "\xe2\x80\xa6 ", "=", "\n\t" };
	size_t i, length = 0;
	const char *b;

	for (i = 0; i < n; i++) {
		bool whole = (from[i] & 0xc0) != 0x80;

		if (whole && below(6) == 0) {
			b = between[below(sizeof between / sizeof *between)];
			memcpy(to + length, b, strlen(b));
			length += strlen(b);
		}
		to[length++] = below(3) == 0 && (from[i] & 0x80) == 0
		    ? (char)toupper((unsigned char)from[i])
		    : from[i];
	}
	return length;
}

static void
recall_text(void *arg, const char *text, size_t length)
{
	struct tide_err err;

	CHECK(tide_recall_text(arg, text, length, &err) == 0);
}

/* Normalised like any question, and put to the whole archive. */
static bool
ask(struct run *r, const struct tide_text_caps *caps, const char *text,
    size_t length, struct tide_answer *a)
{
	struct tide_recall *recall =
	    tide_recall_new(&r->archive.key, TIDE_RECALL_EXCERPT);
	const struct tide_text_sink sink = { .arg = recall,
		.text = recall_text };
	struct tide_text *t = tide_text_new(&r->archive.key, caps, "", &sink);
	struct tide_question q = { .recall = recall,
		.until_ms = tide_clock_wall_ms(),
		.now_ms = tide_clock_wall_ms() };
	struct tide_err err;

	tide_text_excerpt(t, text, length);
	tide_text_free(t);
	CHECK_MSG(tide_recall_ready(recall, &err) == 0, "%s", err.text);
	CHECK_MSG(
	    tide_query(&r->archive, NULL, &q, a, &err) == 0, "%s", err.text);
	tide_recall_free(recall);
	return a->hits > 0;
}

static void
ask_present(struct run *r, const struct tide_text_caps *caps, size_t n)
{
	char text[16 * EXCERPT];
	struct tide_answer a;
	const char *from;
	size_t i, bytes, length;

	seed = 1;
	for (i = 0; i < n; i++) {
		from = cut_out(EXCERPT, &bytes);
		length = spell_anew(text, from, bytes);
		if (!ask(r, caps, text, length, &a)) {
			r->missed++;
			printf("# missed: %.*s\n", (int)length, text);
		}
		tide_answer_free(&a);
	}
}

/* Mail read backwards has its letters, and never passed. */
static void
ask_absent(
    struct run *r, const struct tide_text_caps *caps, unsigned which, size_t n)
{
	char text[1024];
	struct tide_answer a;
	const char *from;
	uint64_t began = tide_clock_mono_ns();
	size_t i, k, bytes;

	seed = 2 + which;
	for (i = 0; i < n; i++) {
		do
			from = cut_out(lengths[which], &bytes);
		while (bytes != lengths[which]); /* ASCII */
		for (k = 0; k < bytes; k++)
			text[k] = from[bytes - 1 - k];
		r->false_yes[which] += ask(r, caps, text, bytes, &a);
		r->lookups[which] += (double)a.lookups / (double)n;
		r->predicted[which] += a.error / (double)n;
		tide_answer_free(&a);
	}
	r->ms[which] = (double)(tide_clock_mono_ns() - began) / 1e6 / (double)n;
}

/* ---- one form ---------------------------------------------------------- */

static void
report(const struct run *r, size_t n)
{
	unsigned i;

	printf("# %s: %llu windows, %llu bytes kept; %.1f bytes of wire and "
	       "%.1f of text a byte; missed %llu of %zu\n",
	    r->name, (unsigned long long)r->sum.windows,
	    (unsigned long long)r->sum.kept,
	    (double)r->sum.wire / (double)r->sum.kept,
	    (double)r->sum.text / (double)r->sum.kept,
	    (unsigned long long)r->missed, n);
	for (i = 0; i < LENGTHS; i++)
		printf("# %s, %zu letters that never passed: %llu of %zu "
		       "found (%.4f, predicted %.4f), %.0f lookups, %.2f ms a "
		       "question\n",
		    r->name, lengths[i], (unsigned long long)r->false_yes[i], n,
		    (double)r->false_yes[i] / (double)n, r->predicted[i],
		    r->lookups[i], r->ms[i]);
	(void)fflush(stdout);
}

static size_t questions = 2000;
static struct run classic = { .name = "classic" };
static struct run same = { .name = "default, same bytes" };
static struct run shipped = { .name = "default as shipped" };

static void
run(struct run *r, enum tide_memory form, uint64_t size, double error)
{
	struct tide_text_caps caps;
	unsigned i;

	fixture_config(&r->config);
	caps = tide_text_caps(&r->config);
	if (corpus.parts == 0)
		read_corpus(&caps);
	r->config.memory = form;
	r->config.memory_size = size;
	r->config.memory_error = error;
	fill(r, &caps);
	ask_present(r, &caps, questions);
	for (i = 0; i < LENGTHS; i++)
		ask_absent(r, &caps, i, questions);
	report(r, questions);
	CHECK_INT(r->missed, 0);
}

static void
classic_form(void)
{
	run(&classic, TIDE_MEMORY_CLASSIC, 0, 0);
}

/* Under 15 bits an element, which is what the classic form has. */
static void
default_form(void)
{
	if (classic.sum.kept == 0) /* left out, by CASE */
		classic_form();
	run(&same, TIDE_MEMORY_DEFAULT, 1 << 16, 0.0011);
	CHECK_MSG(same.sum.kept <= classic.sum.kept, "%llu bytes, not %llu",
	    (unsigned long long)same.sum.kept,
	    (unsigned long long)classic.sum.kept);
	CHECK(same.false_yes[0] * 3 <= classic.false_yes[0]);
	CHECK_INT(same.false_yes[2], 0);
}

static void
default_as_shipped(void)
{
	struct tide_config c;

	tide_config_defaults(&c, NULL);
	run(&shipped, TIDE_MEMORY_DEFAULT, c.memory_size, c.memory_error);
	CHECK_INT(shipped.false_yes[2], 0);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{ "classic: nothing is missed", classic_form },
		{ "default at the same bytes: nothing missed, a third of the "
		  "false positives at most",
		    default_form },
		{ "default as shipped: nothing is missed", default_as_shipped },
	};

	if (argc < 2) {
		(void)fprintf(stderr, "usage: memory FOLDER [QUESTIONS]\n");
		return 2;
	}
	list(argv[1]);
	if (argc > 2)
		questions = (size_t)strtoul(argv[2], NULL, 10);
	return check_main(cases, sizeof cases / sizeof *cases);
}
