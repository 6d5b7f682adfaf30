/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums as memory makes them, element by element. Sums of f16 and bf16 are made in f32, which has
 * more than twice their bits, so that to round twice gives what to round once does.
 */
#include "device/sim/sim_engine.h"

#include <assert.h>

/* Narrow elements are added in parts of this many. */
#define PART 256u

static void add_f32(float *dst, const float *src, uint64_t elements)
{
	for (uint64_t i = 0; i < elements; i++)
		dst[i] += src[i];
}

static void add_f64(double *dst, const double *src, uint64_t elements)
{
	for (uint64_t i = 0; i < elements; i++)
		dst[i] += src[i];
}

static void add_narrow(enum dev_type type, char *dst, const char *src, uint64_t elements)
{
	const uint64_t size = dev_type_bytes(type);
	float sum[PART], added[PART];
	for (uint64_t at = 0; at < elements; at += PART) {
		const uint32_t part = elements - at < PART ? (uint32_t)(elements - at) : PART;
		sim_narrow_decode(type, dst + at * size, part, sum);
		sim_narrow_decode(type, src + at * size, part, added);
		add_f32(sum, added, part);
		sim_narrow_round(type, sum, part, dst + at * size);
	}
}

void sim_memory_add(enum dev_type type, void *dst, const void *src, uint64_t elements)
{
	assert(dev_types[type].result == type);
	if (type == DEV_F64)
		add_f64(dst, src, elements);
	else if (type == DEV_F32)
		add_f32(dst, src, elements);
	else
		add_narrow(type, dst, src, elements);
}
