/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/node/core_matrix.h"
#include "bench/bench_alloc.h"
#include "lib/clock.h"
#include "lib/core_latency.h"
#include "lib/cores.h"
#include "lib/err.h"
#include "lib/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* At least three passes, so that the median is not that of one moment. */
enum { LEAST_PASSES = 3, PASSES = 15 };
/* With few pairs each visit has more batches, so that its cores' clocks rise. */
enum { LEAST_BATCHES = 3, MOST_BATCHES = 100 };
#define BATCH_S 20e-6
/* An interrupted program has to end within 10 s. */
#define LONGEST_S 5.0
/* With less time only facts are wanted. */
#define LEAST_S 0.05

struct matrix {
	int cores[CORE_MATRIX_MOST];
	size_t count, pairs, passes;
	double *seconds; /* PASSES of every pair, 0-1, 0-2, ..., 1-2, ... */
	double *sorted;  /* for as many as there are pairs or passes */
	uint32_t *order; /* of the pairs in a pass */
};

/* The processors of a pair, the lower one first. */
static void find_ends(const struct matrix *m, size_t pair, int *a_p, int *b_p)
{
	size_t a = 0;
	for (; pair >= m->count - 1 - a; a++)
		pair -= m->count - 1 - a;
	*a_p = m->cores[a];
	*b_p = m->cores[a + 1 + pair];
}

size_t core_matrix_choose(int *cores, size_t count)
{
	const size_t most = count < CORE_MATRIX_MOST ? count : CORE_MATRIX_MOST;
	for (size_t i = 0; i < most; i++)
		cores[i] = cores[i * count / most];
	return most;
}

/* ------------------------------------------------------------------ measuring */

/* Server and client swap in every pass, so that a value favours neither processor. */
static int measure_pass(struct bench_case *c, struct matrix *m, unsigned batches)
{
	int status = 0, end[2];
	rng_shuffle(&c->rng, m->order, m->pairs);
	for (size_t i = 0; i < m->pairs; i++) {
		const size_t pair = m->order[i], odd = m->passes % 2;
		find_ends(m, pair, &end[0], &end[1]);
		TRY(status, core_latency(end[odd], end[!odd], batches,
					 &m->seconds[pair * PASSES + m->passes]));
	}
	m->passes += status == 0;
	return status;
}

static void wait_until(double when)
{
	const struct timespec at = {.tv_sec = (time_t)when,
				    .tv_nsec = (long)(1e9 * (when - floor(when)))};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static int measure_passes(struct bench_case *c, struct matrix *m)
{
	const double begun = 1e-9 * (double)clock_ns(), all = fmin(c->seconds, LONGEST_S),
		     visit = all / (double)(PASSES * m->pairs);
	const unsigned batches = (unsigned)fmin(fmax(visit / BATCH_S, LEAST_BATCHES), MOST_BATCHES);
	int status = 0;
	for (size_t pass = 0; pass < PASSES && status == 0; pass++) {
		const double spent = 1e-9 * (double)clock_ns() - begun;
		if (pass && spent > (pass < LEAST_PASSES ? LONGEST_S : all))
			break;
		wait_until(begun + all * (double)pass / PASSES);
		status = measure_pass(c, m, batches);
	}
	return status;
}

/* ------------------------------------------------------------------ deriving */

/* The median of `pairs` pairs from `first` on, of the visits in `passes` passes from `from` on. */
static double median_of(struct matrix *m, size_t first, size_t pairs, size_t from, size_t passes)
{
	size_t count = 0;
	for (size_t pair = first; pair < first + pairs; pair++)
		for (size_t pass = from; pass < from + passes; pass++)
			m->sorted[count++] = m->seconds[pair * PASSES + pass];
	stats_sort(m->sorted, count);
	return stats_median(m->sorted, count);
}

static int derive_visits(struct bench_case *c, const struct matrix *m, size_t pair,
			 const char *name, const char *formula)
{
	return bench_derive_samples(c, name, -1, "s", 0, &m->seconds[pair * PASSES], m->passes,
				    formula);
}

static int derive_all(struct bench_case *c, struct matrix *m)
{
	size_t nearest = 0, farthest = 0;
	double least = INFINITY, most = 0.0, medians[PASSES];
	for (size_t pair = 0; pair < m->pairs; pair++) {
		const double median = median_of(m, pair, 1, 0, m->passes);
		nearest = median < least ? pair : nearest;
		least = fmin(least, median);
		farthest = median > most ? pair : farthest;
		most = fmax(most, median);
	}
	for (size_t pass = 0; pass < m->passes; pass++)
		medians[pass] = median_of(m, 0, m->pairs, pass, 1);
	TRY(c->status,
	    derive_visits(c, m, nearest, "core_latency_min", "of the pair with the lowest median"));
	TRY(c->status, bench_derive_samples(c, "core_latency_median", -1, "s", 0, medians,
					    m->passes, "median over all pairs"));
	TRY(c->status, derive_visits(c, m, farthest, "core_latency_max",
				     "of the pair with the highest median"));
	for (size_t pair = 0; pair < m->pairs; pair++) {
		char name[48];
		int a, b;
		find_ends(m, pair, &a, &b);
		snprintf(name, sizeof(name), "core_latency %d-%d", a, b);
		TRY(c->status, derive_visits(c, m, pair, name, "round trip of a cache line / 2"));
	}
	return c->status;
}

/* ------------------------------------------------------------------ all of it */

#define NOT_MEASURED "core_latency_not_measured"

/* False: there is no pair, and the case says why. */
static bool choose_processors(struct bench_case *c, struct matrix *m)
{
	int cores[CORES_MAX];
	const size_t count = cores_allowed(cores);
	m->count = core_matrix_choose(cores, count);
	m->pairs = m->count * (m->count - 1) / 2;
	memcpy(m->cores, cores, m->count * sizeof(cores[0]));
	if (count < 2)
		bench_fact_text(c, NOT_MEASURED,
				count ? "the process may use one processor"
				      : "the processors that the process may use are unknown");
	else if (c->seconds < LEAST_S)
		bench_fact_text(c, NOT_MEASURED, "needs 50 ms; less is left");
	else if (m->count < count)
		bench_fact_format(c, NOT_MEASURED,
				  "%zu of %zu; the %zu that were measured are spread evenly",
				  count - m->count, count, m->count);
	return m->count >= 2 && c->seconds >= LEAST_S;
}

int core_matrix_derive(struct bench_case *c)
{
	struct matrix m = {0};
	if (!choose_processors(c, &m))
		return 0;
	m.seconds = bench_alloc_host(c, PASSES * m.pairs * sizeof(*m.seconds));
	m.sorted = bench_alloc_host(c, (m.pairs + PASSES) * sizeof(*m.sorted));
	m.order = bench_alloc_host(c, m.pairs * sizeof(*m.order));
	const int failed = c->status ? 0 : measure_passes(c, &m);
	if (!failed)
		return TRY(c->status, derive_all(c, &m));
	bench_fact_text(c, NOT_MEASURED, strerror(-failed));
	return c->status;
}
