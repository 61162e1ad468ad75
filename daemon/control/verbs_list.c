/*
 * verbs, list - a list of spam addresses, built here from its lines.
 *
 * Entries are hashed under the hash key, which the tool does not have.  It
 * says "addresses-load begin=1" and is told to send; lines with raw=, without
 * an answer, bring the entries; end=1 installs what they make.  The list under
 * construction is as large as the map's own, and no more entries are held than
 * it has room for.
 */
#include <stdlib.h>
#include <string.h>

#include "../collector/collector.h"
#include "verbs.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"

static _Thread_local struct {
	tide_bloom_word *words; /* NULL: none is being built */
	uint64_t elements;
	struct tide_hash *hash; /* of the counting form: each once */
	size_t count, room;
	bool failed; /* and err says why */
	struct tide_err err;
} list;

void
forget_list(void)
{
	free((void *)list.words);
	free(list.hash);
	memset(&list, 0, sizeof list);
}

static void
fail(const char *why)
{
	list.failed = true;
	(void)tide_err_set(&list.err, "%s", why);
}

static void
keep_hash(const struct tide_list_shape *s, struct tide_hash h)
{
	size_t room = list.room == 0 ? 4096 : list.room * 2;
	struct tide_hash *hash;

	if (list.count > 2 * s->bloom.capacity + 65536) {
		fail("far more lines than addresses_capacity; raise it, "
		     "restart tidemarkd and load them again");
		return;
	}
	if (list.count == list.room) {
		hash = realloc(list.hash, room * sizeof *hash);
		if (hash == NULL) {
			fail("there is no memory for the list");
			return;
		}
		list.hash = hash;
		list.room = room;
	}
	list.hash[list.count++] = h;
}

/* A count must not grow with a line that is there twice. */
static void
add_entry(struct collector *c, const char *text)
{
	const struct tide_list_shape *s = &c->map->addresses->shape;
	struct tide_hash h;
	struct tide_key key;

	if (tide_address_entry(&c->archive.key, text, &key) != 1)
		return;
	h = tide_address_hash(&c->archive.key, &key);
	if (s->counting)
		keep_hash(s, h);
	else
		list.elements += tide_list_add(s, list.words, h);
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
add_hashes(const struct tide_list_shape *s)
{
	size_t i;

	if (list.count > 0)
		qsort(list.hash, list.count, sizeof *list.hash, by_hash);
	for (i = 0; i < list.count; i++) {
		if (i > 0 && by_hash(&list.hash[i - 1], &list.hash[i]) == 0)
			continue;
		(void)tide_list_add(s, list.words, list.hash[i]);
		list.elements++;
	}
}

/* ---- the three kinds of line ------------------------------------------- */

static void
begin_list(struct collector *c, int fd)
{
	struct tide_line_out out;

	forget_list();
	list.words = calloc(1, tide_list_bytes(&c->map->addresses->shape));
	if (list.words == NULL) {
		say_err(fd, "there is no memory for the list");
		return;
	}
	tide_line_start(&out, "send");
	(void)tide_line_send(&out, fd);
}

static void
take_lines(struct collector *c, uint64_t n)
{
	static _Thread_local char bytes[CONTROL_RAW_MOST + 1];
	char *line, *save = NULL;

	if (n >= sizeof bytes || control_take(bytes, (size_t)n) < 0) {
		fail("the list ended too early; nothing is changed");
		return;
	}
	bytes[n] = '\0';
	for (line = strtok_r(bytes, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		if (list.words != NULL && !list.failed)
			add_entry(c, line);
}

static int
end_list(
    struct collector *c, struct tide_addresses_fresh *f, struct tide_err *err)
{
	const struct tide_list_shape *s = &c->map->addresses->shape;

	if (list.words == NULL)
		return tide_err_set(err, "no list was begun");
	if (list.failed)
		return tide_err_set(err, "%s", list.err.text);
	add_hashes(s);
	if (list.elements > s->bloom.capacity)
		return tide_err_set(err,
		    "%llu addresses are more than addresses_capacity, %llu; "
		    "raise it, restart tidemarkd and load them again",
		    (unsigned long long)list.elements,
		    (unsigned long long)s->bloom.capacity);
	*f = (struct tide_addresses_fresh){ .words = list.words,
		.elements = list.elements };
	return reputation_install(c, f, false, err);
}

void
do_addresses_load(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_addresses_fresh f;
	struct tide_err err;

	if (tide_line_get(line, "begin") != NULL) {
		begin_list(c, fd);
	} else if (tide_line_get(line, "raw") != NULL) {
		take_lines(c, tide_line_number(line, "raw", 0));
	} else {
		if (end_list(c, &f, &err) < 0)
			say_err(fd, err.text);
		else
			say_installed(fd, &f);
		forget_list();
	}
}
