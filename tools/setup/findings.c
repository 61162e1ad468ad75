/*
 * setup, findings - say what is wrong with a set-up.  See findings.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "findings.h"
#include "setup.h"

static const struct kind {
	const char *name;
	enum setup_severity severity;
	const char *because, *mend;
} kinds[] = {
#define X(constant, name, severity, because, mend) \
	[SETUP_##constant] = { name, SETUP_##severity, because, mend },
	SETUP_FINDINGS(X)
#undef X
};

static const char *const severities[SETUP_SEVERITIES] = { "error", "warning",
	"note" };

static void
put_json(
    const struct kind *k, const char *file, unsigned line, const char *what)
{
	struct json j = json_record(stdout, "finding");

	json_text(&j, "name", k->name);
	json_text(&j, "severity", severities[k->severity]);
	json_text(&j, "file", file);
	if (line > 0)
		json_number(&j, "line", line);
	else
		json_null(&j, "line");
	json_text(&j, "what", what);
	json_text(&j, "because", k->because);
	json_text(&j, "mend", k->mend);
	json_record_end(&j);
}

#define WIDTH 78

/* A paragraph, set in from the left, broken at blanks. */
static void
put_paragraph(const char *label, const char *text)
{
	size_t indent = 4 + strlen(label), at = indent, n;

	printf("    %s", label);
	for (; *text != '\0'; text += strspn(text, " ")) {
		n = strcspn(text, " ");
		if (at > indent && at + 1 + n > WIDTH) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		}
		at += (size_t)printf(
		    "%s%.*s", at > indent ? " " : "", (int)n, text);
		text += n;
	}
	(void)putchar('\n');
}

static void
put_text(
    const struct kind *k, const char *file, unsigned line, const char *what)
{
	static const enum tone tones[] = { TONE_BAD, TONE_STRONG, TONE_FAINT };

	printf("%s%s%s %s: %s", tone(tones[k->severity]),
	    severities[k->severity], tone(TONE_PLAIN), k->name, file);
	if (line > 0)
		printf(":%u", line);
	(void)putchar('\n');
	put_paragraph("", what);
	if (k->severity != SETUP_NOTE) {
		put_paragraph("So: ", k->because);
		put_paragraph("Do: ", k->mend);
	}
	(void)putchar('\n');
}

void
setup_find(struct setup *s, enum setup_finding which, const char *file,
    unsigned line, const char *fmt, ...)
{
	const struct kind *k = &kinds[which];
	char *what;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&what, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	s->found[k->severity]++;
	if (s->tool->json)
		put_json(k, file, line, what);
	else
		put_text(k, file, line, what);
	free(what);
}

int
setup_verdict(const struct setup *s)
{
	unsigned e = s->found[SETUP_ERROR], w = s->found[SETUP_WARNING];
	struct json j;

	if (s->tool->json) {
		j = json_record(stdout, "verdict");
		json_number(&j, "errors", e);
		json_number(&j, "warnings", w);
		json_record_end(&j);
	} else if (e + w == 0) {
		printf("nothing is wrong\n");
	} else {
		printf(
		    "%u error%s, %u warning%s\n", e, plural(e), w, plural(w));
	}
	return e + w == 0 ? TOOL_OK : TOOL_NO;
}
