/*
 * asking - word it as `tidemark query' does, wait, print the answer.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/ask.h"
#include "../read/json.h"
#include "../read/output.h"
#include "../read/query.h"
#include "asking.h"
#include "tidemark/ask/query.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"

#define AT_ONCE 4
#define LONGEST_MS 60000u /* then it is answered with what was found */
#define STACK (512 * 1024)

enum { HTTP_OK = 200, HTTP_BAD = 400, HTTP_NONSENSE = 422, HTTP_AWAY = 503 };

static atomic_uint count;
static atomic_bool closed;

unsigned
asking_count(void)
{
	return atomic_load(&count);
}

/* ---- patience ---------------------------------------------------------- */

static void
begin(void *arg, int fd)
{
	(void)fd;
	*(uint64_t *)arg = tide_clock_mono_ms() + LONGEST_MS;
}

static bool
progress(void *arg, uint64_t done, uint64_t all)
{
	(void)done;
	(void)all;
	return tide_clock_mono_ms() < *(uint64_t *)arg;
}

static void
end(void *arg)
{
	(void)arg;
}

/* ---- a question -------------------------------------------------------- */

static const char *
if_said(const char *text)
{
	return text[strspn(text, " \t\r\n")] != '\0' ? text : NULL;
}

static unsigned
put_answer(const struct asking *a, FILE *out, struct inquiry *i)
{
	uint64_t until_ms = 0;
	const struct query_wait wait = { .arg = &until_ms,
		.begin = begin,
		.progress = progress,
		.end = end };
	struct tide_answer answer;
	enum answer next = query_ask(a->places, i, &wait, &answer);

	if (next != ANSWER_DONE)
		return next == ANSWER_REFUSED ? HTTP_NONSENSE : HTTP_AWAY;
	if (a->form == ASKING_NDJSON)
		query_json(out, i, &answer);
	else
		query_text(out, i, &answer);
	tide_answer_free(&answer);
	return HTTP_OK;
}

static unsigned
ask(const struct asking *a, FILE *out)
{
	struct inquiry i = { .text = if_said(a->text),
		.since = if_said(a->since),
		.until = if_said(a->until) };
	struct tide_err err;

	i.q.from = if_said(a->from);
	i.q.to = if_said(a->to);
	if (i.text == NULL && i.q.from == NULL && i.q.to == NULL) {
		complain("give a text, a sender or a recipient");
		return HTTP_BAD;
	}
	if (query_times(&i, &err) < 0 || query_addresses(&i, &err) < 0) {
		complain("%s", err.text);
		return HTTP_BAD;
	}
	return put_answer(a, out, &i);
}

/* What was complained of instead of an answer. */
static void
put_error(const struct asking *a, FILE *out, char *text)
{
	struct json j;

	text[strcspn(text, "\n")] = '\0';
	if (a->form == ASKING_NDJSON) {
		j = json_record(out, "error");
		json_text(&j, "text", text);
		json_record_end(&j);
	} else {
		fprintf(out, "%s\n", text);
	}
}

static void
answer(struct asking *a)
{
	size_t said_length;
	char *said = NULL;
	FILE *out = open_memstream(&a->body, &a->length);
	FILE *talk = open_memstream(&said, &said_length);

	a->status = HTTP_AWAY;
	if (out != NULL && talk != NULL) {
		complain_to(talk);
		a->status = ask(a, out);
		complain_to(NULL);
	}
	if (talk != NULL && fclose(talk) == 0 && a->status != HTTP_OK &&
	    out != NULL)
		put_error(a, out, said);
	free(said);
	if (out != NULL)
		(void)fclose(out);
}

/* ---- its thread -------------------------------------------------------- */

static void
finish_one(struct asking *a)
{
	a->done(a->arg); /* and is gone */
	(void)atomic_fetch_sub(&count, 1);
}

static void *
run(void *arg)
{
	answer(arg);
	finish_one(arg);
	return NULL;
}

static bool
start_thread(struct asking *a)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool ok;

	if (pthread_attr_init(&attr) != 0)
		return false;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, STACK);
	ok = pthread_create(&thread, &attr, run, a) == 0;
	(void)pthread_attr_destroy(&attr);
	return ok;
}

/* Counted first: who closes either sees it, or it sees that it is closed. */
bool
asking_reserve(void)
{
	if (atomic_fetch_add(&count, 1) < AT_ONCE && !atomic_load(&closed))
		return true;
	(void)atomic_fetch_sub(&count, 1);
	return false;
}

void
asking_close(void)
{
	atomic_store(&closed, true);
}

void
asking_start(struct asking *a)
{
	if (start_thread(a))
		return;
	a->status = HTTP_AWAY;
	a->body = strdup("no thread for the question\n");
	a->length = a->body != NULL ? strlen(a->body) : 0;
	finish_one(a);
}
