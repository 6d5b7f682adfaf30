/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Floating-point formats narrower than float, as matrix units take them. Conversions from float
 * round to nearest, ties to even, and keep subnormals and the sign of zero. A value that is too
 * large becomes infinity; in f8, which has none, it becomes NaN.
 *
 *     f16     1 sign, 5 exponent, 10 mantissa bits (IEEE 754 binary16), up to 65504
 *     bf16    1, 8 and 7: the upper half of a float
 *     f8      1, 4 and 3: e4m3 as OCP defines it, up to 448; only 0x7f and 0xff are NaN
 *     tf32    a float of which 10 bits of mantissa count; the others are 0
 */
#ifndef GPUSIG_MINIFLOAT_H
#define GPUSIG_MINIFLOAT_H

#include <stdbool.h>
#include <stdint.h>

uint16_t minifloat_f16(float x);
uint16_t minifloat_bf16(float x);
uint8_t minifloat_f8(float x);
float minifloat_tf32(float x);

/* Any format with a sign and at most 8 bits of exponent. Without infinities only the largest
 * code is NaN, as in f8. */
struct minifloat_format {
	int exponent_bits, mantissa_bits;
	bool infinite;
};
uint32_t minifloat_encode(struct minifloat_format format, float x);
float minifloat_decode(struct minifloat_format format, uint32_t bits);

/* The value of the bits; exact. */
float minifloat_f16_value(uint16_t bits);
float minifloat_bf16_value(uint16_t bits);
float minifloat_f8_value(uint8_t bits);

#endif
