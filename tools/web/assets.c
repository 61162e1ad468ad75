/*
 * assets - taken in by the assembler, as they are.
 *
 * The paths are from the top of the tree, where make runs.
 */
#include <string.h>

#include "assets.h"

#define EMBED(name, file)                                                \
	__asm__(".section .rodata\n"                                     \
		".global web_" #name "\n.hidden web_" #name "\n"         \
		"web_" #name ":\n.incbin \"tools/web/page/" file "\"\n"  \
		".global web_" #name "_end\n.hidden web_" #name "_end\n" \
		"web_" #name "_end:\n.byte 0\n.previous\n");             \
	extern const char web_##name[], web_##name##_end[]

EMBED(page, "page.html");
EMBED(style, "page.css");
EMBED(theme, "theme.js");
EMBED(script, "page.js");
EMBED(renew, "renew.js");
EMBED(water, "water.js");
EMBED(ask, "ask.js");
EMBED(icon, "icon.svg");

#define ASSET(path, type, name)                          \
	{                                                \
		path, type, web_##name, web_##name##_end \
	}

static const char script[] = "text/javascript; charset=utf-8";

const struct asset asset_page = ASSET("/", "text/html; charset=utf-8", page);

static const struct asset assets[] = {
	ASSET("/page.css", "text/css; charset=utf-8", style),
	ASSET("/theme.js", script, theme),
	ASSET("/page.js", script, script),
	ASSET("/renew.js", script, renew),
	ASSET("/water.js", script, water),
	ASSET("/ask.js", script, ask),
	ASSET("/icon.svg", "image/svg+xml", icon),
};

const struct asset *
asset_find(const char *path)
{
	size_t i;

	for (i = 0; i < sizeof assets / sizeof *assets; i++)
		if (strcmp(assets[i].path, path) == 0)
			return &assets[i];
	return NULL;
}
