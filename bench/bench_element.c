/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_element.h"
#include "lib/minifloat.h"

/* Of what is narrower than float. */
static struct minifloat_format format_of(enum dev_type type)
{
	const struct dev_type_traits *t = &dev_types[type];
	return (struct minifloat_format){t->exponent_bits, t->mantissa_bits, t->infinite};
}

static float round_to_type(enum dev_type type, float value)
{
	const struct minifloat_format format = format_of(type);
	return minifloat_decode(format, minifloat_encode(format, value));
}

void element_store(enum dev_type type, void *elements, uint64_t i, double value)
{
	switch (dev_types[type].bytes) {
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

double element_load(enum dev_type type, const void *elements, uint64_t i)
{
	switch (dev_types[type].bytes) {
	case 8:
		return ((const double *)elements)[i];
	case 4:
		return (double)((const float *)elements)[i];
	case 2:
		return (double)minifloat_decode(format_of(type), ((const uint16_t *)elements)[i]);
	default:
		return (double)minifloat_decode(format_of(type), ((const uint8_t *)elements)[i]);
	}
}

void element_gemv(const struct element_matrix *x, bool transposed, const double *t, double *y)
{
	for (uint32_t row = 0; row < x->rows; row++)
		for (uint32_t column = 0; column < x->columns; column++)
			y[transposed ? column : row] +=
				element_load(x->type, x->elements,
					     (uint64_t)row * x->columns + column) *
				t[transposed ? row : column];
}
