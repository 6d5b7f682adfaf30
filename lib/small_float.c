/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/small_float.h"

#include <math.h>
#include <string.h>

#define FLOAT_MANTISSA 23
#define FLOAT_BIAS 127
#define FLOAT_INFINITY 0x7f800000u

/* `largest` is the greatest finite number, `beyond` what follows it; both without sign. */
struct format {
	int mantissa, bias;
	uint32_t sign, largest, beyond, nan;
};

static const struct format f16 = {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00};
static const struct format bf16 = {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0};
static const struct format f8 = {3, 7, 0x80, 0x7e, 0x7f, 0x7f};

static uint32_t bits_of(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Drop `count` low bits, to nearest, ties to even. A carry into the exponent is right. */
static uint32_t drop(uint32_t bits, int count)
{
	uint32_t last = bits >> count & 1u, half = 1u << (count - 1);
	return (bits + half - 1u + last) >> count;
}

static uint32_t narrow(const struct format *f, float x)
{
	uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffffu, code;
	uint32_t sign = bits >> 31 ? f->sign : 0;
	uint32_t least_normal = (uint32_t)(FLOAT_BIAS - f->bias + 1) << FLOAT_MANTISSA;
	if (magnitude > FLOAT_INFINITY)
		return sign | f->nan;
	if (magnitude >= least_normal)
		code = drop(magnitude - ((uint32_t)(FLOAT_BIAS - f->bias) << FLOAT_MANTISSA), FLOAT_MANTISSA - f->mantissa);
	else
		code = (uint32_t)nearbyint(ldexp(fabs((double)x), f->bias - 1 + f->mantissa));
	return sign | (code > f->largest ? f->beyond : code);
}

static float widen(const struct format *f, uint32_t bits)
{
	uint32_t code = bits & (f->sign - 1u);
	float value;
	if (code > f->largest)
		value = code == f->beyond && f->beyond != f->nan ? INFINITY : NAN;
	else if (code >> f->mantissa == 0)
		value = (float)ldexp(code, 1 - f->bias - f->mantissa);
	else
		value = float_of((code << (FLOAT_MANTISSA - f->mantissa)) + ((uint32_t)(FLOAT_BIAS - f->bias) << FLOAT_MANTISSA));
	return bits & f->sign ? -value : value;
}

uint16_t small_f16(float x) { return (uint16_t)narrow(&f16, x); }
uint16_t small_bf16(float x) { return (uint16_t)narrow(&bf16, x); }
uint8_t small_f8(float x) { return (uint8_t)narrow(&f8, x); }

float small_tf32(float x)
{
	uint32_t bits = bits_of(x);
	return isfinite(x) ? float_of(drop(bits, 13) << 13) : x;
}

float small_f16_value(uint16_t bits) { return widen(&f16, bits); }
float small_bf16_value(uint16_t bits) { return widen(&bf16, bits); }
float small_f8_value(uint8_t bits) { return widen(&f8, bits); }
