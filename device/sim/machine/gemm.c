/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TILES. A GEMM cuts C into tiles of gemm_tile x gemm_tile_columns. The longer side is halved until
 * there are enough blocks, the sums of a tile fit into the registers and, with gemm_tile_min, there
 * is a tile for every unit, but then to no side below that. An edge tile costs a whole one. A tile
 * of r x c moves (r + c) * k elements of A and B and r * c of C (2 r * c with beta), each of its
 * own type's bytes; of its own device's matrices gemm_traffic_share of that passes unit and cache
 * (less than all where units that need the same read it once, or keep it nearer). It runs at
 * gemm_efficiency * flops of its type. A launch of it takes gemm_ns more than
 * launch_ns, whatever its size, and a block gemm_block_ns more than block_ns, whatever K. Matrices
 * larger than llc_bytes also pass memory once (C twice with beta), unless llc_tracked is 1. Where
 * memory adds to C (MEMORY), each of its elements passes that memory once, and no cache, so that A
 * and B alone count as the matrices. `tiled`, counting rows and a transposed B cost nothing. With
 * tile_k the tiles are DEV_GEMM_TILE^2, tile_k costs its claim alone, and the tiles of a block are
 * one flow. Types without a rate of their own (flops_bf16 ...) are -ENOTSUP. Narrow A and B are
 * decoded, tf32 rounded to its bits; every product and sum is rounded to f32, and C to its type, to
 * nearest; of i8 nothing is. Scales, which are in no tiles, multiply what was decoded, exactly, and
 * pass with A and B, as bytes of theirs. A GEMM of a narrow type reads A and B when its first block
 * ends.
 *
 * WAVES. A GEMM M x N x K whose matrices are too much runs in waves. A wave is sm x sn tiles of r x
 * c, as square as the blocks w allow that are resident at once (units * blocks of one unit, at most
 * the grid): sm = floor(sqrt(w)) and sn = floor(w / sm), neither more than C has tiles, and then sm
 * = floor(w / sn), too. Waves go along N first. A passes memory ceil(N / (sn * c)) times, but once
 * if sm * r rows of it take at most half of llc_bytes; B ceil(M / (sm * r)) times, but once if all
 * of it takes at most half of llc_bytes; C once, and once more with beta. That is never more than
 * what the tiles move, if gemm_traffic_share is 1. Where memory adds to C, C takes no place: then
 * all of llc_bytes counts instead of half. Then the cache has the last of A, B and C, used in this
 * order.
 *
 * GROUPS. A grouped GEMM is one launch of the tiles of all its groups, group after group, none with
 * rows of two. Tiles are those of a GEMM of the rows of its tallest group. Each matrix of B of a
 * group with rows passes memory as that of a GEMM of its rows would.
 *
 * A GEMM with first_row computes the rows of tiles in another order, at the same cost.
 */
#include "device/sim/machine/gemm.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/gemm_cache.h"
#include "device/sim/machine/kernels.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/redirect.h"
#include "device/sim/machine/streams.h"

#include <errno.h>
#include <math.h>
#include <string.h>

double sim_gemm_flops(const struct sim_model *m, enum dev_type type)
{
	const double flops[DEV_TYPES] = {
		[DEV_F32] = m->flops_f32,  [DEV_F64] = m->flops_f64,   [DEV_TF32] = m->flops_tf32,
		[DEV_F16] = m->flops_f16,  [DEV_BF16] = m->flops_bf16, [DEV_F8] = m->flops_f8,
		[DEV_I8] = m->flops_i8,    [DEV_MXF8] = m->flops_mxf8, [DEV_MXF4] = m->flops_mxf4,
		[DEV_NVF4] = m->flops_nvf4};
	return flops[type];
}

static bool is_zero(double x) { return !(x < 0 || x > 0); }

#define REAL float
#define VECTOR vector_f32
#define NAME(x) x##_f32
typedef float vector_f32 __attribute__((vector_size(16)));
#include "device/sim/machine/gemm.inc"
#undef REAL
#undef VECTOR
#undef NAME

#define REAL double
#define VECTOR vector_f64
#define NAME(x) x##_f64
typedef double vector_f64 __attribute__((vector_size(16)));
#include "device/sim/machine/gemm.inc"
#undef REAL
#undef VECTOR
#undef NAME

/* Integers. Unsigned, so that sums may wrap. */
#define REAL uint32_t
#define VECTOR vector_i32
#define NAME(x) x##_i32
typedef uint32_t vector_i32 __attribute__((vector_size(16)));
#include "device/sim/machine/gemm.inc"

static uint32_t count_parts(uint32_t rows, uint32_t part)
{
	return rows / part + (rows % part > 0);
}

struct tile sim_gemm_tile(const struct op *op, uint32_t number)
{
	const struct dev_gemm *g = &op->work->gemm;
	const uint32_t across = (g->n - 1) / op->tile_columns + 1,
		       at = (uint32_t)(((uint64_t)op->first_tile + number) % op->tiles);
	struct tile t = {.column = at % across * op->tile_columns};
	uint32_t down = at / across, end = g->m;
	for (; t.group < g->groups; t.row += g->group_rows[t.group++]) {
		const uint32_t own = count_parts(g->group_rows[t.group], op->tile_rows);
		end = t.row + g->group_rows[t.group];
		if (down < own)
			break;
		down -= own;
	}
	t.row += down * op->tile_rows;
	t.rows_end = end - t.row < op->tile_rows ? end : t.row + op->tile_rows;
	t.columns_end = g->n - t.column < op->tile_columns ? g->n : t.column + op->tile_columns;
	return t;
}

/* Flips an exponent bit of the element in the middle of C, before the tile can be seen. */
static void corrupt_tile(const struct dev_gemm *g, const struct tile *t)
{
	const uint32_t row = g->m / 2, column = g->n / 2;
	const uint64_t size = dev_type_result_bytes(g->type),
		       element = (uint64_t)row * g->ldc + column;
	if (row >= t->row && row < t->rows_end && column >= t->column && column < t->columns_end)
		((char *)g->c)[element * size + size - 1] ^= 0x40;
}

static void count_done(const struct dev_gemm *g, const struct tile *t)
{
	for (uint32_t row = t->row; row < t->rows_end; row++)
		g->done[row / g->done_rows] += t->columns_end - t->column;
	sim_memory_written();
}

/* The same with the matrix of B that the tile needs. */
static struct dev_gemm gemm_of_tile(const struct dev_gemm *g, const struct tile *t)
{
	struct dev_gemm own = *g;
	own.b = (const char *)g->b +
		dev_type_array_bytes(g->type, t->group * dev_gemm_group_stride(g));
	return own;
}

static void finish_narrow(const struct dev_gemm *g, const struct tile *t,
			  struct sim_gemm_result *result)
{
	const enum dev_type type = dev_types[g->type].result;
	const struct sim_narrow *w = sim_gemm_cache_narrow(result);
	const struct dev_gemm all = sim_narrow_decoded(w, g), f32 = gemm_of_tile(&all, t);
	const bool computed = sim_gemm_cache_is_complete(result),
		   rounded = sim_narrow_is_rounded(g);
	const uint64_t size = dev_type_bytes(type);
	const uint32_t count = t->columns_end - t->column;
	char *values = sim_gemm_cache_values(result);
	float *ab = rounded ? w->ab : sim_gemm_cache_values(result);
	if (!computed)
		multiply_f32(&f32, t, ab);
	for (uint32_t i = t->row; i < t->rows_end; i++) {
		const uint64_t at = (uint64_t)i * g->n + t->column;
		char *c = (char *)g->c + ((uint64_t)i * g->ldc + t->column) * size;
		if (rounded && !computed)
			sim_narrow_round(type, ab + at, count, values + at * size);
		if (rounded)
			memcpy(c, values + at * size, count * size);
		else
			sim_narrow_add_row(g, ab + at, c, count);
	}
}

static void finish_integers(const struct dev_gemm *g, const struct tile *t,
			    struct sim_gemm_result *result)
{
	const struct dev_gemm all = sim_narrow_decoded(sim_gemm_cache_narrow(result), g),
			      decoded = gemm_of_tile(&all, t);
	if (!sim_gemm_cache_is_complete(result))
		multiply_i32(&decoded, t, sim_gemm_cache_values(result));
	finish_i32(g, t, sim_gemm_cache_values(result));
}

static void finish_rows(struct op *op, const struct dev_gemm *g, const struct tile *t)
{
	const bool computed = sim_gemm_cache_is_complete(op->gemm_result);
	const struct dev_gemm own = gemm_of_tile(g, t);
	void *ab = sim_gemm_cache_values(op->gemm_result);
	if (dev_type_is_integer(g->type)) {
		finish_integers(g, t, op->gemm_result);
	} else if (sim_narrow_is(g->type)) {
		finish_narrow(g, t, op->gemm_result);
	} else if (g->type == DEV_F32) {
		if (!computed)
			multiply_f32(&own, t, ab);
		finish_f32(g, t, ab);
	} else {
		if (!computed)
			multiply_f64(&own, t, ab);
		finish_f64(g, t, ab);
	}
	if (op->corrupts)
		corrupt_tile(g, t);
	if (g->done)
		count_done(g, t);
}

/* A tracker may have some of its rows written elsewhere. */
static void finish_tile(struct op *op, uint32_t number)
{
	struct dev_gemm g = op->work->gemm;
	const struct tile whole = sim_gemm_tile(op, number);
	struct tile part = whole;
	for (; part.row < whole.rows_end; part.row = part.rows_end) {
		const struct sim_rows rows = sim_redirect_rows(op, part.row, whole.rows_end);
		g.c = rows.c;
		part.rows_end = rows.end;
		finish_rows(op, &g, &part);
	}
}

static void finish_gemm(struct op *op, uint32_t block)
{
	const struct dev_gemm *g = &op->work->gemm;
	if (op->blocks_left == op->grid)
		op->gemm_result = sim_gemm_cache_begin(op);
	if (!op->gemm_result) {
		sim_stream_fail(op->stream, -ENOMEM, "sim: gemm %u x %u: out of memory", g->m,
				g->n);
		return;
	}
	for (uint32_t tile = block; tile < op->tiles; tile += op->grid)
		finish_tile(op, tile);
}

static void finish_counts(struct op *op, uint32_t block)
{
	for (uint32_t at = block; at < op->tiles; at += op->grid) {
		const struct tile t = sim_gemm_tile(op, at);
		count_done(&op->work->gemm, &t);
	}
}

/* Without data: counts tiles, or does nothing. */
static const struct kernel_type gemm_type = {.name = "gemm", .finish = finish_gemm},
				counting_type = {.name = "gemm", .finish = finish_counts},
				timed_type = {.name = "gemm"};

/* Parts of so many rows, none with rows of two groups. */
static uint64_t count_down(const struct dev_gemm *g, double rows)
{
	double parts = g->groups ? 0 : ceil(g->m / rows);
	for (uint32_t i = 0; i < g->groups; i++)
		parts += ceil(g->group_rows[i] / rows);
	return (uint64_t)parts;
}

static uint32_t tallest_group(const struct dev_gemm *g)
{
	uint32_t rows = g->groups ? 0 : g->m;
	for (uint32_t i = 0; i < g->groups; i++)
		rows = rows > g->group_rows[i] ? rows : g->group_rows[i];
	return rows;
}

static uint64_t count_tiles(const struct dev_gemm *g, uint32_t rows, uint32_t columns)
{
	return count_down(g, rows) * ((g->n - 1) / columns + 1);
}

/* Tiling of C. */
struct cut {
	uint32_t rows, columns; /* of a tile */
	uint64_t tiles;
};

static uint64_t register_bytes(const struct sim_dev *d, const struct dev_gemm *g, uint32_t rows,
			       uint32_t columns)
{
	const uint64_t sum_bytes = g->type == DEV_F64 ? sizeof(double) : sizeof(float);
	return d->model.block_register_bytes + (uint64_t)rows * columns * sum_bytes;
}

/* With limited registers, the sums of a tile must fit; with gemm_tile_min, the library has smaller
 * tiles for GEMMs that have fewer large ones than units. */
static bool is_too_large(const struct sim_dev *d, const struct dev_gemm *g, uint32_t rows,
			 uint32_t columns)
{
	const struct sim_model *m = &d->model;
	const uint64_t tiles = count_tiles(g, rows, columns);
	const uint32_t longer = rows > columns ? rows : columns;
	return tiles < g->blocks ||
	       (m->registers_per_unit_bytes &&
		register_bytes(d, g, rows, columns) > m->registers_per_unit_bytes) ||
	       (m->gemm_tile_min && tiles < m->units && longer >= 2 * m->gemm_tile_min);
}

/* Halves the longer side first: a square tile moves the fewest bytes. */
static struct cut cut_by_model(const struct sim_dev *d, const struct dev_gemm *g)
{
	struct dev_gemm alone = *g;
	alone.m = tallest_group(g);
	alone.groups = 0;
	uint32_t rows = d->model.gemm_tile,
		 columns = d->model.gemm_tile_columns ? d->model.gemm_tile_columns : rows;
	while (is_too_large(d, &alone, rows, columns) && (rows > 1 || columns > 1)) {
		bool rows_idle = rows > alone.m && rows > 1,
		     columns_idle = columns > g->n && columns > 1;
		if (rows_idle || (!columns_idle && rows >= columns))
			rows /= 2;
		else
			columns /= 2;
	}
	return (struct cut){rows, columns, count_tiles(g, rows, columns)};
}

static int choose_cut(const struct sim_dev *d, const struct dev_gemm *g, struct cut *cut_p)
{
	const struct cut textbook = {DEV_GEMM_TILE, DEV_GEMM_TILE, dev_gemm_tiles(g)};
	*cut_p = g->tile_k ? textbook : cut_by_model(d, g);
	if (cut_p->tiles > UINT32_MAX)
		return err_note(-EINVAL, "sim:%u: gemm %u x %u has more than 2^32 tiles",
				d->base.index, g->m, g->n);
	if (cut_p->tiles < g->blocks)
		return err_note(-EINVAL, "sim:%u: gemm %u x %u cannot be cut into %u blocks",
				d->base.index, g->m, g->n, g->blocks);
	return 0;
}

static int set_tiles(struct sim_dev *d, struct op *op)
{
	const struct dev_gemm *g = &op->work->gemm;
	struct cut cut;
	int status = choose_cut(d, g, &cut);
	if (status)
		return status;
	op->tile_rows = cut.rows;
	op->tile_columns = cut.columns;
	op->tiles = (uint32_t)cut.tiles;
	op->grid = g->tile_k && g->grid && g->grid < op->tiles ? g->grid : op->tiles;
	op->first_tile = g->first_row / cut.rows * ((g->n - 1) / cut.columns + 1);
	return 0;
}

int sim_gemm_claims(struct sim_dev *d, const struct dev_gemm *g, uint64_t *shared_p,
		    uint64_t *registers_p)
{
	const uint64_t own = g->tile_k ? dev_gemm_tile_bytes(g) : d->model.gemm_tile_shared_bytes;
	struct cut cut;
	int status = sim_units_claim(d, 0, own + g->shared_bytes, shared_p);
	if (!status)
		status = choose_cut(d, g, &cut);
	if (status)
		return status;
	const uint64_t registers = register_bytes(d, g, cut.rows, cut.columns);
	if (d->model.registers_per_unit_bytes && registers > d->model.registers_per_unit_bytes)
		return err_note(-EINVAL,
				"sim:%u: a block of a gemm needs %llu bytes of registers; a unit "
				"has %llu",
				d->base.index, (unsigned long long)registers,
				(unsigned long long)d->model.registers_per_unit_bytes);
	*registers_p = registers;
	return 0;
}

static uint64_t matrix_bytes(uint64_t rows, uint64_t columns, uint64_t leading, enum dev_type type)
{
	return dev_type_array_bytes(type, (rows - 1) * leading + columns);
}

/* Mean bytes of an element of A and B, with its part of a scale. */
static double element_bytes(enum dev_type type)
{
	const struct dev_type_traits *t = &dev_types[type];
	return t->bits / 8.0 + (t->block ? 1.0 / t->block : 0);
}

static int check_gemm(const struct sim_dev *d, const struct dev_gemm *g)
{
	const uint64_t bytes = dev_types[g->type].bytes, size = bytes ? bytes : 1;
	const uint64_t c_size = dev_type_result_bytes(g->type);
	if (!(d->base.props.gemm_types >> g->type & 1))
		return err_note(-ENOTSUP, "sim:%u: gemm of type %d is not supported", d->base.index,
				(int)g->type);
	if ((uintptr_t)g->a % size || (uintptr_t)g->b % size || (uintptr_t)g->c % c_size)
		return err_note(-EINVAL, "sim:%u: gemm: a matrix is not aligned to its elements",
				d->base.index);
	if ((uintptr_t)g->done % sizeof(*g->done))
		return err_note(-EINVAL, "sim:%u: gemm: the counters are not aligned to %zu bytes",
				d->base.index, sizeof(*g->done));
	return 0;
}

/* The first three of op->work->use[] become A, B and C; the next two the scales, if there are any.
 */
static int use_operands(struct sim_dev *d, struct op *op)
{
	const struct dev_gemm *g = &op->work->gemm;
	const uint32_t block = dev_types[g->type].block;
	const uint64_t b_rows =
		(g->b_transposed ? g->n : g->k) * (uint64_t)(g->groups ? g->groups : 1);
	const uint32_t b_columns = g->b_transposed ? g->k : g->n;
	int status = op_use(d, op, g->a, matrix_bytes(g->m, g->k, g->lda, g->type), "gemm A");
	if (!status)
		status = op_use(d, op, g->b, matrix_bytes(b_rows, b_columns, g->ldb, g->type),
				"gemm B");
	if (!status)
		status = op_use(d, op, g->c,
				matrix_bytes(g->m, g->n, g->ldc, dev_types[g->type].result),
				"gemm C");
	for (int i = 0; i < 2 && !status && block; i++)
		status = op_use(d, op, i ? g->b_scales : g->a_scales,
				dev_scale_bytes(false, i ? g->n : g->m, g->k / block),
				"gemm scales");
	if (!status && g->done)
		status = op_use(d, op, g->done, ((g->m - 1) / g->done_rows + 1) * sizeof(*g->done),
				"gemm counters");
	return status;
}

/* Without gaps, of A, B or C, which are the first uses. */
static double operand_of(const struct dev_gemm *g, unsigned use)
{
	const double size = element_bytes(g->type);
	return use == 0   ? size * g->m * g->k
	       : use == 1 ? size * g->k * g->n * dev_gemm_groups(g)
			  : (double)dev_type_result_bytes(g->type) * g->m * g->n;
}

/* True if C's memory adds to it, past every cache. */
static bool memory_adds_c(const struct op *op)
{
	return op->work->gemm.adds && sim_alloc_adds(op->work->use[2]);
}

/* Traffic between a cache that is not tracked and its memory. */
static void pass_memory_once(struct sim_dev *d, struct op *op)
{
	const double c_passes = is_zero(op->work->gemm.beta) ? 1 : 2;
	for (unsigned use = 0; use < (memory_adds_c(op) ? 2 : 3); use++)
		if (sim_is_own(d, op->work->use[use]))
			op_traffic(op, use,
				   (use == 2 ? c_passes : 1) * operand_of(&op->work->gemm, use),
				   use == 2, PATH_REFILL);
}

static void mark_latest(struct op *op, bool adds, bool stays)
{
	op->work->traffic[op->traffics - 1].adds = adds;
	op->work->traffic[op->traffics - 1].stays = stays;
}

/* 1 for matrices in other memory, which pass links as often as tiles need them. */
static double cache_share(const struct sim_dev *d, enum path path)
{
	return path == PATH_CACHE ? d->model.gemm_traffic_share : 1;
}

static void add_traffic_of_c(struct sim_dev *d, struct op *op, enum path path)
{
	const struct dev_gemm *g = &op->work->gemm;
	const struct alloc *c = op->work->use[2];
	const double tiles = cache_share(d, path) * (double)op->tiles * op->tile_rows *
			     op->tile_columns * dev_type_result_bytes(g->type);
	if (memory_adds_c(op)) {
		op_traffic(op, 2, operand_of(g, 2), true, PATH_MEMORY);
		mark_latest(op, true, false);
		return;
	}
	op_traffic(op, 2, tiles, true, path);
	if (is_zero(g->beta))
		return;
	op_traffic(op, 2, tiles, false, path);
	mark_latest(op, false, g->adds && c->dev != d && c->kind == DEV_MEM_DEVICE);
}

static void add_traffic(struct sim_dev *d, struct op *op)
{
	const struct dev_gemm *g = &op->work->gemm;
	const double size = element_bytes(g->type);
	enum path path[3];
	for (unsigned use = 0; use < 3; use++)
		path[use] = sim_is_own(d, op->work->use[use]) ? PATH_CACHE : PATH_MEMORY;
	const double per_row = (double)op->tiles * (double)g->k * size;
	const double c_bytes = memory_adds_c(op) ? 0 : operand_of(g, 2);
	op_traffic(op, 0, cache_share(d, path[0]) * per_row * op->tile_rows, false, path[0]);
	op_traffic(op, 1, cache_share(d, path[1]) * per_row * op->tile_columns, false, path[1]);
	add_traffic_of_c(d, op, path[2]);
	if (!d->model.llc_tracked &&
	    operand_of(g, 0) + operand_of(g, 1) + c_bytes > (double)d->model.llc_bytes)
		pass_memory_once(d, op);
}

/* ------------------------------------------------------------------ waves */

struct wave {
	double rows, columns; /* of C */
};

static struct wave wave_of(const struct op *op)
{
	const struct dev_gemm *g = &op->work->gemm;
	const struct sim_dev *d = op->stream->dev;
	const double down = (double)count_down(g, op->tile_rows),
		     across = ceil((double)g->n / op->tile_columns),
		     blocks = fmin(
			     (double)sim_units_of(op->stream) *
				     sim_units_residents(d, op->claim_bytes, op->register_bytes),
			     op->grid);
	double sm = fmin(floor(sqrt(blocks)), down), sn = fmin(floor(blocks / sm), across);
	sm = fmin(floor(blocks / sn), down);
	return (struct wave){sm * op->tile_rows, sn * op->tile_columns};
}

double sim_gemm_memory_bytes(const struct op *op, unsigned traffic)
{
	const struct dev_gemm *g = &op->work->gemm;
	const unsigned use = op->work->traffic[traffic].use;
	const double llc_bytes = (double)op->work->use[use]->dev->model.llc_bytes,
		     most = memory_adds_c(op) ? llc_bytes : llc_bytes / 2,
		     once = operand_of(g, use);
	const struct wave w = wave_of(op);
	double passes = 1;
	if (use == 0 && once / g->m * fmin(w.rows, g->m) > most)
		passes = ceil(g->n / w.columns);
	if (use == 1 && once / dev_gemm_groups(g) > most)
		passes = (double)count_down(g, w.rows) / dev_gemm_groups(g);
	return passes * once;
}

int sim_gemm_prepare(struct sim_dev *d, struct op *op, const struct dev_gemm *g)
{
	int status = check_gemm(d, g);
	if (status)
		return status;
	op->type = d->model.data == SIM_DATA_REAL ? &gemm_type
		   : g->done                      ? &counting_type
						  : &timed_type;
	op->work->gemm = *g;
	if (g->adds)
		op->work->gemm.beta = 1;
	status = use_operands(d, op);
	if (!status)
		status = set_tiles(d, op);
	if (status)
		return status;
	add_traffic(d, op);
	op->block_flops = 2.0 * op->tile_rows * op->tile_columns * (double)g->k;
	op->peak_flops = sim_gemm_flops(&d->model, g->type) * 1e-9 * d->model.gemm_efficiency;
	return 0;
}
