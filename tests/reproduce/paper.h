/*
 * paper - what the tables say, to stand beside what we measure.
 */
#ifndef TESTS_REPRODUCE_PAPER_H
#define TESTS_REPRODUCE_PAPER_H

#define EXPERIMENTS 8
#define SIZES 5 /* of a filter, at most */
#define KS 3	/* 4, 6 and 8 positions */

struct paper_figure {
	double mean, deviation;
};

struct paper_table {
	const char *name;
	unsigned sizes;
	unsigned m[SIZES]; /* cells; 80K is 80,000 */
	/* mean 0: not in the table (the same as in the one before it) */
	struct paper_figure intuitive[SIZES][KS];
	struct paper_figure refined[SIZES][KS];
	double reduction[SIZES][KS]; /* 0: none given */
};

extern const struct paper_table paper_tables[EXPERIMENTS];

#endif
