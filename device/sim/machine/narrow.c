/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMM of types narrower than f32, as units with f32 sums compute it: A and B are decoded, which is
 * exact, multiplied and added in f32, and C is rounded to its type once. tf32 is stored as f32; its
 * operands are rounded to the bits that a unit multiplies. Integers become i32, and so is C.
 */
#include "device/sim/machine/narrow.h"
#include "lib/bf16.h"
#include "lib/minifloat.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool sim_narrow_is(enum dev_type type) { return dev_types[type].mantissa_bits < FLT_MANT_DIG - 1; }

bool sim_narrow_is_rounded(const struct dev_gemm *g)
{
	return sim_narrow_is(g->type) && !dev_type_is_integer(g->type) &&
	       !(g->beta < 0 || g->beta > 0);
}

static struct minifloat_format format_of(enum dev_type type)
{
	const struct dev_type_traits *t = &dev_types[type];
	return (struct minifloat_format){t->exponent_bits, t->mantissa_bits, t->infinite,
					 t->bits < 8};
}

static uint32_t bits_of(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* ------------------------------------------------------------------ elements in a row */

/* The types of C have quick ways, with the results of lib/minifloat.h. */
static void decode_bf16(const uint16_t *from, uint32_t count, float *to)
{
	for (uint32_t i = 0; i < count; i++)
		to[i] = bf16_decode(from[i]);
}

static void encode_bf16(const float *from, uint32_t count, uint16_t *to)
{
	for (uint32_t i = 0; i < count; i++)
		to[i] = bf16_encode(from[i]);
}

/* Numbers that are normal in f16, and not of its largest exponent, are rounded here. */
static void encode_f16(const float *from, uint32_t count, uint16_t *to)
{
	const uint32_t rebias = 112u << 23, least = 113u << 23, most = 142u << 23;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t bits = bits_of(from[i]), magnitude = bits & 0x7fffffff;
		const uint32_t rounded = magnitude - rebias + 0xfff + (magnitude >> 13 & 1);
		to[i] = magnitude - least < most - least
				? (uint16_t)((bits >> 16 & 0x8000) | rounded >> 13)
				: (uint16_t)minifloat_encode(format_of(DEV_F16), from[i]);
	}
}

void sim_narrow_decode(enum dev_type type, const void *from, uint32_t count, float *to)
{
	const struct minifloat_format format = format_of(type);
	if (type == DEV_BF16) {
		decode_bf16(from, count, to);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t code =
			dev_types[type].bits == 32
				? minifloat_encode(format, ((const float *)from)[i])
			: dev_types[type].bits == 16 ? ((const uint16_t *)from)[i]
			: dev_types[type].bits == 8
				? ((const uint8_t *)from)[i]
				: (uint32_t)((const uint8_t *)from)[i / 2] >> (i % 2 * 4) & 15u;
		to[i] = minifloat_decode(format, code);
	}
}

void sim_narrow_round(enum dev_type result, const float *from, uint32_t count, void *to)
{
	if (result == DEV_F32)
		memcpy(to, from, count * sizeof(*from));
	else if (result == DEV_BF16)
		encode_bf16(from, count, to);
	else
		encode_f16(from, count, to);
}

/* ------------------------------------------------------------------ matrices */

/* Bytes of a decoded element. */
#define DECODED 4u
_Static_assert(sizeof(float) == DECODED && sizeof(int32_t) == DECODED,
	       "decoded elements of all types are as large");

static int32_t decode_integer(int8_t element) { return element; }

/* `scales`: those of the row; NULL: none. */
static void decode_row(enum dev_type type, const void *from, const uint8_t *scales, uint32_t count,
		       void *to)
{
	const struct dev_type_traits *t = &dev_types[type];
	const int8_t *small = from;
	int32_t *integers = to;
	float *floats = to;
	for (uint32_t i = 0; i < count && dev_type_is_integer(type); i++)
		integers[i] = decode_integer(small[i]);
	if (dev_type_is_integer(type))
		return;
	sim_narrow_decode(type, from, count, to);
	for (uint32_t i = 0; i < count && scales; i++)
		floats[i] *= dev_scale_value(t->scale, scales[i / t->block]);
}

/* Scales of row `row` of A, or of B as it is given; NULL where the type has none. */
static const uint8_t *scales_of_row(const struct dev_gemm *g, const void *scales, uint32_t row)
{
	const uint32_t block = dev_types[g->type].block;
	return block ? (const uint8_t *)scales + dev_scale_index(false, g->k / block, row, 0)
		     : NULL;
}

/* B that is given as n x k is turned, so that the rows of every B are contiguous. */
static bool decode_turned(const struct dev_gemm *g, uint64_t columns, char *to)
{
	char *column = malloc(g->k * DECODED);
	const char *b = g->b;
	if (!column)
		return false;
	for (uint64_t at = 0; at < columns; at++, b += dev_type_array_bytes(g->type, g->ldb)) {
		const uint64_t group = at / g->n;
		const uint32_t j = (uint32_t)(at % g->n);
		decode_row(g->type, b, scales_of_row(g, g->b_scales, j), g->k, column);
		for (uint32_t k = 0; k < g->k; k++)
			memcpy(to + ((group * g->k + k) * g->n + j) * DECODED, column + k * DECODED,
			       DECODED);
	}
	free(column);
	return true;
}

static void decode_a(const struct dev_gemm *g, char *to)
{
	const char *at = g->a;
	for (uint32_t i = 0; i < g->m; i++, to += g->k * DECODED)
		decode_row(g->type, at + i * dev_type_array_bytes(g->type, g->lda),
			   scales_of_row(g, g->a_scales, i), g->k, to);
}

/* B that is given as k x n, which has no scales, of every group. */
static void decode_b(const struct dev_gemm *g, uint64_t rows, char *to)
{
	const char *at = g->b;
	for (uint64_t i = 0; i < rows; i++, to += g->n * DECODED)
		decode_row(g->type, at + i * dev_type_array_bytes(g->type, g->ldb), NULL, g->n, to);
}

bool sim_narrow_open(struct sim_narrow *w, const struct dev_gemm *g)
{
	const uint64_t groups = g->groups ? g->groups : 1;
	const uint64_t a_count = (uint64_t)g->m * g->k, b_count = groups * g->k * g->n;
	const uint64_t ab_count = sim_narrow_is_rounded(g) ? (uint64_t)g->m * g->n : 0;
	char *memory = malloc((a_count + b_count + ab_count) * DECODED);
	if (!memory)
		return false;
	w->a = memory;
	w->b = memory + a_count * DECODED;
	w->ab = (float *)w->b + b_count;
	decode_a(g, w->a);
	if (!g->b_transposed)
		decode_b(g, groups * g->k, w->b);
	else if (!decode_turned(g, groups * g->n, w->b))
		sim_narrow_close(w);
	return w->a != NULL;
}

void sim_narrow_close(struct sim_narrow *w)
{
	free(w->a);
	*w = (struct sim_narrow){0};
}

struct dev_gemm sim_narrow_decoded(const struct sim_narrow *w, const struct dev_gemm *g)
{
	struct dev_gemm decoded = *g;
	decoded.type = dev_type_is_integer(g->type) ? DEV_I32 : DEV_F32;
	decoded.a = w->a;
	decoded.b = w->b;
	decoded.lda = g->k;
	decoded.ldb = g->n;
	decoded.b_transposed = false;
	return decoded;
}

/* A row that is added to is done in parts of this many elements. */
#define PART 256u

void sim_narrow_add_row(const struct dev_gemm *g, const float *from, void *c, uint32_t count)
{
	const enum dev_type result = dev_types[g->type].result;
	const float beta = (float)g->beta;
	float old[PART], sum[PART];
	char *to = c;
	for (uint32_t at = 0; at < count; at += PART) {
		const uint32_t part = count - at < PART ? count - at : PART;
		char *here = to + (uint64_t)at * dev_type_bytes(result);
		if (result == DEV_F32)
			memcpy(old, here, part * sizeof(*old));
		else
			sim_narrow_decode(result, here, part, old);
		for (uint32_t i = 0; i < part; i++)
			sum[i] = from[at + i] + beta * old[i];
		sim_narrow_round(result, sum, part, here);
	}
}
