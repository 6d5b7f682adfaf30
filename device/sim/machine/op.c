/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/machine/op.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/streams.h"
#include "lib/rng.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct op *sim_op_alloc(enum op_kind kind)
{
	const size_t traffic = kind == OP_LAUNCH ? OP_TRAFFIC : OP_TRANSFER_TRAFFIC;
	struct op *op = calloc(1, sizeof(*op));
	if (!op || kind == OP_RECORD || kind == OP_WAIT || kind >= OP_ARM)
		return op;
	op->work = calloc(1, sizeof(*op->work) + traffic * sizeof(op->work->traffic[0]));
	if (op->work)
		return op;
	free(op);
	return NULL;
}

void sim_op_slow_down(const struct sim_dev *d, struct op *op, const char *what)
{
	for (uint32_t i = 0; i < d->model.slow_downs; i++)
		if (strcmp(d->model.slow_down[i].what, what) == 0)
			op->slow_down *= d->model.slow_down[i].factor;
}

int op_use(struct sim_dev *d, struct op *op, const void *at, uint64_t bytes, const char *what)
{
	struct alloc *a = sim_memory_find(d, at, bytes, what);
	if (!a)
		return -EFAULT;
	op->work->range[op->uses] = (struct sim_range){at, bytes};
	op->work->use[op->uses++] = a;
	return 0;
}

void op_traffic(struct op *op, unsigned use, double volume, bool write, enum path path)
{
	assert(op->traffics < (op->kind == OP_LAUNCH ? OP_TRAFFIC : OP_TRANSFER_TRAFFIC));
	op->work->traffic[op->traffics].at = op->work->use[use];
	op->work->traffic[op->traffics].use = use;
	op->work->traffic[op->traffics].volume = volume;
	op->work->traffic[op->traffics].path = path;
	op->work->traffic[op->traffics++].write = write;
}

/* ------------------------------------------------------------------ random factors */

/* Mean 1. */
static double draw_lognormal(struct rng *r, double sigma)
{
	return sigma > 0 ? exp(sigma * rng_normal(r) - sigma * sigma / 2) : 1;
}

double sim_slowness(const struct sim_dev *d)
{
	double now_s = 1e-9 * ((double)sim_clock.epoch_ns + sim_clock.now_ns);
	return d->open_factor * fmax(0.01, 1 + d->model.drift_per_s * now_s);
}

double op_stretch_of_draw(struct sim_dev *d, uint64_t draw)
{
	struct rng r;
	rng_seed(&r, d->seed, draw);
	double stretch = sim_slowness(d) * draw_lognormal(&r, d->model.jitter_sigma);
	if (d->model.outlier_probability > 0 && rng_unit(&r) < d->model.outlier_probability)
		stretch *= d->model.outlier_factor;
	return stretch;
}

double op_stretch(struct sim_dev *d, uint64_t serial)
{
	return op_stretch_of_draw(d, serial << 32);
}

double sim_block_stretch(const struct op *op, uint32_t block)
{
	const struct sim_dev *d = op->stream->dev;
	struct rng r;
	if (d->model.block_jitter_sigma <= 0)
		return op->stretch;
	/* The stream of draws depends on the operation and the block only, so that the order of
	 * events changes no draw. 0 is the operation's own draw. */
	rng_seed(&r, d->seed, (op->serial << 32) + 1 + block);
	return op->stretch * draw_lognormal(&r, d->model.block_jitter_sigma);
}
