/*
 * verbs, reputation - lists of addresses, exceptions.
 *
 * A whole list comes behind its request: the tool asks, the collector says
 * "send", and then as many bytes follow as the map's own list has.  No more
 * are read, so nobody can fill the collector's memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../collector/collector.h"
#include "verbs.h"
#include "tidemark/archive/addresses_archive.h"
#include "tidemark/archive/archive.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/line.h"
#include "tidemark/base/log.h"
#include "tidemark/keys/keys.h"
#include "tidemark/map/map.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/exceptions.h"

/* ---- whole lists ------------------------------------------------------- */

static int
receive(struct collector *c, int fd, tide_bloom_word *words,
    struct tide_addresses_fresh *f, struct tide_err *err)
{
	const struct tide_list_shape *s = &c->map->addresses->shape;
	size_t bytes = tide_list_bytes(s);
	struct tide_list_file head;
	struct tide_err why;

	if (tide_line_read_bytes(fd, &head, sizeof head) < 0 ||
	    tide_line_read_bytes(fd, words, bytes) < 0)
		return tide_err_set(
		    err, "the list ended too early; nothing is changed");
	if (tide_list_file_check(
		&head, s, tide_key_fingerprint(&c->archive.key), &why) < 0)
		return tide_err_set(err, "the list %s", why.text);
	if (head.words_check != tide_hash_check((const void *)words, bytes))
		return tide_err_set(err, "the list is damaged");
	*f = (struct tide_addresses_fresh){ .words = words,
		.elements = head.elements };
	return 0;
}

void
say_installed(int fd, const struct tide_addresses_fresh *f)
{
	struct tide_line_out out;

	tide_line_start(&out, "installed");
	tide_line_add_number(&out, "version", f->version);
	tide_line_add_number(&out, "elements", f->elements);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

void
do_addresses_install(struct collector *c, int fd, const struct tide_line *line)
{
	const char *mode = tide_line_get(line, "mode");
	size_t bytes = tide_list_bytes(&c->map->addresses->shape);
	bool merge = mode != NULL && strcmp(mode, "merge") == 0;
	struct tide_addresses_fresh f;
	struct tide_line_out out;
	tide_bloom_word *words;
	struct tide_err err;

	if (tide_line_number(line, "bytes", 0) !=
	    bytes + sizeof(struct tide_list_file)) {
		say_err(fd, "the list has another size than ours");
		return;
	}
	words = malloc(bytes);
	if (words == NULL) {
		say_err(fd, "there is no memory for the list");
		return;
	}
	tide_line_start(&out, "send");
	if (tide_line_send(&out, fd) == 0) {
		if (receive(c, fd, words, &f, &err) < 0 ||
		    reputation_install(c, &f, merge, &err) < 0)
			say_err(fd, err.text);
		else
			say_installed(fd, &f);
	}
	free(words);
}

/* ---- single addresses -------------------------------------------------- */

static int
read_entry(const struct collector *c, const char *text, struct tide_key *key,
    struct tide_err *err)
{
	if (text != NULL && tide_address_entry(&c->archive.key, text, key) == 1)
		return 0;
	return tide_err_set(err, "«%.100s» is no address and no @domain",
	    text != NULL ? text : "");
}

static void
change_one(struct collector *c, int fd, const struct tide_line *line, bool add)
{
	struct tide_line_out out;
	struct tide_err err;
	struct tide_key key;
	int rc = read_entry(c, tide_line_get(line, "key"), &key, &err);

	if (rc == 0)
		rc = reputation_change(
		    c, add, tide_address_hash(&c->archive.key, &key), &err);
	if (rc < 0) {
		say_err(fd, err.text);
		return;
	}
	if (rc == 1)
		tide_log(TIDE_LOG_INFO, "addresses: key=%s %s", key.text,
		    add ? "added" : "taken out");
	tide_line_start(&out, "changed");
	tide_line_add(&out, "key", key.text);
	tide_line_add_number(&out, "changed", (uint64_t)rc);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}

void
do_addresses_add(struct collector *c, int fd, const struct tide_line *line)
{
	change_one(c, fd, line, true);
}

void
do_addresses_del(struct collector *c, int fd, const struct tide_line *line)
{
	change_one(c, fd, line, false);
}

/* Under which of its forms is a sender listed?  A domain has only itself. */
static void
send_listed(struct collector *c, int fd, const char *text)
{
	struct tide_sender_forms f;
	struct tide_line_out out;
	int form;

	tide_sender_forms(&c->archive.key, text, &f);
	if (text[0] == '@' &&
	    tide_address_entry(&c->archive.key, text, &f.key[0]) == 1) {
		f.count = 1;
		f.hash[0] = tide_address_hash(&c->archive.key, &f.key[0]);
	}
	form =
	    tide_addresses_find(c->map->addresses, NULL, NULL, f.hash, f.count);
	tide_line_start(&out, "sender");
	if (form >= 0) {
		tide_line_add_number(&out, "form", (uint64_t)form);
		tide_line_add(&out, "as", f.key[form].text);
	}
	(void)tide_line_send(&out, fd);
}

void
do_addresses_test(struct collector *c, int fd, const struct tide_line *line)
{
	unsigned i;

	for (i = 0; i < line->pairs; i++)
		if (strcmp(line->pair[i].key, "key") == 0)
			send_listed(c, fd, line->pair[i].value);
	say_ok(fd);
}

/* ---- exceptions -------------------------------------------------------- */

/* A domain may also come without its @. */
static int
read_exception(const struct collector *c, const char *text,
    struct tide_key *key, struct tide_err *err)
{
	char domain[TIDE_DOMAIN_MAX + 1];

	if (strchr(text, '@') != NULL)
		return read_entry(c, text, key, err);
	(void)snprintf(domain, sizeof domain, "@%s", text);
	return read_entry(c, domain, key, err);
}

void
do_except_add(struct collector *c, int fd, const struct tide_line *line)
{
	struct tide_exception e[TIDE_LINE_PAIRS];
	uint64_t now = tide_clock_wall_ms();
	struct tide_line_out out;
	struct tide_err err;
	struct tide_key key;
	unsigned i, n = 0;
	int rc = 0;

	memset(e, 0, sizeof e);
	for (i = 0; rc == 0 && i < line->pairs; i++) {
		if (strcmp(line->pair[i].key, "key") != 0)
			continue;
		rc = read_exception(c, line->pair[i].value, &key, &err);
		e[n].since_ms = now;
		memcpy(e[n].key, key.text, sizeof key.text);
		verb_text(e[n].reason, sizeof e[n].reason,
		    tide_line_get(line, "reason"));
		n++;
	}
	if (rc == 0 && n == 0)
		rc = tide_err_set(&err, "there is no key=");
	if (rc == 0)
		rc = reputation_except(c, e, n, &err);
	if (rc < 0) {
		say_err(fd, err.text);
		return;
	}
	for (i = 0; i < n; i++) {
		tide_log(TIDE_LOG_INFO, "exceptions: key=%s added", e[i].key);
		tide_line_start(&out, "excepted");
		tide_line_add(&out, "key", e[i].key);
		if (tide_line_send(&out, fd) < 0)
			return;
	}
	say_ok(fd);
}

void
do_except_del(struct collector *c, int fd, const struct tide_line *line)
{
	const char *text = tide_line_get(line, "key");
	struct tide_line_out out;
	struct tide_err err;
	struct tide_key key;
	int rc = read_exception(c, text != NULL ? text : "", &key, &err);

	if (rc == 0) {
		rc = reputation_unexcept(c, &key, &err);
		if (rc == 0)
			rc = tide_err_set(
			    &err, "there is no exception %s", key.text);
	}
	if (rc < 0) {
		say_err(fd, err.text);
		return;
	}
	tide_log(TIDE_LOG_INFO, "exceptions: key=%s deleted", key.text);
	tide_line_start(&out, "unexcepted");
	tide_line_add(&out, "key", key.text);
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}
