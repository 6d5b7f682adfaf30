/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ceiling for whatever moves bytes, measured in the same blocks: how fast every unit reads what is read, and writes what
 * is written, when it does nothing else. What reads r bytes and writes w takes at least max(r / R, w / W).
 *
 * No datasheet says what a processor's memory delivers, and the sum of both directions is no bound: where reads and writes
 * have paths of their own, a copy moves more bytes a second than reading alone does. The ceiling holds on either kind;
 * where they share one path, even a perfect copy stays near half of it.
 *
 * A program puts CEILING_VARIANTS among its variants and passes the place of the first one to ceiling_open().
 */
#ifndef GPUSIG_BENCH_CEILING_H
#define GPUSIG_BENCH_CEILING_H

#include "lib/bench.h"

#define CEILING_VARIANTS                                                                               \
	{.name = "read_only", .timing = BENCH_DEVICE, .reference = true},                              \
	{.name = "write_only", .timing = BENCH_DEVICE, .reference = true},                             \
	{.name = "write_only_nt", .timing = BENCH_DEVICE, .reference = true}

/* What a launch should move at least, in several passes if need be, so that starting it does not count: 64 MiB, and
 * 4 KiB for every thread that a device which runs many can hold. */
uint64_t ceiling_launch_bytes(const struct dev *dev);

struct ceiling {
	unsigned first; /* of CEILING_VARIANTS */
	const void *from;
	void *to;
	uint64_t read_bytes, write_bytes; /* of one pass; multiples of DEV_KERNEL_ALIGN */
	uint32_t read_reps, write_reps;
	uint32_t *sink;
	struct dev_kernel *kernel[3];
};

/* In setup: the ranges that are read and written. Turns off the kind of stores that can't be the faster one: those that
 * go around the caches for what fits there, ordinary ones for what is far beyond. */
int ceiling_open(struct ceiling *x, struct bench_case *c, unsigned first, const void *from, uint64_t read_bytes, void *to,
                 uint64_t write_bytes);

/* In setup, instead: nothing of it applies to this case. */
void ceiling_off(struct ceiling *x, struct bench_case *c, unsigned first);

bool ceiling_is(const struct ceiling *x, unsigned variant);

/* body and model of these variants. What was in `to` is lost. */
int ceiling_body(struct ceiling *x, struct bench_case *c, unsigned variant, uint64_t iterations);
void ceiling_model(const struct ceiling *x, unsigned variant, struct bench_model *m);

/* In derive: bench_bound() for "bandwidth" of `about`, which reads and writes so many bytes for each that it counts. The
 * best samples are taken, so that noise in the ceiling flags nothing. Does nothing when a part was not measured. */
void ceiling_bound(const struct ceiling *x, struct bench_case *c, unsigned about, double reads, double writes);

#endif
