/*
 * Any bytes are a sendmail.cf, a sendmail.mc, a main.cf and a master.cf, with
 * something in them or nothing; and an edit of any of them, done twice, is
 * the edit done once.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/setup/mc.h"
#include "../../tools/setup/postfix_cf.h"
#include "../../tools/setup/postfix_edit.h"
#include "../../tools/setup/postfix_list.h"
#include "../../tools/setup/sendmail_cf.h"
#include "../../tools/setup/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static unsigned
lines_in(const char *text)
{
	return setup_line_at(text, text + strlen(text));
}

static void
sendmail(const char *text, size_t n)
{
	static struct sm_conf c, of_mc;
	struct mc_call call;
	const char *at = text, *place;
	char route[256];
	unsigned line;
	size_t i;

	sm_parse(&c, text, n);
	assert(c.daemon_count > 0); /* sendmail has one in any case */
	for (i = 0; i < c.filter_count; i++) {
		assert(c.filter[i].line <= lines_in(text));
		assert(sm_filter(&c, c.filter[i].name) != NULL);
	}
	for (i = 0; i < c.daemon_count; i++) {
		assert(c.daemon[i].line <= lines_in(text));
		(void)sm_is_internal(&c.daemon[i]);
		(void)sm_filters_of(&c, &c.daemon[i]);
	}
	if (sm_submit_route(text, route, sizeof route, &line))
		assert(line <= lines_in(text) && strchr(route, ' ') != NULL);
	mc_parse(&of_mc, text);
	place = mc_place(text);
	assert(place >= text && place <= text + strlen(text));
	for (; mc_next(at, "DAEMON_OPTIONS", &call); at = call.end)
		assert(call.begin >= at && call.arg[0] > call.begin &&
		    call.end > call.arg[0] + call.length[0]);
}

/* A list is cut into pieces, none of which is longer than the rest of it. */
static void
lists(const char *text)
{
	char *copy = setup_format("%s", text), *rest = copy, *before = copy;
	struct pf_milter m;

	while (pf_next_milter(&rest, &m)) {
		assert(
		    rest > before && m.address >= before && m.address < rest);
		assert(strlen(m.text) < sizeof m.text);
		before = rest;
	}
	free(copy);
	free(pf_policy_in(text));
}

/* Once, and twice. */
static void
edit_main(const char *text)
{
	char *once = pf_edit_main(
	    setup_format("%s", text), "milter_default_action", "accept");
	char *twice = pf_edit_main(
	    setup_format("%s", once), "milter_default_action", "accept");
	char buf[PF_VALUE_MAX];
	struct pf_conf c = { .service_count = 0 };

	assert(strcmp(once, twice) == 0);
	pf_parse_main(&c.main, once, strlen(once));
	assert(
	    strcmp(pf_value(&c, NULL, "milter_default_action", buf, sizeof buf),
		"accept") == 0);
	pf_free(&c);
	free(once);
	free(twice);
}

static void
edit_master(const char *text, unsigned line)
{
	char *once = pf_edit_option(
	    setup_format("%s", text), line, "smtpd_milters", "unix:/x");
	char *twice = pf_edit_option(
	    setup_format("%s", once), line, "smtpd_milters", "unix:/x");

	assert(strcmp(once, twice) == 0);
	free(twice);
	once = pf_edit_chroot(once, line);
	twice = pf_edit_chroot(setup_format("%s", once), line);
	assert(strcmp(once, twice) == 0);
	free(once);
	free(twice);
}

static void
postfix(const char *text, size_t n)
{
	struct pf_conf c = { .service_count = 0 };
	char buf[PF_VALUE_MAX];
	size_t i;

	pf_parse_main(&c.main, text, n);
	pf_parse_master(&c, text, n);
	for (i = 0; i < c.main.count; i++) {
		assert(c.main.param[i].line <= lines_in(text));
		assert(strlen(pf_value(&c, NULL, c.main.param[i].name, buf,
			   sizeof buf)) < sizeof buf);
	}
	for (i = 0; i < c.service_count; i++) {
		const struct pf_service *s = &c.service[i];

		assert(s->line <= lines_in(text));
		(void)pf_is_chrooted(&c, s);
		(void)pf_is_internal(&c, s);
		(void)pf_processes(&c, s);
		(void)pf_is_left_alone(&c, s);
		if (pf_is_smtpd(s))
			edit_master(text, s->line);
	}
	pf_free(&c);
	edit_main(text);
	lists(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = setup_copy((const char *)data, n);

	sendmail(text, strlen(text));
	postfix(text, strlen(text));
	free(text);
	return 0;
}
