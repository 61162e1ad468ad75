/*
 * sample_html - a summary for a browser without scripts.
 */
#include <math.h>
#include <stdarg.h>

#include "../read/output.h"
#include "../read/pace.h"
#include "../read/view.h"
#include "../read/view_flow.h"
#include "../read/water.h"
#include "health.h"
#include "html.h"
#include "mask.h"
#include "sample.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/err.h"
#include "tidemark/flow/bans.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/map/window.h"
#include "tidemark/settings/config.h"

static void
cell(FILE *out, const char *fmt, ...)
{
	char text[MASK_MAX + 64];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	(void)fputs("<td>", out);
	html_text(out, text);
	(void)fputs("</td>", out);
}

static void
put_headline(FILE *out, const struct sample *s)
{
	double rate = pace_mail(&s->view, s->mono_ms);
	char when[SHOW_MAX], mail[SHOW_MAX] = "?";

	if (!isnan(rate))
		(void)snprintf(mail, sizeof mail, "%.1f", rate);
	fprintf(out,
	    "<p>At %s: %s messages a second, %u of %u workers busy, "
	    "%u bucket%s in use, %u ban%s standing.</p>\n",
	    show_moment(s->now_ms, when, sizeof when), mail,
	    view_serving(&s->view), s->view.slots, s->flow.buckets,
	    plural(s->flow.buckets), s->flow.bans, plural(s->flow.bans));
}

static void
put_nearest(FILE *out, const struct sample *s)
{
	char key[TIDE_BUCKET_KEY_MAX + 1], masked[MASK_MAX];
	struct tide_class_id id;
	size_t i;

	(void)fputs("<h2>Nearest to a ban</h2>\n<table><thead><tr>"
		    "<th scope=col>Sender or client<th scope=col>Group"
		    "<th scope=col>Level<th scope=col>State</tr></thead>\n"
		    "<tbody>",
	    out);
	for (i = 0; i < s->nearest_count; i++) {
		const struct water_item *item = &s->water.item[s->nearest[i]];

		if (water_limit(&s->view, item, &id) == NULL ||
		    !water_key(&s->view, item, key))
			continue;
		(void)fputs("<tr>", out);
		cell(out, "%s", mask_key(s->mask, key, masked));
		cell(out, "%s", tide_group_name[id.group]);
		cell(out, "%u of %u", item->level, item->depth);
		cell(out, "%s", water_state(&s->view, item));
		(void)fputs("</tr>\n", out);
	}
	(void)fputs("</tbody></table>\n", out);
}

static void
put_bans(FILE *out, const struct sample *s)
{
	char masked[MASK_MAX], span[SHOW_MAX];
	size_t i;

	(void)fputs("<h2>Bans</h2>\n", out);
	if (s->bans == 0) {
		(void)fputs("<p>Nobody is banned.</p>\n", out);
		return;
	}
	(void)fputs("<table><thead><tr><th scope=col>Who<th scope=col>Cause"
		    "<th scope=col>Reason<th scope=col>Left</tr></thead>\n"
		    "<tbody>",
	    out);
	for (i = 0; i < s->bans; i++) {
		const struct tide_ban *b = &s->ban[i];

		(void)fputs("<tr>", out);
		cell(out, "%s", mask_key(s->mask, b->key, masked));
		cell(out, "%s", view_ban_group(b));
		cell(
		    out, "%s", mask_words(s->mask, view_ban_reason(b), masked));
		cell(out, "%s",
		    show_span(b->until_ms - s->now_ms, span, sizeof span));
		(void)fputs("</tr>\n", out);
	}
	(void)fputs("</tbody></table>\n", out);
}

static void
put_window(FILE *out, const struct sample *s)
{
	const struct view_window *w = s->health.window[0].open
	    ? &s->health.window[0]
	    : &s->health.window[1];
	char chance[SHOW_MAX];
	unsigned k;

	(void)fputs("<h2>Memory</h2>\n", out);
	if (!w->open) {
		(void)fputs("<p>No window is open.</p>\n", out);
		return;
	}
	(void)fputs("<table><thead><tr><th scope=col>Filter<th scope=col>Holds"
		    "<th scope=col>Of<th scope=col>False yes</tr></thead>\n"
		    "<tbody>",
	    out);
	for (k = 0; k < TIDE_FILTERS; k++) {
		const struct view_filter *f = &w->filter[k];

		(void)fputs("<tr>", out);
		cell(out, "%s", view_filter_name[k]);
		cell(out, "%llu", (unsigned long long)f->elements);
		cell(
		    out, "%llu", (unsigned long long)s->view.shape[k].capacity);
		cell(out, "%s",
		    f->ones == 0
			? "none"
			: show_chance(f->error, chance, sizeof chance));
		(void)fputs("</tr>\n", out);
	}
	(void)fputs("</tbody></table>\n", out);
}

void
sample_html(FILE *out, const struct sample *s)
{
	const char *trouble = sample_trouble(s);

	if (trouble[0] != '\0') {
		(void)fputs("<p class=\"alarm\">Trouble: ", out);
		html_text(out, trouble);
		if (!s->attached) {
			(void)fputs(": ", out);
			html_text(out, s->why.text);
		}
		(void)fputs(".</p>\n", out);
	} else {
		(void)fputs("<p>Tidemark is at work.</p>\n", out);
	}
	if (!s->attached)
		return;
	put_headline(out, s);
	put_nearest(out, s);
	put_bans(out, s);
	put_window(out, s);
}
