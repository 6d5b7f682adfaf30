/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/backends.h"
#include "device/gpu/gpu_dev.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Rows and columns of C per thread block of the tiled kernels
 * (device/gpu/kernels/kernels_real.inc). */
#define TILE_F32 128u
#define TILE_F64 64u

/* ------------------------------------------------------------------ GEMM by the library */

/* Row-major C = A B is column-major C' = B' A'. */
struct gpu_gemm_problem gpu_gemm_problem(const struct dev_gemm *g)
{
	struct gpu_gemm_problem p;
	memset(&p, 0, sizeof(p));
	p.type = g->type;
	p.first_transposed = g->b_transposed;
	p.fast_accumulation = g->fast_accumulation;
	p.m = g->n;
	p.n = g->m;
	p.k = g->k;
	p.first = g->b;
	p.second = g->a;
	p.c = g->c;
	p.first_scales = g->b_scales;
	p.second_scales = g->a_scales;
	p.ld_first = g->ldb;
	p.ld_second = g->lda;
	p.ld_c = g->ldc;
	p.alpha = g->alpha;
	p.beta = g->beta;
	return p;
}

static int check_library(const struct gpu_dev *d, const struct dev_gemm *g)
{
	const char *name = d->vendor->name;
	if (!d->blas)
		return err_note(-ENOTSUP, "%s:%u: GEMM: %s", name, d->dev.index,
				dev_lack_reason(&d->dev, DEV_CAP_GEMM_BIT)[0]
					? dev_lack_reason(&d->dev, DEV_CAP_GEMM_BIT)
					: "the device was opened without DEV_CAP_GEMM");
	if (!(d->dev.props.gemm_types >> g->type & 1))
		return err_note(-ENOTSUP, "%s:%u: %s does not support a GEMM of type %d", name,
				d->dev.index, d->dev.props.blas, (int)g->type);
	if (g->shared_bytes || g->done)
		return err_note(
			-ENOTSUP,
			"%s:%u: shared memory per block and tile counters need a tiled GEMM", name,
			d->dev.index);
	if (dev_types[g->type].multiple > 1 && !g->b_transposed)
		return err_note(-ENOTSUP, "%s:%u: a GEMM of %s needs B transposed", name,
				d->dev.index, dev_type_names[g->type]);
	return 0;
}

/* Each stream has its own workspace and state, so that concurrent GEMMs do not share them. They are
 * allocated at the stream's first GEMM, which is not timed. */
int gpu_gemm_prepare_stream(struct gpu_dev *d, struct dev_stream *s, enum dev_type type)
{
	const struct gpu_blas *blas = d->vendor->blas;
	int status = 0;
	if (!s->workspace && blas->workspace_bytes)
		status = gpu_check(d, d->driver->alloc(blas->workspace_bytes, &s->workspace));
	if (status || s->blas_state || !blas->needs_state || !blas->needs_state(d->blas, type))
		return status;
	status = gpu_refuse_capture(s, "a stream's first GEMM");
	return status ? status : blas->stream_open(d->blas, &s->blas_state);
}

static int gemm_by_library(struct gpu_dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	struct gpu_gemm_problem p = gpu_gemm_problem(g);
	int status = check_library(d, g);
	if (!status)
		status = gpu_enqueue(d, s);
	if (!status)
		status = gpu_gemm_prepare_stream(d, s, g->type);
	if (status)
		return status;
	p.workspace = s->workspace;
	p.stream_state = s->blas_state;
	p.workspace_bytes = d->vendor->blas->workspace_bytes;
	const struct gpu_tuned *tuned = gpu_tuned_find(d, &p);
	return gpu_check(d, d->vendor->blas->run(d->blas, s->handle, &p,
						 tuned ? gpu_tuned_algorithm(tuned) : NULL));
}

/* ------------------------------------------------------------------ GEMM by tiled kernels */

static int check_tiled(const struct gpu_dev *d, const struct dev_gemm *g, uint64_t tiles,
		       uint64_t max_shared_bytes)
{
	const char *name = d->vendor->name;
	if (g->b_transposed)
		return err_note(-ENOTSUP, "%s:%u: a tiled GEMM does not support B transposed", name,
				d->dev.index);
	if (tiles > INT32_MAX)
		return err_note(-ENOTSUP,
				"%s:%u: GEMM %u x %u needs %llu tiles; a grid has at most %d", name,
				d->dev.index, g->m, g->n, (unsigned long long)tiles, INT32_MAX);
	if (g->shared_bytes > max_shared_bytes)
		return err_note(-EINVAL,
				"%s:%u: %llu bytes of shared memory a block: the limit is %llu",
				name, d->dev.index, (unsigned long long)g->shared_bytes,
				(unsigned long long)max_shared_bytes);
	return 0;
}

/* Kernel, and rows and columns of its tiles. */
static enum gpu_tiled choose_kernel(const struct dev_gemm *g, uint32_t *tile_p)
{
	if (g->tile_k) {
		*tile_p = DEV_GEMM_TILE;
		return g->tile_k == 32 ? GPU_TILED_TEXTBOOK_32 : GPU_TILED_TEXTBOOK_64;
	}
	*tile_p = g->type == DEV_F64 ? TILE_F64 : TILE_F32;
	if (g->adds)
		return g->type == DEV_F64 ? GPU_TILED_ADDING_F64 : GPU_TILED_ADDING_F32;
	return g->type == DEV_F64 ? GPU_TILED_F64 : GPU_TILED_F32;
}

/* Kernels can add atomically to some memory only, so the place of C decides. */
static int check_adding(const struct gpu_dev *d, const struct dev_gemm *g)
{
	const char *name = d->vendor->name;
	bool adds = true, is_host = false;
	gpu_lock();
	const struct gpu_memory *c = gpu_memory_find(d, g->c, dev_type_result_bytes(g->type));
	if (c) {
		const unsigned ordinal = c->owner->ordinal;
		is_host = c->kind != DEV_MEM_DEVICE;
		adds = is_host ? d->traits.adds_to_host
			       : ordinal == d->ordinal || d->adds_to >> ordinal & 1;
	}
	gpu_unlock();
	if (!c)
		return -EFAULT;
	return adds ? 0
		    : err_note(-ENOTSUP, "%s:%u: a GEMM cannot add atomically to %s", name,
			       d->dev.index,
			       is_host ? "pinned memory" : "the memory of that device");
}

static int gemm_by_tiles(struct gpu_dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	uint32_t tile;
	const struct gpu_tiled_kernel *kernel = &d->tiled[choose_kernel(g, &tile)];
	uint64_t tiles = (uint64_t)((g->m - 1) / tile + 1) * ((g->n - 1) / tile + 1);
	uint64_t grid = g->grid && g->grid < tiles ? g->grid : tiles;
	struct dev_gemm copy = *g;
	float alpha = (float)g->alpha, beta = (float)g->beta;
	void *args[] = {&copy.a,
			&copy.b,
			&copy.c,
			&copy.m,
			&copy.n,
			&copy.k,
			&copy.lda,
			&copy.ldb,
			&copy.ldc,
			g->type == DEV_F64 ? (void *)&copy.alpha : &alpha,
			g->type == DEV_F64 ? (void *)&copy.beta : &beta,
			&copy.done,
			&copy.done_rows};
	int status = check_tiled(d, g, tiles, d->traits.shared_per_block_bytes - kernel->own_bytes);
	if (!status && g->adds)
		status = check_adding(d, g);
	if (!status)
		status = gpu_enqueue(d, s);
	if (status)
		return status;
	return gpu_check(d, d->driver->launch(s->handle, kernel->function, (uint32_t)grid,
					      GPU_BLOCK_THREADS, g->shared_bytes, args));
}

int gpu_gemm_occupancy(struct dev *dev, const struct dev_gemm *g, uint32_t *blocks_p)
{
	struct gpu_dev *d = gpu_of(dev);
	uint32_t tile;
	const struct gpu_tiled_kernel *kernel = &d->tiled[choose_kernel(g, &tile)];
	int status = check_tiled(d, g, 0, d->traits.shared_per_block_bytes - kernel->own_bytes);
	if (!status)
		status = gpu_ctx_use(d);
	return status ? status
		      : gpu_check(d, d->driver->occupancy(kernel->function, GPU_BLOCK_THREADS,
							  g->shared_bytes, blocks_p));
}

int gpu_gemm(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g)
{
	struct gpu_dev *d = gpu_of(dev);
	return g->groups  ? gpu_grouped(d, s, g)
	       : g->tiled ? gemm_by_tiles(d, s, g)
			  : gemm_by_library(d, s, g);
}

/* ------------------------------------------------------------------ choosing an algorithm */

/* A, B, C and, of types that have them, scales, which are 1. */
#define OPERANDS 5

static int alloc_operands(struct gpu_dev *d, const struct dev_gemm *g,
			  const struct dev_range *ranges, size_t count, void *memory[OPERANDS])
{
	int status = 0;
	for (size_t i = 0; i < count && !status; i++)
		status = gpu_check(d, d->driver->alloc(ranges[i].bytes, &memory[i]));
	for (int i = 0; i < 2 && !status; i++)
		status = gpu_fill_random(d, g->type, (uint64_t)i, memory[i], ranges[i].bytes);
	for (size_t i = 3; i < count && !status; i++)
		status = gpu_check(d, d->driver->fill(d->internal_stream->handle, memory[i],
						      dev_scale_code(dev_types[g->type].scale, 1),
						      ranges[i].bytes));
	return status ? status
		      : gpu_check(d, d->driver->fill(d->internal_stream->handle, memory[2], 0,
						     ranges[2].bytes));
}

/* Tunes on scratch memory, so that C may be overwritten. A and B are random, as the programs'
 * operands are: power, and with it the clock, depends on the bits. */
static int autotune_on_scratch(struct gpu_dev *d, const struct dev_gemm *g,
			       struct gpu_gemm_problem *p)
{
	struct dev_range ranges[DEV_GEMM_RANGES];
	struct dev_gemm alone = *g;
	void *memory[OPERANDS] = {0};
	alone.done = NULL;
	const size_t count = dev_gemm_ranges(&d->dev, &alone, ranges);
	int status = alloc_operands(d, g, ranges, count, memory);
	if (!status)
		status = gpu_gemm_prepare_stream(d, d->internal_stream, g->type);
	p->second = memory[0];
	p->first = memory[1];
	p->c = memory[2];
	p->second_scales = memory[3];
	p->first_scales = memory[4];
	p->alpha = 1;
	p->beta = g->beta;
	p->workspace = d->internal_stream->workspace;
	p->stream_state = d->internal_stream->blas_state;
	p->workspace_bytes = d->vendor->blas->workspace_bytes;
	if (!status)
		status = gpu_autotune(d, p);
	for (int i = 0; i < OPERANDS; i++)
		if (memory[i])
			d->driver->free(memory[i]);
	return status;
}

int gpu_gemm_prepare(struct dev *dev, const struct dev_gemm *g)
{
	struct gpu_dev *d = gpu_of(dev);
	struct gpu_gemm_problem p = gpu_gemm_problem(g);
	if (g->tiled || g->groups)
		return 0;
	int status = check_library(d, g);
	if (!status)
		status = gpu_ctx_use(d);
	if (status || gpu_tuned_find(d, &p))
		return status;
	return autotune_on_scratch(d, g, &p);
}

int gpu_gemm_chosen(struct dev *dev, const struct dev_gemm *g, struct dev_gemm_choice *choice_p)
{
	struct gpu_dev *d = gpu_of(dev);
	const struct gpu_gemm_problem p = gpu_gemm_problem(g);
	const struct gpu_tuned *tuned = g->tiled ? NULL : gpu_tuned_find(d, &p);
	if (!tuned)
		return err_note(-ENOENT, "%s:%u: no algorithm was chosen for this GEMM",
				d->vendor->name, d->dev.index);
	gpu_tuned_choice(d, tuned, choice_p);
	return 0;
}

/* ------------------------------------------------------------------ open and close */

void gpu_gemm_open(struct gpu_dev *d, uint32_t want)
{
	struct dev_props *p = &d->dev.props;
	p->gemm_tile_rows = TILE_F32; /* a multiple of TILE_F64 */
	if (!(want & DEV_CAP_GEMM))
		return;
	int status = gpu_event_open(&d->dev, &d->tuning_start);
	if (!status)
		status = gpu_event_open(&d->dev, &d->tuning_end);
	if (!status)
		status = d->vendor->blas->open(&d->traits, &d->blas, &p->gemm_types, p->blas,
					       sizeof(p->blas));
	if (!status) {
		const uint32_t wide = 1u << DEV_F32 | 1u << DEV_F64;
		p->fma_peak_types = p->gemm_types & ~wide ? 0 : p->gemm_types;
		p->gemm_fast_types = p->gemm_types & d->vendor->blas->fast_types;
		p->scale_tiles = d->vendor->blas->scale_tiles;
		if (want & DEV_CAP_GEMM_GROUPED)
			gpu_grouped_open(d);
		return;
	}
	d->blas = NULL;
	dev_keep_lack(&d->dev, DEV_CAP_GEMM_BIT);
}

void gpu_gemm_close(struct gpu_dev *d)
{
	gpu_tuned_close(d);
	const bool usable = gpu_ctx_use(d) == 0;
	gpu_grouped_close(d, usable);
	if (d->blas)
		d->vendor->blas->close(d->blas, usable);
	d->blas = NULL;
}
