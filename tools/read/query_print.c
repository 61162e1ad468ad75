/*
 * query_print - the answer for people, and for programs.
 */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "output.h"
#include "query.h"
#include "tidemark/ask/query.h"
#include "tidemark/map/acceptor.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/memory/recall.h"

/* ---- for people -------------------------------------------------------- */

static void
put_span(FILE *out, uint64_t from_ms, uint64_t until_ms)
{
	char from[SHOW_MAX], until[SHOW_MAX];

	fprintf(out, "  %s - %s", show_moment(from_ms, from, sizeof from),
	    show_moment(until_ms, until, sizeof until));
}

static const char *
content_name(const struct inquiry *i)
{
	return i->text != NULL	   ? "text"
	    : i->file != NULL	   ? "file"
	    : query_has_content(i) ? "message"
				   : NULL;
}

static void
put_subject(FILE *out, const struct inquiry *i)
{
	const struct tide_question *q = &i->q;
	const char *content = content_name(i);

	fprintf(out, "mail");
	if (q->from != NULL)
		fprintf(out, " from %s", q->from);
	if (q->to != NULL)
		fprintf(
		    out, "%s to %s", q->from != NULL ? " and mail" : "", q->to);
	if (content != NULL)
		fprintf(out, " %s this %s",
		    strcmp(content, "message") == 0 ? "like" : "with", content);
}

static void
put_distance(FILE *out, const struct tide_hit *h)
{
	if (h->content.distance >= 0)
		fprintf(out, ", the first gap is %lld long%s",
		    (long long)h->content.distance,
		    h->certain ? " (or 256 more, or 512 ...)" : "");
}

static void
put_content(FILE *out, const struct inquiry *i, const struct tide_hit *h)
{
	const struct tide_recollection *c = &h->content;

	if (h->profiles[0] != '\0')
		fprintf(out, ", %s %s", h->certain ? "profile" : "one of",
		    h->profiles);
	if (i->message != NULL)
		fprintf(out, ", %.0f%% of the text", c->share * 100);
	if (i->message != NULL && c->files_asked > 0)
		fprintf(out, ", %u of %u file%s", c->files, c->files_asked,
		    plural(c->files_asked));
	if (c->whole)
		fprintf(out, ", as a whole");
	if (i->text != NULL && c->levels > 0)
		fprintf(out, ", %u block%s, %u level%s agree%s", c->blocks,
		    plural(c->blocks), c->levels, plural(c->levels),
		    c->levels == 1 ? "s" : "");
	put_distance(out, h);
}

static void
put_fits(FILE *out, const struct inquiry *i, const struct tide_answer *a)
{
	char chance[SHOW_MAX];
	size_t k;

	for (k = 0; k < a->fits; k++)
		if (a->fit[k].guess < i->guess_count)
			fprintf(out,
			    "  «%s» fits into window %llu, %u level%s, "
			    "chance of error %s\n",
			    i->guess[a->fit[k].guess],
			    (unsigned long long)a->fit[k].window,
			    a->fit[k].levels, plural(a->fit[k].levels),
			    show_chance(
				a->fit[k].error, chance, sizeof chance));
	if (i->guesses != NULL && a->fits == 0)
		fprintf(out, "  none of %zu candidate%s fits\n", i->guess_count,
		    plural(i->guess_count));
}

static void
put_found(FILE *out, const struct inquiry *i, const struct tide_answer *a)
{
	char chance[SHOW_MAX];
	size_t k;

	fprintf(
	    out, "%syes, probably%s: ", tone(TONE_STRONG), tone(TONE_PLAIN));
	put_subject(out, i);
	fprintf(out, " passed here\n");
	for (k = 0; k < a->hits; k++) {
		put_span(out, a->hit[k].from_ms, a->hit[k].until_ms);
		fprintf(out, "  window %llu%s",
		    (unsigned long long)a->hit[k].number,
		    a->hit[k].sealed ? "" : " (not sealed yet)");
		if (query_has_content(i))
			put_content(out, i, &a->hit[k]);
		fprintf(out, ", chance of error %s\n",
		    show_chance(a->hit[k].error, chance, sizeof chance));
	}
	put_fits(out, i, a);
	fprintf(out,
	    "chance that a window says yes by mistake, over %llu window%s: "
	    "%s\n",
	    (unsigned long long)a->windows, plural(a->windows),
	    show_chance(a->error, chance, sizeof chance));
}

static void
put_absent(FILE *out, const struct inquiry *i, const struct tide_answer *a)
{
	char since[SHOW_MAX], until[SHOW_MAX];

	fprintf(out, "%sno%s: certainly not between %s and %s\n",
	    tone(TONE_STRONG), tone(TONE_PLAIN),
	    show_moment(a->since_ms, since, sizeof since),
	    show_moment(a->until_ms, until, sizeof until));
	fprintf(out, "  ");
	put_subject(out, i);
	fprintf(out, ", %llu window%s\n", (unsigned long long)a->windows,
	    plural(a->windows));
}

static void
put_gaps(FILE *out, const struct tide_answer *a)
{
	size_t i;

	for (i = 0; i < a->gaps; i++) {
		put_span(out, a->gap[i].from_ms, a->gap[i].until_ms);
		fprintf(out, "  %s\n", tide_gap_reason(a->gap[i].kind));
	}
}

/* Where the question was read as something else than its letters. */
static void
put_reading(FILE *out, const struct inquiry *i)
{
	unsigned k;

	for (k = 0; k < 2; k++)
		if (i->bare[k] != NULL)
			fprintf(out, "%s was asked as %s: all of the domain\n",
			    i->bare[k], i->address[k]);
	if (i->star)
		fprintf(out,
		    "a * beside fewer than %u letters and digits was asked as "
		    "punctuation\n",
		    TIDE_EXCERPT_LEAST);
}

void
query_text(FILE *out, const struct inquiry *i, const struct tide_answer *a)
{
	switch (tide_answer_verdict(a)) {
	case TIDE_FOUND:
		put_found(out, i, a);
		if (a->gaps > 0)
			fprintf(out, "the range is not wholly covered:\n");
		break;
	case TIDE_ABSENT:
		put_absent(out, i, a);
		break;
	default:
		fprintf(out,
		    "%snot found%s, but the range is not wholly covered:\n",
		    tone(TONE_STRONG), tone(TONE_PLAIN));
	}
	put_gaps(out, a);
	put_reading(out, i);
}

/* ---- for programs ------------------------------------------------------ */

static const char *
verdict_name(enum tide_verdict v)
{
	switch (v) {
	case TIDE_FOUND:
		return "found";
	case TIDE_ABSENT:
		return "absent";
	default:
		return "not-covered";
	}
}

const char *
lapse_name(uint32_t kind)
{
	static const char *const names[] = { [0] = "unstored",
		[TIDE_LAPSE_DOWN] = "down",
		[TIDE_LAPSE_CRASH] = "crash",
		[TIDE_LAPSE_ERROR] = "error",
		[TIDE_LAPSE_FULL] = "full",
		[TIDE_LAPSE_DAMAGE] = "damage",
		[TIDE_LAPSE_CUT] = "cut",
		[TIDE_LAPSE_UNREAD] = "unread",
		[TIDE_LAPSE_STOPPED] = "stopped",
		[TIDE_LAPSE_CLOCK] = "clock" };

	return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static void
put_content_json(
    struct json *j, const struct inquiry *i, const struct tide_hit *h)
{
	const struct tide_recollection *c = &h->content;

	json_text(j, "profiles", h->profiles);
	json_bool(j, "profile_certain", h->certain);
	if (i->text != NULL) {
		json_number(j, "levels", c->levels);
		json_number(j, "blocks", c->blocks);
		json_bool(j, "whole", c->whole);
	}
	if (c->distance >= 0)
		json_number(j, "distance", (uint64_t)c->distance);
	if (i->message != NULL)
		json_real(j, "share", c->share);
	if (i->text == NULL) {
		json_number(j, "files", c->files);
		json_number(j, "files_asked", c->files_asked);
	}
}

static void
put_fit_json(FILE *out, const struct inquiry *i, const struct tide_fit *f)
{
	struct json j = json_record(out, "fit");

	json_text(&j, "candidate",
	    f->guess < i->guess_count ? i->guess[f->guess] : "");
	json_number(&j, "window", f->window);
	json_number(&j, "levels", f->levels);
	json_real(&j, "chance", f->error);
	json_record_end(&j);
}

static void
put_hit(FILE *out, const struct inquiry *i, const struct tide_hit *h)
{
	struct json j = json_record(out, "window");

	json_number(&j, "number", h->number);
	json_time(&j, "from", h->from_ms);
	json_time(&j, "until", h->until_ms);
	json_real(&j, "chance", h->error);
	json_bool(&j, "sealed", h->sealed);
	if (query_has_content(i))
		put_content_json(&j, i, h);
	json_record_end(&j);
}

static void
put_gap(FILE *out, const struct tide_gap *g)
{
	struct json j = json_record(out, "gap");

	json_time(&j, "from", g->from_ms);
	json_time(&j, "until", g->until_ms);
	json_text(&j, "kind", lapse_name(g->kind));
	json_text(&j, "reason", tide_gap_reason(g->kind));
	json_record_end(&j);
}

void
query_json(FILE *out, const struct inquiry *i, const struct tide_answer *a)
{
	struct json j = json_record(out, "answer");
	size_t k;

	json_text(&j, "verdict", verdict_name(tide_answer_verdict(a)));
	if (i->q.from != NULL)
		json_text(&j, "sender", i->q.from);
	if (i->q.to != NULL)
		json_text(&j, "recipient", i->q.to);
	if (query_has_content(i)) {
		json_text(&j, "content", content_name(i));
		json_number(&j, "lookups", a->lookups);
		json_bool(&j, "stopped", a->stopped);
	}
	json_time(&j, "since", a->since_ms);
	json_time(&j, "until", a->until_ms);
	json_number(&j, "windows", a->windows);
	json_real(&j, "chance", a->error);
	json_record_end(&j);
	for (k = 0; k < a->hits; k++)
		put_hit(out, i, &a->hit[k]);
	for (k = 0; k < a->fits; k++)
		put_fit_json(out, i, &a->fit[k]);
	for (k = 0; k < a->gaps; k++)
		put_gap(out, &a->gap[k]);
}
