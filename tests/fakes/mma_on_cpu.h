/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words of device/kernels_mma.inc for a CPU. Threads run one after the other, so a thread multiplies what it holds itself:
 * its part of A, with every column of B taken to be the one it holds. The sums of all threads are those of a real unit after an
 * even number of steps, since the two matrices of B add up to 1.
 */
#ifndef FAKES_MMA_ON_CPU_H
#define FAKES_MMA_ON_CPU_H

#include <math.h>
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
#define HAVE_WGMMA 1

typedef float mma_tile[MMA_SUMS];
typedef float wgmma_tile[WGMMA_SUMS];

/* A number that is not subnormal, of the lowest `bits`. */
DEVICE float mma_decode(u32 code, u32 bits, u32 mantissa, int bias)
{
	const u32 exponent = (code >> mantissa) & ((1u << (bits - 1 - mantissa)) - 1);
	const float size = ldexpf(1 + ldexpf((float)(code & ((1u << mantissa) - 1)), -(int)mantissa), (int)exponent - bias);
	return code >> (bits - 1) & 1 ? -size : size;
}

DEVICE float mma_element(enum mma_type type, const u32 *registers, u32 i)
{
	const u32 bits = type == MMA_TF32 ? 32 : type == MMA_F8 ? 8 : 16, each = 32 / bits;
	const u32 code = registers[i / each] >> (i % each * bits);
	switch (type) {
	case MMA_F16:
		return mma_decode(code, 16, 10, 15);
	case MMA_BF16:
		return mma_decode(code, 16, 7, 127);
	case MMA_TF32:
		return mma_decode(code, 32, 23, 127);
	case MMA_F8:
		break;
	}
	return mma_decode(code, 8, 3, F8_BIAS);
}

/* What the elements that a thread holds add to the sums, for each column. All of B's that it holds are used in turn. */
static float mma_multiply(enum mma_type type, const u32 *a, const u32 *b)
{
	const u32 each = type == MMA_TF32 ? 1 : type == MMA_F8 ? 4 : 2;
	float sum = 0;
	for (u32 i = 0; i < A_REGISTERS * each; i++)
		sum += mma_element(type, a, i) * mma_element(type, b, i % (B_REGISTERS * each));
	return sum;
}

/* The same again; a loop has two pairs of operands. */
static float mma_products(enum mma_type type, const u32 *a, const u32 *b)
{
	static _Thread_local struct {
		u32 type, a[A_REGISTERS], b[B_REGISTERS];
		float sum;
	} known[2];
	static _Thread_local u32 oldest;
	for (u32 i = 0; i < 2; i++)
		if (known[i].type == type + 1 && memcmp(known[i].b, b, sizeof(known[i].b)) == 0 &&
		    memcmp(known[i].a, a, sizeof(known[i].a)) == 0)
			return known[i].sum;
	const u32 at = oldest++ % 2;
	known[at].type = type + 1;
	memcpy(known[at].a, a, sizeof(known[at].a));
	memcpy(known[at].b, b, sizeof(known[at].b));
	known[at].sum = mma_multiply(type, a, b);
	return known[at].sum;
}

DEVICE void mma(enum mma_type type, mma_tile *d, const u32 *a, const u32 *b)
{
	(*d)[0] += MMA_COLUMNS * mma_products(type, a, b);
}

DEVICE void wgmma_publish(void) { }
DEVICE void wgmma_settle(float *at) { (void)at; }
DEVICE void wgmma_begin(void) { }
DEVICE void wgmma_end_group(void) { }
DEVICE void wgmma_wait(void) { }
DEVICE void wgmma_wait_before_last(void) { }

DEVICE void wgmma(enum mma_type type, wgmma_tile *d, const u32 *a, const words4 *b)
{
	(*d)[0] += WGMMA_COLUMNS * mma_products(type, a, &b[THREAD].x);
}

#endif
