/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the tests of simulated trackers: two devices that are peers, each with a matrix of f32 in
 * tiles of 64 x 64, which are 16384 bytes.
 */
#ifndef GPUSIG_TESTS_SIM_TRACKED_H
#define GPUSIG_TESTS_SIM_TRACKED_H

#include "tests/unit/device/sim/sim.h"

#define TILE 64u
#define TILE_BYTES (TILE * TILE * sizeof(float))

#define TRACKED                                                                                    \
	PLAIN "peer_latency_ns = 50\nmemory_adds = 1\ntracker_entries = 256\ntracker_ns = "        \
	      "100\nflops_f32 = 1e15\n"

static struct {
	struct dev_stream *s, *t, *there;
	float *at, *to, *from; /* the matrix, that of the other device, what is copied to it */
	uint32_t rows, columns;
	float *operands; /* of GEMMs */
} scene;

static inline uint64_t matrix_bytes(void)
{
	return (uint64_t)scene.rows * scene.columns * sizeof(float);
}

/* Set the scene on the open devices. */
static inline void set_scene(uint32_t rows, uint32_t columns)
{
	ok(dev_peer_enable(sim.d, sim.other));
	scene.rows = rows;
	scene.columns = columns;
	scene.s = open_stream();
	scene.t = open_stream();
	ok(dev_stream_open(sim.other, 0, &scene.there));
	scene.at = alloc_memory(DEV_MEM_DEVICE, matrix_bytes());
	scene.from = alloc_memory(DEV_MEM_DEVICE, matrix_bytes());
	scene.to = alloc_memory_on(sim.other, DEV_MEM_DEVICE, matrix_bytes());
	scene.operands = alloc_memory(DEV_MEM_DEVICE, 1 << 20);
}

static inline void begin_scene(const char *model, uint32_t rows, uint32_t columns)
{
	sim_begin(model);
	set_scene(rows, columns);
	for (uint64_t i = 0; i < matrix_bytes() / sizeof(float); i++) {
		scene.from[i] = (float)(i % 1000);
		scene.to[i] = (float)(i % 7);
	}
}

static inline int try_tracker(const struct dev_tracked_rows *ranges, size_t count,
			      struct dev_tracker **t_p)
{
	const struct dev_tracker_map map = {.at = scene.at,
					    .type = DEV_F32,
					    .rows = scene.rows,
					    .columns = scene.columns,
					    .tile_rows = TILE,
					    .tile_columns = TILE,
					    .ranges = ranges,
					    .count = count};
	return dev_tracker_open(sim.d, &map, t_p);
}

/* All rows do the same. */
static inline struct dev_tracker *track_all(enum dev_tracked what, uint32_t updates)
{
	const struct dev_tracked_rows all = {.rows = scene.rows,
					     .what = what,
					     .updates = updates,
					     .to = what == DEV_TRACKED_KEPT ? NULL : scene.to};
	struct dev_tracker *t = NULL;
	ok(try_tracker(&all, 1, &t));
	return t;
}

/* Enqueue a copy of whole rows of scene.from. */
static inline void write_rows(struct dev_stream *s, uint32_t row, uint32_t rows)
{
	const uint64_t at = (uint64_t)row * scene.columns;
	ok(dev_copy(sim.d, s, scene.at + at, scene.from + at,
		    (uint64_t)rows * scene.columns * sizeof(float)));
}

static inline struct dev_tracker_counts tracker_counts(struct dev *d)
{
	struct dev_tracker_counts counts = {0};
	ok(dev_tracker_counts(d, &counts));
	return counts;
}

/* C of m x n at `c`, all of k = 64, in tiles of 64 x 64, which move 16384 bytes of A, B and C each.
 */
static inline struct dev_gemm gemm_into(float *c, uint32_t m, uint32_t n)
{
	return (struct dev_gemm){.type = DEV_F32,
				 .m = m,
				 .n = n,
				 .k = TILE,
				 .alpha = 1,
				 .a = scene.operands,
				 .b = scene.operands + (1 << 16),
				 .c = c,
				 .lda = TILE,
				 .ldb = n,
				 .ldc = scene.columns,
				 .tiled = true};
}

#endif
