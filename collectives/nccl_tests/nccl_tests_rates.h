/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors and bandwidths as nccl-tests counts them, of every algorithm and of the fastest one: what
 * the programs of devices and those of ranks derive.
 */
#ifndef GPUSIG_NCCL_TESTS_RATES_H
#define GPUSIG_NCCL_TESTS_RATES_H

#include "bench/bench.h"

/* The row that is the library's own collective. */
#define NCCL_TESTS_LIBRARY "library"

/* Single collectives of vectors up to here are timed, too (bench_single_times()): those of a step
 * of inference. */
#define COLLECTIVE_SINGLE_BYTES (UINT64_C(1) << 20)

/* The bytes of a vector that nccl-tests makes of a size: whole elements; with more parts than one,
 * equal ones of a multiple of 16 bytes. May be 0. */
uint64_t nccl_tests_bytes(uint64_t size, uint64_t element_bytes, uint64_t parts);

/* Bytes that every rank's link must carry in each direction, whatever the algorithm. `twice`: an
 * allreduce, whose bytes pass it twice. */
double nccl_tests_bus_bytes(bool twice, size_t ranks, uint64_t bytes);

/* For struct bench; the first rows of a program that has others. */
#define NCCL_TESTS_QUANTITIES                                                                      \
	{"library_time_ratio", BENCH_RATIO, .to = NCCL_TESTS_LIBRARY},                             \
		{"bus_bandwidth", BENCH_RATE, .unit = "byte/s"},                                   \
		{"best_bus_bandwidth", BENCH_RATE, .unit = "byte/s"},                              \
	{                                                                                          \
		"best_time", BENCH_TIME                                                            \
	}
extern const struct bench_quantity_row nccl_tests_quantities[];

/* In derive: bus_bandwidth of every variant, and best_bus_bandwidth of the fastest of `algorithms`
 * (bit mask), which leave out the library's. */
int nccl_tests_derive(struct bench_case *c, bool twice, size_t ranks, uint64_t bytes,
		      uint64_t algorithms);

#endif
