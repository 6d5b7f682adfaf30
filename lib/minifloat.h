/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Floating-point formats narrower than float, as matrix units take them. Conversions from float
 * round to nearest, ties to even, and keep subnormals and the sign of zero. A value that is too
 * large becomes infinity; in a format that has none it becomes NaN, and zero has no sign: AMD's
 * units before gfx950 read f8's -0 as NaN. In a finite format it becomes the largest number, as NaN
 * does.
 *
 *     {5, 10, true}    f16     IEEE 754 binary16, up to 65504
 *     {8, 7, true}     bf16    the upper half of a float
 *     {4, 3, false}    f8      e4m3 as OCP defines it, up to 448; only 0x7f and 0xff are NaN
 *     {8, 10, true}    tf32    the upper 19 bits of a float, whose others are 0
 *     {2, 1, .finite}  f4      e2m1 as OCP defines it, 0, 0.5, 1, 1.5, 2, 3, 4 and 6, with a sign
 */
#ifndef GPUSIG_MINIFLOAT_H
#define GPUSIG_MINIFLOAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sign, 2 to 8 bits of exponent and 1 to 22 of mantissa. Without infinities only the largest code
 * is NaN. */
struct minifloat_format {
	int exponent_bits, mantissa_bits;
	bool infinite, finite; /* has infinities; has neither them nor NaN */
};

/* The bits of the nearest value, and the value of the bits, which is exact. */
uint32_t minifloat_encode(struct minifloat_format format, float x);
float minifloat_decode(struct minifloat_format format, uint32_t bits);
/* Decode an array of codes of 1 or 2 bytes. */
void minifloat_decode_array(struct minifloat_format format, const void *codes, size_t code_bytes,
			    size_t count, float *values);

#endif
