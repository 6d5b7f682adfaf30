/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/ficco_metrics.h"

#include <math.h>

/* The argument of divide_variants(). */
struct fraction {
	unsigned numerator, denominator;
};

static double divide_variants(const struct bench_round *r)
{
	const struct fraction *of = r->arg;
	return r->seconds[of->numerator] / r->seconds[of->denominator];
}

static double ideal_speedup(const struct bench_round *r)
{
	const double *s = r->seconds;
	return (s[VARIANTS_GEMM] + s[VARIANTS_COMM]) / fmax(s[VARIANTS_GEMM], s[VARIANTS_COMM]);
}

static double fraction_of_ideal(const struct bench_round *r)
{
	return (r->seconds[FICCO_SERIAL] / r->seconds[r->variant] - 1.0) / (ideal_speedup(r) - 1.0);
}

static double exposed_time(const struct bench_round *r)
{
	return r->seconds[r->variant] - r->seconds[VARIANTS_GEMM];
}

static uint64_t variant_bit(unsigned v) { return UINT64_C(1) << v; }

static int derive_ratio(struct bench_case *c, const char *name, unsigned variant,
			unsigned numerator, unsigned denominator, const char *formula)
{
	const struct fraction of = {.numerator = numerator, .denominator = denominator};
	return bench_derive(c, name, (int)variant, "",
			    variant_bit(numerator) | variant_bit(denominator), divide_variants, &of,
			    formula);
}

/* Losses of the schedule's parts, and the bound that the longer part gives. */
static int derive_parts(const struct variants *r, struct bench_case *c, enum ficco_schedule s)
{
	unsigned gemms = variants_variant(s, FLOW_GEMMS),
		 transfers = variants_variant(s, FLOW_TRANSFERS);
	unsigned concurrent = variants_variant(s, FLOW_CONCURRENT);
	struct bench_model m = {0};
	variants_model(r, s, &m);
	bench_bound(c, "flop_rate", (int)s,
		    m.flops / fmax(bench_best(c, gemms), bench_best(c, transfers)),
		    "its parts alone");
	if (s == FICCO_SERIAL)
		return 0;
	int status = derive_ratio(c, "DIL_gemm", s, gemms, VARIANTS_GEMM,
				  "its GEMMs alone / the whole GEMM alone");
	if (status == 0)
		status = derive_ratio(c, "DIL_comm", s, transfers, VARIANTS_COMM,
				      "its transfers alone / the whole communication alone");
	if (status == 0)
		status = derive_ratio(
			c, "CIL_gemm", s, concurrent, gemms,
			"its GEMMs concurrent with its transfers / alone, without dependencies");
	bench_value(c, "CIL_comm", (int)s, r->transfer_s[concurrent] / bench_median(c, transfers),
		    "",
		    "its transfers concurrent with its GEMMs (mean of the last full body) / alone");
	return status;
}

static int derive_schedule(const struct variants *r, struct bench_case *c, enum ficco_schedule s)
{
	int status = derive_parts(r, c, s);
	if (status == 0)
		status = bench_derive(c, "exposed", (int)s, "s",
				      variant_bit(s) | variant_bit(VARIANTS_GEMM), exposed_time,
				      NULL, "time - that of the whole GEMM alone");
	if (status || s == FICCO_SERIAL)
		return status;
	status = derive_ratio(c, "speedup", s, FICCO_SERIAL, s,
			      "time of serial / time, round by round");
	uint64_t uses = variant_bit(FICCO_SERIAL) | variant_bit(s) | variant_bit(VARIANTS_GEMM) |
			variant_bit(VARIANTS_COMM);
	return status ? status
		      : bench_derive(c, "fraction_of_ideal", (int)s, "", uses, fraction_of_ideal,
				     NULL, "(speedup - 1) / (ideal_speedup - 1), not clamped");
}

static int derive_best(struct bench_case *c)
{
	unsigned winner = FICCO_SCHEDULES, best = FICCO_SCHEDULES;
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++) {
		if (!bench_variant_on(c, s))
			continue;
		winner = winner == FICCO_SCHEDULES || bench_median(c, s) < bench_median(c, winner)
				 ? s
				 : winner;
		if (s != FICCO_SERIAL)
			best = best == FICCO_SCHEDULES || bench_median(c, s) < bench_median(c, best)
				       ? s
				       : best;
	}
	bench_fact_text(c, "winner", ficco_schedules[winner]);
	if (best == FICCO_SCHEDULES)
		return 0;
	return derive_ratio(c, "best_speedup", best, FICCO_SERIAL, best,
			    "time of serial / time of the fastest other schedule by median");
}

int ficco_derive(const struct variants *r, struct bench_case *c)
{
	int status = bench_derive(
		c, "ideal_speedup", -1, "", variant_bit(VARIANTS_GEMM) | variant_bit(VARIANTS_COMM),
		ideal_speedup, NULL, "(gemm + communication) / the longer of them");
	for (unsigned s = 0; status == 0 && s < FICCO_SCHEDULES; s++)
		if (bench_variant_on(c, s))
			status = derive_schedule(r, c, (enum ficco_schedule)s);
	return status ? status : derive_best(c);
}
