/*
 * html - text into HTML.  All that came from mail goes through here.
 */
#ifndef WEB_HTML_H
#define WEB_HTML_H

#include <stdio.h>

/* Escaped for text and for attributes in double quotes. */
void html_text(FILE *, const char *);

#endif
