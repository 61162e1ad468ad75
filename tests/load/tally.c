/*
 * tally - see tally.h.
 */
#include "tally.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double
tally_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
reserve(struct samples *s, size_t more)
{
	if (s->room - s->n >= more)
		return;
	s->room = 2 * s->room + more;
	s->ms = realloc(s->ms, s->room * sizeof *s->ms);
	if (!s->ms)
		abort();
}

void
tally_sample(struct samples *s, double since)
{
	reserve(s, 1);
	s->ms[s->n++] = (tally_now() - since) * 1e3;
}

static void
add_samples(struct samples *sum, const struct samples *s)
{
	if (!s->n)
		return;
	reserve(sum, s->n);
	memcpy(sum->ms + sum->n, s->ms, s->n * sizeof *s->ms);
	sum->n += s->n;
}

void
tally_add(struct tally *sum, const struct tally *t)
{
	sum->messages += t->messages;
	sum->acked += t->acked;
	sum->passed += t->passed;
	sum->rejected += t->rejected;
	sum->failed += t->failed;
	sum->sessions += t->sessions;
	sum->lost += t->lost;
	add_samples(&sum->first_reply, &t->first_reply);
	add_samples(&sum->message, &t->message);
}

void
tally_free(struct tally *t)
{
	free(t->first_reply.ms);
	free(t->message.ms);
}

static int
ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
percentile(const struct samples *s, size_t p)
{
	return s->n ? s->ms[(s->n - 1) * p / 100] : 0;
}

static void
sort(struct samples *s)
{
	if (s->n)
		qsort(s->ms, s->n, sizeof *s->ms, ascending);
}

/* Both forms take the same values in the same order. */
static const char plain[] =
    "messages=%ld acked=%ld passed=%ld rejected=%ld failed=%ld sessions=%ld "
    "lost=%ld seconds=%.3f sessions/s=%.1f messages/s=%.1f "
    "first_reply_ms p50=%.3f p99=%.3f message_ms p50=%.3f p99=%.3f\n";
static const char as_json[] =
    "{\"messages\":%ld,\"acked\":%ld,\"passed\":%ld,\"rejected\":%ld,"
    "\"failed\":%ld,\"sessions\":%ld,\"lost\":%ld,\"seconds\":%.3f,"
    "\"sessions_per_s\":%.1f,\"messages_per_s\":%.1f,"
    "\"first_reply_ms\":{\"p50\":%.3f,\"p99\":%.3f},"
    "\"message_ms\":{\"p50\":%.3f,\"p99\":%.3f}}\n";

void
tally_print(struct tally *t, double seconds, bool json, FILE *out)
{
	const double per = seconds > 0 ? 1 / seconds : 0;

	sort(&t->first_reply);
	sort(&t->message);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(out, json ? as_json : plain, t->messages, t->acked, t->passed,
	    t->rejected, t->failed, t->sessions, t->lost, seconds,
	    (double)t->sessions * per,
	    (double)(t->acked + t->passed + t->rejected) * per,
	    percentile(&t->first_reply, 50), percentile(&t->first_reply, 99),
	    percentile(&t->message, 50), percentile(&t->message, 99));
#pragma GCC diagnostic pop
}
