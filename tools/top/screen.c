/*
 * top, screen - the one file that knows curses (ncursesw: wide characters).
 */
#define _XOPEN_SOURCE_EXTENDED 1
#include <curses.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "../read/output.h"
#include "screen.h"

static SCREEN *screen;
static bool colors;

bool
screen_open(bool colored)
{
	const char *term = getenv("TERM");

	screen = newterm(NULL, stdout, stdin);
	if (screen != NULL && tigetstr("cup") == NULL)
		screen_close(); /* "dumb": nothing can be put anywhere */
	if (screen == NULL) {
		complain("the terminal «%s» cannot be drawn on; try top -b",
		    term != NULL ? term : "");
		return false;
	}
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)keypad(stdscr, TRUE);
	(void)set_escdelay(25);
	(void)curs_set(0);
	colors = colored && has_colors();
	if (colors && start_color() == OK && use_default_colors() == OK) {
		(void)init_pair(1, COLOR_GREEN, -1);
		(void)init_pair(2, COLOR_RED, -1);
		(void)init_pair(3, COLOR_YELLOW, -1);
	}
	return true;
}

void
screen_close(void)
{
	if (screen == NULL)
		return;
	(void)endwin();
	delscreen(screen);
	screen = NULL;
}

void
screen_size(int *width, int *height)
{
	*width = getmaxx(stdscr);
	*height = getmaxy(stdscr);
}

void
screen_clear(void)
{
	(void)erase();
}

/* Without colour, what matters is still told apart. */
static attr_t
attributes(enum tone t)
{
	switch (t) {
	case TONE_GOOD:
		return colors ? COLOR_PAIR(1) : A_NORMAL;
	case TONE_BAD:
		return A_BOLD | (colors ? COLOR_PAIR(2) : A_NORMAL);
	case TONE_WARN:
		return colors ? COLOR_PAIR(3) : A_NORMAL;
	case TONE_STRONG:
		return A_BOLD;
	case TONE_FAINT:
		return A_DIM;
	default:
		return A_NORMAL;
	}
}

void
screen_put(int y, int x, const char *text, enum tone t, bool reversed)
{
	attr_t how = attributes(t) | (reversed ? A_REVERSE : A_NORMAL);

	(void)attron(how);
	(void)mvaddnstr(y, x, text, -1);
	(void)attroff(how);
}

void
screen_show(int y, int x)
{
	(void)curs_set(y < 0 ? 0 : 1);
	if (y >= 0)
		(void)move(y, x);
	(void)refresh();
}

/* A terminal that was closed has no more keys, and says so at once. */
static bool
is_gone(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, 0) > 0 &&
	    (in.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

int
screen_key(int timeout_ms)
{
	static const struct {
		int curses, ours;
	} keys[] = { { ERR, SCREEN_NOTHING }, { KEY_UP, SCREEN_UP },
		{ KEY_DOWN, SCREEN_DOWN }, { KEY_LEFT, SCREEN_LEFT },
		{ KEY_RIGHT, SCREEN_RIGHT }, { KEY_PPAGE, SCREEN_PAGE_UP },
		{ KEY_NPAGE, SCREEN_PAGE_DOWN }, { KEY_HOME, SCREEN_HOME },
		{ KEY_END, SCREEN_END }, { KEY_BTAB, SCREEN_BACK_TAB },
		{ KEY_BACKSPACE, SCREEN_BACKSPACE }, { 127, SCREEN_BACKSPACE },
		{ 8, SCREEN_BACKSPACE }, { KEY_ENTER, SCREEN_ENTER },
		{ '\r', SCREEN_ENTER }, { '\n', SCREEN_ENTER },
		{ 27, SCREEN_ESCAPE }, { KEY_F(1), SCREEN_F1 },
		{ KEY_F(4), SCREEN_F4 }, { KEY_F(6), SCREEN_F6 },
		{ KEY_F(10), SCREEN_F10 }, { KEY_RESIZE, SCREEN_RESIZED } };
	unsigned i;
	int c;

	timeout(timeout_ms);
	c = getch();
	if (c == ERR && is_gone())
		return SCREEN_F10;
	for (i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i].curses == c)
			return keys[i].ours;
	return c < 256 ? c : SCREEN_UNKNOWN;
}
