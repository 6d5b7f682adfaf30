/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The three taxes of cutting work into kernels (arXiv 2511.02168; the decomposition into pairs of
 * runs is ours). Each function enqueues one iteration of one side of a pair on c->stream; both
 * sides of a pair do the same work.
 */
#ifndef GPUSIG_TAXES_H
#define GPUSIG_TAXES_H

#include "bench/bench.h"

#define TAXES_PIECES 16u
#define TAXES_STAGES 8u
#define TAXES_TILES 16u

struct taxes {
	struct dev_kernel *fma, *write, *read;
	struct dev_stream *other;
	struct dev_event *fork, *join;
	float *out; /* one number per block and stream */
	char *tiles;
	uint32_t *sink;
	uint64_t tile_bytes;
};

/* In setup; the case owns what this opens (bench/bench_alloc.h). */
int taxes_open(struct taxes *t, struct bench_case *c);

/* TAXES_PIECES pieces of multiply-adds on every unit, in `launches` launches. */
int taxes_launches(struct taxes *t, struct bench_case *c, unsigned launches);

/* TAXES_STAGES alternating long and short kernels of one block in each of two streams. While one
 * stream has its long stage the other has its short one, so a barrier after every stage makes one
 * of them wait each time. */
int taxes_staged(struct taxes *t, struct bench_case *c, bool barrier);

/* Writes and reads TAXES_TILES tiles: all are written first, or (`by_tile`) each is read right
 * after it was written. Together they are twice the last-level cache, so all have left it before
 * they are read; one alone stays in it. */
int taxes_tiles(struct taxes *t, struct bench_case *c, bool by_tile);

#endif
