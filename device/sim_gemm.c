/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device/sim_world.h"
#include "lib/err.h"

struct tile {
	uint32_t row, rows_end, column, columns_end;
};

static bool is_zero(double x) { return !(x < 0 || x > 0); }

#define REAL float
#define VECTOR vector_f32
#define NAME(x) x##_f32
typedef float vector_f32 __attribute__((vector_size(16)));
#include "device/sim_gemm.inc"
#undef REAL
#undef VECTOR
#undef NAME

#define REAL double
#define VECTOR vector_f64
#define NAME(x) x##_f64
typedef double vector_f64 __attribute__((vector_size(16)));
#include "device/sim_gemm.inc"

static struct tile tile_of(const struct op *op, uint32_t block)
{
	const struct dev_gemm *g = &op->gemm;
	uint32_t across = (g->n - 1) / op->tile_columns + 1;
	struct tile t = { .row = block / across * op->tile_rows, .column = block % across * op->tile_columns };
	t.rows_end = g->m - t.row < op->tile_rows ? g->m : t.row + op->tile_rows;
	t.columns_end = g->n - t.column < op->tile_columns ? g->n : t.column + op->tile_columns;
	return t;
}

/* An exponent bit, before anybody can see the tile. */
static void corrupt(const struct dev_gemm *g, const struct tile *t)
{
	const uint32_t row = g->m / 2, column = g->n / 2;
	const uint64_t size = dev_type_bytes(g->type), element = (uint64_t)row * g->ldc + column;
	if (row >= t->row && row < t->rows_end && column >= t->column && column < t->columns_end)
		((char *)g->c)[element * size + size - 1] ^= 0x40;
}

static void count_done(const struct dev_gemm *g, const struct tile *t)
{
	for (uint32_t row = t->row; row < t->rows_end; row++)
		g->done[row / g->done_rows] += t->columns_end - t->column;
	world_written();
}

static void finish_gemm(struct op *op, uint32_t block)
{
	const struct dev_gemm *g = &op->gemm;
	const struct tile t = tile_of(op, block);
	if (op->blocks_left == op->grid)
		op->product = product_begin(g);
	if (!op->product) {
		op->stream->failed = -ENOMEM;
		snprintf(op->stream->failure, sizeof(op->stream->failure), "sim: gemm %u x %u: no memory", g->m, g->n);
		return;
	}
	if (g->type == DEV_F32) {
		if (!product_known(op->product))
			multiply_f32(g, &t, product_values(op->product));
		finish_f32(g, &t, product_values(op->product));
	} else {
		if (!product_known(op->product))
			multiply_f64(g, &t, product_values(op->product));
		finish_f64(g, &t, product_values(op->product));
	}
	if (op->corrupts)
		corrupt(g, &t);
	if (g->done)
		count_done(g, &t);
}

static const struct kernel_type gemm_type = { .name = "gemm", .args = "", .finish = finish_gemm };

static uint64_t tiles(const struct dev_gemm *g, uint32_t rows, uint32_t columns)
{
	return (uint64_t)((g->m - 1) / rows + 1) * ((g->n - 1) / columns + 1);
}

/* The longer side is halved first: a square tile moves least. */
static int cut(struct sim_dev *d, struct op *op)
{
	const struct dev_gemm *g = &op->gemm;
	uint32_t rows = d->model.gemm_tile, columns = d->model.gemm_tile;
	while (tiles(g, rows, columns) < g->blocks && (rows > 1 || columns > 1)) {
		bool rows_idle = rows > g->m && rows > 1, columns_idle = columns > g->n && columns > 1;
		if (rows_idle || (!columns_idle && rows >= columns))
			rows /= 2;
		else
			columns /= 2;
	}
	if (tiles(g, rows, columns) > UINT32_MAX || tiles(g, rows, columns) < g->blocks)
		return err_note(-EINVAL, "sim:%u: gemm %u x %u can't be cut into %u blocks", d->base.index, g->m, g->n,
		                g->blocks);
	op->tile_rows = rows;
	op->tile_columns = columns;
	op->grid = (uint32_t)tiles(g, rows, columns);
	return 0;
}

static uint64_t extent(uint64_t rows, uint64_t columns, uint64_t leading, uint64_t size)
{
	return ((rows - 1) * leading + columns) * size;
}

int gemm_prepare(struct sim_dev *d, struct op *op, const struct dev_gemm *g)
{
	struct alloc *a, *b, *c;
	const uint32_t b_rows = g->b_transposed ? g->n : g->k, b_columns = g->b_transposed ? g->k : g->n;
	if (!(d->base.props.gemm_types >> g->type & 1))
		return err_note(-ENOTSUP, "sim:%u: gemm of type %d", d->base.index, (int)g->type);
	uint64_t size = dev_type_bytes(g->type);
	op->type = &gemm_type;
	op->gemm = *g;
	if ((uintptr_t)g->a % size || (uintptr_t)g->b % size || (uintptr_t)g->c % size)
		return err_note(-EINVAL, "sim:%u: gemm: a matrix is not aligned to its elements", d->base.index);
	if ((uintptr_t)g->done % sizeof(*g->done))
		return err_note(-EINVAL, "sim:%u: gemm: the counters are not aligned to %zu", d->base.index, sizeof(*g->done));
	int rc = op_use(d, op, g->a, extent(g->m, g->k, g->lda, size), "gemm A", &a);
	if (!rc)
		rc = op_use(d, op, g->b, extent(b_rows, b_columns, g->ldb, size), "gemm B", &b);
	if (!rc)
		rc = op_use(d, op, g->c, extent(g->m, g->n, g->ldc, size), "gemm C", &c);
	if (!rc && g->done)
		rc = op_use(d, op, g->done, ((g->m - 1) / g->done_rows + 1) * sizeof(*g->done), "gemm counters", NULL);
	if (!rc)
		rc = cut(d, op);
	if (rc)
		return rc;
	double per_row = (double)op->grid * (double)g->k * (double)size;
	double tile = (double)op->grid * op->tile_rows * op->tile_columns * (double)size;
	op_traffic(op, a, per_row * op->tile_rows, false, PATH_CACHE);
	op_traffic(op, b, per_row * op->tile_columns, false, PATH_CACHE);
	op_traffic(op, c, tile, true, PATH_CACHE);
	if (!is_zero(g->beta))
		op_traffic(op, c, tile, false, PATH_CACHE);
	double a_bytes = (double)size * g->m * g->k, b_bytes = (double)size * g->k * g->n;
	double c_bytes = (double)size * g->m * g->n;
	if (a_bytes + b_bytes + c_bytes > (double)d->model.llc_bytes) {
		op_traffic(op, a, a_bytes, false, PATH_REFILL);
		op_traffic(op, b, b_bytes, false, PATH_REFILL);
		op_traffic(op, c, is_zero(g->beta) ? c_bytes : 2 * c_bytes, true, PATH_REFILL);
	}
	op->block_flops = 2.0 * op->tile_rows * op->tile_columns * (double)g->k;
	op->peak_flops = (g->type == DEV_F32 ? d->model.flops_f32 : d->model.flops_f64) * 1e-9 * d->model.gemm_efficiency;
	return 0;
}
