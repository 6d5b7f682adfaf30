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
 * A program puts ROOFLINE_VARIANTS among its variants; they carry their own work.
 */
#ifndef GPUSIG_ROOFLINE_H
#define GPUSIG_ROOFLINE_H

#include "bench/bench.h"

int roofline_read(struct bench_case *c, long kind);
int roofline_write(struct bench_case *c, long kind);
void roofline_model(const struct bench_case *c, long kind, struct bench_model *m);
enum { ROOFLINE_READ, ROOFLINE_WRITE, ROOFLINE_WRITE_NT, ROOFLINE_KINDS };

#define ROOFLINE_VARIANT(label, kind, work)                                                        \
	{                                                                                          \
		.name = (label), .timing = BENCH_DEVICE, .arg = (kind), .once = (work),            \
		.model = roofline_model, .reference = true                                         \
	}
#define ROOFLINE_VARIANTS                                                                          \
	ROOFLINE_VARIANT("read_only", ROOFLINE_READ, roofline_read),                               \
		ROOFLINE_VARIANT("write_only", ROOFLINE_WRITE, roofline_write),                    \
		ROOFLINE_VARIANT("write_only_nt", ROOFLINE_WRITE_NT, roofline_write)

/* Passes over a footprint that make the start-up time of a launch negligible: it moves
 * `least_bytes`, and 8 KiB for every thread that the device can hold, or 64 KiB if the last-level
 * cache holds the footprint. A footprint below 16 bytes a thread, for which some threads only wait,
 * counts as that much. */
uint32_t roofline_reps(const struct dev *dev, uint64_t footprint, uint64_t least_bytes);

/* In setup: the ranges that are read and written; the contents of `to` are lost. Turns off the kind
 * of stores that can't be faster: non-temporal stores for what fits in the caches, ordinary stores
 * for what is far larger. Sizes are of one pass, multiples of DEV_KERNEL_ALIGN. */
int roofline_open(struct bench_case *c, const void *from, uint64_t read_bytes, void *to,
		  uint64_t write_bytes);

/* In setup, instead: turn all of these variants off for this case. */
void roofline_off(struct bench_case *c);

/* In derive: bench_bound() for "bandwidth" of `variant`, which reads and writes so many bytes
 * for each byte that it counts. Uses the best samples, so that noise in the roofline flags
 * nothing. There is no share where one memory is read and written. Returns the bound; NaN: a part
 * was not measured, and nothing was done. */
double roofline_bound(struct bench_case *c, unsigned variant, double reads, double writes,
		      bool one_memory);

#endif
