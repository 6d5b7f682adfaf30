/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/model.h"

#include <math.h>

static const struct shape compute_bound = {8192, 8192, 8192, 1},
			  memory_bound = {8192, 57344, 8192, 1};

#define SCALE_MAX 512u

static struct shape shape_divided(const struct shape *s, uint32_t by)
{
	return (struct shape){s->m / by, s->n / by, s->k / by, by};
}

static uint32_t scale_for(double max_flops)
{
	for (uint32_t by = 1; by < SCALE_MAX; by *= 2) {
		struct shape s = shape_divided(&memory_bound, by);
		if (shape_flops(&s) <= max_flops)
			return by;
	}
	return SCALE_MAX;
}

struct shape shaping_compute_bound(double max_flops)
{
	return shape_divided(&compute_bound, scale_for(max_flops));
}

struct shape shaping_memory_bound(double max_flops)
{
	return shape_divided(&memory_bound, scale_for(max_flops));
}

uint64_t shaping_message_bytes(double max_flops, uint64_t element_bytes)
{
	struct shape s = shaping_memory_bound(max_flops);
	return (uint64_t)s.m * s.n * element_bytes;
}

uint64_t shaping_residents(uint64_t pool_bytes, uint64_t reserved_bytes, uint64_t granularity_bytes,
			   uint64_t claim_bytes)
{
	uint64_t claim = (reserved_bytes + claim_bytes + granularity_bytes - 1) /
			 granularity_bytes * granularity_bytes;
	return claim ? pool_bytes / claim : UINT64_MAX;
}

double shaping_ratio_min(double gemm_s, double comm_s)
{
	return fmax(gemm_s, comm_s) / (gemm_s + comm_s);
}

double shaping_ratio_pipelined(unsigned iterations, double gemm_s, double comm_s)
{
	return (gemm_s + (iterations - 1) * fmax(gemm_s, comm_s) + comm_s) /
	       (iterations * (gemm_s + comm_s));
}

/* GEMMs do not overlap each other, nor do communications, so the overlaps of pairs add up. */
double shaping_overlap_rate(const struct shaping_span *gemm, const struct shaping_span *comm,
			    unsigned iterations)
{
	double both = 0.0, begin = fmin(gemm[0].begin, comm[0].begin);
	double end = fmax(gemm[iterations - 1].end, comm[iterations - 1].end);
	for (unsigned g = 0; g < iterations; g++) {
		for (unsigned c = 0; c < iterations; c++) {
			double common =
				fmin(gemm[g].end, comm[c].end) - fmax(gemm[g].begin, comm[c].begin);
			both += fmax(common, 0.0);
		}
	}
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
