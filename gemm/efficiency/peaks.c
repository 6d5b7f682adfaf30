/* SPDX-License-Identifier: BSD-3-Clause */
#include "gemm/efficiency/peaks.h"

#include <errno.h>

#include "device/kernels.h"
#include "lib/bench_own.h"
#include "lib/err.h"

/* Scalar multiply-adds of a block of f32: about a millisecond on a CPU core. */
#define FMA_BLOCK (UINT64_C(8192) * DEV_FMA_QUANTUM)
/* Matrix multiply-adds of a unit: half a millisecond to some on GPUs of today. */
#define MMA_UNIT (UINT64_C(16) * DEV_MMA_QUANTUM)

static const char *const mma_names[DEV_TYPES] = {
	[DEV_TF32] = "mma_tf32", [DEV_F16] = "mma_f16", [DEV_BF16] = "mma_bf16", [DEV_F8] = "mma_f8"};
static const char *const wgmma_names[DEV_TYPES] = {
	[DEV_TF32] = "wgmma_tf32", [DEV_F16] = "wgmma_f16", [DEV_BF16] = "wgmma_bf16", [DEV_F8] = "wgmma_f8"};

static void open_fma(struct peak *p, struct bench_case *c, enum dev_type type)
{
	p->kernel = own_kernel(c, type == DEV_F32 ? "fma_f32" : "fma_f64");
	if (own_status(c))
		return;
	p->fmas = type == DEV_F32 ? FMA_BLOCK : FMA_BLOCK / 2;
	p->blocks = dev_wave_blocks(c->dev, p->kernel);
	p->out = own_memory(c, DEV_MEM_DEVICE, p->blocks * sizeof(double));
}

/* The blocks that are resident at once share the work. */
static void open_mma(struct peak *p, struct bench_case *c, const char *name)
{
	p->kernel = own_kernel(c, name);
	if (own_status(c))
		return;
	p->blocks = dev_wave_blocks(c->dev, p->kernel);
	if (p->blocks == 0) {
		own_result(c, -EIO); /* its text is there */
		return;
	}
	const uint64_t quanta = MMA_UNIT / DEV_MMA_QUANTUM * dev_props(c->dev)->units / p->blocks;
	p->fmas = (quanta ? quanta : 1) * DEV_MMA_QUANTUM;
	p->out = own_memory(c, DEV_MEM_DEVICE, p->blocks * sizeof(uint32_t));
}

void peaks_open(struct peaks *p, struct bench_case *c, enum dev_type type)
{
	const struct dev_props *props = dev_props(c->dev);
	if (type == DEV_F32 || type == DEV_F64)
		open_fma(&p->loops[PEAK_FMA], c, type);
	if (props->mma_types >> type & 1)
		open_mma(&p->loops[PEAK_MMA], c, mma_names[type]);
	if (props->wgmma_types >> type & 1)
		open_mma(&p->loops[PEAK_WGMMA], c, wgmma_names[type]);
}

int peaks_launch(const struct peaks *p, struct bench_case *c, enum peak_loop loop)
{
	const struct peak *at = &p->loops[loop];
	const void *const args[] = {&at->out, &at->fmas};
	const struct dev_launch launch = {.grid = at->blocks, .args = args};
	return dev_launch(c->dev, c->stream, at->kernel, &launch);
}

double peaks_flops(const struct peaks *p, enum peak_loop loop)
{
	return 2.0 * (double)p->loops[loop].fmas * p->loops[loop].blocks;
}

int peaks_spoil(const struct peaks *p, struct bench_case *c, enum peak_loop loop)
{
	const struct peak *at = &p->loops[loop];
	return loop == PEAK_FMA ? 0 : dev_fill(c->dev, c->stream, at->out, 0xff, at->blocks * sizeof(uint32_t));
}

int peaks_check(const struct peaks *p, struct bench_case *c, enum peak_loop loop)
{
	const struct peak *at = &p->loops[loop];
	const uint32_t right = (uint32_t)(at->fmas / 16);
	if (loop == PEAK_FMA)
		return 0;
	uint32_t *sums = own_host(c, at->blocks * sizeof(*sums));
	if (!sums)
		return own_status(c);
	int status = own_result(c, dev_download(c->dev, sums, at->out, at->blocks * sizeof(*sums)));
	for (uint32_t i = 0; !status && i < at->blocks; i++)
		if (sums[i] != right)
			status = err_note(-EBADMSG, "block %u of the peak loop added up to %u, not %u", i, sums[i], right);
	return status;
}
