/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/product.h"

#include <math.h>
#include <unistd.h>

#include "tests/fakes/driver.h"
#include "tests/unit/small_floats.h"

#define BLOCKS_MOST 8u
#define CUT_BITS 13
#define CUT_TERMS 32u
#define PROMOTED_TERMS 128u

static const struct small_float tf32 = {8, 10, true};

static double load(enum product_type type, const void *matrix, uint64_t index)
{
	switch (type) {
	case PRODUCT_F64:
		return ((const double *)matrix)[index];
	case PRODUCT_TF32:
		return small_decode(&tf32, small_encode(&tf32, (double)((const float *)matrix)[index]));
	case PRODUCT_F16:
		return small_decode(&small_f16, ((const uint16_t *)matrix)[index]);
	case PRODUCT_BF16:
		return small_decode(&small_bf16, ((const uint16_t *)matrix)[index]);
	case PRODUCT_F8:
		return small_decode(&small_e4m3, ((const uint8_t *)matrix)[index]);
	case PRODUCT_F32:
		break;
	}
	return (double)((const float *)matrix)[index];
}

static void store(enum product_type type, void *matrix, uint64_t index, double value)
{
	if (type == PRODUCT_F64)
		((double *)matrix)[index] = value;
	else if (type == PRODUCT_F16)
		((uint16_t *)matrix)[index] = (uint16_t)small_encode(&small_f16, value);
	else if (type == PRODUCT_BF16)
		((uint16_t *)matrix)[index] = (uint16_t)small_encode(&small_bf16, value);
	else
		((float *)matrix)[index] = (float)value;
}

static double cut(double sum)
{
	int exponent;
	const double fraction = frexp(sum, &exponent); /* 0.5 to 1: one bit more than the mantissa has */
	return ldexp(trunc(ldexp(fraction, CUT_BITS + 1)), exponent - CUT_BITS - 1);
}

static double sum_of(const struct product *p, uint64_t row, uint64_t column)
{
	double sum = 0, promoted = 0;
	for (uint64_t i = 0; i < p->k; i++) {
		sum += load(p->type, p->a, p->a_transposed ? row * p->lda + i : i * p->lda + row) *
		       load(p->type, p->b, p->b_transposed ? i * p->ldb + column : column * p->ldb + i);
		if (p->type == PRODUCT_F8 && (i + 1) % CUT_TERMS == 0)
			sum = cut(sum);
		if (p->type == PRODUCT_F8 && !p->fast_accumulation && (i + 1) % PROMOTED_TERMS == 0) {
			promoted += sum;
			sum = 0;
		}
	}
	return promoted + sum;
}

static void multiply(uint32_t block, uint32_t blocks, void *argument)
{
	const struct product *p = argument;
	if (block == 0 && p->extra_us)
		usleep(p->extra_us);
	for (uint64_t column = block; column < p->n; column += blocks) {
		for (uint64_t row = 0; row < p->m; row++) {
			double value = p->alpha * sum_of(p, row, column);
			if (p->beta != 0)
				value += p->beta * load(p->result, p->c, column * p->ldc + row);
			store(p->result, p->d, column * p->ldd + row, value);
		}
	}
}

int product_enqueue(void *stream, const struct product *p)
{
	return driver_enqueue(stream, p->n < BLOCKS_MOST ? (uint32_t)p->n : BLOCKS_MOST, multiply, p, sizeof(*p));
}
