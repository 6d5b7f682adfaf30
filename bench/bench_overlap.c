/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_overlap.h"

#include <math.h>
#include <stdio.h>

static double overlap_speedup(const struct bench_round *r)
{
	const struct bench_overlap *o = r->arg;
	return r->seconds[o->serial] / r->seconds[r->variant];
}

static double ideal_speedup(const struct bench_round *r)
{
	const struct bench_overlap *o = r->arg;
	double sum = 0.0, longest = 0.0;
	for (unsigned v = 0; v < 64 && (o->sum | o->longest) >> v; v++) {
		sum += o->sum >> v & 1 ? r->seconds[v] : 0.0;
		longest = o->longest >> v & 1 ? fmax(longest, r->seconds[v]) : longest;
	}
	return sum / longest;
}

static double fraction_of_ideal(const struct bench_round *r)
{
	const struct bench_overlap *o = r->arg;
	double ideal = ideal_speedup(r);
	return ideal < o->min_ideal ? NAN : (overlap_speedup(r) - 1.0) / (ideal - 1.0);
}

int bench_derive_overlap(struct bench_case *c, const struct bench_overlap *o, unsigned variant)
{
	const uint64_t both = UINT64_C(1) << variant | UINT64_C(1) << o->serial;
	int status = bench_derive(c, "S", (int)variant, "", both, overlap_speedup, o,
				  "seconds one after the other / seconds");
	return status ? status
		      : bench_derive(c, "fraction_of_ideal", (int)variant, "",
				     both | o->sum | o->longest, fraction_of_ideal, o,
				     "(S - 1) / (S_ideal - 1), unclamped; none where S_ideal is "
				     "within noise of 1");
}

int bench_derive_ideal(struct bench_case *c, const struct bench_overlap *o)
{
	return bench_derive(c, "S_ideal", -1, "", o->sum | o->longest, ideal_speedup, o,
			    "sum of the parts / the longest part, each alone");
}
