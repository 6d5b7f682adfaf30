/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMM of a device: element types, the description of one operation, and its calls. Part of the
 * contract in device/dev.h, which includes this file.
 */
#ifndef GPUSIG_DEV_GEMM_H
#define GPUSIG_DEV_GEMM_H

#include "device/dev_lists.h"

#include <stdbool.h>
#include <stdint.h>

struct dev;
struct dev_stream;

/* Most groups of a GEMM. */
#define DEV_GEMM_GROUPS 64u

/* C := alpha*A*B + beta*C, row-major, leading dimensions in elements.
 * A is m x k, B is k x n, C is m x n. The device cuts C into blocks that its units run.
 *
 * Of integers alpha must be 1 and beta 0 or 1, which every library computes exactly, else -EINVAL.
 * Sums that exceed i32 wrap or saturate; with k below 2^17 there are none.
 *
 * Without `tiled` the library decides what its blocks are. With `tiled` (DEV_CAP_GEMM_TILED) the
 * blocks are the device's own. They do the same arithmetic whatever shared memory they claim, so
 * shaping changes residency and nothing else, and they can count what they finish. Some devices use
 * the same blocks for both (host, whose blocks are calls of the library, and sim); there
 * shared_bytes and `done` work without `tiled`. Elsewhere they are -ENOTSUP without it. */
struct dev_gemm {
	enum dev_type type;
	uint32_t m, n, k;
	double alpha, beta;
	const void *a, *b;
	void *c;
	/* Scales of A and B, of types that have them, else NULL; DEVICE or PINNED memory. One for
	 * each block of elements of a row of A and of B as it is given, at dev_scale_index(). */
	const void *a_scales, *b_scales;
	uint32_t lda, ldb, ldc;
	bool b_transposed; /* B is given as n x k: element (i, j) of B is b[j*ldb + i]; -ENOTSUP
			      where a type lacks it */
	bool tiled;
	bool fast_accumulation; /* sums may be kept with fewer bits than f32 has where that is
				   faster; -ENOTSUP where gemm_fast_types lacks the type. The
				   library decides how much is lost: bench/bench_gemm.h says what is
				   known about f8 */
	uint32_t blocks; /* cut C into at least so many blocks, as far as the device's tiles allow;
			    0: the device chooses */
	/* With `tiled`, f32 alone, not with `blocks` or b_transposed: 32 or 64, textbook tiles of
	 * DEV_GEMM_TILE^2 elements of C. A block keeps DEV_GEMM_TILE x tile_k elements of A and
	 * tile_k x DEV_GEMM_TILE of B in shared memory, which is its claim before shared_bytes, and
	 * goes along k in such steps. 0: the device's own tiles. */
	uint32_t tile_k;
	/* With tile_k: so many blocks compute the tiles, block i those that are a multiple of
	 * `grid` after tile i. 0, or more than there are tiles: one block for each tile. */
	uint32_t grid;
	uint64_t shared_bytes; /* shared memory that each block claims beyond what it needs; if not
				  0: -ENOTSUP where blocks cannot be shaped, -EINVAL where it does
				  not fit */
	/* NULL, or one counter for every done_rows rows of C, in DEVICE or PINNED memory. A block
	 * that has written its part of C adds the number of its elements to the counters of its
	 * rows. A stream or kernel that sees the sum (dev_wait_value()) sees the elements, too. So
	 * the rows [i*done_rows, ...) are finished when done[i] has grown by their elements. Only
	 * GEMMs of one device add to a counter at once. The caller keeps every counter at or below
	 * DEV_VALUE_MAX. */
	uint32_t *done;
	uint32_t done_rows;
	/* With `tiled`, where gemm_adding_types has the type: every element of alpha*A*B is added
	 * to that of C atomically, so several such GEMMs, also of several devices, may add to one
	 * C at once, in any order, and nothing is lost. beta must be 0 and is not used. Not with
	 * tile_k. C lies in the device's own DEVICE memory. In a peer's, and in PINNED memory, it
	 * is -ENOTSUP where the link between the two has no atomic adds. */
	bool adds;
	/* With DEV_CAP_TRACKER: begin with the tiles that have this row of C, go on to the last
	 * ones and then from the first ones; less than m. Elsewhere 0. */
	uint32_t first_row;
	/* Number of groups, as of experts of a mixture, with DEV_CAP_GEMM_GROUPED, where
	 * gemm_grouped_types has the type. B holds so many matrices, each right after the last row
	 * of the one before, ldb long; the first group_rows[0] rows of A are multiplied by the
	 * first of them, the next group_rows[1] by the second, and so on, m in all, in one
	 * operation. A group may have no row. Not with `tiled`, `fast_accumulation`, `blocks`,
	 * shared_bytes, `done` or first_row. The first one in a stream with these matrices and rows
	 * may wait, as the first GEMM may. 0: one GEMM. */
	uint32_t groups, group_rows[DEV_GEMM_GROUPS];
};

/* Rows and columns of C in a textbook tile. */
#define DEV_GEMM_TILE 64u

/* Shared memory that a block of this GEMM claims because of tile_k; and the number of its textbook
 * tiles. */
static inline uint64_t dev_gemm_tile_bytes(const struct dev_gemm *g)
{
	return 2 * sizeof(float) * DEV_GEMM_TILE * g->tile_k;
}
static inline uint64_t dev_gemm_tiles(const struct dev_gemm *g)
{
	return (uint64_t)((g->m - 1) / DEV_GEMM_TILE + 1) * ((g->n - 1) / DEV_GEMM_TILE + 1);
}

/* Elements of B from the matrix of a group to that of the next one. */
static inline uint64_t dev_gemm_group_stride(const struct dev_gemm *g)
{
	return (uint64_t)g->ldb * (g->b_transposed ? g->n : g->k);
}

/* Groups with rows; 1 for a GEMM without groups. */
static inline uint32_t dev_gemm_groups(const struct dev_gemm *g)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < g->groups; i++)
		count += g->group_rows[i] > 0;
	return g->groups ? count : 1;
}

/* Offset of the scale of block `block` of row `row`, in bytes from the first, in a matrix of which
 * each row has so many; and the bytes of all. In tiles, 512 bytes are those of 128 rows and 4
 * blocks: rows 0, 32, 64 and 96 are 16 bytes, and then come rows 1, 33, 65 and 97. Tiles follow
 * each other along the rows, as cuBLAS' manual lays out scaling factors of one dimension; what no
 * block has in them is 0. Without tiles the matrix is row-major. dev_props.scale_tiles says which.
 */
static inline uint64_t dev_scale_index(bool tiles, uint64_t blocks, uint64_t row, uint64_t block)
{
	const uint64_t tile = row / 128 * ((blocks + 3) / 4) + block / 4;
	return tiles ? tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4
		     : row * blocks + block;
}
static inline uint64_t dev_scale_bytes(bool tiles, uint64_t rows, uint64_t blocks)
{
	return tiles ? (rows + 127) / 128 * ((blocks + 3) / 4) * 512 : rows * blocks;
}

/* The value of a scale; and the code of one, which must be a power of two that the type has. */
float dev_scale_value(enum dev_scale type, uint8_t code);
uint8_t dev_scale_code(enum dev_scale type, float value);

/* The algorithm that a device uses for GEMMs of one type and shape, and how it was found. */
struct dev_gemm_choice {
	char algorithm[192]; /* in the library's own terms */
	uint32_t offered;    /* algorithms that the library named for this GEMM */
	uint32_t tried;      /* of those, timed: the others failed when run, or time was up; 0 if
				there was only one */
	double first_ratio;  /* time of the library's first choice / time of this one; NaN if the
				first was not timed */
};

/* Enqueue a GEMM. Scales that are missing are -EINVAL, or not at an address that is a multiple of
 * 16. A type that gemm_types (with `tiled`: gemm_tiled_types) lacks is -ENOTSUP, a zero
 * dimension -EINVAL. The description is copied. [optional] */
int dev_gemm(struct dev *d, struct dev_stream *s, const struct dev_gemm *g);

/* Blocks of a tiled GEMM that one unit holds at once, as dev_occupancy() says it of kernels: with
 * the shared memory that they need and claim, and, where the device can tell, with their registers.
 * The pointers of `g` are not used. [optional] */
int dev_gemm_occupancy(struct dev *d, const struct dev_gemm *g, uint32_t *blocks_p);

/* Find the library's fastest algorithm for GEMMs of this type and these dimensions: time those that
 * it offers, on memory of its own with random data. Later GEMMs like it use that algorithm; without
 * this call they use the library's first choice. Takes about a second at most, but always tries a
 * few algorithms however long they take. Needs an idle device; never timed. The description is
 * checked as dev_gemm() would, but its pointers are not used. Does nothing and returns 0 where
 * there is nothing to choose. */
int dev_gemm_prepare(struct dev *d, const struct dev_gemm *g);

/* Choice of dev_gemm_prepare() for such GEMMs. The pointers of `g` are not used; the choice holds
 * for matrices that are aligned as dev_alloc() aligns. -ENOENT: dev_gemm_prepare() was not called
 * for such a GEMM, or no algorithm could be run. [optional] */
int dev_gemm_chosen(struct dev *d, const struct dev_gemm *g, struct dev_gemm_choice *choice_p);

#endif
