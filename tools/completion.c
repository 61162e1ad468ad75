/*
 * completion - what bash completes, made from the table of subcommands: their
 * synopsis and their list of options say all there is to know.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

/* ---- words of a help text ---------------------------------------------- */

static bool
is_name(int c)
{
	return islower((unsigned char)c) || isdigit((unsigned char)c) ||
	    c == '-';
}

/* The length of the option that begins here; 0 if none does. */
static size_t
option_at(const char *text, const char *s)
{
	size_t n;

	if (*s != '-' || (s > text && strchr(" [\n", s[-1]) == NULL))
		return 0;
	if (s[1] != '-')
		return isalnum((unsigned char)s[1]) &&
			strchr(" ,]\n", s[2]) != NULL
		    ? 2
		    : 0;
	for (n = 2; is_name(s[n]); n++)
		;
	return n > 2 ? n : 0;
}

/* ---- a list of words --------------------------------------------------- */

struct words {
	char text[2048]; /* each with a space before it */
};

static void
add(struct words *w, const char *word, size_t n)
{
	char one[64];
	size_t at = strlen(w->text);
	const char *found = w->text;

	(void)snprintf(one, sizeof one, " %.*s", (int)n, word);
	while ((found = strstr(found, one)) != NULL) {
		found += strlen(one);
		if (*found == ' ' || *found == '\0')
			return; /* there already */
	}
	(void)snprintf(w->text + at, sizeof w->text - at, "%s", one);
}

static void
add_options(struct words *w, const char *synopsis)
{
	const char *s;
	size_t n;

	for (s = synopsis; *s != '\0'; s++) {
		n = option_at(synopsis, s);
		if (n > 0)
			add(w, s, n);
	}
}

/* In a list they begin a line: "  -v, --verbose  each worker". */
static void
add_listed(struct words *w, const char *list)
{
	const char *s = list;
	size_t n;

	while (*s != '\0') {
		s += strspn(s, " ");
		while ((n = option_at(list, s)) > 0) {
			add(w, s, n);
			s += n;
			s += strspn(s, ", ");
		}
		s += strcspn(s, "\n");
		s += *s == '\n';
	}
}

static bool
is_word(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && strncmp(s, word, n) == 0;
}

/*
 * Words to be typed as they are: in small letters, outside of brackets, and
 * not the beginning of another line of the synopsis.
 */
static void
add_words(struct words *w, const struct command *c)
{
	static const char small[] = "abcdefghijklmnopqrstuvwxyz-";
	const char *s = c->synopsis;
	unsigned deep = 0;
	size_t n;

	for (; *s != '\0'; s += n) {
		s += strspn(s, " \n");
		n = strcspn(s, " \n");
		deep += *s == '[';
		if (deep == 0 && n > 0 && strspn(s, small) == n && *s != '-' &&
		    !is_word(s, n, "tidemark") && !is_word(s, n, c->name))
			add(w, s, n);
		deep -= deep > 0 && memchr(s, ']', n) != NULL;
	}
}

/* [--sort level | key]: what may follow an option. */
static void
put_choices(const struct command *c)
{
	const char *s, *end, *p;
	size_t n;

	for (s = strstr(c->synopsis, "[--"); s != NULL;
	     s = strstr(s + 1, "[--")) {
		end = strchr(s, ']');
		n = option_at(c->synopsis, s + 1);
		p = s + 1 + n;
		if (end == NULL || p[0] != ' ' ||
		    !islower((unsigned char)p[1]) ||
		    memchr(p, '|', (size_t)(end - p)) == NULL)
			continue;
		printf("\t%s:%.*s) words='", c->name, (int)n, s + 1);
		for (; p < end; p++)
			if (*p != '|' && *p != '\n')
				(void)putchar(*p);
		printf("' ;;\n");
	}
}

/* ---- the script -------------------------------------------------------- */

static const char head[] =
    "# bash completion for tidemark, made by `tidemark completion bash'.\n"
    "_tidemark()\n"
    "{\n"
    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) cmd= i\n"
    "\tlocal prev words=\n"
    "\t[ \"$cur\" != = ] || cur=\n"
    "\t[ \"${COMP_WORDS[at]}\" != = ] || at=$((at - 1))\n"
    "\tprev=${COMP_WORDS[at]}\n"
    "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
    "\t\tcase ${COMP_WORDS[i]} in\n"
    "\t\t-c | --config | --root) i=$((i + 1)) ;;\n"
    "\t\t--color) i=$((i + 2)) ;;\n"
    "\t\t-* | =) ;;\n"
    "\t\t*)\n"
    "\t\t\tcmd=${COMP_WORDS[i]}\n"
    "\t\t\tbreak\n"
    "\t\t\t;;\n"
    "\t\tesac\n"
    "\tdone\n"
    "\tcase $cmd:$prev in\n"
    "\t*:-c | *:--config | *:--root | *:--offline) return ;;\n"
    "\t*:--color) words='auto always never' ;;\n";

static const char tail[] =
    "\tesac\n"
    "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "}\n"
    "complete -o default -F _tidemark tidemark\n";

static void
put_case(const char *pattern, const struct words *w)
{
	printf("\t%s:*) words='%s' ;;\n", pattern, w->text + 1);
}

static void
put_command(const struct command *c, const struct words *names)
{
	struct words w = { "" };

	if (strcmp(c->name, "help") == 0)
		w = *names;
	add_words(&w, c);
	add_options(&w, c->synopsis);
	add_listed(&w, c->details);
	add_listed(&w, tool_common);
	put_case(c->name, &w);
}

static void
put_script(void)
{
	struct words names = { "" };
	const struct command *c;
	size_t i, n;

	c = tool_commands(&n);
	for (i = 0; i < n; i++)
		add(&names, c[i].name, strlen(c[i].name));
	(void)fputs(head, stdout);
	for (i = 0; i < n; i++)
		put_choices(&c[i]);
	for (i = 0; i < n; i++)
		put_command(&c[i], &names);
	add_listed(&names, tool_common);
	put_case("", &names);
	(void)fputs(tail, stdout);
}

int
run_completion(struct tool *t)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	char **words;

	while (tool_getopt(t, "", none) != -1)
		;
	words = tool_arguments(t, 1);
	if (strcmp(words[0], "bash") != 0)
		tool_misused(t, "only bash can be served, not «%s»", words[0]);
	put_script();
	return TOOL_OK;
}
