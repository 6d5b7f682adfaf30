/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A roofline bound for whatever moves bytes, measured in the same rounds: how fast all units read
 * the source alone and write the destination alone. Work that reads r bytes and writes w takes at
 * least max(r / R, w / W).
 *
 * No datasheet says what a processor's memory delivers, and the sum of both directions is not a
 * bound: where reads and writes have separate paths, a copy moves more bytes a second than reading
 * alone. The roofline bound holds on either kind of memory; where both share one path, even a
 * perfect copy stays near half of it, so a share of it would say little (bench_bound_share()).
 *
 * A program puts ROOFLINE_VARIANTS among its variants and passes the index of the first one to
 * roofline_open().
 */
#ifndef GPUSIG_ROOFLINE_H
#define GPUSIG_ROOFLINE_H

#include "bench/bench.h"

#define ROOFLINE_VARIANTS                                                                          \
	{.name = "read_only", .timing = BENCH_DEVICE, .reference = true},                          \
		{.name = "write_only", .timing = BENCH_DEVICE, .reference = true},                 \
	{                                                                                          \
		.name = "write_only_nt", .timing = BENCH_DEVICE, .reference = true                 \
	}

/* Passes over a footprint that make the start-up time of a launch negligible: it moves
 * `least_bytes`, and 8 KiB for every thread that the device can hold, or 64 KiB if the last-level
 * cache holds the footprint. A footprint below 16 bytes a thread, for which some threads only wait,
 * counts as that much. */
uint32_t roofline_reps(const struct dev *dev, uint64_t footprint, uint64_t least_bytes);

struct roofline {
	unsigned first; /* index of the first of ROOFLINE_VARIANTS */
	const void *from;
	void *to;
	uint64_t read_bytes, write_bytes; /* of one pass; multiples of DEV_KERNEL_ALIGN */
	uint32_t read_reps, write_reps;
	uint32_t *sink;
	struct dev_kernel *kernel[3];
};

/* In setup: the ranges that are read and written. Turns off the kind of stores that can't be
 * faster: non-temporal stores for what fits in the caches, ordinary stores for what is far
 * larger. */
int roofline_open(struct roofline *x, struct bench_case *c, unsigned first, const void *from,
		  uint64_t read_bytes, void *to, uint64_t write_bytes);

/* In setup, instead: turn all of these variants off for this case. */
void roofline_off(struct roofline *x, struct bench_case *c, unsigned first);

bool roofline_is(const struct roofline *x, unsigned variant);

/* body and model of these variants. The contents of `to` are lost. */
int roofline_body(struct roofline *x, struct bench_case *c, unsigned variant, uint64_t iterations);
void roofline_model(const struct roofline *x, unsigned variant, struct bench_model *m);

/* In derive: bench_bound() for "bandwidth" of `variant`, which reads and writes so many bytes
 * for each byte that it counts. Uses the best samples, so that noise in the roofline flags
 * nothing. There is no share where one memory is read and written. Returns the bound; NaN: a part
 * was not measured, and nothing was done. */
double roofline_bound(const struct roofline *x, struct bench_case *c, unsigned variant,
		      double reads, double writes, bool one_memory);

#endif
