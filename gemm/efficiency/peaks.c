/* SPDX-License-Identifier: BSD-3-Clause */
#include "gemm/efficiency/peaks.h"
#include "bench/bench_alloc.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>

/* A launch takes a millisecond of a GPU and several of a CPU core, so its start weighs little, and
 * scalar ones have so many waves that little waits for the slowest block.
 * Multiply-adds of a unit, of f32 and of a narrow type: */
#define FMA_UNIT (UINT64_C(65536) * DEV_FMA_QUANTUM)
#define MMA_UNIT (UINT64_C(32) * DEV_MMA_QUANTUM)
#define FMA_WAVES 8u

/* Divides the work of a unit among its blocks. */
static void open_loop(struct peak *p, struct bench_case *c, const char *name, unsigned waves,
		      uint64_t unit_fmas, uint64_t quantum)
{
	p->kernel = bench_kernel(c, name);
	if (bench_status(c))
		return;
	uint32_t resident;
	if (bench_status_add(c, dev_occupancy(c->dev, p->kernel, 0, 0, &resident)))
		return;
	p->blocks = waves * resident * dev_props(c->dev)->units;
	const uint64_t quanta = unit_fmas / quantum / waves / resident;
	p->fmas = (quanta ? quanta : 1) * quantum;
	p->out = bench_alloc(c, DEV_MEM_DEVICE, p->blocks * sizeof(double));
}

static void open_fma(struct peak *p, struct bench_case *c, enum dev_type type)
{
	const bool is_f32 = type == DEV_F32;
	open_loop(p, c, is_f32 ? "fma_f32" : "fma_f64", FMA_WAVES, is_f32 ? FMA_UNIT : FMA_UNIT / 2,
		  DEV_FMA_QUANTUM);
}

static void open_mma(struct peak *p, struct bench_case *c, const char *prefix, enum dev_type type)
{
	char name[32];
	snprintf(name, sizeof(name), "%s%s", prefix, dev_type_names[type]);
	open_loop(p, c, name, 1, MMA_UNIT, DEV_MMA_QUANTUM);
}

void peaks_open(struct peaks *p, struct bench_case *c, enum dev_type type)
{
	const struct dev_props *props = dev_props(c->dev);
	if (type == DEV_F32 || type == DEV_F64)
		open_fma(&p->loops[PEAK_FMA], c, type);
	if (props->mma_types >> type & 1)
		open_mma(&p->loops[PEAK_MMA], c, "mma_", type);
	if (props->wgmma_types >> type & 1)
		open_mma(&p->loops[PEAK_WGMMA], c, "wgmma_", type);
}

int peaks_launch(const struct peaks *p, struct bench_case *c, enum peak_loop loop)
{
	const struct peak *peak = &p->loops[loop];
	const void *const args[] = {&peak->out, &peak->fmas};
	const struct dev_launch launch = {.grid = peak->blocks, .args = args};
	return dev_launch(c->dev, c->stream, peak->kernel, &launch);
}

double peaks_flops(const struct peaks *p, enum peak_loop loop)
{
	return 2.0 * (double)p->loops[loop].fmas * p->loops[loop].blocks;
}

int peaks_poison(const struct peaks *p, struct bench_case *c, enum peak_loop loop)
{
	const struct peak *peak = &p->loops[loop];
	return loop == PEAK_FMA ? 0
				: dev_fill(c->dev, c->stream, peak->out, 0xff,
					   peak->blocks * sizeof(uint32_t));
}

int peaks_check(const struct peaks *p, struct bench_case *c, enum peak_loop loop)
{
	const struct peak *peak = &p->loops[loop];
	const uint32_t expected = (uint32_t)(peak->fmas / 16);
	if (loop == PEAK_FMA)
		return 0;
	uint32_t *sums = bench_alloc_host(c, peak->blocks * sizeof(*sums));
	if (!sums)
		return bench_status(c);
	int status = bench_status_add(
		c, dev_download(c->dev, sums, peak->out, peak->blocks * sizeof(*sums)));
	for (uint32_t i = 0; !status && i < peak->blocks; i++)
		if (sums[i] != expected)
			status = err_note(-EBADMSG,
					  "block %u of the peak loop added up to %u, not %u", i,
					  sums[i], expected);
	return status;
}
