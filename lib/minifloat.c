/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/minifloat.h"

#include <math.h>
#include <string.h>

#define FLOAT_MANTISSA 23
#define FLOAT_BIAS 127
#define FLOAT_INFINITY 0x7f800000u

/* Codes without sign: `largest` is the largest finite number, `beyond` the code after it. `least`
 * is the smallest positive number. */
struct layout {
	int mantissa, bias;
	uint32_t sign, largest, beyond, nan;
	float least;
};

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

/* Drop `count` low bits: round to nearest, ties to even. A carry into the exponent is correct. */
static uint32_t round_off_bits(uint32_t bits, int count)
{
	uint32_t last = bits >> count & 1u, half = 1u << (count - 1);
	return (bits + half - 1u + last) >> count;
}

static struct layout layout_of(struct minifloat_format f)
{
	const uint32_t sign = 1u << (f.exponent_bits + f.mantissa_bits);
	const uint32_t beyond = f.infinite ? sign - (1u << f.mantissa_bits)
				: f.finite ? sign
					   : sign - 1;
	const int bias = (1 << (f.exponent_bits - 1)) - 1;
	return (struct layout){.mantissa = f.mantissa_bits,
			       .bias = bias,
			       .least = (float)ldexp(1.0, 1 - bias - f.mantissa_bits),
			       .sign = sign,
			       .largest = beyond - 1,
			       .beyond = beyond,
			       .nan = f.infinite ? beyond | 1u << (f.mantissa_bits - 1)
				      : f.finite ? beyond - 1
						 : beyond};
}

uint32_t minifloat_encode(struct minifloat_format format, float x)
{
	const struct layout f = layout_of(format);
	uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffffu, code;
	uint32_t sign = bits >> 31 ? f.sign : 0;
	uint32_t min_normal = (uint32_t)(FLOAT_BIAS - f.bias + 1) << FLOAT_MANTISSA;
	if (magnitude > FLOAT_INFINITY)
		return sign | f.nan;
	if (magnitude >= min_normal)
		code = round_off_bits(magnitude -
					      ((uint32_t)(FLOAT_BIAS - f.bias) << FLOAT_MANTISSA),
				      FLOAT_MANTISSA - f.mantissa);
	else
		code = (uint32_t)nearbyint(ldexp(fabs((double)x), f.bias - 1 + f.mantissa));
	if (code == 0 && !format.infinite)
		sign = 0;
	return sign | (code <= f.largest ? code : format.finite ? f.largest : f.beyond);
}

static inline float decode_one_code(const struct layout *f, uint32_t bits)
{
	const uint32_t code = bits & (f->sign - 1u), sign = bits & f->sign ? UINT32_C(1) << 31 : 0;
	const float normal = float_of((code << (FLOAT_MANTISSA - f->mantissa)) +
				      ((uint32_t)(FLOAT_BIAS - f->bias) << FLOAT_MANTISSA)),
		    special = code == f->beyond && f->beyond != f->nan ? INFINITY : NAN;
	const float value = code > f->largest          ? special
			    : code >> f->mantissa == 0 ? (float)(int32_t)code * f->least
						       : normal;
	return float_of(bits_of(value) | sign);
}

float minifloat_decode(struct minifloat_format format, uint32_t bits)
{
	const struct layout f = layout_of(format);
	return decode_one_code(&f, bits);
}

void minifloat_decode_array(struct minifloat_format format, const void *codes, size_t code_bytes,
			    size_t count, float *values)
{
	const struct layout f = layout_of(format);
	for (size_t i = 0; i < count; i++)
		values[i] = decode_one_code(&f, code_bytes == 1 ? ((const uint8_t *)codes)[i]
								: ((const uint16_t *)codes)[i]);
}
