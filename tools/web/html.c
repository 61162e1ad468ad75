/*
 * html - escape.
 */
#include "html.h"

void
html_text(FILE *out, const char *s)
{
	for (; *s != '\0'; s++)
		switch (*s) {
		case '&':
			(void)fputs("&amp;", out);
			break;
		case '<':
			(void)fputs("&lt;", out);
			break;
		case '>':
			(void)fputs("&gt;", out);
			break;
		case '"':
			(void)fputs("&quot;", out);
			break;
		case '\'':
			(void)fputs("&#39;", out);
			break;
		default:
			(void)fputc(*s, out);
		}
}
