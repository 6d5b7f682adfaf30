/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/gemm.h"
#include "tests/fakes/driver.h"
#include "tests/unit/device/minifloat_arrays.h"

#include <math.h>
#include <unistd.h>

#define BLOCKS_MAX 8u
#define CUT_BITS 13
#define CUT_TERMS 32u
#define PROMOTED_TERMS 128u

static double load_fnuz(const void *matrix, uint64_t index)
{
	const uint8_t code = ((const uint8_t *)matrix)[index], rest = code & 0x7f,
		      field = rest >> 3;
	const double size = field ? ldexp(8 + (rest & 7), field - 11) : ldexp(rest, -10);
	return code == 0x80 ? (double)NAN : code & 0x80 ? -size : size;
}

/* Units round what they multiply. */
static double load_element(enum dev_type type, const void *matrix, uint64_t index)
{
	const struct small_float format = small_of(type);
	const double value = element_get(matrix, type, index);
	return type == DEV_TF32 ? small_decode(&format, small_encode(&format, value)) : value;
}

static double truncate_mantissa(double sum)
{
	int exponent;
	const double fraction =
		frexp(sum, &exponent); /* 0.5 to 1: has one bit more than the mantissa */
	return ldexp(trunc(ldexp(fraction, CUT_BITS + 1)), exponent - CUT_BITS - 1);
}

/* The tests' own layout, by cuBLAS' manual: tiles of 128 x 4 follow each other along a row of
 * blocks. */
static double scale_of(const struct fake_gemm *p, const uint8_t *scales, uint64_t line, uint64_t i)
{
	const struct dev_type_traits *t = &dev_types[p->type];
	if (!t->block)
		return 1;
	const uint64_t block = i / t->block, blocks = p->k / t->block, across = (blocks + 3) / 4,
		       tiled = (line / 128 * across + block / 4) * 512 + line % 32 * 16 +
			       line / 32 % 4 * 4 + block % 4,
		       code = scales[p->scale_tiles ? tiled : line * blocks + block];
	return t->scale == DEV_SCALE_E8M0 ? ldexp(1, (int)code - 127)
					  : small_decode(&small_e4m3, code & 0x7f);
}

static double row_times_column(const struct fake_gemm *p, uint64_t row, uint64_t column)
{
	double sum = 0, promoted = 0;
	for (uint64_t i = 0; i < p->k; i++) {
		const uint64_t a = p->a_transposed ? row * p->lda + i : i * p->lda + row,
			       b = p->b_transposed ? i * p->ldb + column : column * p->ldb + i;
		sum += p->is_fnuz
			       ? load_fnuz(p->a, a) * load_fnuz(p->b, b)
			       : load_element(p->type, p->a, a) * load_element(p->type, p->b, b) *
					 scale_of(p, p->a_scales, row, i) *
					 scale_of(p, p->b_scales, column, i);
		if (p->type == DEV_F8 && (i + 1) % CUT_TERMS == 0)
			sum = truncate_mantissa(sum);
		if (p->type == DEV_F8 && !p->fast_accumulation && (i + 1) % PROMOTED_TERMS == 0) {
			promoted += sum;
			sum = 0;
		}
	}
	return promoted + sum;
}

void fake_gemm_compute(const struct fake_gemm *p, uint32_t block, uint32_t blocks)
{
	for (uint64_t column = block; column < p->n; column += blocks) {
		for (uint64_t row = 0; row < p->m; row++) {
			double value = p->alpha * row_times_column(p, row, column);
			if (p->beta != 0)
				value += p->beta *
					 load_element(p->result, p->c, column * p->ldc + row);
			element_set(p->d, p->result, column * p->ldd + row, value);
		}
	}
}

static void gemm_block(uint32_t block, uint32_t blocks, void *argument)
{
	const struct fake_gemm *p = argument;
	if (block == 0 && p->extra_us)
		usleep(p->extra_us);
	fake_gemm_compute(p, block, blocks);
}

int fake_gemm_enqueue(void *stream, const struct fake_gemm *p)
{
	return driver_enqueue(stream, p->n < BLOCKS_MAX ? (uint32_t)p->n : BLOCKS_MAX, gemm_block,
			      p, sizeof(*p));
}
