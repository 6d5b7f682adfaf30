/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/nccl_tests/nccl_tests_rates.h"
#include "lib/err.h"

const struct bench_quantity_row nccl_tests_quantities[] = {NCCL_TESTS_QUANTITIES, {0}};

uint64_t nccl_tests_bytes(uint64_t size, uint64_t element_bytes, uint64_t parts)
{
	const uint64_t unit = parts > 1 ? 16 * parts : element_bytes;
	return size / unit * unit;
}

double nccl_tests_bus_bytes(bool twice, size_t ranks, uint64_t bytes)
{
	const double p = (double)ranks;
	return (twice ? 2.0 : 1.0) * (p - 1.0) / p * (double)bytes;
}

int nccl_tests_derive(struct bench_case *c, bool twice, size_t ranks, uint64_t bytes,
		      uint64_t algorithms)
{
	for (unsigned v = 0; v < bench_variants(c); v++)
		TRY(c->status,
		    bench_rate(c, "bus_bandwidth", v, nccl_tests_bus_bytes(twice, ranks, bytes),
			       "byte/s",
			       twice ? "2 (p-1)/p bytes / time" : "(p-1)/p bytes / time"));
	bench_alias_fastest(c, "bus_bandwidth", algorithms, "best_bus_bandwidth",
			    "bus_bandwidth of the fastest algorithm, excluding the library's");
	return c->status;
}
