/*
 * setup, postfix list - see postfix_list.h.
 */
#include <stdio.h>
#include <string.h>

#include "postfix_list.h"
#include "text.h"

/* As it has to stand in master.cf: without blanks. */
static void
keep_text(struct pf_milter *m, const char *s, size_t n)
{
	size_t i, k = 0;

	for (i = 0; i < n && k < sizeof m->text - 1; i++)
		if (strchr(" \t\n", s[i]) == NULL)
			m->text[k++] = s[i];
	m->text[k] = '\0';
	m->complicated =
	    k == sizeof m->text - 1 || memchr(s + 1, '{', n - 1) != NULL;
}

/* default_action=accept, or { default_action = accept } */
static void
take_setting(struct pf_milter *m, char *field)
{
	char *value = strchr(field, '=');

	if (value == NULL)
		return;
	*value++ = '\0';
	if (strcmp(setup_trim(field), "default_action") == 0)
		(void)snprintf(
		    m->action, sizeof m->action, "%s", setup_trim(value));
}

/* { address, default_action=accept, { name = value } ... } */
static void
milter_in_braces(char *inside, struct pf_milter *m)
{
	char *s, *end, *rest = inside;

	m->address = NULL;
	while (s = rest + strspn(rest, ", \t\n"), *s != '\0') {
		end = *s == '{' ? setup_closing(s) : NULL;
		s += end != NULL;
		if (end == NULL)
			end = s + strcspn(s, ", \t\n");
		rest = *end != '\0' ? end + 1 : end;
		*end = '\0';
		if (m->address == NULL)
			m->address = s;
		else
			take_setting(m, s);
	}
	if (m->address == NULL)
		m->address = inside + strlen(inside);
}

bool
pf_next_milter(char **rest, struct pf_milter *m)
{
	char *s = *rest, *end;
	size_t n;

	*m = (struct pf_milter){ .address = NULL };
	s += strspn(s, ", \t\n");
	if (*s == '\0')
		return false;
	end = *s == '{' ? setup_closing(s) : NULL;
	if (end != NULL) {
		keep_text(m, s, (size_t)(end - s) + 1);
		*end = '\0';
		*rest = end + 1;
		milter_in_braces(s + 1, m);
		return true;
	}
	n = strcspn(s, ", \t\n");
	keep_text(m, s, n);
	*rest = s[n] != '\0' ? s + n + 1 : s + n;
	s[n] = '\0';
	m->address = s;
	return true;
}

char *
pf_policy_in(const char *list)
{
	static const char word[] = "check_policy_service";
	const char *found = strstr(list, word);
	size_t n;

	if (found == NULL)
		return NULL;
	found += sizeof word - 1;
	found += strspn(found, " \t\n,{");
	n = strcspn(found, " \t\n,}");
	return setup_copy(found, n);
}
