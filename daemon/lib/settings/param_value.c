/*
 * param_value - read, check, store and show the value of one setting.
 */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tidemark/base/err.h"
#include "tidemark/base/nearest.h"
#include "tidemark/base/units.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/params.h"

static const char *const log_words[] = { "syslog", "stderr" };

/* The field is filled up with zeros, so that equal settings compare equal. */
static int
store_text(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	char *field = (char *)base + p->offset;
	size_t n = strlen(text);

	if (n >= p->size)
		return tide_err_set(
		    err, "%zu bytes are too long; at most %zu", n, p->size - 1);
	memset(field, 0, p->size);
	memcpy(field, text, n);
	return 0;
}

static void
store_number(const struct tide_param *p, void *base, uint64_t n)
{
	char *field = (char *)base + p->offset;
	uint32_t narrow = (uint32_t)n;

	if (p->size == sizeof narrow) {
		assert(n <= UINT32_MAX);
		memcpy(field, &narrow, sizeof narrow);
	} else {
		assert(p->size == sizeof n);
		memcpy(field, &n, sizeof n);
	}
}

static uint64_t
load_number(const struct tide_param *p, const void *base)
{
	const char *field = (const char *)base + p->offset;
	uint32_t narrow;
	uint64_t n;

	if (p->size == sizeof narrow) {
		memcpy(&narrow, field, sizeof narrow);
		return narrow;
	}
	memcpy(&n, field, sizeof n);
	return n;
}

static int
set_word(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	if (strpbrk(text, " \t,") != NULL)
		return tide_err_set(err, "«%.64s» is not one word", text);
	return store_text(p, base, text, err);
}

/* One space between words, none twice. */
static int
set_words(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	char words[1024] = "", word[1024];
	size_t at = 0, n;

	for (text += strspn(text, " \t,"); *text != '\0';
	     text += n, text += strspn(text, " \t,")) {
		n = strcspn(text, " \t,");
		if (at + 1 + n >= sizeof words)
			return tide_err_set(err, "too long");
		memcpy(word, text, n);
		word[n] = '\0';
		if (tide_config_has_word(words, word))
			continue;
		if (at > 0)
			words[at++] = ' ';
		memcpy(words + at, word, n + 1);
		at += n;
	}
	return store_text(p, base, words, err);
}

/* Without doubled and trailing slashes, so that equal paths compare equal. */
static void
tidy_path(char *path)
{
	char *to = path, *from;

	for (from = path; *from != '\0'; from++)
		if (*from != '/' || from[1] != '/')
			*to++ = *from;
	if (to > path + 1 && to[-1] == '/')
		to--;
	memset(to, 0, (size_t)(from - to));
}

static int
set_path(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	if (text[0] != '\0' && text[0] != '/')
		return tide_err_set(
		    err, "«%.64s» is not an absolute path", text);
	if (store_text(p, base, text, err) == -1)
		return -1;
	tidy_path((char *)base + p->offset);
	return 0;
}

static int
set_log(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	const char *meant;

	if (text[0] == '/')
		return set_path(p, base, text, err);
	if (strcmp(text, "syslog") == 0 || strcmp(text, "stderr") == 0)
		return store_text(p, base, text, err);
	meant = tide_nearest(text, log_words, 2);
	return tide_err_set(err,
	    "«%.64s» is neither syslog nor stderr nor an absolute path%s%s%s",
	    text, meant ? "; did you mean «" : "", meant ? meant : "",
	    meant ? "»?" : "");
}

/* PORT@ADDRESS; the address is resolved when the socket is opened. */
static bool
good_inet(const char *text)
{
	uint64_t port = 0;

	for (; isdigit((unsigned char)*text) && port <= 65535; text++)
		port = port * 10 + (uint64_t)(*text - '0');
	if (port < 1 || port > 65535 || *text++ != '@' || *text == '\0')
		return false;
	for (; *text != '\0'; text++)
		if (!isalnum((unsigned char)*text) &&
		    strchr(".:-", *text) == NULL)
			return false;
	return true;
}

static int
set_socket(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	char *field = (char *)base + p->offset;

	if (strncmp(text, "local:/", 7) == 0 && text[7] != '\0') {
		if (store_text(p, base, text, err) == -1)
			return -1;
		tidy_path(field + strlen("local:"));
		return 0;
	}
	if (strncmp(text, "inet:", 5) == 0 && good_inet(text + 5))
		return store_text(p, base, text, err);
	return tide_err_set(err,
	    "«%.64s» is not a socket, such as "
	    "local:/run/tidemark/NAME.sock or inet:8891@127.0.0.1",
	    text);
}

static bool
is_among(const char *word, const char *const *words)
{
	while (*words != NULL && strcasecmp(*words, word) != 0)
		words++;
	return *words != NULL;
}

/* "on" has more letters of "no" than of "yes", and means the latter. */
static const char *
same_sense(const char *text, const char *const *choices)
{
	static const char *const ayes[] = { "yes", "on", "true", "1", NULL };
	static const char *const noes[] = { "no", "off", "false", "0", NULL };
	const char *const *sense = is_among(text, ayes) ? ayes
	    : is_among(text, noes)			? noes
							: NULL;

	for (; sense != NULL && *choices != NULL; choices++)
		if (is_among(*choices, sense))
			return *choices;
	return NULL;
}

static int
bad_choice(const struct tide_param *p, const char *text, struct tide_err *err)
{
	char list[128] = "";
	const char *meant;
	size_t n, at = 0;

	for (n = 0; p->choices[n] != NULL && at < sizeof list; n++)
		at += (size_t)snprintf(list + at, sizeof list - at, "%s%s",
		    n > 0 ? ", " : "", p->choices[n]);
	meant = same_sense(text, p->choices);
	if (meant == NULL)
		meant = tide_nearest(text, p->choices, n);
	return tide_err_set(err, "«%.64s» is none of %s%s%s%s", text, list,
	    meant ? "; did you mean «" : "", meant ? meant : "",
	    meant ? "»?" : "");
}

static int
set_choice(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	for (uint64_t i = 0; p->choices[i] != NULL; i++)
		if (strcmp(p->choices[i], text) == 0) {
			store_number(p, base, i);
			return 0;
		}
	return bad_choice(p, text, err);
}

static int
parse_number(enum tide_param_kind kind, const char *text, uint64_t *n,
    struct tide_err *err)
{
	if (kind == TIDE_PARAM_TIME)
		return tide_time_parse(text, n, err);
	if (kind == TIDE_PARAM_SIZE)
		return tide_size_parse(text, n, err);
	if (kind == TIDE_PARAM_MODE)
		return tide_mode_parse(text, n, err);
	return tide_count_parse(text, n, err);
}

static int
too_small(const struct tide_param *p, const char *text, struct tide_err *err)
{
	return tide_err_set(
	    err, "«%.64s» is too small; at least %s", text, p->least);
}

static int
too_large(const struct tide_param *p, const char *text, struct tide_err *err)
{
	return tide_err_set(
	    err, "«%.64s» is too large; at most %s", text, p->most);
}

static int
set_number(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	struct tide_err never;
	uint64_t n, least = 0, most = UINT64_MAX;

	if (parse_number(p->kind, text, &n, err) == -1)
		return -1;
	if (p->least != NULL)
		(void)parse_number(p->kind, p->least, &least, &never);
	if (p->most != NULL)
		(void)parse_number(p->kind, p->most, &most, &never);
	if (n < least)
		return too_small(p, text, err);
	if (n > most)
		return too_large(p, text, err);
	store_number(p, base, n);
	return 0;
}

static int
set_share(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	struct tide_err never;
	double share, least = 0, most = 1;

	if (tide_share_parse(text, &share, err) == -1)
		return -1;
	if (p->least != NULL)
		(void)tide_share_parse(p->least, &least, &never);
	if (p->most != NULL)
		(void)tide_share_parse(p->most, &most, &never);
	if (share < least)
		return too_small(p, text, err);
	if (share > most)
		return too_large(p, text, err);
	memcpy((char *)base + p->offset, &share, sizeof share);
	return 0;
}

static int
set_rate(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	struct tide_rate rate;

	if (tide_rate_parse(text, &rate, err) == -1)
		return -1;
	if (rate.count == 0)
		return tide_err_set(err, "«%.64s» allows nothing", text);
	memcpy((char *)base + p->offset, &rate, sizeof rate);
	return 0;
}

typedef int (*setter)(
    const struct tide_param *, void *, const char *, struct tide_err *);

static const struct kind {
	const char *name;
	setter set;
} kinds[] = {
	[TIDE_PARAM_STRING] = { "name", set_word },
	[TIDE_PARAM_WORDS] = { "names", set_words },
	[TIDE_PARAM_PATH] = { "path", set_path },
	[TIDE_PARAM_SOCKET] = { "socket", set_socket },
	[TIDE_PARAM_LOG] = { "place", set_log },
	[TIDE_PARAM_CHOICE] = { "choice", set_choice },
	[TIDE_PARAM_MODE] = { "mode", set_number },
	[TIDE_PARAM_COUNT] = { "count", set_number },
	[TIDE_PARAM_SIZE] = { "size", set_number },
	[TIDE_PARAM_TIME] = { "time", set_number },
	[TIDE_PARAM_RATE] = { "rate", set_rate },
	[TIDE_PARAM_SHARE] = { "share", set_share },
};

const char *
tide_param_kind_name(enum tide_param_kind kind)
{
	return kinds[kind].name;
}

int
tide_param_set(const struct tide_param *p, void *base, const char *text,
    struct tide_err *err)
{
	if (text[0] == '\0' && p->fallback[0] != '\0')
		return tide_err_set(err, "a value is missing");
	return kinds[p->kind].set(p, base, text, err);
}

static const char *
show_choice(const struct tide_param *p, uint64_t n)
{
	for (uint64_t i = 0; p->choices[i] != NULL; i++)
		if (i == n)
			return p->choices[i];
	return "?";
}

void *
tide_param_base(
    const struct tide_param *p, struct tide_config *c, unsigned index)
{
	if (p->section == TIDE_OF_PROFILE)
		return &c->profile[index];
	return p->section == TIDE_OF_POLICY ? (void *)&c->policy[index] : c;
}

const char *
tide_param_show(const struct tide_param *p, const struct tide_config *c,
    unsigned index, char *buf, size_t size)
{
	const void *base =
	    tide_param_base(p, (struct tide_config *)(uintptr_t)c, index);
	struct tide_rate rate;
	double share;

	switch (p->kind) {
	case TIDE_PARAM_MODE:
		return tide_mode_show(load_number(p, base), buf, size);
	case TIDE_PARAM_COUNT:
		return tide_count_show(load_number(p, base), buf, size);
	case TIDE_PARAM_SIZE:
		return tide_size_show(load_number(p, base), buf, size);
	case TIDE_PARAM_TIME:
		return tide_time_show(load_number(p, base), buf, size);
	case TIDE_PARAM_SHARE:
		memcpy(&share, (const char *)base + p->offset, sizeof share);
		return tide_share_show(share, buf, size);
	case TIDE_PARAM_RATE:
		memcpy(&rate, (const char *)base + p->offset, sizeof rate);
		return tide_rate_show(rate, buf, size);
	case TIDE_PARAM_CHOICE:
		(void)snprintf(
		    buf, size, "%s", show_choice(p, load_number(p, base)));
		return buf;
	default:
		(void)snprintf(buf, size, "%.*s", (int)p->size - 1,
		    (const char *)base + p->offset);
		return buf;
	}
}

static const char *
default_daemons(const char *profile)
{
	if (strcmp(profile, "external") == 0)
		return "MTA-ext";
	return strcmp(profile, "internal") == 0 ? "MTA-int" : "";
}

static const char *
section_name(
    const struct tide_param *p, const struct tide_config *c, unsigned index)
{
	if (p->section == TIDE_OF_PROFILE)
		return c->profile[index].name;
	return p->section == TIDE_OF_POLICY ? c->policy[index].name : "";
}

const char *
tide_param_default(const struct tide_param *p, const struct tide_config *c,
    unsigned index, char *buf, size_t size)
{
	const char *name = section_name(p, c, index);

	if (p->kind == TIDE_PARAM_SOCKET)
		(void)snprintf(buf, size, "local:%s/%s%s.sock",
		    strcmp(c->runtime_dir, "/") == 0 ? "" : c->runtime_dir,
		    name, p->section == TIDE_OF_POLICY ? "-policy" : "");
	else if (p->section == TIDE_OF_PROFILE &&
	    p->offset == offsetof(struct tide_profile, daemons))
		(void)snprintf(buf, size, "%s", default_daemons(name));
	else
		(void)snprintf(buf, size, "%s", p->fallback);
	return buf;
}

bool
tide_param_is_default(
    const struct tide_param *p, const struct tide_config *c, unsigned index)
{
	char now[TIDE_PARAM_TEXT_MAX], built_in[TIDE_PARAM_TEXT_MAX];

	return strcmp(tide_param_show(p, c, index, now, sizeof now),
		   tide_param_default(
		       p, c, index, built_in, sizeof built_in)) == 0;
}
