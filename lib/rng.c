/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/rng.h"

#include <math.h>

static uint64_t splitmix64_next(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

void rng_seed(struct rng *r, uint64_t seed, uint64_t lane)
{
	uint64_t mixed = lane;
	uint64_t x = seed ^ splitmix64_next(&mixed);
	for (int i = 0; i < 4; i++)
		r->state[i] = splitmix64_next(&x);
}

uint64_t rng_u64(struct rng *r)
{
	uint64_t *s = r->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
	/* Reject the values that would make small results likelier. */
	uint64_t reject_under = (0 - bound) % bound;
	uint64_t x;
	do
		x = rng_u64(r);
	while (x < reject_under);
	return x % bound;
}

double rng_unit(struct rng *r) { return (double)(rng_u64(r) >> 11) * 0x1p-53; }

double rng_normal(struct rng *r)
{
	double u = 1.0 - rng_unit(r), v = rng_unit(r);
	return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

void rng_fill_f32(struct rng *r, float *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = (float)(rng_u64(r) >> 40) * 0x1p-23f - 1.0f;
}

void rng_fill_f64(struct rng *r, double *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = rng_unit(r) * 2.0 - 1.0;
}

void rng_fill_u32(struct rng *r, uint32_t *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = (uint32_t)(rng_u64(r) >> 32);
}

void rng_shuffle(struct rng *r, uint32_t *order, size_t count)
{
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	for (size_t i = count; i > 1; i--) {
		size_t j = rng_below(r, i);
		uint32_t swap = order[i - 1];
		order[i - 1] = order[j];
		order[j] = swap;
	}
}
