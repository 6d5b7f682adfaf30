/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/model.h"

#include <math.h>

#define SCALE_MAX 512u

struct shape shaping_gemm(bool memory_bound, double max_flops)
{
	struct shape s = {8192, 57344, 8192, 1};
	while (max_flops > 0.0 && shape_flops(&s) > max_flops && s.scale < SCALE_MAX)
		s = (struct shape){s.m / 2, s.n / 2, s.k / 2, s.scale * 2};
	s.n = memory_bound ? s.n : s.m;
	return s;
}

uint64_t shaping_residents(uint64_t pool_bytes, uint64_t reserved_bytes, uint64_t granularity_bytes,
			   uint64_t claim_bytes)
{
	uint64_t claim = (reserved_bytes + claim_bytes + granularity_bytes - 1) /
			 granularity_bytes * granularity_bytes;
	return claim ? pool_bytes / claim : UINT64_MAX;
}

double shaping_ratio_pipelined(unsigned iterations, double gemm_s, double comm_s)
{
	return (gemm_s + (iterations - 1) * fmax(gemm_s, comm_s) + comm_s) /
	       (iterations * (gemm_s + comm_s));
}

double shaping_rate_pipelined(unsigned iterations, double gemm_s, double comm_s)
{
	return (iterations - 1) * fmin(gemm_s, comm_s) /
	       (gemm_s + (iterations - 1) * fmax(gemm_s, comm_s) + comm_s);
}

/* GEMMs do not overlap each other, nor do communications, so the overlaps of pairs add up. */
double shaping_overlap_rate(const struct shaping_span *gemm, const struct shaping_span *comm,
			    unsigned iterations)
{
	double both = 0.0, begin = fmin(gemm[0].begin, comm[0].begin);
	double end = fmax(gemm[iterations - 1].end, comm[iterations - 1].end);
	for (unsigned g = 0; g < iterations; g++)
		for (unsigned c = 0; c < iterations; c++)
			both += fmax(0.0, fmin(gemm[g].end, comm[c].end) -
						  fmax(gemm[g].begin, comm[c].begin));
	return both / (end - begin);
}

double shaping_rate_max(unsigned iterations) { return (iterations - 1.0) / iterations; }

bool shaping_in_order(const struct shaping_span *gemm, const struct shaping_span *comm,
		      unsigned iterations)
{
	bool in_order = true;
	for (unsigned i = 0; i < iterations; i++) {
		in_order = in_order && comm[i].begin >= gemm[i].end;
		in_order = in_order && (i < 2 || gemm[i].begin >= comm[i - 2].end);
	}
	return in_order;
}
