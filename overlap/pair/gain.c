/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/gain.h"

#include <math.h>
#include <stdio.h>

#define BIT(variant) (UINT64_C(1) << (variant))
#define EQUAL_WITHIN 1.15
/* Less is not told from nothing, however quiet the machine. */
#define NOISE_LEAST 0.02

/* bench_derive() does not tell its formula what it is about. */
static struct {
	unsigned both;
	bool gain_is_told; /* S_ideal is beyond noise */
} of;

static double speedup(const struct bench_case *c, const double *s)
{
	(void)c;
	return s[SERIAL] / s[of.both];
}

static double ideal_speedup(const struct bench_case *c, const double *s)
{
	(void)c;
	return (s[GEMM] + s[TRANSFER]) / fmax(s[GEMM], s[TRANSFER]);
}

static double fraction_of_ideal(const struct bench_case *c, const double *s)
{
	return of.gain_is_told ? (speedup(c, s) - 1.0) / (ideal_speedup(c, s) - 1.0) : NAN;
}

static double time_ratio(const struct bench_case *c, const double *s)
{
	(void)c;
	return s[of.both] / s[SERIAL];
}

static double exposed_tail(const struct bench_case *c, const double *s)
{
	(void)c;
	return s[of.both] - s[GEMM];
}

static double fraction_of_bound(const struct bench_case *c, const double *s)
{
	(void)c;
	return fmax(s[GEMM], s[TRANSFER]) / s[of.both];
}

/* How far a usual sample is from the best one. */
static double noise(const struct bench_case *c, unsigned variant)
{
	return fmax(NOISE_LEAST, bench_median(c, variant) / bench_best(c, variant) - 1.0);
}

static bool pays(const struct bench_case *c, unsigned beside, unsigned alone)
{
	return bench_median(c, beside) > (1.0 + noise(c, alone)) * bench_median(c, alone);
}

static void say_who_paid(struct bench_case *c, const char *fact, unsigned gemm, unsigned transfer)
{
	bool g = pays(c, gemm, GEMM), t = pays(c, transfer, TRANSFER);
	if (!isnan(bench_median(c, gemm) + bench_median(c, GEMM) + bench_median(c, transfer) + bench_median(c, TRANSFER)))
		bench_fact_text(c, fact, g && t ? "both" : g ? "gemm" : t ? "transfer" : "neither");
}

static void say_class(struct bench_case *c, double gemm, double transfer)
{
	double most = (gemm + transfer) / fmax(gemm, transfer), least = 1.0 + 2.0 * noise(c, SERIAL);
	char why[128];
	/* S is of two times, each with noise of its own. */
	of.gain_is_told = !(most <= least);
	if (isnan(gemm + transfer))
		return;
	bench_fact_text(c, "class", gemm > EQUAL_WITHIN * transfer   ? "G-long"
	                            : transfer > EQUAL_WITHIN * gemm ? "C-long"
	                                                             : "GC-equal");
	if (of.gain_is_told)
		return;
	snprintf(why, sizeof(why), "S_ideal %.4g is not beyond noise, %.4g", most, least);
	bench_fact_text(c, "no_fraction_of_ideal", why);
}

static int derive_order(struct bench_case *c, unsigned both, unsigned gemm, unsigned transfer)
{
	const uint64_t alone = BIT(GEMM) | BIT(TRANSFER), with_serial = BIT(SERIAL) | BIT(both);
	const struct {
		const char *name, *unit;
		uint64_t uses;
		bench_formula formula;
		const char *text;
	} wanted[] = {{"S", "", with_serial, speedup, "serial / both"},
	              {"fraction_of_ideal", "", with_serial | alone, fraction_of_ideal, "(S - 1) / (S_ideal - 1), unclamped"},
	              {"TimeRatio", "", with_serial, time_ratio, "both / serial"},
	              {"exposed_tail", "s", BIT(both) | BIT(GEMM), exposed_tail, "both - gemm_alone"},
	              {"fraction_of_bound", "", BIT(both) | alone, fraction_of_bound, "max(gemm_alone, transfer_alone) / both"}};
	int status = 0;
	of.both = both;
	for (size_t i = 0; status == 0 && i < sizeof(wanted) / sizeof(wanted[0]); i++)
		status = bench_derive(c, wanted[i].name, (int)both, wanted[i].unit, wanted[i].uses, wanted[i].formula, wanted[i].text);
	bench_bound(c, "fraction_of_bound", (int)both, 1.0, "the longer side alone");
	if (status == 0)
		status = bench_ratio(c, "CIL", gemm, GEMM, "time of the gemm beside the transfer / gemm_alone");
	if (status == 0)
		status = bench_ratio(c, "CIL", transfer, TRANSFER, "time of the transfer beside the gemm / transfer_alone");
	return status;
}

int gain_derive(struct bench_case *c)
{
	say_class(c, bench_median(c, GEMM), bench_median(c, TRANSFER));
	say_who_paid(c, "who_paid_gemm_first", G_IN_GF, T_IN_GF);
	say_who_paid(c, "who_paid_transfer_first", G_IN_TF, T_IN_TF);
	int status = bench_derive(c, "S_ideal", -1, "", BIT(GEMM) | BIT(TRANSFER), ideal_speedup, "(t_g + t_c) / max(t_g, t_c)");
	if (status == 0)
		status = derive_order(c, GEMM_FIRST, G_IN_GF, T_IN_GF);
	return status ? status : derive_order(c, TRANSFER_FIRST, G_IN_TF, T_IN_TF);
}
