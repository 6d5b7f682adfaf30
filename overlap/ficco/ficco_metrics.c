/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_overlap.h"
#include "lib/text.h"
#include "overlap/ficco/variants.h"

#include <errno.h>
#include <math.h>

#define PARTS (UINT64_C(1) << VARIANTS_GEMM | UINT64_C(1) << VARIANTS_COMM)
#define SCHEDULES ((UINT64_C(1) << FICCO_SCHEDULES) - 1)
#define OVERLAPPED (SCHEDULES & ~(UINT64_C(1) << FICCO_SERIAL))

static void derive_ratio(struct bench_case *c, const char *name, unsigned variant,
			 unsigned numerator, unsigned denominator, const char *formula)
{
	const struct bench_quantity q = {BENCH_RATIO,
					 .of = {BENCH_OF(numerator), BENCH_OF(denominator)}};
	TRY(c->status, bench_derive(c, name, (int)variant, &q, formula));
}

static void derive_losses(struct bench_case *c, unsigned s)
{
	const struct ficco_parts *of = &ficco_parts[s];
	derive_ratio(c, "DIL_gemm", s, of->gemms, VARIANTS_GEMM,
		     "its GEMMs alone / the whole GEMM alone");
	derive_ratio(c, "DIL_comm", s, of->transfers, VARIANTS_COMM,
		     "its transfers alone / the whole communication alone");
	derive_ratio(c, "CIL_gemm", s, of->gemms_concurrent, of->gemms,
		     "its GEMMs concurrent with its transfers, without dependencies / alone");
	derive_ratio(c, "CIL_comm", s, of->transfers_concurrent, of->transfers,
		     "its transfers concurrent with its GEMMs, without dependencies / alone");
}

static void record_best_schedules(struct bench_case *c, uint64_t best)
{
	char names[256] = "";
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		if (best >> s & 1)
			text_fit_more(names, sizeof(names), "%s%s", names[0] ? ", " : "",
				      ficco_schedules[s]);
	bench_fact_text(c, "best_schedules", best ? names : "none is valid");
	bench_fact_text(c, "tie", best & (best - 1) ? "yes" : "no");
}

static void derive_best(struct bench_case *c)
{
	uint64_t best = 0, overlapped = 0;
	TRY(c->status, bench_fastest(c, SCHEDULES, &best));
	TRY(c->status, bench_fastest(c, OVERLAPPED, &overlapped));
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
static void record_same_work(struct bench_case *c)
{
	const struct variants *all = c->state;
	struct ficco_problem problem = all->plan[FICCO_SERIAL]->problem;
	bool same = problem.op != FICCO_AG_GEMM;
	problem.op = FICCO_AG_GEMM;
	for (unsigned s = 0; same && s < FICCO_SCHEDULES; s++) {
		struct ficco_plan *gather = NULL;
		if (!all->plan[s])
			continue;
		int status = ficco_plan_open(&problem, (enum ficco_schedule)s, &gather);
		same = status == 0 && ficco_plan_same_work(all->plan[s], gather);
		if (status == -ENOMEM)
			TRY(c->status, status);
		ficco_plan_close(gather);
	}
	if (same)
		bench_fact_text(c, "same_work_as", ficco_ops[FICCO_AG_GEMM]);
}

int variants_derive(struct bench_case *c)
{
	const struct bench_overlap o = {FICCO_SERIAL, PARTS, PARTS, NULL};
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++) {
		const struct ficco_parts *of = &ficco_parts[s];
		if (!bench_variant_on(c, s))
			continue;
		bench_bound(c, "flop_rate", (int)s,
			    bench_work(c, s).flops /
				    fmax(bench_best(c, of->gemms), bench_best(c, of->transfers)),
			    "its parts alone");
		if (of->gemms_concurrent)
			derive_losses(c, s);
	}
	TRY(c->status, bench_derive_overlap(c, &o, OVERLAPPED));
	derive_best(c);
	record_same_work(c);
	return c->status;
}
