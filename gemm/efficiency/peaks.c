/* SPDX-License-Identifier: BSD-3-Clause */
#include "gemm/efficiency/peaks.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <stdio.h>

/* A launch takes a millisecond of a GPU and several of a CPU core, so its start weighs little, and
 * scalar ones have so many waves that little waits for the slowest block.
 * Multiply-adds of a unit, of f32 and of a narrow type: */
#define FMA_UNIT (UINT64_C(65536) * DEV_FMA_QUANTUM)
#define MMA_UNIT (UINT64_C(32) * DEV_MMA_QUANTUM)
#define FMA_WAVES 8u

static const struct peak *find_peak(const struct bench_case *c, long loop)
{
	return &((const struct efficiency *)c->state)->loops[loop];
}

bool peak_open(struct bench_case *c, long loop)
{
	struct efficiency *s = c->state;
	struct peak *p = &s->loops[loop];
	const enum dev_type type = s->gemm.type;
	const struct dev_props *props = dev_props(c->dev);
	const struct dev_nominal *nominal = &props->nominal;
	const struct {
		const char *prefix;
		uint32_t types, bounded, waves,
			in_sum; /* in_sum: of so many one is added; 0: no sum */
		uint64_t unit_fmas, quantum;
		double nominal_flops;
	} loops[] = {[PEAK_FMA] = {"fma_", 1u << DEV_F32 | 1u << DEV_F64, props->fma_peak_types,
				   FMA_WAVES, 0, type == DEV_F32 ? FMA_UNIT : FMA_UNIT / 2,
				   DEV_FMA_QUANTUM,
				   type == DEV_F64 ? nominal->fma_flops_f64
						   : nominal->fma_flops_f32},
		     [PEAK_MMA] = {"mma_", props->mma_types, props->mma_peak_types, 1, 16, MMA_UNIT,
				   DEV_MMA_QUANTUM, nominal->gemm_flops[type]},
		     [PEAK_WGMMA] = {"wgmma_", props->wgmma_types, props->wgmma_types, 1, 16,
				     MMA_UNIT, DEV_MMA_QUANTUM, nominal->gemm_flops[type]}},
	  *l = &loops[loop];
	uint32_t resident;
	char name[32];
	if (!(l->types >> type & 1))
		return false;
	snprintf(name, sizeof(name), "%s%s", l->prefix, dev_type_names[type]);
	p->kernel = bench_kernel(c, name);
	if (TRY(c->status, dev_occupancy(c->dev, p->kernel, 0, 0, &resident)))
		return true;
	/* The work of a unit is divided among its blocks. */
	const uint64_t quanta = l->unit_fmas / l->quantum / l->waves / resident;
	p->blocks = l->waves * resident * props->units;
	p->fmas = (quanta ? quanta : 1) * l->quantum;
	p->out = bench_alloc(c, DEV_MEM_DEVICE, p->blocks * sizeof(double));
	p->sum = l->in_sum ? (uint32_t)(p->fmas / l->in_sum) : 0;
	p->found = bench_alloc_host(c, p->blocks * sizeof(*p->found));
	p->is_bound = l->bounded >> type & 1;
	p->nominal_flops = l->nominal_flops;
	return true;
}

int peak_once(struct bench_case *c, long loop)
{
	const struct peak *p = find_peak(c, loop);
	const void *const args[] = {&p->out, &p->fmas};
	const struct dev_launch launch = {.grid = p->blocks, .args = args};
	return dev_launch(c->dev, c->stream, p->kernel, &launch);
}

void peak_model(const struct bench_case *c, long loop, struct bench_model *m)
{
	const struct peak *p = find_peak(c, loop);
	const enum dev_type type = ((const struct efficiency *)c->state)->gemm.type;
	const double work = 2.0 * (double)p->fmas * p->blocks;
	*(dev_type_is_integer(type) ? &m->ops : &m->flops) = work;
}

int peak_poison(struct bench_case *c, long loop)
{
	const struct peak *p = find_peak(c, loop);
	return p->sum ? dev_fill(c->dev, c->stream, p->out, 0xff, p->blocks * sizeof(p->sum)) : 0;
}

int peak_check(struct bench_case *c, long loop)
{
	const struct peak *p = find_peak(c, loop);
	if (p->sum)
		TRY(c->status,
		    dev_download(c->dev, p->found, p->out, p->blocks * sizeof(*p->found)));
	for (uint32_t i = 0; p->sum && c->status == 0 && i < p->blocks; i++)
		if (p->found[i] != p->sum)
			return bench_wrong("block %u of the peak loop added up to %u, not %u", i,
					   p->found[i], p->sum);
	return c->status;
}
