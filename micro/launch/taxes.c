/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/launch/taxes.h"
#include "bench/bench_alloc.h"
#include "device/kernels.h"

/* A piece and a short stage: some tens of microseconds on a CPU core. */
#define PIECE_FMAS (UINT64_C(256) * DEV_FMA_QUANTUM)
#define LONG_STAGE 3u

static uint64_t tile_bytes(const struct dev_props *p)
{
	uint64_t wanted = p->llc_bytes ? 2 * p->llc_bytes / TAXES_TILES : 4u << 20;
	uint64_t max_bytes = p->memory_bytes / (4 * TAXES_TILES);
	uint64_t bytes = wanted < max_bytes ? wanted : max_bytes;
	return bytes - bytes % DEV_KERNEL_ALIGN;
}

int taxes_open(struct taxes *t, struct bench_case *c)
{
	const struct dev_props *p = dev_props(c->dev);
	t->tile_bytes = tile_bytes(p);
	t->fma = bench_kernel(c, "fma_f32");
	t->write = bench_kernel(c, "write");
	t->read = bench_kernel(c, "read");
	t->other = bench_stream(c, p->priority_normal);
	t->fork = bench_event(c);
	t->join = bench_event(c);
	t->out = bench_alloc(c, DEV_MEM_DEVICE, 2 * p->busy_blocks * sizeof(float));
	t->sink = bench_alloc(c, DEV_MEM_DEVICE, 256);
	t->tiles = bench_alloc(c, DEV_MEM_DEVICE, t->tile_bytes * TAXES_TILES);
	int status = bench_status(c);
	return status ? status
		      : dev_fill(c->dev, c->stream, t->tiles, 1, t->tile_bytes * TAXES_TILES);
}

/* The two streams run at once, so each has its own results. */
static int launch_multiply_adds(struct taxes *t, struct bench_case *c, struct dev_stream *stream,
				uint32_t grid, uint64_t fmas)
{
	float *out = stream == t->other ? t->out + dev_props(c->dev)->busy_blocks : t->out;
	const void *const args[] = {&out, &fmas};
	struct dev_launch launch = {.grid = grid, .args = args};
	return dev_launch(c->dev, stream, t->fma, &launch);
}

int taxes_launches(struct taxes *t, struct bench_case *c, unsigned launches)
{
	int status = 0;
	for (unsigned i = 0; status == 0 && i < launches; i++)
		status = launch_multiply_adds(t, c, c->stream, dev_wave_blocks(c->dev, t->fma),
					      PIECE_FMAS * TAXES_PIECES / launches);
	return status;
}

int taxes_staged(struct taxes *t, struct bench_case *c, bool barrier)
{
	int status = bench_follow(c, c->stream, t->other, t->fork);
	for (unsigned stage = 0; status == 0 && stage < TAXES_STAGES; stage++) {
		status = launch_multiply_adds(t, c, c->stream, 1,
					      PIECE_FMAS * (stage % 2 ? LONG_STAGE : 1));
		if (status == 0)
			status = launch_multiply_adds(t, c, t->other, 1,
						      PIECE_FMAS * (stage % 2 ? 1 : LONG_STAGE));
		if (status == 0 && barrier)
			status = bench_follow(c, t->other, c->stream, t->join);
		if (status == 0 && barrier)
			status = bench_follow(c, c->stream, t->other, t->fork);
	}
	return status ? status : bench_follow(c, t->other, c->stream, t->join);
}

static int launch_tile(struct taxes *t, struct bench_case *c, unsigned i, bool produce)
{
	const char *at = t->tiles + i * t->tile_bytes;
	uint32_t reps = 1, word = i;
	const void *const write_args[] = {&at, &t->tile_bytes, &reps, &word};
	const void *const read_args[] = {&at, &t->tile_bytes, &reps, &t->sink};
	struct dev_kernel *kernel = produce ? t->write : t->read;
	struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, kernel),
				    .args = produce ? write_args : read_args};
	return dev_launch(c->dev, c->stream, kernel, &launch);
}

int taxes_tiles(struct taxes *t, struct bench_case *c, bool by_tile)
{
	int status = 0;
	for (unsigned i = 0; status == 0 && i < 2 * TAXES_TILES; i++)
		status = by_tile ? launch_tile(t, c, i / 2, i % 2 == 0)
				 : launch_tile(t, c, i % TAXES_TILES, i < TAXES_TILES);
	return status;
}
