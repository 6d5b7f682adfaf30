/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_dev.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Rows and columns of C that a block of our own kernels makes (device/kernels_real.inc). */
#define TILE_F32 128u
#define TILE_F64 64u

/* ------------------------------------------------------------------ products as the library takes them */

/* Row-major C = A B is column-major C' = B' A'. */
static struct gpu_product product_of(const struct dev_gemm *g)
{
	struct gpu_product p;
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
	p.ld_first = g->ldb;
	p.ld_second = g->lda;
	p.ld_c = g->ldc;
	p.alpha = g->alpha;
	p.beta = g->beta;
	return p;
}

/* From the first to past the last element of a matrix; UINT64_MAX when that overflows. */
static uint64_t matrix_bytes(uint64_t rows, uint64_t columns, uint64_t leading, uint64_t element)
{
	uint64_t elements = (rows - 1) * leading + columns;
	return elements > UINT64_MAX / element ? UINT64_MAX : elements * element;
}

/* A, B, C and, of a tiled product, its counters. Returns how many. */
static size_t ranges_of(const struct dev_gemm *g, struct gpu_range ranges[4])
{
	uint64_t in = dev_type_bytes(g->type), out = dev_type_result_bytes(g->type);
	uint64_t b_rows = g->b_transposed ? g->n : g->k, b_columns = g->b_transposed ? g->k : g->n;
	ranges[0] = (struct gpu_range){.ptr = g->a, .bytes = matrix_bytes(g->m, g->k, g->lda, in)};
	ranges[1] = (struct gpu_range){.ptr = g->b, .bytes = matrix_bytes(b_rows, b_columns, g->ldb, in)};
	ranges[2] = (struct gpu_range){.ptr = g->c, .bytes = matrix_bytes(g->m, g->n, g->ldc, out)};
	if (!g->done)
		return 3;
	uint64_t bands = (g->m - 1) / g->done_rows + 1;
	ranges[3] = (struct gpu_range){.ptr = g->done, .bytes = bands * sizeof(*g->done)};
	return 4;
}

static int check_library(const struct gpu_dev *d, const struct dev_gemm *g)
{
	const char *name = d->vendor->name;
	if (!d->blas)
		return err_note(-ENOTSUP, "%s:%u: gemm: %s", name, d->dev.index, d->blas_why[0] ? d->blas_why : "opened without it");
	if (!(d->dev.props.gemm_types >> g->type & 1))
		return err_note(-ENOTSUP, "%s:%u: %s has no gemm of type %d here", name, d->dev.index, d->dev.props.blas,
		                (int)g->type);
	if (g->shared_bytes || g->done)
		return err_note(-ENOTSUP, "%s:%u: a library's blocks can't be shaped and don't count: ask for tiles", name,
		                d->dev.index);
	if (g->type == DEV_F8 && !g->b_transposed)
		return err_note(-ENOTSUP, "%s:%u: gemm of f8 takes B transposed", name, d->dev.index);
	return 0;
}

/* A stream's own, so that two products at once don't share it. Allocated with its first product, which is not timed. */
static int workspace(struct gpu_dev *d, struct dev_stream *s)
{
	uint64_t bytes = d->vendor->blas->workspace_bytes;
	return s->workspace || bytes == 0 ? 0 : gpu_answer(d, d->driver->alloc(bytes, &s->workspace));
}

static int by_library(struct gpu_dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	struct gpu_product p = product_of(g);
	struct gpu_range ranges[4];
	int rc = check_library(d, g);
	if (!rc)
		rc = gpu_enqueue(d, s, ranges, ranges_of(g, ranges));
	if (!rc)
		rc = workspace(d, s);
	if (rc)
		return rc;
	p.workspace = s->workspace;
	p.workspace_bytes = d->vendor->blas->workspace_bytes;
	const struct gpu_tuned *tuned = gpu_tuned_find(d, &p);
	return gpu_answer(d, d->vendor->blas->run(d->blas, s->handle, &p, tuned ? gpu_tuned_way(tuned) : NULL));
}

/* ------------------------------------------------------------------ our own tiles */

static int check_tiled(const struct gpu_dev *d, const struct dev_gemm *g, uint64_t tiles, uint64_t most_shared_bytes)
{
	const char *name = d->vendor->name;
	if (g->b_transposed)
		return err_note(-ENOTSUP, "%s:%u: tiles take B as it is, not transposed", name, d->dev.index);
	if (tiles > INT32_MAX)
		return err_note(-ENOTSUP, "%s:%u: gemm %u x %u is %llu tiles, more than a grid holds", name, d->dev.index, g->m,
		                g->n, (unsigned long long)tiles);
	if (g->shared_bytes > most_shared_bytes)
		return err_note(-EINVAL, "%s:%u: %llu bytes of shared memory a block: the limit is %llu", name, d->dev.index,
		                (unsigned long long)g->shared_bytes, (unsigned long long)most_shared_bytes);
	return 0;
}

static int by_tiles(struct gpu_dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	bool wide = g->type == DEV_F64;
	uint32_t tile = wide ? TILE_F64 : TILE_F32;
	uint64_t own_bytes = wide ? d->gemm_f64_shared : d->gemm_f32_shared;
	uint64_t tiles = (uint64_t)((g->m - 1) / tile + 1) * ((g->n - 1) / tile + 1);
	struct dev_gemm copy = *g;
	float alpha = (float)g->alpha, beta = (float)g->beta;
	struct gpu_range ranges[4];
	void *args[] = {&copy.a, &copy.b, &copy.c, &copy.m, &copy.n, &copy.k, &copy.lda, &copy.ldb, &copy.ldc,
	                wide ? (void *)&copy.alpha : &alpha, wide ? (void *)&copy.beta : &beta, &copy.done, &copy.done_rows};
	int rc = check_tiled(d, g, tiles, d->traits.shared_per_block_bytes - own_bytes);
	if (!rc)
		rc = gpu_enqueue(d, s, ranges, ranges_of(g, ranges));
	if (rc)
		return rc;
	return gpu_answer(d, d->driver->launch(s->handle, wide ? d->gemm_f64 : d->gemm_f32, (uint32_t)tiles,
	                                       GPU_BLOCK_THREADS, g->shared_bytes, args));
}

int gpu_gemm(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g)
{
	struct gpu_dev *d = gpu_of(dev);
	return g->tiled ? by_tiles(d, s, g) : by_library(d, s, g);
}

/* ------------------------------------------------------------------ choosing a way */

static int operands(struct gpu_dev *d, const struct dev_gemm *g, const struct gpu_range ranges[3], void *memory[3])
{
	int rc = 0;
	for (int i = 0; i < 3 && !rc; i++)
		rc = gpu_answer(d, d->driver->alloc(ranges[i].bytes, &memory[i]));
	for (int i = 0; i < 2 && !rc; i++)
		rc = gpu_fill_random(d, g->type, (uint64_t)i, memory[i], ranges[i].bytes);
	return rc ? rc : gpu_answer(d, d->driver->fill(d->own->handle, memory[2], 0, ranges[2].bytes));
}

/* On memory of its own, so that C is free to be written. A and B are random, as the programs' operands are: power, and with it
 * the clock, depends on what bits are multiplied. */
static int with_memory(struct gpu_dev *d, const struct dev_gemm *g, struct gpu_product *p)
{
	struct gpu_range ranges[4];
	struct dev_gemm alone = *g;
	void *memory[3] = {0};
	alone.done = NULL;
	ranges_of(&alone, ranges);
	int rc = operands(d, g, ranges, memory);
	if (!rc)
		rc = workspace(d, d->own);
	p->second = memory[0];
	p->first = memory[1];
	p->c = memory[2];
	p->alpha = 1;
	p->beta = g->beta;
	p->workspace = d->own->workspace;
	p->workspace_bytes = d->vendor->blas->workspace_bytes;
	if (!rc)
		rc = gpu_autotune(d, p);
	for (int i = 0; i < 3; i++)
		if (memory[i])
			d->driver->free(memory[i]);
	return rc;
}

int gpu_gemm_prepare(struct dev *dev, const struct dev_gemm *g)
{
	struct gpu_dev *d = gpu_of(dev);
	struct gpu_product p = product_of(g);
	if (g->tiled)
		return 0;
	int rc = check_library(d, g);
	if (!rc)
		rc = gpu_enter(d);
	if (rc || gpu_tuned_find(d, &p))
		return rc;
	return with_memory(d, g, &p);
}

int gpu_gemm_chosen(struct dev *dev, const struct dev_gemm *g, struct dev_gemm_choice *choice_p)
{
	struct gpu_dev *d = gpu_of(dev);
	const struct gpu_product p = product_of(g);
	const struct gpu_tuned *tuned = g->tiled ? NULL : gpu_tuned_find(d, &p);
	if (!tuned)
		return err_note(-ENOENT, "%s:%u: nothing was chosen for this gemm", d->vendor->name, d->dev.index);
	gpu_tuned_tell(d, tuned, choice_p);
	return 0;
}

/* ------------------------------------------------------------------ open and close */

void gpu_gemm_open(struct gpu_dev *d, uint32_t want)
{
	struct dev_props *p = &d->dev.props;
	p->gemm_tile_rows = TILE_F32; /* a multiple of the other */
	if (!(want & DEV_CAP_GEMM))
		return;
	int rc = gpu_event_open(&d->dev, &d->own_from);
	if (!rc)
		rc = gpu_event_open(&d->dev, &d->own_to);
	if (!rc)
		rc = d->vendor->blas->open(&d->traits, &d->blas, &p->gemm_types, p->blas, sizeof(p->blas));
	if (!rc) {
		p->gemm_fast_types = p->gemm_types & d->vendor->blas->fast_types;
		return;
	}
	d->blas = NULL;
	snprintf(d->blas_why, sizeof(d->blas_why), "%.199s", err_text());
}

void gpu_gemm_close(struct gpu_dev *d)
{
	gpu_tuned_close(d);
	if (d->blas)
		d->vendor->blas->close(d->blas);
	d->blas = NULL;
}
