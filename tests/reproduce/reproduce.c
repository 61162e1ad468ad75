/*
 * reproduce - the paper's tables, ours beside theirs.
 *
 *   reproduce [--rounds N] [--seed N] [--quick]
 *
 * Tables I and II are exact; III to X are simulated, each round with keys and
 * hashes of its own, by as many processes as there are processors.  Of the
 * means that expect at least 30 events, at most two may lie beyond three
 * standard errors, and none beyond five.  --quick is a test, by its exit
 * status: 60 rounds, without the filters whose errors are too rare to be
 * judged.
 */
#include <getopt.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paper.h"
#include "simulate.h"
#include "tidemark/base/bloom.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/counting.h"

#define ROUNDS_MOST 10000u
#define WORKERS_MOST 16

static const unsigned ks[KS] = { 4, 6, 8 };
static unsigned rounds = 1000;
static uint64_t seed = 1;
static bool quick;

static bool
is_judged(const struct paper_figure *f)
{
	return f->mean * 10000 * rounds >= 30;
}

static bool
is_wanted(unsigned e, unsigned s, unsigned k)
{
	return !quick || is_judged(&paper_tables[e].intuitive[s][k]) ||
	    is_judged(&paper_tables[e].refined[s][k]);
}

/* ---- the work, shared out by configurations ---------------------------- */

struct sums {
	double n, sum, squares;
};

struct cell {
	struct sums intuitive, refined;
};

static struct {
	_Atomic unsigned taken; /* the next piece of work */
	_Atomic unsigned done;
	struct cell cell[EXPERIMENTS][SIZES][KS];
} * shared;

struct piece {
	unsigned e, s, k;
};

/* The n-th configuration, or false. */
static bool
find_piece(unsigned n, struct piece *p)
{
	for (p->e = 0; p->e < EXPERIMENTS; p->e++)
		for (p->s = 0; p->s < paper_tables[p->e].sizes; p->s++)
			for (p->k = 0; p->k < KS; p->k++)
				if (is_wanted(p->e, p->s, p->k) && n-- == 0)
					return true;
	return false;
}

static void
add(struct sums *s, double x)
{
	s->n++;
	s->sum += x;
	s->squares += x * x;
}

static void
work(void)
{
	struct piece p;
	struct wrong w;
	unsigned r;

	while (find_piece(atomic_fetch_add(&shared->taken, 1), &p)) {
		struct cell *c = &shared->cell[p.e][p.s][p.k];

		for (r = 0; r < rounds; r++) {
			w = simulate(p.e + 1, paper_tables[p.e].m[p.s], ks[p.k],
			    seed, r);
			add(&c->intuitive, w.intuitive);
			add(&c->refined, w.refined);
			atomic_fetch_add(&shared->done, 1);
		}
	}
}

static void
show_progress(unsigned all)
{
	unsigned done = atomic_load(&shared->done), i;
	char bar[41];

	for (i = 0; i < 40; i++)
		bar[i] = i < done * 40ull / all ? '#' : '.';
	bar[40] = '\0';
	(void)fprintf(
	    stderr, "\r[%s] %3u%%", bar, (unsigned)(done * 100ull / all));
}

/* Wait for all of them; false if one did not end well. */
static bool
wait_for(const pid_t *pid, unsigned workers, unsigned all)
{
	bool show = isatty(STDERR_FILENO), good = true;
	unsigned i;
	int status;

	for (i = 0; i < workers; i++) {
		while (waitpid(pid[i], &status, show ? WNOHANG : 0) == 0) {
			show_progress(all);
			(void)usleep(200000);
		}
		good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	if (show)
		(void)fprintf(stderr, "\r%48s\r", "");
	return good;
}

static bool
run(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned i, all = 0,
		    workers = cpus < 1 ? 1
	    : cpus > WORKERS_MOST      ? WORKERS_MOST
				       : (unsigned)cpus;
	pid_t pid[WORKERS_MOST];
	struct piece p;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return false;
	while (find_piece(all, &p))
		all++;
	(void)fflush(stdout);
	for (i = 0; i < workers; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			work();
			_exit(0);
		}
		if (pid[i] < 0)
			return false;
	}
	return wait_for(pid, workers, all * rounds);
}

/* ---- tables I and II --------------------------------------------------- */

/* What the formula says, and what a filter of 100,000 signatures does. */
static double
measure_razor(unsigned bits_a_key, unsigned k)
{
	const struct tide_bloom_shape shape = { .bits = 100000ull * bits_a_key /
		    64 * 64,
		.positions = k,
		.capacity = 100000 };
	tide_bloom_word *words = calloc(1, tide_bloom_bytes(&shape));
	struct tide_hash_key key = { { 1, 2, 3 } };
	unsigned hits = 0, i, probes = 500000;

	if (words == NULL)
		abort();
	for (i = 0; i < 100000; i++)
		(void)tide_bloom_add(&shape, words, tide_hash(&key, &i, 4));
	for (; i < 100000 + probes; i++)
		hits += tide_bloom_has(&shape, words, tide_hash(&key, &i, 4));
	free(words);
	return (double)hits / probes;
}

static void
print_table_1(void)
{
	static const struct {
		unsigned bits, k;
		double theirs;
	} row[] = { { 16, 4, 2.394e-3 }, { 10, 8, 8.455e-3 },
		{ 16, 8, 5.745e-4 }, { 40, 8, 1.166e-6 },
		{ 40, 16, 1.948e-8 } };
	unsigned i;

	(void)printf("Table I: signatures of 160 bits in a Bloom filter\n"
		     "  m/n   k  smaller by   false positives: paper   "
		     "formula  measured (500,000 probes)\n");
	for (i = 0; i < sizeof row / sizeof *row; i++)
		(void)printf("  %3u  %2u  %10.1f  %23.3e  %.3e  %.3e\n",
		    row[i].bits, row[i].k, 160.0 / row[i].bits, row[i].theirs,
		    pow(1 - exp(-(double)row[i].k / row[i].bits), row[i].k),
		    measure_razor(row[i].bits, row[i].k));
}

static void
print_table_2(void)
{
	static _Alignas(64) char books[64 + TIDE_COUNTING_STRIPES * 8];
	const struct tide_counting_shape shape = {
		.cells = 36, .capacity = 12, .positions = 3, .bits = 5
	};
	struct tide_counting_key other = { .stripe = 1 }, x = { .stripe = 2 };
	tide_counting_word cells[3] = { 0 };
	struct tide_counting f;
	unsigned i;

	tide_counting_attach(&f, &shape, 1, books);
	for (i = 1; i <= 3; i++)
		tide_counting_key_add(&f, &x, i);
	for (i = 1; i <= 2; i++)
		tide_counting_key_add(&f, &other, i);
	(void)tide_counting_insert(&f, cells, &other, 0, 1);
	(void)printf("\nTable II: cells of a key as it is inserted\n"
		     "  inserted  intuitive  refined (ours)\n");
	for (i = 0; i <= 4; i++) {
		(void)printf("  %8u      %u %u %u  %u %u %u\n", i, 1 + i, 1 + i,
		    i, tide_counting_cell(&f, cells, 1),
		    tide_counting_cell(&f, cells, 2),
		    tide_counting_cell(&f, cells, 3));
		(void)tide_counting_insert(&f, cells, &x, 0, 1);
	}
}

/* ---- tables III to X --------------------------------------------------- */

static double
mean(const struct sums *s)
{
	return s->sum / s->n;
}

static double
deviation(const struct sums *s)
{
	double v = s->squares / s->n - mean(s) * mean(s);

	return s->n > 1 && v > 0 ? sqrt(v * s->n / (s->n - 1)) : 0;
}

static struct {
	unsigned judged, beyond_3, beyond_5;
} tally;

/* How many standard errors apart; both means have one. */
static double
apart(const struct sums *ours, const struct paper_figure *theirs)
{
	double error = theirs->deviation * sqrt(1.0 / rounds + 1.0 / 1000.0);

	return error > 0 ? (mean(ours) - theirs->mean) / error : 0;
}

static void
print_figure(const struct sums *ours, const struct paper_figure *theirs)
{
	double z = fabs(apart(ours, theirs));
	bool judged = is_judged(theirs);

	(void)printf(" %9.3e %9.3e | %9.3e %9.3e %5.1f%c", mean(ours),
	    deviation(ours), theirs->mean, theirs->deviation,
	    apart(ours, theirs), judged ? ' ' : '*');
	if (!judged)
		return;
	tally.judged++;
	tally.beyond_3 += z > 3;
	tally.beyond_5 += z > 5;
}

/*
 * The intuitive filter's mean, by its formula: all k cells of a key are hit by
 * others, of n keys that are inserted at least once.
 */
static double
by_formula(unsigned e, unsigned m, unsigned k)
{
	static const double inserted[EXPERIMENTS] = { 1, 1, 1, 20 / 21.0,
		20 / 21.0, 1 - 4.5e-5, 1, 40 / 41.0 };

	return pow(1 - pow(1 - 1.0 / m, k * 10000 * inserted[e]), k);
}

static void
print_row(unsigned e, unsigned s, unsigned k)
{
	const struct paper_table *t = &paper_tables[e];
	const struct cell *c = &shared->cell[e][s][k];
	double reduction = mean(&c->intuitive) / mean(&c->refined);

	(void)printf("%4uK %u", t->m[s] / 1000, ks[k]);
	if (t->intuitive[s][k].deviation > 0)
		print_figure(&c->intuitive, &t->intuitive[s][k]);
	else
		(void)printf(" %9.3e %9.3e | %26s", mean(&c->intuitive),
		    deviation(&c->intuitive), "");
	(void)printf(" ||");
	print_figure(&c->refined, &t->refined[s][k]);
	if (mean(&c->refined) > 0)
		(void)printf(" || %6.3f", reduction);
	else
		(void)printf(" || %6s", "-");
	if (t->reduction[s][k] > 0)
		(void)printf(" %6.3f", t->reduction[s][k]);
	else
		(void)printf(" %6s", "-");
	(void)printf(" || %9.3e\n", by_formula(e, t->m[s], ks[k]));
}

static void
print_tables(void)
{
	unsigned e, s, k;

	(void)printf(
	    "\nTables III to X: %u rounds, seed %llu.  Each figure: our mean "
	    "and deviation | the\npaper's | standard errors apart (* less "
	    "than 30 events expected).  Then the reduction\nby raising only "
	    "the least cells, ours and the paper's, and the intuitive mean by "
	    "its formula.\n",
	    rounds, (unsigned long long)seed);
	for (e = 0; e < EXPERIMENTS; e++) {
		(void)printf(
		    "\nExperiment %u, table %s\n   m  k  intuitive  "
		    "%46s||  refined %48s|| reduction     || formula\n",
		    e + 1, paper_tables[e].name, "", "");
		for (s = 0; s < paper_tables[e].sizes; s++)
			for (k = 0; k < KS; k++)
				if (is_wanted(e, s, k))
					print_row(e, s, k);
	}
	(void)printf("\n%u means with at least 30 events expected: %u beyond "
		     "three standard errors, %u beyond five\n",
	    tally.judged, tally.beyond_3, tally.beyond_5);
}

static unsigned
number(const char *text, unsigned most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end != '\0' || n < 1 || n > most) {
		(void)fprintf(stderr, "reproduce: %s: no such number\n", text);
		exit(2);
	}
	return (unsigned)n;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = { { "rounds", 1, NULL, 'r' },
		{ "seed", 1, NULL, 's' }, { "quick", 0, NULL, 'q' },
		{ NULL, 0, NULL, 0 } };
	bool good;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r')
			rounds = number(optarg, ROUNDS_MOST);
		else if (c == 's')
			seed = number(optarg, 1000000);
		else if (c == 'q')
			quick = true;
		else
			return 2;
	}
	if (quick)
		rounds = 60;
	print_table_1();
	print_table_2();
	if (!run()) {
		(void)fprintf(stderr, "reproduce: a worker failed\n");
		return 1;
	}
	print_tables();
	good = tally.judged > 0 && tally.beyond_3 <= 2 && tally.beyond_5 == 0;
	return fflush(stdout) == 0 && (good || !quick) ? 0 : 1;
}
