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

/* ---- building ---------------------------------------------------------- */

struct build {
	struct tide_list_shape shape;
	const struct tide_hash_key *key;
	tide_bloom_word *words;
	uint64_t elements;
	struct tide_hash *hash; /* of the counting form: each once */
	size_t count, room;
};

static int
no_memory(void)
{
	complain("there is no memory for the list");
	return -1;
}

static int
keep_hash(struct build *b, struct tide_hash h)
{
	size_t room = b->room == 0 ? 4096 : b->room * 2;
	struct tide_hash *hash = b->hash;

	if (b->count == b->room) {
		hash = realloc(hash, room * sizeof *hash);
		if (hash == NULL)
			return no_memory();
		b->hash = hash;
		b->room = room;
	}
	b->hash[b->count++] = h;
	return 0;
}

/* A count must not grow with a line that is there twice. */
static int
add_line(void *arg, const char *line, const struct tide_key *key)
{
	struct build *b = arg;
	struct tide_hash h = tide_address_hash(b->key, key);

	(void)line;
	if (b->shape.counting)
		return keep_hash(b, h);
	b->elements += tide_list_add(&b->shape, b->words, h);
	return 0;
}

static int
by_hash(const void *a, const void *b)
{
	const struct tide_hash *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->high < y->high ? -1 : x->high > y->high;
}

static void
add_hashes(struct build *b)
{
	size_t i;

	if (b->count > 0)
		qsort(b->hash, b->count, sizeof *b->hash, by_hash);
	for (i = 0; i < b->count; i++) {
		if (i > 0 && by_hash(&b->hash[i - 1], &b->hash[i]) == 0)
			continue;
		(void)tide_list_add(&b->shape, b->words, b->hash[i]);
		b->elements++;
	}
}

static void
discard(struct build *b)
{
	free(b->words);
	free(b->hash);
}

static int
start(struct build *b, const struct view *v)
{
	*b = (struct build){ .shape = v->map->addresses->shape,
		.key = v->map->key };
	b->words = calloc(1, tide_list_bytes(&b->shape));
	return b->words != NULL ? 0 : no_memory();
}

/* ---- handing over ------------------------------------------------------ */

static struct tide_list_file
header_of(const struct build *b)
{
	struct tide_list_file head;

	tide_list_file_make(&head, &b->shape, b->key,
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

static int
check_room(const struct build *b)
{
	if (b->elements <= b->shape.bloom.capacity)
		return 0;
	complain("%llu addresses are more than addresses_capacity, %llu; "
		 "raise it, restart tidemarkd and load them again",
	    (unsigned long long)b->elements,
	    (unsigned long long)b->shape.bloom.capacity);
	return -1;
}

static void
say_left_out(const struct lines *l)
{
	if (l->left_out > 0)
		complain("%llu line%s left out",
		    (unsigned long long)l->left_out, plural(l->left_out));
}

int
addresses_load(
    const struct tool *t, const struct view *v, char *const *files, int n)
{
	struct build b;
	struct lines l = { .each = add_line, .arg = &b };
	int code = TOOL_ERROR;

	if (start(&b, v) < 0)
		return TOOL_ERROR;
	l.key = b.key;
	if (lines_read(&l, "addresses", files, n) == 0) {
		add_hashes(&b);
		say_left_out(&l);
		code =
		    check_room(&b) < 0 ? TOOL_NO : hand_over(t, v, &b, false);
	}
	discard(&b);
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
	    tide_list_file_check(head, &b->shape, b->key, &err) == 0) {
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
