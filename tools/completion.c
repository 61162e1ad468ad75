/*
 * completion - what bash completes, made from the table of subcommands: their
 * synopsis and their list of options say all there is to know.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/json.h"
#include "read/output.h"
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
add_all(struct words *w, const struct words *more)
{
	const char *s = more->text;
	size_t n;

	for (; *s != '\0'; s += n) {
		s += strspn(s, " ");
		n = strcspn(s, " ");
		add(w, s, n);
	}
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

/* ---- a line of the list of options ------------------------------------- */

struct listed {
	const char *option[2];
	size_t length[2], options;
	const char *argument; /* in capitals; NULL if it takes none */
	size_t argument_length;
};

/* "  -s, --sort COLUMN  sort by that column"; false if the line is none. */
static bool
read_listed(const char *list, const char *line, struct listed *l)
{
	static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ/-";
	const char *s = line + strspn(line, " ");
	size_t n;

	*l = (struct listed){ .argument = NULL };
	while (l->options < 2 && (n = option_at(list, s)) > 0) {
		l->option[l->options] = s;
		l->length[l->options++] = n;
		s += n;
		s += *s == ',' ? 1 + strspn(s + 1, " ") : 0;
	}
	n = l->options > 0 && (*s == ' ' || *s == '=') ? strspn(s + 1, capitals)
						       : 0;
	if (n > 0 && strchr(" \n", s[1 + n]) != NULL) {
		l->argument = s + 1;
		l->argument_length = n;
	}
	return l->options > 0;
}

static const char *
next_line(const char *s)
{
	s += strcspn(s, "\n");
	return s + (*s == '\n');
}

static void
add_listed(struct words *w, const char *list)
{
	struct listed l;
	const char *s;
	size_t i;

	for (s = list; *s != '\0'; s = next_line(s))
		if (read_listed(list, s, &l))
			for (i = 0; i < l.options; i++)
				add(w, l.option[i], l.length[i]);
}

/* ---- the synopsis ------------------------------------------------------ */

static bool
is_word(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && strncmp(s, word, n) == 0;
}

/* A file or a folder: [FILE], LIST..., DIR. */
static bool
is_file(const char *s, size_t n)
{
	static const char *const names[] = { "F", "FILE", "DIR", "LIST",
		"MESSAGE" };
	size_t i;

	if (n > 0 && *s == '[') {
		s++;
		n--;
	}
	while (n > 0 && (s[n - 1] == '.' || s[n - 1] == ']'))
		n--;
	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (is_word(s, n, names[i]))
			return true;
	return false;
}

/* Is it a word to be typed as it is?  The beginning of a line is none. */
static bool
is_typed(const struct command *c, const char *s, size_t n)
{
	static const char small[] = "abcdefghijklmnopqrstuvwxyz-";

	return n > 0 && strspn(s, small) >= n && *s != '-' &&
	    !is_word(s, n, "tidemark") && !is_word(s, n, c->name);
}

/*
 * The words to be typed as they are, those of them that a file follows, and
 * whether one follows the subcommand itself.  What an option in brackets takes
 * is none of them.
 */
static bool
add_words(
    const struct command *c, struct words *words, struct words *before_files)
{
	struct words last = { "" }; /* typed: one, or several with | between */
	const char *s = c->synopsis;
	bool option = false, either = false, files = false;
	size_t n;

	for (; *s != '\0'; s += n) {
		s += strspn(s, " ");
		n = strcspn(s, " \n");
		if (n == 0) { /* another line */
			n = 1;
			last = (struct words){ "" };
			option = either = false;
			continue;
		}
		option = option || (*s == '[' && s[1] == '-');
		if (!option && is_typed(c, s, n)) {
			if (!either)
				last = (struct words){ "" };
			add(words, s, n);
			add(&last, s, n);
		} else if ((!option || either) && is_file(s, n)) {
			files = files || last.text[0] == '\0';
			add_all(before_files, &last);
		}
		either = *s == '|';
		if (*s == '>')
			break; /* the shell's own */
		if (option && memchr(s, ']', n) != NULL)
			option = false;
	}
	return files;
}

/* [--sort level | key]: what may follow an option. */
static void
put_choices(FILE *f, const struct command *c)
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
		(void)fprintf(f, "\t%s:%.*s) words='", c->name, (int)n, s + 1);
		for (; p < end; p++)
			if (*p != '|' && *p != '\n')
				(void)fputc(*p, f);
		(void)fprintf(f, "' options= ;;\n");
	}
}

/* ---- what follows a word ----------------------------------------------- */

/* Options that take a file, or (!files) something that nobody can complete. */
static void
put_takers(FILE *f, const char *command, const char *list, bool files)
{
	struct listed l;
	const char *s;
	size_t i;

	for (s = list; *s != '\0'; s = next_line(s)) {
		if (!read_listed(list, s, &l) || l.argument == NULL ||
		    is_file(l.argument, l.argument_length) != files)
			continue;
		for (i = 0; i < l.options; i++)
			(void)fprintf(f, "\t%s:%.*s) %s ;;\n", command,
			    (int)l.length[i], l.option[i],
			    files ? "words= options= files=1" : "free=1");
	}
}

static void
put_followers(FILE *f, const struct command *c)
{
	struct words w = { "" }, before_files = { "" };
	const char *s;
	size_t n;

	put_choices(f, c);
	put_takers(f, c->name, c->details, true);
	put_takers(f, c->name, c->details, false);
	(void)add_words(c, &w, &before_files);
	for (s = before_files.text; *s != '\0'; s += n) {
		s++;
		n = strcspn(s, " ");
		(void)fprintf(
		    f, "\t%s:%.*s) words= files=1 ;;\n", c->name, (int)n, s);
	}
}

/* ---- the script -------------------------------------------------------- */

/*
 * Files are left to readline, which knows about ~ and blanks: where one may
 * stand and no word fits, nothing is offered, and it takes over.
 */
static const char head[] =
    "# bash completion for tidemark, made by `tidemark completion bash'.\n"
    "_tidemark()\n"
    "{\n"
    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) cmd= i\n"
    "\tlocal prev before= words= options= files= free=\n"
    "\t[ \"$cur\" != = ] || cur=\n"
    "\t[ \"${COMP_WORDS[at]}\" != = ] || at=$((at - 1))\n"
    "\tprev=${COMP_WORDS[at]}\n"
    "\tcase $cur in\n"
    "\t--*=*) # where = does not end a word\n"
    "\t\tprev=${cur%%=*} before=$prev=\n"
    "\t\tcur=${cur#*=}\n"
    "\t\t;;\n"
    "\tesac\n"
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
    "\tcase $cmd in\n";

static const char middle[] = "\tesac\n"
			     "\tcase $cmd:$prev in\n"
			     "\t*:--color) words='auto always never' "
			     "options= ;;\n";

static const char tail[] =
    "\tesac\n"
    "\tif [ -n \"$free\" ]; then\n"
    "\t\tcompopt +o default 2>/dev/null\n"
    "\t\treturn\n"
    "\tfi\n"
    "\tcase $cur in\n"
    "\t-*) words=$options ;;\n"
    "\t*) [ -n \"$files\" ] || words+=\" $options\" ;;\n"
    "\tesac\n"
    "\tCOMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- \"$cur\"))\n"
    "}\n"
    "complete -o default -F _tidemark tidemark\n";

static void
put_command(FILE *f, const struct command *c, const struct words *names)
{
	struct words words = { "" }, options = { "" }, before_files = { "" };
	bool files;

	if (strcmp(c->name, "help") == 0)
		words = *names;
	files = add_words(c, &words, &before_files);
	add_options(&options, c->synopsis);
	add_listed(&options, c->details);
	add_listed(&options, tool_common);
	(void)fprintf(f, "\t%s) words='%s' options='%s'%s ;;\n", c->name,
	    words.text, options.text, files ? " files=1" : "");
}

static void
put_script(FILE *f)
{
	struct words names = { "" }, options = { "" };
	const struct command *c;
	size_t i, n;

	c = tool_commands(&n);
	for (i = 0; i < n; i++)
		add(&names, c[i].name, strlen(c[i].name));
	add_listed(&options, tool_common);
	(void)fputs(head, f);
	for (i = 0; i < n; i++)
		put_command(f, &c[i], &names);
	(void)fprintf(
	    f, "\t'') words='%s' options='%s' ;;\n", names.text, options.text);
	(void)fputs(middle, f);
	for (i = 0; i < n; i++)
		put_followers(f, &c[i]);
	put_takers(f, "*", tool_common, true);
	(void)fputs(tail, f);
}

static int
put_json(void)
{
	char *script = NULL;
	size_t length;
	FILE *f = open_memstream(&script, &length);
	struct json j;

	if (f == NULL) {
		complain("no memory");
		return TOOL_ERROR;
	}
	put_script(f);
	(void)fclose(f);
	j = json_record(stdout, "completion");
	json_text(&j, "shell", "bash");
	json_text(&j, "script", script);
	json_record_end(&j);
	free(script);
	return TOOL_OK;
}

int
run_completion(struct tool *t)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	static const char *const shells[] = { "bash", NULL };

	while (tool_getopt(t, "", none) != -1)
		;
	(void)tool_choice(t, NULL, tool_arguments(t, 1)[0], shells);
	if (t->json)
		return put_json();
	put_script(stdout);
	return TOOL_OK;
}
