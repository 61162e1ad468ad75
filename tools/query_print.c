/*
 * query_print - the answer for people, and for programs.
 */
#include <stdio.h>

#include "json.h"
#include "output.h"
#include "query.h"

/* ---- for people -------------------------------------------------------- */

static void
put_span(uint64_t from_ms, uint64_t until_ms)
{
	char from[SHOW_MAX], until[SHOW_MAX];

	printf("  %s - %s", show_moment(from_ms, from, sizeof from),
	    show_moment(until_ms, until, sizeof until));
}

static void
put_subject(const struct tide_question *q)
{
	if (q->from != NULL && q->to != NULL)
		printf("mail from %s and mail to %s", q->from, q->to);
	else
		printf("mail %s %s", q->from != NULL ? "from" : "to",
		    q->from != NULL ? q->from : q->to);
}

static void
put_found(const struct tide_question *q, const struct tide_answer *a)
{
	char chance[SHOW_MAX];
	size_t i;

	printf("%syes, probably%s: ", tone(TONE_STRONG), tone(TONE_PLAIN));
	put_subject(q);
	printf(" passed here\n");
	for (i = 0; i < a->hits; i++) {
		put_span(a->hit[i].from_ms, a->hit[i].until_ms);
		printf("  window %llu%s, chance of error %s\n",
		    (unsigned long long)a->hit[i].number,
		    a->hit[i].sealed ? "" : " (not sealed yet)",
		    show_chance(a->hit[i].error, chance, sizeof chance));
	}
	printf("chance that a window says yes by mistake, over %llu window%s: "
	       "%s\n",
	    (unsigned long long)a->windows, plural(a->windows),
	    show_chance(a->error, chance, sizeof chance));
}

static void
put_absent(const struct tide_question *q, const struct tide_answer *a)
{
	char since[SHOW_MAX], until[SHOW_MAX];

	printf("%sno%s: certainly not between %s and %s\n", tone(TONE_STRONG),
	    tone(TONE_PLAIN), show_moment(a->since_ms, since, sizeof since),
	    show_moment(a->until_ms, until, sizeof until));
	printf("  ");
	put_subject(q);
	printf(", %llu window%s\n", (unsigned long long)a->windows,
	    plural(a->windows));
}

static void
put_gaps(const struct tide_answer *a)
{
	size_t i;

	for (i = 0; i < a->gaps; i++) {
		put_span(a->gap[i].from_ms, a->gap[i].until_ms);
		printf("  %s\n", tide_gap_reason(a->gap[i].kind));
	}
}

void
query_text(const struct tide_question *q, const struct tide_answer *a)
{
	switch (tide_answer_verdict(a)) {
	case TIDE_FOUND:
		put_found(q, a);
		if (a->gaps > 0)
			printf("the range is not wholly covered:\n");
		break;
	case TIDE_ABSENT:
		put_absent(q, a);
		break;
	default:
		printf("%snot found%s, but the range is not wholly covered:\n",
		    tone(TONE_STRONG), tone(TONE_PLAIN));
	}
	put_gaps(a);
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
		[TIDE_LAPSE_STOPPED] = "stopped" };

	return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static void
put_hit(const struct tide_hit *h)
{
	struct json j = json_record(stdout, "window");

	json_number(&j, "number", h->number);
	json_time(&j, "from", h->from_ms);
	json_time(&j, "until", h->until_ms);
	json_real(&j, "chance", h->error);
	json_bool(&j, "sealed", h->sealed);
	json_record_end(&j);
}

static void
put_gap(const struct tide_gap *g)
{
	struct json j = json_record(stdout, "gap");

	json_time(&j, "from", g->from_ms);
	json_time(&j, "until", g->until_ms);
	json_text(&j, "kind", lapse_name(g->kind));
	json_text(&j, "reason", tide_gap_reason(g->kind));
	json_record_end(&j);
}

void
query_json(const struct tide_question *q, const struct tide_answer *a)
{
	struct json j = json_record(stdout, "answer");
	size_t i;

	json_text(&j, "verdict", verdict_name(tide_answer_verdict(a)));
	if (q->from != NULL)
		json_text(&j, "sender", q->from);
	if (q->to != NULL)
		json_text(&j, "recipient", q->to);
	json_time(&j, "since", a->since_ms);
	json_time(&j, "until", a->until_ms);
	json_number(&j, "windows", a->windows);
	json_real(&j, "chance", a->error);
	json_record_end(&j);
	for (i = 0; i < a->hits; i++)
		put_hit(&a->hit[i]);
	for (i = 0; i < a->gaps; i++)
		put_gap(&a->gap[i]);
}
