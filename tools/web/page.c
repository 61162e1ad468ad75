/*
 * page - fill in the template's marks.
 */
#include <stdlib.h>
#include <string.h>

#include "assets.h"
#include "html.h"
#include "page.h"

static const char summary_mark[] = "<!--summary-->";
static const char answer_mark[] = "<!--answer-->";

/* Up to the mark; returns what is behind it. */
static const char *
put_until(FILE *out, const char *at, const char *mark)
{
	size_t left = (size_t)(asset_page.end - at);
	const char *found = memmem(at, left, mark, strlen(mark));
	size_t n = found != NULL ? (size_t)(found - at) : left;

	(void)fwrite(at, 1, n, out);
	return found != NULL ? found + strlen(mark) : asset_page.end;
}

static void
print(FILE *out, const struct sample *s, const char *answer)
{
	const char *at = put_until(out, asset_page.begin, summary_mark);

	sample_html(out, s);
	at = put_until(out, at, answer_mark);
	if (answer != NULL) {
		(void)fputs("<pre>", out);
		html_text(out, answer);
		(void)fputs("</pre>", out);
	}
	(void)fwrite(at, 1, (size_t)(asset_page.end - at), out);
}

void
page_print(FILE *out, const struct sample *s)
{
	print(out, s, NULL);
}

char *
page_with_answer(const struct sample *s, const char *answer, size_t *length)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, length);

	if (f == NULL)
		return NULL;
	print(f, s, answer);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}
