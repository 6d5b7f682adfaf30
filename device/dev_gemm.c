/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev_gemm.h"
#include "device/backends.h"
#include "device/dev.h"
#include "lib/err.h"
#include "lib/minifloat.h"

#include <errno.h>
#include <math.h>

static int check_multiples(const struct dev_gemm *g)
{
	const uint32_t multiple = dev_types[g->type].multiple;
	if (!g->b_transposed)
		return err_note(-EINVAL, "gemm: %s needs B transposed", dev_type_names[g->type]);
	if (g->m % multiple || g->n % multiple || g->k % multiple || g->lda % multiple ||
	    g->ldb % multiple || g->ldc % multiple)
		return err_note(-EINVAL,
				"gemm %u x %u x %u, leading dimensions %u, %u, %u: %s needs "
				"multiples of %u",
				g->m, g->n, g->k, g->lda, g->ldb, g->ldc, dev_type_names[g->type],
				multiple);
	return 0;
}

static int check_integers(const struct dev_gemm *g)
{
	const bool exact = g->alpha >= 1 && g->alpha <= 1 &&
			   ((g->beta >= 0 && g->beta <= 0) || (g->beta >= 1 && g->beta <= 1));
	return exact ? 0
		     : err_note(-EINVAL, "gemm: alpha %g, beta %g; of %s they must be 1 and 0 or 1",
				g->alpha, g->beta, dev_type_names[g->type]);
}

static int check_textbook(const struct dev_gemm *g)
{
	if (g->grid && !g->tile_k)
		return err_note(-EINVAL, "gemm: a grid of %u blocks needs tile_k", g->grid);
	if (g->tile_k == 0)
		return 0;
	if ((g->tile_k != 32 && g->tile_k != 64) || !g->tiled || g->blocks)
		return err_note(-EINVAL,
				"gemm: tile_k %u; must be 32 or 64, with tiled and without blocks",
				g->tile_k);
	if (g->type != DEV_F32 || g->b_transposed)
		return err_note(-ENOTSUP, "gemm: tile_k is supported in f32, without B transposed");
	return 0;
}

static int check_adding(const struct dev *d, const struct dev_gemm *g)
{
	if (g->first_row && !dev_can(d, DEV_CAP_TRACKER))
		return dev_note_not_supported(d, "a gemm with first_row");
	if (g->first_row >= g->m)
		return err_note(-EINVAL, "gemm %u x %u x %u: no row %u", g->m, g->n, g->k,
				g->first_row);
	if (!g->adds)
		return 0;
	if (!g->tiled || g->tile_k || g->beta < 0 || g->beta > 0)
		return err_note(-EINVAL, "gemm: adds with beta %g%s%s", g->beta,
				g->tiled ? "" : ", not tiled", g->tile_k ? ", with tile_k" : "");
	if (!(d->props.gemm_adding_types >> g->type & 1))
		return err_note(-ENOTSUP, "%s:%u: a gemm of %s that adds is not supported",
				d->ops->name, d->index, dev_type_names[g->type]);
	return 0;
}

static int check_groups(const struct dev *d, const struct dev_gemm *g)
{
	const char *why = dev_lack_reason(d, DEV_CAP_GEMM_GROUPED_BIT);
	const uint32_t multiple = dev_types[g->type].multiple;
	uint64_t rows = 0;
	if (g->groups == 0)
		return 0;
	if (g->groups > DEV_GEMM_GROUPS)
		return err_note(-EINVAL, "gemm: %u groups; at most %u", g->groups, DEV_GEMM_GROUPS);
	if (g->tiled || g->fast_accumulation || g->blocks || g->shared_bytes || g->done ||
	    g->first_row)
		return err_note(-EINVAL, "gemm: groups with%s%s%s%s%s%s", g->tiled ? " tiled" : "",
				g->fast_accumulation ? " fast_accumulation" : "",
				g->blocks ? " blocks" : "", g->shared_bytes ? " shared_bytes" : "",
				g->done ? " done" : "", g->first_row ? " first_row" : "");
	for (uint32_t i = 0; i < g->groups; rows += g->group_rows[i++])
		if (g->group_rows[i] % multiple)
			return err_note(-EINVAL,
					"gemm: %u rows in group %u: %s needs multiples of %u",
					g->group_rows[i], i, dev_type_names[g->type], multiple);
	if (rows != g->m)
		return err_note(-EINVAL, "gemm: %llu rows in %u groups are not m, %u",
				(unsigned long long)rows, g->groups, g->m);
	if (!(d->props.gemm_grouped_types >> g->type & 1))
		return err_note(-ENOTSUP, "%s:%u: a grouped gemm of %s is not supported%s%s",
				d->ops->name, d->index, dev_type_names[g->type], why[0] ? ": " : "",
				why);
	return 0;
}

static int check_gemm(const struct dev *d, const struct dev_gemm *g)
{
	const uint32_t rows = d->props.gemm_tile_rows;
	if ((unsigned)g->type >= DEV_TYPES)
		return err_note(-EINVAL, "gemm: unknown element type %u", (unsigned)g->type);
	if (g->m == 0 || g->n == 0 || g->k == 0)
		return err_note(-EINVAL, "gemm %u x %u x %u: a dimension is zero", g->m, g->n,
				g->k);
	if (g->lda < g->k || g->ldb < (g->b_transposed ? g->k : g->n) || g->ldc < g->n)
		return err_note(-EINVAL,
				"gemm %u x %u x %u: a leading dimension (%u, %u, %u) is shorter "
				"than its row",
				g->m, g->n, g->k, g->lda, g->ldb, g->ldc);
	if (g->tiled && !(d->props.gemm_tiled_types >> g->type & 1))
		return err_note(-ENOTSUP, "%s:%u: a tiled gemm of type %u is not supported",
				d->ops->name, d->index, (unsigned)g->type);
	if (g->fast_accumulation && (g->tiled || !(d->props.gemm_fast_types >> g->type & 1)))
		return err_note(-ENOTSUP,
				"%s:%u: a gemm of type %u with fast accumulation is not supported",
				d->ops->name, d->index, (unsigned)g->type);
	if (g->done && (g->done_rows == 0 || rows == 0 || g->done_rows % rows))
		return err_note(-EINVAL,
				"gemm: done_rows %u is not a multiple of the %u rows of a block",
				g->done_rows, rows);
	int status = check_textbook(g);
	if (!status)
		status = check_adding(d, g);
	if (!status)
		status = check_groups(d, g);
	if (!status && dev_type_is_integer(g->type))
		status = check_integers(g);
	return status || dev_types[g->type].multiple == 1 ? status : check_multiples(g);
}

static int check_scales(const struct dev_gemm *g)
{
	const uintptr_t a = (uintptr_t)g->a_scales, b = (uintptr_t)g->b_scales;
	const bool scaled = dev_types[g->type].scale != DEV_SCALE_NONE;
	if (scaled ? a && b && !((a | b) & 15) : !a && !b)
		return 0;
	return err_note(-EINVAL, "gemm: scales at %p and %p; %s %s", g->a_scales, g->b_scales,
			dev_type_names[g->type],
			scaled ? "needs both, at multiples of 16" : "has none");
}

int dev_gemm(struct dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	if (!d->ops->gemm)
		return dev_note_not_supported(d, "gemm");
	int status = check_gemm(d, g);
	if (!status)
		status = check_scales(g);
	return status ? status : d->ops->gemm(d, s, g);
}

int dev_gemm_occupancy(struct dev *d, const struct dev_gemm *g, uint32_t *blocks_p)
{
	if (!d->ops->gemm_occupancy)
		return dev_note_not_supported(d, "gemm_occupancy");
	int status = check_gemm(d, g);
	if (status == 0 && !g->tiled)
		status = err_note(-EINVAL, "gemm: the blocks of a library's GEMM are unknown");
	return status ? status : d->ops->gemm_occupancy(d, g, blocks_p);
}

int dev_gemm_prepare(struct dev *d, const struct dev_gemm *g)
{
	if (!d->ops->gemm)
		return dev_note_not_supported(d, "gemm");
	int status = check_gemm(d, g);
	return status || !d->ops->gemm_prepare ? status : d->ops->gemm_prepare(d, g);
}

int dev_gemm_chosen(struct dev *d, const struct dev_gemm *g, struct dev_gemm_choice *choice_p)
{
	if (!d->ops->gemm_chosen)
		return dev_note_not_supported(d, "gemm_chosen");
	int status = check_gemm(d, g);
	return status ? status : d->ops->gemm_chosen(d, g, choice_p);
}

static const struct minifloat_format e4m3 = {4, 3, false, false};

float dev_scale_value(enum dev_scale type, uint8_t code)
{
	return type == DEV_SCALE_E4M3 ? minifloat_decode(e4m3, code & 0x7fu)
	       : code == 0xff         ? NAN
				      : (float)ldexp(1.0, code - 127);
}

uint8_t dev_scale_code(enum dev_scale type, float value)
{
	return (uint8_t)(type == DEV_SCALE_E4M3 ? (int)minifloat_encode(e4m3, value)
						: ilogbf(value) + 127);
}

/* Bytes from the first element of a matrix to past the last; UINT64_MAX on overflow. */
static uint64_t matrix_bytes(uint64_t rows, uint64_t columns, uint64_t leading, enum dev_type type)
{
	uint64_t elements = (rows - 1) * leading + columns;
	return elements > UINT64_MAX / sizeof(double) ? UINT64_MAX
						      : dev_type_array_bytes(type, elements);
}

size_t dev_gemm_ranges(const struct dev *d, const struct dev_gemm *g,
		       struct dev_range ranges[DEV_GEMM_RANGES])
{
	const enum dev_type in = g->type, out = dev_types[g->type].result;
	const uint32_t block = dev_types[g->type].block;
	size_t count = 3;
	uint64_t b_rows = (g->b_transposed ? g->n : g->k) * (uint64_t)(g->groups ? g->groups : 1),
		 b_columns = g->b_transposed ? g->k : g->n;
	ranges[0] = (struct dev_range){.ptr = g->a, .bytes = matrix_bytes(g->m, g->k, g->lda, in)};
	ranges[1] = (struct dev_range){.ptr = g->b,
				       .bytes = matrix_bytes(b_rows, b_columns, g->ldb, in)};
	ranges[2] = (struct dev_range){.ptr = g->c, .bytes = matrix_bytes(g->m, g->n, g->ldc, out)};
	for (int i = 0; i < 2 && block; i++)
		ranges[count++] =
			(struct dev_range){.ptr = i ? g->b_scales : g->a_scales,
					   .bytes = dev_scale_bytes(d->props.scale_tiles,
								    i ? g->n : g->m, g->k / block)};
	if (g->done) {
		const uint64_t bands = (g->m - 1) / g->done_rows + 1;
		ranges[count++] =
			(struct dev_range){.ptr = g->done, .bytes = bands * sizeof(*g->done)};
	}
	return count;
}
