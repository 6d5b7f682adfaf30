/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seeded random numbers (xoshiro256**, seeded by splitmix64): the same seed gives the same numbers
 * on every machine. All randomness of the suite comes from here and from --seed.
 */
#ifndef GPUSIG_RNG_H
#define GPUSIG_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t state[4];
};

/* Streams of one seed with different `lane` are independent. */
void rng_seed(struct rng *r, uint64_t seed, uint64_t lane);

uint64_t rng_u64(struct rng *r);

/* Uniform in [0, bound), without bias; bound at least 1. */
uint64_t rng_below(struct rng *r, uint64_t bound);

/* Uniform in [0, 1) with 53 bits. */
double rng_unit(struct rng *r);

/* Normal with mean 0 and variance 1. */
double rng_normal(struct rng *r);

/* Fill with uniform reals in [-1, 1). */
void rng_fill_f32(struct rng *r, float *out, size_t count);
void rng_fill_f64(struct rng *r, double *out, size_t count);

/* Fill with random 32-bit words. */
void rng_fill_u32(struct rng *r, uint32_t *out, size_t count);

/* Put 0..count-1 into random order. */
void rng_shuffle(struct rng *r, uint32_t *order, size_t count);

#endif
