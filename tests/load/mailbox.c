/*
 * mailbox - see mailbox.h.
 */
#include "mailbox.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ADDR_MAX = 256 };

static void *
grown(void *p, size_t n, size_t size)
{
	/* Room doubles: it is full whenever n is a power of two. */
	if (n & (n - 1))
		return p;
	p = realloc(p, (n ? 2 * n : 1) * size);
	if (!p)
		abort();
	return p;
}

static char *
copied(const char *s, size_t len)
{
	char *p = malloc(len + 1);

	if (!p)
		abort();
	memcpy(p, s, len);
	p[len] = '\0';
	return p;
}

/* ---- lines ---- */

/* The start of the next line, or end. */
static const char *
next_line(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return nl ? nl + 1 : end;
}

static bool
starts(const char *p, const char *end, const char *word)
{
	const size_t len = strlen(word);

	return (size_t)(end - p) >= len && memcmp(p, word, len) == 0;
}

/* Is this line one of mboxrd's, From_ behind one or more '>'? */
static bool
quoted_from(const char *p, const char *end)
{
	const char *q = p;

	while (q < end && *q == '>')
		q++;
	return q > p && starts(q, end, "From ");
}

/* Length of the line's text, without its CRLF or LF. */
static size_t
text_len(const char *p, const char *next)
{
	if (next > p && next[-1] == '\n')
		next--;
	if (next > p && next[-1] == '\r')
		next--;
	return (size_t)(next - p);
}

/* Copy lines with the given line end, unquoted if they lay in an mbox. */
static char *
lines(const char *p, const char *end, bool mbox, const char *eol, size_t *len)
{
	const size_t eol_len = strlen(eol);
	char *out = malloc((size_t)(end - p) * 2 + 3), *o = out;
	const char *next;
	size_t n;

	if (!out)
		abort();
	for (; p < end; p = next) {
		next = next_line(p, end);
		if (mbox && quoted_from(p, next))
			p++;
		n = text_len(p, next);
		memcpy(o, p, n);
		memcpy(o + n, eol, eol_len);
		o += n + eol_len;
	}
	*o = '\0';
	*len = (size_t)(o - out);
	return out;
}

/* ---- headers ---- */

static void
add_header(struct mail *m, char *line)
{
	char *colon = strchr(line, ':');

	if (!colon || colon == line)
		return; /* no header; some software lets such lines pass */
	*colon = '\0';
	m->headers = grown(m->headers, m->n_headers, sizeof *m->headers);
	m->headers[m->n_headers++] = (struct mail_header){ line, colon + 1 };
}

/* Cut m->text, LF lines, into headers; folded lines stay together. */
static void
parse_headers(struct mail *m)
{
	char *line = m->text, *nl;

	while (*line) {
		nl = strchr(line, '\n');
		while (nl && (nl[1] == ' ' || nl[1] == '\t'))
			nl = strchr(nl + 1, '\n');
		if (nl)
			*nl = '\0';
		add_header(m, line);
		if (!nl)
			return;
		line = nl + 1;
	}
}

static const char *
header(const struct mail *m, const char *name)
{
	for (size_t i = 0; i < m->n_headers; i++)
		if (strcasecmp(m->headers[i].name, name) == 0)
			return m->headers[i].value;
	return NULL;
}

/* ---- envelope ---- */

static void
add_recipients(struct mail *m, const char *name)
{
	char addr[ADDR_MAX];
	const char *at;

	for (size_t i = 0; i < m->n_headers; i++) {
		if (strcasecmp(m->headers[i].name, name) != 0)
			continue;
		at = m->headers[i].value;
		while (mail_next_address(&at, addr, sizeof addr)) {
			m->to = grown(m->to, m->n_to, sizeof *m->to);
			m->to[m->n_to++] = copied(addr, strlen(addr));
		}
	}
}

static void
find_recipients(struct mail *m)
{
	add_recipients(m, "X-Envelope-To");
	if (m->n_to)
		return;
	add_recipients(m, "To");
	add_recipients(m, "Cc");
	if (m->n_to)
		return;
	m->to = grown(m->to, 0, sizeof *m->to);
	m->to[m->n_to++] = copied("undisclosed@example.test", 24);
}

/* Does this value name the null sender? */
static bool
is_null(const char *value)
{
	value += strspn(value, " \t");
	return strncmp(value, "<>", 2) == 0 ||
	    strncasecmp(value, "MAILER-DAEMON", 13) == 0;
}

static bool
sender_from(struct mail *m, const char *value)
{
	char addr[ADDR_MAX];
	const char *at = value;

	if (m->from || !value)
		return m->from;
	if (is_null(value))
		m->from = copied("", 0);
	else if (mail_next_address(&at, addr, sizeof addr))
		m->from = copied(addr, strlen(addr));
	return m->from;
}

static void
find_sender(struct mail *m, const char *from_line)
{
	if (!sender_from(m, header(m, "X-Envelope-From")) &&
	    !sender_from(m, header(m, "Return-Path")) &&
	    !sender_from(m, from_line) && !sender_from(m, header(m, "From")))
		m->from = copied("", 0);
}

static void
drop_envelope_headers(struct mail *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->n_headers; i++)
		if (strncasecmp(m->headers[i].name, "X-Envelope-", 11) != 0 &&
		    strcasecmp(m->headers[i].name, "Return-Path") != 0)
			m->headers[kept++] = m->headers[i];
	m->n_headers = kept;
}

/* ---- one message, one file, one folder ---- */

static const char *
body_of(const char *p, const char *end)
{
	const char *next;

	for (; p < end; p = next) {
		next = next_line(p, end);
		if (text_len(p, next) == 0)
			return p;
	}
	return end;
}

/* from_line is NULL outside an mbox. */
static void
add_mail(
    struct mailbox *box, const char *p, const char *end, const char *from_line)
{
	const char *blank = body_of(p, end);
	struct mail *m;
	size_t len;

	box->mails = grown(box->mails, box->n, sizeof *box->mails);
	m = &box->mails[box->n++];
	memset(m, 0, sizeof *m);
	m->text = lines(p, blank, from_line, "\n", &len);
	m->body =
	    lines(next_line(blank, end), end, from_line, "\r\n", &m->body_len);
	parse_headers(m);
	find_recipients(m);
	find_sender(m, from_line);
	drop_envelope_headers(m);
}

/* The next "From " line behind an empty line, or end. */
static const char *
next_from(const char *p, const char *end)
{
	const char *next;

	for (; p < end; p = next) {
		next = next_line(p, end);
		if (text_len(p, next) == 0 && starts(next, end, "From "))
			return next;
	}
	return end;
}

static void
split_mbox(struct mailbox *box, const char *p, const char *end)
{
	const char *head, *stop, *last;
	char *from_line;

	for (; p < end; p = stop) {
		head = next_line(p, end);
		stop = next_from(head, end);
		last = stop; /* the empty line before "From " is the mbox's */
		if (last > head && last[-1] == '\n' &&
		    (last - head < 2 || last[-2] == '\n'))
			last--;
		from_line = copied(p + 5, text_len(p + 5, head));
		add_mail(box, head, last, from_line);
		free(from_line);
	}
}

static char *
slurp(const char *path, size_t *len)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *data = NULL;
	struct stat st;
	ssize_t n = 1;

	*len = 0;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0)
		data = malloc((size_t)st.st_size + 1);
	while (data && n > 0 && *len < (size_t)st.st_size) {
		n = read(fd, data + *len, (size_t)st.st_size - *len);
		*len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (n >= 0)
		return data;
	free(data);
	return NULL;
}

static bool
read_file(struct mailbox *box, const char *path, const char **why)
{
	size_t len;
	char *data = slurp(path, &len);

	if (!data) {
		*why = strerror(errno);
		return false;
	}
	if (starts(data, data + len, "From "))
		split_mbox(box, data, data + len);
	else if (len)
		add_mail(box, data, data + len, NULL);
	free(data);
	return true;
}

static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool
read_folder(struct mailbox *box, const char *path, const char **why)
{
	char *const paths[] = { (char *)(uintptr_t)path, NULL };
	FTS *tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	bool good = tree;
	FTSENT *e;

	while (good && (e = fts_read(tree)) != NULL) {
		if (e->fts_level > 0 && e->fts_name[0] == '.')
			fts_set(tree, e, FTS_SKIP);
		else if (e->fts_info == FTS_F)
			good = read_file(box, e->fts_accpath, why);
	}
	if (tree)
		fts_close(tree);
	else
		*why = strerror(errno);
	return good;
}

bool
mailbox_read(struct mailbox *box, const char *path, const char **why)
{
	const size_t before = box->n;
	struct stat st = { 0 };

	*why = "no messages";
	(void)stat(path, &st); /* reading says what is wrong */
	return (S_ISDIR(st.st_mode) ? read_folder(box, path, why)
				    : read_file(box, path, why)) &&
	    box->n > before;
}

static void
free_mail(struct mail *m)
{
	for (size_t i = 0; i < m->n_to; i++)
		free(m->to[i]);
	free(m->to);
	free(m->from);
	free(m->headers);
	free(m->body);
	free(m->text);
}

void
mailbox_free(struct mailbox *box)
{
	for (size_t i = 0; i < box->n; i++)
		free_mail(&box->mails[i]);
	free(box->mails);
	memset(box, 0, sizeof *box);
}
