/*
 * replay - see replay.h.
 */
#include "replay.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mta.h"

enum { RETRY_MS = 50, STACK = 256 * 1024, COMPLAINTS = 10, QID_MAX = 64 };

static atomic_bool stopped;

struct shared {
	const struct replay_plan *plan;
	const struct mailbox *box;
	double start;
	atomic_long next; /* number of the next message to send */
	atomic_int complaints;
	pthread_barrier_t opened;
};

struct lane {
	struct shared *all;
	struct mta *mta;
	struct tally tally;
	long sent; /* messages in this session */
	bool in_session;
	pthread_t thread;
};

void
replay_stop(void)
{
	atomic_store(&stopped, true);
}

static void
sleep_s(double s)
{
	struct timespec t = { (time_t)s,
		(long)((s - (double)(time_t)s) * 1e9) };

	nanosleep(&t, NULL);
}

/* ---- sessions ---- */

static void
lost(struct lane *l, const char *when)
{
	struct shared *all = l->all;

	l->in_session = false;
	if (!all->plan->quiet &&
	    atomic_fetch_add(&all->complaints, 1) < COMPLAINTS)
		fprintf(stderr, "feed: %s: %s\n", when, mta_text(l->mta));
}

static enum mta_answer
greet(struct lane *l)
{
	const struct replay_plan *plan = l->all->plan;
	const struct mta_client client = { plan->daemon, "client.example.test",
		plan->client, 40000 };
	const double t0 = tally_now();
	enum mta_answer a = mta_open(l->mta);

	if (mta_is_over(a))
		return a;
	tally_sample(&l->tally.first_reply, t0);
	a = mta_connect(l->mta, &client);
	return a == MTA_CONTINUE ? mta_helo(l->mta, client.name) : a;
}

/* A filter that refuses or accepts the connection has a session as well. */
static bool
open_session(struct lane *l)
{
	enum mta_answer a = greet(l);

	l->in_session = !mta_is_over(a);
	l->sent = 0;
	if (l->in_session)
		return true;
	if (a != MTA_REFUSED) {
		l->tally.lost++;
		lost(l, "at connect");
	}
	return false;
}

static bool
keep_opening(struct lane *l)
{
	const struct replay_plan *plan = l->all->plan;
	const double until = tally_now() + plan->timeout_ms / 1e3;

	while (!l->in_session && !open_session(l)) {
		if (!plan->retry || atomic_load(&stopped) ||
		    tally_now() > until) {
			lost(l, "gave up");
			return false;
		}
		sleep_s(RETRY_MS / 1e3);
	}
	return true;
}

static void
end_session(struct lane *l)
{
	if (!l->in_session)
		return;
	l->in_session = false;
	mta_quit(l->mta);
	l->tally.sessions++;
}

/* ---- one message ---- */

struct envelope {
	char qid[QID_MAX];
	char *from;
	char **to;
	bool *refused;
	size_t n_to;
};

static char *
address(const struct lane *l, const struct envelope *e, const char *addr)
{
	char *s;

	if (!*addr || !l->all->plan->unique)
		return strdup(addr);
	if (asprintf(&s, "%s.%s", e->qid, addr) < 0)
		abort();
	return s;
}

static void
make_envelope(
    const struct lane *l, struct envelope *e, const struct mail *m, long number)
{
	snprintf(
	    e->qid, sizeof e->qid, "%s%06ld", l->all->plan->qid_prefix, number);
	e->from = address(l, e, m->from);
	e->n_to = m->n_to;
	e->to = calloc(m->n_to, sizeof *e->to);
	e->refused = calloc(m->n_to, sizeof *e->refused);
	if (!e->to || !e->refused)
		abort();
	for (size_t i = 0; i < m->n_to; i++)
		e->to[i] = address(l, e, m->to[i]);
}

static void
free_envelope(struct envelope *e)
{
	for (size_t i = 0; i < e->n_to; i++)
		free(e->to[i]);
	free(e->to);
	free(e->refused);
	free(e->from);
}

/* One write(2) a line: lines of many threads stay whole. */
static void
note_acked(const struct lane *l, const struct envelope *e)
{
	char *line = NULL;
	const char *sep = "";
	size_t len;
	FILE *f;

	if (l->all->plan->acked_fd < 0)
		return;
	f = open_memstream(&line, &len);
	if (!f)
		abort();
	fprintf(f, "%s %s ", e->qid, *e->from ? e->from : "<>");
	for (size_t i = 0; i < e->n_to; i++)
		if (!e->refused[i]) {
			fprintf(f, "%s%s", sep, e->to[i]);
			sep = ",";
		}
	fputc('\n', f);
	fclose(f);
	if (write(l->all->plan->acked_fd, line, len) != (ssize_t)len)
		abort(); /* a list with holes would prove nothing */
	free(line);
}

/* Offer every recipient; refused only if all of them are. */
static enum mta_answer
send_recipients(const struct lane *l, struct envelope *e)
{
	enum mta_answer a = MTA_CONTINUE;
	size_t taken = 0;

	for (size_t i = 0; i < e->n_to; i++) {
		a = l->all->plan->unknown ? mta_rcpt_rejected(l->mta, e->to[i])
					  : mta_rcpt(l->mta, e->to[i]);
		e->refused[i] = mta_refuses(a);
		if (e->refused[i] && l->all->plan->replies)
			fprintf(stderr, "%s: %s\n", e->to[i], mta_text(l->mta));
		if (a != MTA_CONTINUE && !e->refused[i])
			return a;
		taken += !e->refused[i];
	}
	return taken ? MTA_CONTINUE : a;
}

static enum mta_answer
send_content(struct mta *mta, const struct mail *m)
{
	enum mta_answer a = mta_data(mta);

	for (size_t i = 0; i < m->n_headers && a == MTA_CONTINUE; i++)
		a = mta_header(mta, m->headers[i].name, m->headers[i].value);
	if (a == MTA_CONTINUE)
		a = mta_eoh(mta);
	if (a == MTA_CONTINUE)
		a = mta_body(mta, m->body, m->body_len);
	return a == MTA_SKIP ? MTA_CONTINUE : a;
}

/* *whole: the last answer is that to the end of the message. */
static enum mta_answer
send_mail(struct lane *l, struct envelope *e, const struct mail *m, bool *whole)
{
	enum mta_answer a;

	*whole = false;
	a = mta_mail(l->mta, e->from, e->qid, l->all->plan->user);
	if (a == MTA_CONTINUE)
		a = send_recipients(l, e);
	if (a == MTA_CONTINUE && !l->all->plan->abort)
		a = send_content(l->mta, m);
	if (a != MTA_CONTINUE || l->all->plan->abort) {
		mta_abort(l->mta);
		return a;
	}
	*whole = true;
	return mta_eom(l->mta);
}

static void
count(struct lane *l, const struct envelope *e, enum mta_answer a, bool whole)
{
	struct tally *t = &l->tally;

	if (mta_is_over(a)) {
		t->failed++;
		t->lost++;
		lost(l, e->qid);
	} else if (a != MTA_CONTINUE && a != MTA_ACCEPT) {
		t->rejected++;
	} else if (whole) {
		note_acked(l, e);
		t->acked++;
	} else {
		t->passed++;
	}
}

static void
send_one(struct lane *l, long number)
{
	const struct mail *m =
	    &l->all->box->mails[(size_t)number % l->all->box->n];
	struct envelope e;
	enum mta_answer a;
	double t0;
	bool whole;

	make_envelope(l, &e, m, number);
	t0 = tally_now();
	a = send_mail(l, &e, m, &whole);
	if (!mta_is_over(a))
		tally_sample(&l->tally.message, t0);
	count(l, &e, a, whole);
	free_envelope(&e);
}

/* ---- lanes ---- */

/* Wait for the message's turn, in short sleeps: replay_stop may come. */
static void
await_turn(const struct shared *all, long number)
{
	const double due = all->start + (double)number / all->plan->rate;
	double left = due - tally_now();

	while (left > 0 && !atomic_load(&stopped)) {
		sleep_s(left < 0.1 ? left : 0.1);
		left = due - tally_now();
	}
}

static bool
take(struct lane *l, long *number)
{
	const struct replay_plan *plan = l->all->plan;

	*number = atomic_fetch_add(&l->all->next, 1);
	if (plan->messages && *number >= plan->messages)
		return false;
	if (plan->rate > 0)
		await_turn(l->all, *number);
	return !atomic_load(&stopped);
}

static void *
run_lane(void *arg)
{
	struct lane *l = arg;
	const struct replay_plan *plan = l->all->plan;
	bool alive = true;
	long number;

	if (plan->together) {
		alive = keep_opening(l);
		pthread_barrier_wait(&l->all->opened);
	}
	while (alive && take(l, &number)) {
		l->tally.messages++;
		alive = keep_opening(l);
		if (!alive) {
			l->tally.failed++;
			break;
		}
		send_one(l, number);
		alive = l->in_session || plan->retry;
		if (++l->sent >= plan->per_connection)
			end_session(l);
	}
	end_session(l);
	return NULL;
}

static int
start_lanes(struct lane *lanes, struct shared *all)
{
	const struct replay_plan *plan = all->plan;
	pthread_attr_t attr;
	int n = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (; n < plan->connections; n++) {
		lanes[n].all = all;
		lanes[n].mta = mta_new(plan->socket, plan->timeout_ms);
		mta_announce(lanes[n].mta, plan->size);
		if (pthread_create(
			&lanes[n].thread, &attr, run_lane, &lanes[n]) != 0)
			break;
	}
	pthread_attr_destroy(&attr);
	return n;
}

bool
replay_run(const struct replay_plan *plan, const struct mailbox *box,
    struct tally *sum)
{
	struct shared all = { .plan = plan, .box = box, .start = tally_now() };
	const size_t n = (size_t)plan->connections;
	struct lane *lanes = calloc(n, sizeof *lanes);

	if (!lanes)
		abort();
	pthread_barrier_init(&all.opened, NULL, (unsigned)n);
	if (start_lanes(lanes, &all) < plan->connections)
		return false; /* the program ends; others may wait for ever */
	for (size_t i = 0; i < n; i++) {
		pthread_join(lanes[i].thread, NULL);
		tally_add(sum, &lanes[i].tally);
		tally_free(&lanes[i].tally);
		mta_free(lanes[i].mta);
	}
	if (!atomic_load(&stopped) && sum->messages < plan->messages) {
		sum->failed += plan->messages - sum->messages;
		sum->messages = plan->messages;
	}
	pthread_barrier_destroy(&all.opened);
	free(lanes);
	return true;
}
