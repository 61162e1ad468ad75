/*
 * addresses load - build a list here, hand it over whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../read/ask.h"
#include "../read/ask_key.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/view.h"
#include "../tool.h"
#include "addresses.h"
#include "tidemark/archive/addresses_archive.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"

struct build {
	struct tide_list_shape shape;
	uint64_t fingerprint; /* of the daemon's hash key */
	tide_bloom_word *words;
	uint64_t elements;
};

static int
no_memory(void)
{
	complain("there is no memory for the list");
	return -1;
}

static void
discard(struct build *b)
{
	free(b->words);
}

static int
start(struct build *b, const struct view *v)
{
	*b = (struct build){ .shape = v->map->addresses->shape };
	if (ask_fingerprint(&v->config, &b->fingerprint) < 0)
		return -1;
	b->words = calloc(1, tide_list_bytes(&b->shape));
	return b->words != NULL ? 0 : no_memory();
}

/* ---- handing over ------------------------------------------------------ */

static struct tide_list_file
header_of(const struct build *b)
{
	struct tide_list_file head;

	tide_list_file_make(&head, &b->shape, b->fingerprint,
	    &(struct tide_addresses_fresh){ .words = b->words,
		.elements = b->elements,
		.loaded_ms = tide_clock_wall_ms() });
	return head;
}

static void
say_installed(const struct tool *t, const struct tide_line *line, bool merge)
{
	uint64_t n = tide_line_number(line, "elements", 0);
	struct json j;

	if (!t->json) {
		printf("%s; %s%llu address%s on the list\n",
		    merge ? "united" : "loaded", merge ? "about " : "",
		    (unsigned long long)n, n == 1 ? "" : "es");
		return;
	}
	j = json_record(stdout, merge ? "merged" : "loaded");
	json_number(&j, "addresses", n);
	json_number(&j, "list", tide_line_number(line, "version", 0));
	json_record_end(&j);
}

/* The answer to the list: "send" came, the bytes are on their way. */
static int
hear(const struct tool *t, struct ask *ask, bool merge)
{
	enum answer a;

	while ((a = ask_next(ask)) == ANSWER_LINE)
		say_installed(t, &ask->line, merge);
	return a == ANSWER_DONE	  ? TOOL_OK
	    : a == ANSWER_REFUSED ? TOOL_NO
				  : TOOL_ERROR;
}

static int
hand_over(const struct tool *t, const struct view *v, const struct build *b,
    bool merge)
{
	size_t bytes = tide_list_bytes(&b->shape);
	struct tide_list_file head = header_of(b);
	static struct ask ask;
	struct tide_line_out request;
	enum answer a;
	int code = TOOL_ERROR;

	tide_line_start(&request, "addresses-install");
	tide_line_add(&request, "mode", merge ? "merge" : "load");
	tide_line_add_number(&request, "bytes", bytes + sizeof head);
	if (ask_send(&ask, &v->config, &request) == ANSWER_BROKEN)
		return TOOL_ERROR;
	a = ask_next(&ask);
	if (a == ANSWER_REFUSED)
		code = TOOL_NO;
	if (a == ANSWER_LINE && strcmp(ask.line.word, "send") == 0) {
		if (tide_line_send_bytes(ask.in.fd, &head, sizeof head) < 0 ||
		    tide_line_send_bytes(
			ask.in.fd, (const void *)b->words, bytes) < 0)
			complain("the daemon does not take the list");
		code = hear(t, &ask, merge);
	}
	ask_close(&ask);
	return code;
}

/* ---- lines ------------------------------------------------------------- */

#define CHUNK 32768u

struct loading {
	struct ask ask;
	char text[CHUNK]; /* entries, each with its end of line */
	size_t length;
};

static int
send_chunk(struct loading *l)
{
	struct tide_line_out line;

	tide_line_start(&line, "addresses-load");
	tide_line_add_number(&line, "raw", l->length);
	if (ask_say(&l->ask, &line) == ANSWER_BROKEN)
		return -1;
	if (tide_line_send_bytes(l->ask.in.fd, l->text, l->length) < 0) {
		complain("the daemon does not take the list");
		return -1;
	}
	l->length = 0;
	return 0;
}

/* As it stands in the file: the key that hashes it is the daemon's. */
static int
add_line(void *arg, const char *line, const struct tide_key *key)
{
	struct loading *l = arg;
	size_t n = strcspn(line, "\r\n");

	(void)key;
	if (n + 1 > sizeof l->text) {
		complain("a line is too long");
		return -1;
	}
	if (l->length + n + 1 > sizeof l->text && send_chunk(l) < 0)
		return -1;
	memcpy(l->text + l->length, line, n);
	l->text[l->length + n] = '\n';
	l->length += n + 1;
	return 0;
}

static int
request(struct loading *l, const char *what)
{
	struct tide_line_out line;

	tide_line_start(&line, "addresses-load");
	tide_line_add(&line, what, "1");
	return ask_say(&l->ask, &line) == ANSWER_BROKEN ? -1 : 0;
}

static void
say_left_out(const struct lines *l)
{
	if (l->left_out > 0)
		complain("%llu line%s left out",
		    (unsigned long long)l->left_out, plural(l->left_out));
}

/* "send" came. */
static int
send_lines(
    const struct tool *t, struct loading *load, char *const *files, int n)
{
	struct lines l = { .each = add_line, .arg = load };

	if (lines_read(&l, "addresses", files, n) < 0 ||
	    (load->length > 0 && send_chunk(load) < 0))
		return TOOL_ERROR;
	say_left_out(&l);
	return request(load, "end") < 0 ? TOOL_ERROR
					: hear(t, &load->ask, false);
}

int
addresses_load(
    const struct tool *t, const struct view *v, char *const *files, int n)
{
	static struct loading load;
	int code = TOOL_ERROR;
	enum answer a;

	if (ask_open(&load.ask, &v->config) == ANSWER_BROKEN)
		return TOOL_ERROR;
	if (request(&load, "begin") == 0) {
		a = ask_next(&load.ask);
		if (a == ANSWER_REFUSED)
			code = TOOL_NO;
		else if (a == ANSWER_LINE)
			code = send_lines(t, &load, files, n);
	}
	ask_close(&load.ask);
	return code;
}

/* ---- files of lists ---------------------------------------------------- */

static int
read_list(const struct build *b, const char *path, struct tide_list_file *head,
    tide_bloom_word *words)
{
	size_t bytes = tide_list_bytes(&b->shape);
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	struct tide_err err = { "is no list of addresses" };
	int rc = -1;

	if (f == NULL) {
		complain("%s: %s", path, strerror(errno));
		return -1;
	}
	if (fread(head, sizeof *head, 1, f) == 1 &&
	    tide_list_file_check(head, &b->shape, b->fingerprint, &err) == 0) {
		if (fread((void *)words, bytes, 1, f) != 1 || fgetc(f) != EOF)
			(void)tide_err_set(&err, "is truncated, or too long");
		else if (head->words_check !=
		    tide_hash_check((const void *)words, bytes))
			(void)tide_err_set(&err, "is damaged");
		else
			rc = 0;
	}
	if (rc < 0)
		complain("%s: %s", path, err.text);
	if (f != stdin)
		(void)fclose(f);
	return rc;
}

/* All files must be right before anything is united. */
int
addresses_merge(
    const struct tool *t, const struct view *v, char *const *files, int n)
{
	struct tide_list_file head;
	tide_bloom_word *one = NULL;
	struct build b;
	int i, code = TOOL_ERROR;

	if (start(&b, v) == 0)
		one = malloc(tide_list_bytes(&b.shape));
	for (i = 0; one != NULL && i < n; i++) {
		if (read_list(&b, files[i], &head, one) < 0)
			break;
		tide_list_unite(&b.shape, b.words, one);
	}
	if (one != NULL && i == n)
		code = hand_over(t, v, &b, true);
	free(one);
	discard(&b);
	return code;
}

/* A copy that may have been replaced meanwhile is taken again. */
static int
copy_current(const struct view *v, struct build *b)
{
	const struct tide_addresses *a = v->map->addresses;
	size_t i, n = tide_list_bytes(&a->shape) / 8;
	struct tide_addresses_copy *now;
	tide_bloom_word *words = NULL;
	uint64_t before, after;

	do {
		before = atomic_load(&a->head->current);
		now = tide_addresses_now(a, &words);
		if (now == NULL)
			return 0;
		for (i = 0; i < n; i++)
			b->words[i] = atomic_load_explicit(
			    &words[i], memory_order_acquire);
		b->elements = atomic_load(&now->elements);
		after = atomic_load(&a->head->current);
	} while (before != after);
	return 0;
}

int
addresses_export(const struct tool *t, const struct view *v)
{
	struct tide_list_file head;
	struct build b;
	int code = TOOL_ERROR;

	if (isatty(STDOUT_FILENO) == 1)
		tool_misused(t, "a list is no text; send it to a file");
	if (start(&b, v) == 0 && copy_current(v, &b) == 0) {
		head = header_of(&b);
		(void)fwrite(&head, sizeof head, 1, stdout);
		(void)fwrite((const void *)b.words, tide_list_bytes(&b.shape),
		    1, stdout);
		code = TOOL_OK;
	}
	discard(&b);
	return code;
}
