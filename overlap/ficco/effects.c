/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/effects.h"

#include <math.h>

/* Formulas aren't told which variants they are about. */
static unsigned whole, over;

static double quotient(const struct bench_case *c, const double *s)
{
	(void)c;
	return s[over] / s[whole];
}

static double ideal(const double *s) { return (s[RACE_GEMM] + s[RACE_COMM]) / fmax(s[RACE_GEMM], s[RACE_COMM]); }

static double ideal_speedup(const struct bench_case *c, const double *s)
{
	(void)c;
	return ideal(s);
}

static double fraction_of_ideal(const struct bench_case *c, const double *s)
{
	(void)c;
	return (s[OVERLAP_SERIAL] / s[whole] - 1.0) / (ideal(s) - 1.0);
}

static double exposed(const struct bench_case *c, const double *s)
{
	(void)c;
	return s[whole] - s[RACE_GEMM];
}

static uint64_t bit(unsigned v) { return UINT64_C(1) << v; }

static int ratio(struct bench_case *c, const char *name, unsigned about, unsigned numerator, unsigned denominator,
                 const char *formula)
{
	over = numerator;
	whole = denominator;
	return bench_derive(c, name, (int)about, "", bit(numerator) | bit(denominator), quotient, formula);
}

/* Losses of the schedule's parts, and the bound that they are. */
static int derive_parts(const struct race *r, struct bench_case *c, enum overlap_schedule s)
{
	unsigned gemms = race_variant(s, FLOW_PIECES), transfers = race_variant(s, FLOW_TRANSFERS);
	unsigned beside = race_variant(s, FLOW_BESIDE);
	struct bench_model m = {0};
	race_model(r, s, &m);
	bench_bound(c, "flop_rate", (int)s, m.flops / fmax(bench_best(c, gemms), bench_best(c, transfers)),
	            "its parts alone");
	if (s == OVERLAP_SERIAL)
		return 0;
	int status = ratio(c, "DIL_gemm", s, gemms, RACE_GEMM, "its products alone / the whole product alone");
	if (status == 0)
		status = ratio(c, "DIL_comm", s, transfers, RACE_COMM, "its transfers alone / the whole communication alone");
	if (status == 0)
		status = ratio(c, "CIL_gemm", s, beside, gemms, "its products beside its transfers / alone, without dependencies");
	bench_value(c, "CIL_comm", (int)s, r->transfer_s[beside] / bench_median(c, transfers), "",
	            "its transfers beside its products (mean of the last full body) / alone");
	return status;
}

static int derive_schedule(const struct race *r, struct bench_case *c, enum overlap_schedule s)
{
	int status = derive_parts(r, c, s);
	whole = s;
	if (status == 0)
		status = bench_derive(c, "exposed", (int)s, "s", bit(s) | bit(RACE_GEMM), exposed,
		                      "time - that of the whole product alone");
	if (status || s == OVERLAP_SERIAL)
		return status;
	status = ratio(c, "speedup", s, OVERLAP_SERIAL, s, "time of serial / time, block by block");
	whole = s;
	uint64_t uses = bit(OVERLAP_SERIAL) | bit(s) | bit(RACE_GEMM) | bit(RACE_COMM);
	return status ? status : bench_derive(c, "fraction_of_ideal", (int)s, "", uses, fraction_of_ideal,
	                                      "(speedup - 1) / (ideal_speedup - 1), not clamped");
}

static int derive_best(struct bench_case *c)
{
	unsigned winner = OVERLAP_SCHEDULES, best = OVERLAP_SCHEDULES;
	for (unsigned s = 0; s < OVERLAP_SCHEDULES; s++) {
		if (!bench_variant_on(c, s))
			continue;
		winner = winner == OVERLAP_SCHEDULES || bench_median(c, s) < bench_median(c, winner) ? s : winner;
		if (s != OVERLAP_SERIAL)
			best = best == OVERLAP_SCHEDULES || bench_median(c, s) < bench_median(c, best) ? s : best;
	}
	bench_fact_text(c, "winner", overlap_schedules[winner]);
	if (best == OVERLAP_SCHEDULES)
		return 0;
	return ratio(c, "best_speedup", best, OVERLAP_SERIAL, best, "time of serial / time of the fastest other schedule by median");
}

int effects_derive(const struct race *r, struct bench_case *c)
{
	int status = bench_derive(c, "ideal_speedup", -1, "", bit(RACE_GEMM) | bit(RACE_COMM), ideal_speedup,
	                          "(gemm + communication) / the longer of them");
	for (unsigned s = 0; status == 0 && s < OVERLAP_SCHEDULES; s++)
		if (bench_variant_on(c, s))
			status = derive_schedule(r, c, (enum overlap_schedule)s);
	return status ? status : derive_best(c);
}
