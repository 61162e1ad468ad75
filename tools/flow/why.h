/*
 * why - everything known about a sender, a client or a message.
 */
#ifndef TOOLS_WHY_H
#define TOOLS_WHY_H

#include <stdbool.h>
#include <stdio.h>

#include "../read/view.h"

/* TOOL_OK if something is known of it, TOOL_NO if nothing is. */
int why_tell(const struct view *, const char *text, bool as_json, FILE *out);

#endif
