/* SPDX-License-Identifier: BSD-3-Clause
 *
 * f16, bf16 and e4m3 in software, for reference GEMMs: rounded to nearest, ties to even, and
 * back exactly. The tests' own, so that they judge what lib/minifloat.h gives.
 *
 * What is larger than the largest finite number becomes infinity where the format has one, else its
 * NaN (e4m3, as OCP defines it).
 */
#ifndef GPUSIG_TESTS_SMALL_FLOATS_H
#define GPUSIG_TESTS_SMALL_FLOATS_H

#include "device/dev_lists.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct small_float {
	int exponent_bits, mantissa_bits;
	bool infinite; /* the largest exponent is for infinity and NaN; else only its last code is,
			  and is NaN */
	bool finite;   /* every code is a number */
};

static const struct small_float minifloat_f16 = {5, 10, true, false};
static const struct small_float minifloat_bf16 = {8, 7, true, false};
static const struct small_float small_e4m3 = {4, 3, false, false};

/* Exponent of the smallest normal number. */
static inline int small_min(const struct small_float *f)
{
	return 2 - (1 << (f->exponent_bits - 1));
}

static inline uint32_t small_sign(const struct small_float *f)
{
	return 1u << (f->exponent_bits + f->mantissa_bits);
}

/* The code after the largest finite number: infinity, or the only NaN. */
static inline uint32_t small_end(const struct small_float *f)
{
	return small_sign(f) - (f->infinite ? 1u << f->mantissa_bits : f->finite ? 0u : 1u);
}

static inline uint32_t small_encode(const struct small_float *f, double x)
{
	const uint32_t sign = signbit(x) ? small_sign(f) : 0, end = small_end(f);
	const double size = fabs(x);
	if (isnan(x))
		return sign | (small_sign(f) - 1);
	if (isinf(x))
		return sign | end;
	int exponent = size > 0 ? ilogb(size) : small_min(f);
	if (exponent < small_min(f))
		exponent = small_min(f);
	/* A power of two divides exactly, so that this is the one rounding. A carry passes into the
	 * exponent by itself. */
	const double steps = nearbyint(ldexp(size, f->mantissa_bits - exponent));
	if (exponent >= 1 << f->exponent_bits)
		return sign | end;
	const uint32_t code =
		((uint32_t)(exponent - small_min(f)) << f->mantissa_bits) + (uint32_t)steps;
	return sign | (code < end ? code : f->finite ? end - 1 : end);
}

static inline double small_decode(const struct small_float *f, uint32_t code)
{
	const uint32_t rest = code & (small_sign(f) - 1), one = 1u << f->mantissa_bits;
	const double sign = code & small_sign(f) ? -1 : 1;
	const int field = (int)(rest / one);
	if (rest >= small_end(f))
		return f->infinite && rest == small_end(f) ? sign * INFINITY : NAN;
	if (field == 0)
		return sign * ldexp(rest, small_min(f) - f->mantissa_bits);
	return sign * ldexp(rest % one + one, field - 1 + small_min(f) - f->mantissa_bits);
}

/* ------------------------------------------------------------------ elements of any type */

static inline struct small_float small_of(enum dev_type type)
{
	const struct dev_type_traits *t = &dev_types[type];
	return (struct small_float){t->exponent_bits, t->mantissa_bits, t->infinite, t->bits == 4};
}

/* tf32 is stored as f32, with all of its bits. f8 has no -0 (device/dev_lists.h). */
static inline void element_set(void *raw, enum dev_type type, uint64_t i, double value)
{
	const struct small_float format = small_of(type);
	const uint32_t bytes = dev_types[type].bytes;
	if (bytes == 0) {
		uint8_t *pair = (uint8_t *)raw + i / 2,
			code = (uint8_t)small_encode(&format, value);
		*pair = (uint8_t)(i % 2 ? (*pair & 15) | code << 4 : (*pair & 0xf0) | code);
	} else if (type == DEV_I32)
		((int32_t *)raw)[i] = (int32_t)value;
	else if (type == DEV_I8)
		((int8_t *)raw)[i] = (int8_t)value;
	else if (bytes == 8)
		((double *)raw)[i] = value;
	else if (bytes == 4)
		((float *)raw)[i] = (float)value;
	else if (bytes == 2)
		((uint16_t *)raw)[i] = (uint16_t)small_encode(&format, value);
	else {
		const uint32_t code = small_encode(&format, value);
		((uint8_t *)raw)[i] = code == small_sign(&format) ? 0 : (uint8_t)code;
	}
}

static inline double element_get(const void *raw, enum dev_type type, uint64_t i)
{
	const struct small_float format = small_of(type);
	const uint32_t bytes = dev_types[type].bytes;
	if (bytes == 0)
		return small_decode(&format, i % 2 ? ((const uint8_t *)raw)[i / 2] >> 4
						   : ((const uint8_t *)raw)[i / 2] & 15);
	if (type == DEV_I32 || type == DEV_I8)
		return bytes == 4 ? ((const int32_t *)raw)[i] : ((const int8_t *)raw)[i];
	if (bytes == 8)
		return ((const double *)raw)[i];
	if (bytes == 4)
		return (double)((const float *)raw)[i];
	return small_decode(&format,
			    bytes == 1 ? ((const uint8_t *)raw)[i] : ((const uint16_t *)raw)[i]);
}

#endif
