/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks of results: what a program expects, fingerprints of right results, and when a check is
 * worth its time. Programs include bench/bench_check.h and bench/bench_expect.h.
 */
#ifndef GPUSIG_CHECKS_H
#define GPUSIG_CHECKS_H

#include "bench/run/run.h"
#include "lib/err.h"
#include "lib/json.h"

/* A result that is a pattern: bench/bench_expect.h. */
struct bench_expected {
	uint64_t variants;
	struct dev *dev;
	void *at;
	uint64_t bytes;
	const void *pattern;
	float tolerance;
};

struct bench_checked {
	uint64_t timed, checked; /* executions that leave a result, and those checked */
	uint64_t untimed;        /* executions after the samples, all checked */
	/* Spent on samples' checks; the least that one took, and what it looks at; 0: unknown. */
	double checks_s, next_check_s, execute_s;
};

/* Starts as {0}. */
struct checks {
	/* The current case's. */
	struct bench_checked of[BENCH_VARIANTS];
	struct bench_expected *expected;
	size_t expected_count, expected_capacity;
	const char *status;
	char detail[ERR_TEXT];
	int wrong;              /* the variant whose result is wrong, or -1 */
	uint64_t fingerprinted; /* results that were checked by fingerprint alone */
	struct bench_fingerprint *fingerprints;
	size_t fingerprint_count, fingerprint_capacity;
	struct bench_adder *adders;
	size_t adder_count, adder_capacity;
	/* The check of a sample that runs now: its variant, and what it found so far. */
	unsigned checking;
	bool in_samples, compared, passed_known;
	double saved_s; /* that the next check of it need not take */
	/* The run's: times of the checks alone, each at most twice the cheapest, and the
	 * fingerprints' cost; executions after samples, as check_others() counts them. */
	double checks_s, others_s;
};

void bench_checks_clear(struct bench_run *r);
void bench_checks_free(struct bench_run *r);

/* True if this variant, any variant, leaves a result that is checked. */
bool bench_has_check(const struct bench_run *r, unsigned variant);
bool bench_has_checks(const struct bench_run *r);

/* Keep the least that something took so far: others may have had the core meanwhile, and that is no
 * reason to check less. 0: unknown. */
void bench_learn_cost(double *least_s, double took_s);

/* expect.c: of bench_expect(), the results of this variant. */
int bench_expected_poison(struct bench_run *r, unsigned variant);
int bench_expected_check(struct bench_run *r, unsigned variant);
bool bench_expects(const struct bench_run *r, unsigned variant);

/* Before and after a sample that counts: make the result wrong where every execution is checked;
 * check what the sample left where that is due. A wrong result is -EBADMSG. */
int bench_check_poison(struct bench_run *r, unsigned variant);
int bench_check_sample(struct bench_run *r, unsigned variant, uint32_t round);

/* After the samples: a poisoned execution of every variant, compared in full, and others while they
 * take no more of the time than checks may. */
int bench_check_end(struct bench_run *r);

/* Write the object "check" of a case record. */
void bench_check_write(struct json *j, struct bench_run *r);

#endif
