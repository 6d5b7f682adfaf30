/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers narrower than float, as matrix units take them. Conversions from float round to nearest, ties to even, and keep
 * subnormals and the sign of zero. What is too large becomes infinity, in f8, which has none, NaN.
 *
 *     f16     1 sign, 5 exponent, 10 mantissa bits (IEEE 754 binary16), up to 65504
 *     bf16    1, 8 and 7: the upper half of a float
 *     f8      1, 4 and 3: e4m3 as OCP defines it, up to 448; only 0x7f and 0xff are NaN
 *     tf32    a float of which 10 bits of mantissa count; the others are 0
 */
#ifndef GPUSIG_SMALL_FLOAT_H
#define GPUSIG_SMALL_FLOAT_H

#include <stdint.h>

uint16_t small_f16(float x);
uint16_t small_bf16(float x);
uint8_t small_f8(float x);
float small_tf32(float x);

/* What the bits stand for; exact. */
float small_f16_value(uint16_t bits);
float small_bf16_value(uint16_t bits);
float small_f8_value(uint8_t bits);

#endif
