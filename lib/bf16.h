/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bf16, the upper half of a float, in a few instructions: what lib/minifloat.h does for every
 * format, with the same results.
 */
#ifndef GPUSIG_BF16_H
#define GPUSIG_BF16_H

#include <stdint.h>
#include <string.h>

static inline float bf16_decode(uint16_t code)
{
	const uint32_t bits = (uint32_t)code << 16;
	float x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* To nearest, ties to even; too large becomes infinity. A NaN stays one, with what its upper half
 * holds. */
static inline uint16_t bf16_encode(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof(bits));
	const uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
	return (uint16_t)((x != x ? bits | 0x400000 : rounded) >> 16);
}

#endif
