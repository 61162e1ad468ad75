/*
 * Key files: whole or not there, their owner's alone, never written over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/base/keyring.h"

static const uint8_t one[32] = "the first key of thirty-two byte";
static const uint8_t two[32] = "the other key of thirty-two byte";

static const char *
path_of(const char *name)
{
	static char path[600];

	(void)snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
	return path;
}

static void
put(const char *name, const char *text, mode_t mode)
{
	FILE *f;

	(void)unlink(path_of(name));
	f = fopen(path_of(name), "w");
	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
	CHECK(chmod(path_of(name), mode) == 0);
}

static void
made(void)
{
	uint8_t key[32];
	struct tide_err err;
	struct stat st;

	CHECK_INT(tide_keyring_read(check_tmpdir(), "a", key, 32, &err), 0);
	put("a.key.new", "what a kill has left", 0600);
	CHECK_INT(tide_keyring_make(check_tmpdir(), "a", one, 32, &err), 0);
	CHECK_INT(tide_keyring_read(check_tmpdir(), "a", key, 32, &err), 1);
	CHECK(memcmp(key, one, 32) == 0);
	CHECK(stat(path_of("a.key"), &st) == 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	CHECK_INT(st.st_nlink, 1);
	CHECK(access(path_of("a.key.new"), F_OK) < 0);
}

static void
never_over_another(void)
{
	uint8_t key[32];
	struct tide_err err;

	CHECK_INT(tide_keyring_make(check_tmpdir(), "b", one, 32, &err), 0);
	CHECK(tide_keyring_make(check_tmpdir(), "b", two, 32, &err) < 0);
	CHECK_INT(tide_keyring_read(check_tmpdir(), "b", key, 32, &err), 1);
	CHECK(memcmp(key, one, 32) == 0);
	CHECK_INT(tide_keyring_set_aside(check_tmpdir(), "b", &err), 0);
	CHECK_INT(tide_keyring_make(check_tmpdir(), "b", two, 32, &err), 0);
	CHECK(access(path_of("b.key.unused"), F_OK) == 0);
}

/* Another name, another size, a bit, an end; others may read it; a link. */
static void
not_trusted(void)
{
	char *text, bad[400];
	uint8_t key[64];
	struct tide_err err;
	size_t size, i;

	CHECK_INT(tide_keyring_make(check_tmpdir(), "c", one, 32, &err), 0);
	CHECK(tide_keyring_read(check_tmpdir(), "c", key, 31, &err) < 0);
	CHECK(tide_keyring_read(check_tmpdir(), "c", key, 33, &err) < 0);
	text = fixture_slurp(path_of("c.key"), &size);
	CHECK(size < sizeof bad);
	put("d.key", text, 0600);
	CHECK(tide_keyring_read(check_tmpdir(), "d", key, 32, &err) < 0);
	for (i = 0; i + 1 < size; i++) {
		(void)snprintf(bad, sizeof bad, "%s", text);
		bad[i] ^= 1;
		put("c.key", bad, 0600);
		CHECK(
		    tide_keyring_read(check_tmpdir(), "c", key, 32, &err) < 0);
		bad[i] = '\0';
		put("c.key", bad, 0600);
		CHECK(
		    tide_keyring_read(check_tmpdir(), "c", key, 32, &err) < 0);
	}
	put("c.key", text, 0640);
	CHECK(tide_keyring_read(check_tmpdir(), "c", key, 32, &err) < 0);
	CHECK(strstr(err.text, "others can read") != NULL);
	put("real", text, 0600);
	(void)unlink(path_of("c.key"));
	CHECK(symlink("real", path_of("c.key")) == 0);
	CHECK(tide_keyring_read(check_tmpdir(), "c", key, 32, &err) < 0);
	free(text);
}

/* What tidemark export --key writes, carried to another server. */
static void
as_exported(void)
{
	char text[TIDE_HASH_KEY_TEXT + 1];
	struct tide_hash_key key, read;
	struct tide_err err;

	CHECK_INT(tide_hash_key_draw(&key, &err), 0);
	tide_hash_key_show(&key, text);
	put("hash.key", strcat(text, "\n"), 0600);
	CHECK_INT(tide_hash_key_read(&read, check_tmpdir(), &err), 1);
	CHECK(memcmp(&key, &read, sizeof key) == 0);
}

static void
ids(void)
{
	struct tide_key_id a = tide_keyring_id("a", one, 32),
			   b = tide_keyring_id("a", two, 32),
			   c = tide_keyring_id("b", one, 32),
			   d = tide_keyring_id("a", one, 32);

	CHECK(tide_key_id_equal(&a, &d));
	CHECK(!tide_key_id_equal(&a, &b) && !tide_key_id_equal(&a, &c));
	CHECK(memmem(one, 32, a.byte, 4) == NULL);
}

CHECK_CASES({ "made, read again", made },
    { "never written over", never_over_another },
    { "what is not to be trusted", not_trusted },
    { "a key as it is exported", as_exported }, { "ids", ids })
