/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/variants.h"

#include <math.h>

/* The argument: numerator and denominator. */
static double divide_variants(const struct bench_round *r)
{
	const unsigned *of = r->arg;
	return r->seconds[of[0]] / r->seconds[of[1]];
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

static void derive_ratio(struct bench_case *c, const char *name, unsigned variant,
			 unsigned numerator, unsigned denominator, const char *formula)
{
	const unsigned of[] = {numerator, denominator};
	bench_status_add(c, bench_derive(c, name, (int)variant, "",
					 variant_bit(numerator) | variant_bit(denominator),
					 divide_variants, of, formula));
}

static void derive_losses(struct bench_case *c, enum ficco_schedule s, unsigned gemms,
			  unsigned transfers)
{
	const struct variants *all = c->state;
	unsigned concurrent = variants_variant(s, FLOW_CONCURRENT);
	derive_ratio(c, "DIL_gemm", s, gemms, VARIANTS_GEMM,
		     "its GEMMs alone / the whole GEMM alone");
	derive_ratio(c, "DIL_comm", s, transfers, VARIANTS_COMM,
		     "its transfers alone / the whole communication alone");
	derive_ratio(c, "CIL_gemm", s, concurrent, gemms,
		     "its GEMMs concurrent with its transfers / alone, without dependencies");
	bench_value(c, "CIL_comm", (int)s, all->transfer_s[s] / bench_median(c, transfers), "",
		    "its transfers concurrent with its GEMMs (mean of the last full body) / alone");
}

static void derive_schedule(struct bench_case *c, enum ficco_schedule s)
{
	uint64_t gemm = variant_bit(s) | variant_bit(VARIANTS_GEMM),
		 serial = variant_bit(FICCO_SERIAL) | variant_bit(VARIANTS_COMM);
	unsigned gemms = variants_variant(s, FLOW_GEMMS),
		 transfers = variants_variant(s, FLOW_TRANSFERS);
	struct bench_model m = {0};
	variants_model(c, s, &m);
	bench_bound(c, "flop_rate", (int)s,
		    m.flops / fmax(bench_best(c, gemms), bench_best(c, transfers)),
		    "its parts alone");
	if (s != FICCO_SERIAL)
		derive_losses(c, s, gemms, transfers);
	bench_status_add(c, bench_derive(c, "exposed", (int)s, "s", gemm, exposed_time, NULL,
					 "time - that of the whole GEMM alone"));
	if (s == FICCO_SERIAL)
		return;
	derive_ratio(c, "speedup", s, FICCO_SERIAL, s, "time of serial / time, round by round");
	bench_status_add(c, bench_derive(c, "fraction_of_ideal", (int)s, "", gemm | serial,
					 fraction_of_ideal, NULL,
					 "(speedup - 1) / (ideal_speedup - 1), not clamped"));
}

/* FICCO_SCHEDULES: none from `first` on was measured. */
static unsigned fastest_schedule(const struct bench_case *c, unsigned first)
{
	unsigned best = FICCO_SCHEDULES;
	for (unsigned s = first; s < FICCO_SCHEDULES; s++)
		if (bench_variant_on(c, s) &&
		    (best == FICCO_SCHEDULES || bench_median(c, s) < bench_median(c, best)))
			best = s;
	return best;
}

int variants_derive(struct bench_case *c)
{
	uint64_t ideal = variant_bit(VARIANTS_GEMM) | variant_bit(VARIANTS_COMM);
	unsigned best = fastest_schedule(c, FICCO_SERIAL + 1);
	bench_status_add(c, bench_derive(c, "ideal_speedup", -1, "", ideal, ideal_speedup, NULL,
					 "(gemm + communication) / the longer of them"));
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		if (bench_variant_on(c, s))
			derive_schedule(c, (enum ficco_schedule)s);
	if (best < FICCO_SCHEDULES)
		derive_ratio(c, "best_speedup", best, FICCO_SERIAL, best,
			     "time of serial / time of the fastest other schedule by median");
	bench_fact_text(c, "winner", ficco_schedules[fastest_schedule(c, FICCO_SERIAL)]);
	return bench_status(c);
}
