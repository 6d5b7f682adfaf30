/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_element.h"
#include "lib/minifloat.h"

#include <math.h>
#include <string.h>

/* Elements are decoded so many at a time, and added up in so many sums: one sum alone would wait
 * for each addition. */
#define DECODED 1024u
#define SUMS 8u
#define LARGEST_F4 6.0

/* Format of an element type narrower than float. */
static struct minifloat_format format_of(enum dev_type type)
{
	const struct dev_type_traits *t = &dev_types[type];
	return (struct minifloat_format){t->exponent_bits, t->mantissa_bits, t->infinite,
					 t->bits < 8};
}

static float round_to_type(enum dev_type type, float value)
{
	const struct minifloat_format format = format_of(type);
	return minifloat_decode(format, minifloat_encode(format, value));
}

double element_unit(enum dev_type type)
{
	return dev_type_is_integer(type)  ? ldexp(1.0, dev_types[type].mantissa_bits) - 1.0
	       : dev_types[type].bits < 8 ? LARGEST_F4
					  : 1.0;
}

static void store_f4(enum dev_type type, void *elements, uint64_t i, double value)
{
	uint8_t *pair = (uint8_t *)elements + i / 2;
	const unsigned shift = i % 2 * 4, code = minifloat_encode(format_of(type), (float)value);
	*pair = (uint8_t)((*pair & 0xf0u >> shift) | code << shift);
}

static void store_integer(enum dev_type type, void *elements, uint64_t i, double value)
{
	if (dev_types[type].bytes == 4)
		((int32_t *)elements)[i] = (int32_t)rint(value);
	else
		((int8_t *)elements)[i] = (int8_t)rint(value);
}

void element_store(enum dev_type type, void *elements, uint64_t i, double value)
{
	if (dev_type_is_integer(type)) {
		store_integer(type, elements, i, value);
		return;
	}
	switch (dev_types[type].bytes) {
	case 0:
		store_f4(type, elements, i, value);
		break;
	case 8:
		((double *)elements)[i] = value;
		break;
	case 4:
		((float *)elements)[i] =
			type == DEV_TF32 ? round_to_type(type, (float)value) : (float)value;
		break;
	case 2:
		((uint16_t *)elements)[i] =
			(uint16_t)minifloat_encode(format_of(type), (float)value);
		break;
	default:
		((uint8_t *)elements)[i] = (uint8_t)minifloat_encode(format_of(type), (float)value);
	}
}

static void load_narrow(enum dev_type type, const char *from, size_t count, double *values)
{
	float decoded[DECODED];
	const uint32_t each = dev_types[type].bytes;
	for (size_t at = 0; at < count; at += DECODED) {
		const size_t some = count - at < DECODED ? count - at : DECODED;
		minifloat_decode_array(format_of(type), from + at * each, each, some, decoded);
		for (size_t i = 0; i < some; i++)
			values[at + i] = (double)decoded[i];
	}
}

static void load_f4(enum dev_type type, const uint8_t *elements, uint64_t first, size_t count,
		    double *values)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t at = first + i;
		const unsigned code = elements[at / 2] >> (at % 2 * 4) & 15u;
		values[i] = (double)minifloat_decode(format_of(type), code);
	}
}

static void load_integers(enum dev_type type, const char *from, size_t count, double *values)
{
	for (size_t i = 0; i < count; i++)
		values[i] = dev_types[type].bytes == 4 ? ((const int32_t *)from)[i]
						       : ((const int8_t *)from)[i];
}

void element_load_array(enum dev_type type, const void *elements, uint64_t first, size_t count,
			double *values)
{
	const uint32_t each = dev_types[type].bytes;
	const char *from = (const char *)elements + first * each;
	if (each == 0)
		load_f4(type, elements, first, count, values);
	else if (dev_type_is_integer(type))
		load_integers(type, from, count, values);
	else if (each < 4)
		load_narrow(type, from, count, values);
	else if (each == 8)
		memcpy(values, from, count * sizeof(*values));
	else
		for (size_t i = 0; i < count; i++)
			values[i] = (double)((const float *)from)[i];
}

double element_load(enum dev_type type, const void *elements, uint64_t i)
{
	double value;
	element_load_array(type, elements, i, 1, &value);
	return value;
}

double element_at(const struct element_matrix *x, uint32_t row, uint32_t column)
{
	const uint64_t i = x->first + (uint64_t)row * x->columns + column;
	return element_load(x->type, x->elements, x->period ? i % x->period : i);
}

static double multiply_and_add_up(const double *x, const double *t, size_t count)
{
	double sums[SUMS] = {0.0}, sum = 0.0;
	size_t i = 0;
	for (; i + SUMS <= count; i += SUMS)
		for (size_t j = 0; j < SUMS; j++)
			sums[j] += x[i + j] * t[i + j];
	for (; i < count; i++)
		sum += x[i] * t[i];
	for (size_t j = 0; j < SUMS; j++)
		sum += sums[j];
	return sum;
}

void element_gemv(const struct element_matrix *x, bool transposed, const double *t, double *y)
{
	double values[DECODED] = {0.0};
	uint64_t next = x->first; /* element of the period */
	for (uint32_t row = 0; row < x->rows; row++)
		for (uint32_t column = 0, some; column < x->columns; column += some) {
			some = x->columns - column < DECODED ? x->columns - column : DECODED;
			if (x->period && x->period - next < some)
				some = (uint32_t)(x->period - next);
			element_load_array(x->type, x->elements, next, some, values);
			next = next + some == x->period ? 0 : next + some;
			if (!transposed)
				y[row] += multiply_and_add_up(values, t + column, some);
			for (uint32_t i = 0; transposed && i < some; i++)
				y[column + i] += values[i] * t[row];
		}
}
