/*
 * top, screen - the terminal: put text somewhere, wait for a key.
 */
#ifndef TOOLS_TOP_SCREEN_H
#define TOOLS_TOP_SCREEN_H

#include <stdbool.h>

#include "../read/output.h"

/* Keys are bytes as typed, or one of these. */
enum screen_key {
	SCREEN_NOTHING = -1,
	SCREEN_UP = 1000,
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_BACK_TAB,
	SCREEN_BACKSPACE,
	SCREEN_ENTER,
	SCREEN_ESCAPE,
	SCREEN_F1,
	SCREEN_F4,
	SCREEN_F6,
	SCREEN_F10,
	SCREEN_RESIZED,
	SCREEN_UNKNOWN
};

/* False, and a complaint, if this terminal cannot be drawn on. */
bool screen_open(bool colored);
void screen_close(void);

void screen_size(int *width, int *height);
void screen_clear(void);
void screen_put(int y, int x, const char *text, enum tone, bool reversed);

/* Show what was put; the cursor stands there, or nowhere if y < 0. */
void screen_show(int y, int x);

/* The next key, or SCREEN_NOTHING after so long; F10 if the terminal is gone. */
int screen_key(int timeout_ms);

#endif
