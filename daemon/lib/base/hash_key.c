/*
 * hash_key - the key as a text that can be carried to another server.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium/crypto_generichash.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"

#define PURPOSE_MAX 64

void
tide_hash_key_show(
    const struct tide_hash_key *key, char text[TIDE_HASH_KEY_TEXT])
{
	size_t i;

	for (i = 0; i < sizeof key->secret; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", key->secret[i]);
	(void)snprintf(text + 2 * i, 18, "-%016" PRIx64,
	    tide_hash_check(key->secret, sizeof key->secret));
}

/* A key of its own for each purpose: what one use shows helps no other. */
static void
derive(const struct tide_hash_key *key, const char *purpose,
    uint8_t derived[crypto_generichash_KEYBYTES])
{
	uint8_t in[PURPOSE_MAX + sizeof key->secret] = { 0 };

	(void)snprintf((char *)in, PURPOSE_MAX, "%s", purpose);
	memcpy(in + PURPOSE_MAX, key->secret, sizeof key->secret);
	(void)crypto_generichash(
	    derived, crypto_generichash_KEYBYTES, in, sizeof in, NULL, 0);
	explicit_bzero(in, sizeof in);
}

void
tide_hash_key_seal(const struct tide_hash_key *key, const char *purpose,
    const void *data, size_t size, uint8_t seal[TIDE_SEAL_SIZE])
{
	uint8_t derived[crypto_generichash_KEYBYTES];

	derive(key, purpose, derived);
	(void)crypto_generichash(
	    seal, TIDE_SEAL_SIZE, data, size, derived, sizeof derived);
	explicit_bzero(derived, sizeof derived);
}

static int
nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0'
	    : c >= 'a' && c <= 'f'  ? c - 'a' + 10
				    : -1;
}

static int
parse(struct tide_hash_key *key, const char *text)
{
	char again[TIDE_HASH_KEY_TEXT];
	size_t i;

	for (i = 0; i < sizeof key->secret; i++) {
		int high = nibble(text[2 * i]);
		int low = high < 0 ? -1 : nibble(text[2 * i + 1]);

		if (low < 0)
			return -1;
		key->secret[i] = (uint8_t)(high << 4 | low);
	}
	tide_hash_key_show(key, again);
	return strcmp(again, text) == 0 ? 0 : -1;
}

static int
check_rights(int fd, const char *path, struct tide_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return tide_err_errno(err, "%s", path);
	if (!S_ISREG(st.st_mode) || (st.st_mode & 077) != 0)
		return tide_err_set(err,
		    "%s: is a secret that others can read; chmod 600 it, and "
		    "be sure that nobody has",
		    path);
	return 0;
}

int
tide_hash_key_read(
    struct tide_hash_key *key, const char *path, struct tide_err *err)
{
	char text[TIDE_HASH_KEY_TEXT + 2] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = -1;

	if (fd < 0)
		return errno == ENOENT ? 0 : tide_err_errno(err, "%s", path);
	if (check_rights(fd, path, err) == 0) {
		if (read(fd, text, sizeof text - 1) > 0) {
			text[strcspn(text, "\n")] = '\0';
			rc = parse(key, text) == 0 ? 1 : -1;
		}
		if (rc < 0)
			(void)tide_err_set(err,
			    "%s: is no hash key as tidemark export --key "
			    "writes it",
			    path);
	}
	(void)close(fd);
	return rc;
}
