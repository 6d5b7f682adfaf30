/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The primitives of device/gpu/kernels/kernels_mma.inc (see there) on a CPU. Threads run one after
 * the other, so a thread cannot use what other threads hold. It multiplies its own part of A, and
 * takes every column of B to equal the one it holds. The two matrices of B add up to 1, so after an
 * even number of steps the sums of all threads equal those of a real matrix unit.
 */
#ifndef FAKES_MMA_ON_CPU_H
#define FAKES_MMA_ON_CPU_H

#include "tests/fakes/on_cpu.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MMA_LANES 32
#define MMA_COLUMNS 64
#define MMA_TILES 2
#define MMA_SUMS 1
#define WGMMA_SUMS 1
#define A_REGISTERS 4
#define B_REGISTERS 2
#define F8_BIAS 7
#define HAVE_MMA_F16 1
#define HAVE_MMA_BF16 1
#define HAVE_MMA_TF32 1
#define HAVE_MMA_F8 1
#define HAVE_MMA_I8 1
#define HAVE_WGMMA 1

typedef u32 mma_tile[MMA_SUMS];
typedef u32 wgmma_tile[WGMMA_SUMS];

struct mma_format {
	u32 bits, mantissa_bits; /* 7 of 8: an integer */
	int bias;
};

/* The format of an enum mma_type, which kernels_mma.inc declares. */
#define MMA_FORMAT(type)                                                                           \
	((type) == MMA_F16    ? (struct mma_format){16, 10, 15}                                    \
	 : (type) == MMA_BF16 ? (struct mma_format){16, 7, 127}                                    \
	 : (type) == MMA_TF32 ? (struct mma_format){32, 23, 127}                                   \
	 : (type) == MMA_F8   ? (struct mma_format){8, 3, F8_BIAS}                                 \
			      : (struct mma_format){8, 7, 0})

DEVICE bool mma_is_integer(struct mma_format f) { return f.mantissa_bits == f.bits - 1; }

/* Decodes the lowest f.bits of `code`, a normal number or an integer. */
DEVICE float mma_decode(struct mma_format f, u32 code)
{
	if (mma_is_integer(f))
		return (float)(int8_t)(code & 0xff);
	const u32 exponent =
		(code >> f.mantissa_bits) & ((1u << (f.bits - 1 - f.mantissa_bits)) - 1);
	const u32 mantissa = code & ((1u << f.mantissa_bits) - 1);
	const float size =
		ldexpf(1 + ldexpf((float)mantissa, -(int)f.mantissa_bits), (int)exponent - f.bias);
	return code >> (f.bits - 1) & 1 ? -size : size;
}

DEVICE float mma_element(struct mma_format f, const u32 *registers, u32 i)
{
	const u32 per_register = 32 / f.bits;
	return mma_decode(f, registers[i / per_register] >> (i % per_register * f.bits));
}

/* Contribution of one thread's elements to the sums of one column; takes its elements of B in
 * turn. */
static float mma_multiply(struct mma_format f, const u32 *a, const u32 *b)
{
	const u32 per_register = 32 / f.bits;
	float sum = 0;
	for (u32 i = 0; i < A_REGISTERS * per_register; i++)
		sum += mma_element(f, a, i) * mma_element(f, b, i % (B_REGISTERS * per_register));
	return sum;
}

/* The same, cached: a loop multiplies two pairs of operands again and again. */
static float mma_multiply_cached(struct mma_format f, const u32 *a, const u32 *b)
{
	static _Thread_local struct {
		struct mma_format format;
		u32 a[A_REGISTERS], b[B_REGISTERS];
		float sum;
	} known[2];
	static _Thread_local u32 oldest;
	for (u32 i = 0; i < 2; i++)
		if (known[i].format.bits == f.bits &&
		    known[i].format.mantissa_bits == f.mantissa_bits &&
		    memcmp(known[i].b, b, sizeof(known[i].b)) == 0 &&
		    memcmp(known[i].a, a, sizeof(known[i].a)) == 0)
			return known[i].sum;
	const u32 at = oldest++ % 2;
	known[at].format = f;
	memcpy(known[at].a, a, sizeof(known[at].a));
	memcpy(known[at].b, b, sizeof(known[at].b));
	known[at].sum = mma_multiply(f, a, b);
	return known[at].sum;
}

/* Adds what so many equal columns give to D. */
static void mma_add(struct mma_format f, u32 *d, u32 columns, const u32 *a, const u32 *b)
{
	const float more = (float)columns * mma_multiply_cached(f, a, b);
	float sum;
	if (mma_is_integer(f)) {
		*d += (u32)(int)more;
	} else {
		memcpy(&sum, d, sizeof(sum));
		sum += more;
		memcpy(d, &sum, sizeof(sum));
	}
}

#define mma(type, d, a, b) mma_add(MMA_FORMAT(type), *(d), MMA_COLUMNS, a, b)

DEVICE void wgmma_publish(void) {}
DEVICE void wgmma_settle(u32 *at) { (void)at; }
DEVICE void wgmma_begin(void) {}
DEVICE void wgmma_end_group(void) {}
DEVICE void wgmma_wait(void) {}
DEVICE void wgmma_wait_before_last(void) {}

#define wgmma(type, d, a, b) mma_add(MMA_FORMAT(type), *(d), WGMMA_COLUMNS, a, &(b)[THREAD].x)

#endif
