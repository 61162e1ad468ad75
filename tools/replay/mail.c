/*
 * replay, mail - sender, client, time and recipients from a header.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "mail.h"
#include "tidemark/keys/keys.h"

#define DAY_MS 86400000u

/* ---- times ------------------------------------------------------------- */

/* Of times to come and of before 1970 nothing is known. */
static uint64_t
believe(time_t seconds, uint64_t today)
{
	if (seconds <= 0 || (uint64_t)seconds > (today + DAY_MS) / 1000)
		return 0;
	return (uint64_t)seconds * 1000;
}

/* +0100 in seconds; names, and none, are UTC, as RFC 5322 has it. */
static bool
read_zone(const char *text, time_t *east)
{
	int h, m;

	text += strspn(text, " \t");
	*east = 0;
	if ((*text != '+' && *text != '-') ||
	    sscanf(text + 1, "%2d%2d", &h, &m) != 2)
		return false;
	*east = (*text == '-' ? -1 : 1) * (h * 3600 + m * 60);
	return true;
}

/* "Mon, 3 Mar 2025 07:52:04 +0100"; the day's name and seconds may miss. */
static uint64_t
read_date(const char *text, uint64_t today)
{
	struct tm tm = { .tm_isdst = 0 };
	const char *comma = strchr(text, ','), *rest;
	time_t east;

	if (comma != NULL)
		text = comma + 1;
	rest = strptime(text, " %d %b %Y %H:%M", &tm);
	if (rest == NULL)
		return 0;
	if (*rest == ':') {
		rest = strptime(rest, ":%S", &tm);
		if (rest == NULL)
			return 0;
	}
	(void)read_zone(rest, &east);
	return believe(timegm(&tm) - east, today);
}

/* "Mon Mar  3 07:52:10 2025": local time, unless a zone follows. */
static uint64_t
read_ctime(const char *text, uint64_t today)
{
	struct tm tm = { .tm_isdst = 0 };
	const char *rest = strptime(text, "%a %b %d %H:%M:%S %Y", &tm);
	time_t east;

	if (rest == NULL)
		return 0;
	if (read_zone(rest, &east))
		return believe(timegm(&tm) - east, today);
	tm.tm_isdst = -1;
	return believe(mktime(&tm), today);
}

/* ---- addresses --------------------------------------------------------- */

/* Too long a one is none. */
static void
copy(char *out, size_t size, const char *text, size_t n)
{
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	if (n >= size)
		n = 0;
	memcpy(out, text, n);
	out[n] = '\0';
}

/* "Hanna <hanna@harbour.example>", or the first word without <>. */
static void
read_address(const char *text, char *out, size_t size)
{
	const char *open = strrchr(text, '<');
	const char *close = open == NULL ? NULL : strchr(open, '>');

	if (close != NULL) {
		copy(out, size, open, (size_t)(close - open) + 1);
		return;
	}
	text += strspn(text, " \t");
	copy(out, size, text, strcspn(text, " \t,"));
}

/* Addresses: what has an @, between commas that are not quoted. */
static uint32_t
count_addresses(const char *text)
{
	bool quoted = false, at = false;
	unsigned depth = 0;
	uint32_t n = 0;

	for (; *text != '\0'; text++) {
		if (*text == '\\' && text[1] != '\0')
			text++;
		else if (*text == '"' && depth == 0)
			quoted = !quoted;
		else if (*text == '(' && !quoted)
			depth++;
		else if (*text == ')' && depth > 0)
			depth--;
		else if (quoted || depth > 0)
			continue;
		else if (*text == '@')
			at = true;
		else if (*text == ',' || *text == ';') {
			n += at;
			at = false;
		}
	}
	return n + at;
}

/* ---- Received ---------------------------------------------------------- */

/*
 * The last [address] before "by": what stands first may be the name that the
 * client gave itself.
 */
static void
read_client(const char *text, char *out, size_t size)
{
	const char *end = strcasestr(text, " by "), *at = text, *close;
	struct tide_ip ip;
	char word[64];

	if (end == NULL)
		end = text + strlen(text);
	while ((at = strchr(at, '[')) != NULL && at < end) {
		at++;
		close = strchr(at, ']');
		if (close == NULL)
			return;
		copy(word, sizeof word, at, (size_t)(close - at));
		if (tide_ip_parse(word, &ip))
			copy(out, size, word, strlen(word));
	}
}

static void
read_received(struct letter *m, const char *text)
{
	const char *when = strrchr(text, ';');

	if (m->has_received) /* the newest stands first */
		return;
	m->has_received = true;
	read_client(text, m->line.client, sizeof m->line.client);
	if (when != NULL)
		m->received = read_date(when + 1, m->today);
	/* RFC 3848: with authentication; whose matters not for the key. */
	if (strcasestr(text, " with ESMTPA") != NULL ||
	    strcasestr(text, " with ESMTPSA") != NULL)
		copy(m->line.auth, sizeof m->line.auth, "mailbox", 7);
}

/* ---- from here --------------------------------------------------------- */

void
letter_start(struct letter *m, uint64_t today)
{
	memset(m, 0, sizeof *m);
	m->today = today;
}

bool
letter_from_line(struct letter *m, const char *text)
{
	const char *at, *word = text + 5;

	if (strncmp(text, "From ", 5) != 0)
		return false;
	word += strspn(word, " ");
	for (at = word; at != NULL; at = strchr(at, ' ')) {
		at += strspn(at, " ");
		m->from_line = read_ctime(at, m->today);
		if (m->from_line != 0)
			break;
	}
	if (at == NULL)
		return false;
	copy(m->envelope, sizeof m->envelope, word, (size_t)(at - word));
	if (strcasecmp(m->envelope, "MAILER-DAEMON") == 0)
		memcpy(m->envelope, "<>", 3);
	return true;
}

static void
read_path(struct letter *m, const char *value)
{
	if (!m->has_path)
		read_address(value, m->line.from, sizeof m->line.from);
	m->has_path = true;
}

static void
read_author(struct letter *m, const char *value)
{
	if (m->author[0] == '\0')
		read_address(value, m->author, sizeof m->author);
}

static void
read_written(struct letter *m, const char *value)
{
	if (m->date == 0)
		m->date = read_date(value, m->today);
}

static void
read_recipients(struct letter *m, const char *value)
{
	uint32_t n = count_addresses(value);

	m->line.recipients += n <= UINT32_MAX - m->line.recipients ? n : 0;
}

static const struct header {
	const char *name;
	void (*read)(struct letter *, const char *value);
} headers[] = {
	{ "Received", read_received },
	{ "Return-Path", read_path },
	{ "Date", read_written },
	{ "From", read_author },
	{ "To", read_recipients },
	{ "Cc", read_recipients },
};

void
letter_header(struct letter *m, const char *text)
{
	size_t n = strcspn(text, " \t:"), i;
	const char *colon = text + n + strspn(text + n, " \t");

	if (*colon != ':')
		return;
	for (i = 0; i < sizeof headers / sizeof *headers; i++)
		if (strlen(headers[i].name) == n &&
		    strncasecmp(text, headers[i].name, n) == 0)
			headers[i].read(m, colon + 1);
}

bool
letter_end(struct letter *m)
{
	struct replay_line *l = &m->line;

	if (l->from[0] == '\0')
		memcpy(l->from, m->envelope, sizeof l->from);
	if (l->from[0] == '\0')
		memcpy(l->from, m->author, sizeof l->from);
	if (l->recipients == 0) /* it did reach a mailbox */
		l->recipients = 1;
	l->wall_ms = m->from_line != 0 ? m->from_line
	    : m->received != 0	       ? m->received
				       : m->date;
	return l->wall_ms != 0;
}
