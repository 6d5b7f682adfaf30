/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Machines whose behaviour is given by a formula, for tests of the advice.
 */
#ifndef GPUSIG_TESTS_ADVISE_TRUTH_H
#define GPUSIG_TESTS_ADVISE_TRUTH_H

#include "advise/advise.h"
#include "lib/rng.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdarg.h>

/* GEMMs run at `rate` flop/s plus a launch, copies take alpha + bytes / bandwidth, and by
 * default nothing slows anything down. */
struct truth {
	double rate, launch_s, alpha_s, bandwidth, ingress,
		adds_s; /* adds_s: for each element of C that is read again */
	unsigned engines;
	double gemm_cil, copy_cil;
};

static const struct truth plain = {.rate = 1e13,
				   .launch_s = 2e-6,
				   .alpha_s = 2e-6,
				   .bandwidth = 5e10,
				   .engines = 1,
				   .gemm_cil = 1,
				   .copy_cil = 1};

static struct advise_machine machine; /* too large for a stack */

__attribute__((format(printf, 1, 2))) static inline void parse_line(const char *format, ...)
{
	char line[256];
	va_list list;
	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	expect(advise_parse_line(&machine, line) == 0);
}

static inline double true_gemm(const struct truth *t, double m, double n, double k, double adds)
{
	return t->launch_s + 2 * m * n * k / t->rate + adds * t->adds_s * m * n;
}

static inline void build_machine(const struct truth *t)
{
	memset(&machine, 0, sizeof(machine));
	for (double m = 64; m <= 16384; m *= 4)
		for (double n = 64; n <= 16384; n *= 4)
			for (double k = 64; k <= 16384; k *= 8)
				parse_line("gemm f32 %g %g %g 0 %.12g", m, n, k,
					   true_gemm(t, m, n, k, 0));
	for (double k = 16; k <= 4096 && t->adds_s > 0; k *= 4)
		for (double m = 64; m <= 16384; m *= 16)
			parse_line("gemm f32 %g 1024 %g 1 %.12g", m, k,
				   true_gemm(t, m, 1024, k, 1));
	for (unsigned copy_method = 0; copy_method < ADVISE_COPY_METHODS; copy_method++) {
		for (double bytes = 4096; bytes <= 1 << 30; bytes *= 4)
			parse_line("copy %s peer %g %.12g", advise_copy_methods[copy_method], bytes,
				   t->alpha_s + bytes / t->bandwidth);
		parse_line("cil %s peer f32 1 0 %g %g", advise_copy_methods[copy_method],
			   t->gemm_cil, t->copy_cil);
	}
	parse_line("engines %u", t->engines);
	if (t->ingress > 0)
		parse_line("ingress %g", t->ingress);
	advise_prepare(&machine);
}

static inline struct advise_advice advise_for(uint32_t m, uint32_t n, uint32_t k, uint32_t devices,
					      enum advise_op op)
{
	struct advise_question q = {m, n, k, devices, op, ADVISE_F32, 0};
	struct advise_advice a = {.candidates = 0};
	require(advise(&machine, &q, &a) == 0);
	require(a.candidates > 0);
	return a;
}

static inline const struct advise_candidate *find_candidate(const struct advise_advice *a,
							    enum advise_schedule schedule,
							    enum advise_copy_method copy_method)
{
	for (unsigned i = 0; i < a->candidates; i++)
		if (a->candidate[i].schedule == schedule &&
		    a->candidate[i].copy_method == copy_method)
			return &a->candidate[i];
	return NULL;
}

static inline double candidate_seconds(const struct advise_advice *a, enum advise_schedule schedule)
{
	const struct advise_candidate *c = find_candidate(a, schedule, ADVISE_ENGINE);
	require(c);
	return c->seconds;
}

static inline uint32_t random_side(struct rng *r) { return (uint32_t)exp2(8 + 6 * rng_unit(r)); }

static inline struct truth random_truth(struct rng *r)
{
	struct truth t = {.rate = exp(25 + 10 * rng_unit(r)),
			  .launch_s = exp(-14 + 4 * rng_unit(r)),
			  .alpha_s = exp(-14 + 4 * rng_unit(r)),
			  .bandwidth = exp(20 + 7 * rng_unit(r)),
			  .engines = 1 + (unsigned)(8 * rng_unit(r)),
			  .gemm_cil = 0.9 + rng_unit(r),
			  .copy_cil = 0.9 + rng_unit(r)};
	t.ingress = t.bandwidth * (1 + 7 * rng_unit(r));
	return t;
}

#endif
