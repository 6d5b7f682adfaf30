/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_overlap.h"
#include "overlap/ficco/variants.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t variant_bit(unsigned v) { return UINT64_C(1) << v; }

#define PARTS (variant_bit(VARIANTS_GEMM) | variant_bit(VARIANTS_COMM))
#define SCHEDULES (variant_bit(FICCO_SCHEDULES) - 1)
#define EXPOSED "time - that of the whole GEMM alone"
#define OVERLAPPED (SCHEDULES & ~variant_bit(FICCO_SERIAL))

static void derive_ratio(struct bench_case *c, const char *name, unsigned variant,
			 unsigned numerator, unsigned denominator, const char *formula)
{
	const struct bench_quantity q = {BENCH_RATIO,
					 .of = {BENCH_OF(numerator), BENCH_OF(denominator)}};
	bench_status_add(c, bench_derive(c, name, (int)variant, &q, formula));
}

static void derive_losses(struct bench_case *c, enum ficco_schedule s, unsigned gemms,
			  unsigned transfers)
{
	derive_ratio(c, "DIL_gemm", s, gemms, VARIANTS_GEMM,
		     "its GEMMs alone / the whole GEMM alone");
	derive_ratio(c, "DIL_comm", s, transfers, VARIANTS_COMM,
		     "its transfers alone / the whole communication alone");
	derive_ratio(c, "CIL_gemm", s, variants_variant(s, VARIANT_GEMMS_CONCURRENT), gemms,
		     "its GEMMs concurrent with its transfers, without dependencies / alone");
	derive_ratio(c, "CIL_comm", s, variants_variant(s, VARIANT_TRANSFERS_CONCURRENT), transfers,
		     "its transfers concurrent with its GEMMs, without dependencies / alone");
}

/* The vendor's collective as the baseline of all schedules. */
static void derive_library(struct bench_case *c)
{
	bench_status_add(c,
			 bench_difference(c, "exposed", VARIANTS_LIBRARY, VARIANTS_GEMM, EXPOSED));
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		if (bench_variant_on(c, s))
			bench_status_add(c,
					 bench_speedup(c, "S_library", s, VARIANTS_LIBRARY, NULL));
}

static void derive_schedule(struct bench_case *c, enum ficco_schedule s)
{
	unsigned gemms = variants_variant(s, VARIANT_GEMMS),
		 transfers = variants_variant(s, VARIANT_TRANSFERS);
	struct bench_model m = {0};
	variants_model(c, s, &m);
	bench_bound(c, "flop_rate", (int)s,
		    m.flops / fmax(bench_best(c, gemms), bench_best(c, transfers)),
		    "its parts alone");
	if (s != FICCO_SERIAL)
		derive_losses(c, s, gemms, transfers);
	bench_status_add(c, bench_difference(c, "exposed", s, VARIANTS_GEMM, EXPOSED));
}

static void record_best_schedules(struct bench_case *c, uint64_t best)
{
	char names[256] = "";
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++) {
		size_t used = strlen(names);
		if (best >> s & 1)
			snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
				 ficco_schedules[s]);
	}
	bench_fact_text(c, "best_schedules", best ? names : "none is valid");
	bench_fact_text(c, "tie", best & (best - 1) ? "yes" : "no");
}

static void derive_best(struct bench_case *c)
{
	uint64_t best, overlapped;
	bench_status_add(c, bench_fastest(c, SCHEDULES, &best));
	bench_status_add(c, bench_fastest(c, OVERLAPPED, &overlapped));
	unsigned fastest = FICCO_SCHEDULES;
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		if (overlapped >> s & 1 &&
		    (fastest == FICCO_SCHEDULES || bench_median(c, s) < bench_median(c, fastest)))
			fastest = s;
	bench_alias(c, "S", (int)fastest, "best_speedup",
		    "S of the schedule with the lowest median, serial excepted");
	record_best_schedules(c, best);
}

/* Even all-to-all sends as much, to the same devices and in the same order, as all-gather: it is
 * the same experiment once more. */
static int record_same_work(struct bench_case *c)
{
	const struct variants *all = c->state;
	struct ficco_problem problem = all->plan[FICCO_SERIAL]->problem;
	bool same = problem.op != FICCO_AG_GEMM;
	int status = 0;
	problem.op = FICCO_AG_GEMM;
	for (unsigned s = 0; status == 0 && same && s < FICCO_SCHEDULES; s++) {
		struct ficco_plan *gather = NULL;
		if (!all->plan[s])
			continue;
		status = ficco_plan_open(&problem, (enum ficco_schedule)s, &gather);
		same = status == 0 && ficco_plan_same_work(all->plan[s], gather);
		status = status == -ENOMEM ? status : 0;
		ficco_plan_close(gather);
	}
	if (same)
		bench_fact_text(c, "same_work_as", ficco_ops[FICCO_AG_GEMM]);
	return status;
}

int variants_derive(struct bench_case *c)
{
	const struct bench_overlap o = {FICCO_SERIAL, PARTS, PARTS, NULL};
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		if (bench_variant_on(c, s))
			derive_schedule(c, (enum ficco_schedule)s);
	if (bench_variant_on(c, VARIANTS_LIBRARY))
		derive_library(c);
	bench_status_add(c, bench_derive_overlap(c, &o, OVERLAPPED));
	derive_best(c);
	bench_status_add(c, record_same_work(c));
	return bench_status(c);
}
