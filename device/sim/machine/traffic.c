/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/machine/traffic.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/gemm.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/redirect.h"
#include "device/sim/machine/streams.h"

/* ------------------------------------------------------------------ what passes memory */

bool sim_alloc_adds(const struct alloc *a)
{
	return a->kind == DEV_MEM_DEVICE && a->dev->model.memory_adds;
}

static enum dev_traffic_class class_of(const struct op *op, const struct alloc *a)
{
	const bool copies = op->kind == OP_COPY || op->type == &kernel_copy_type;
	return copies || a->dev != op->stream->dev ? DEV_COMMUNICATION : op->stream->traffic;
}

static void need_memory(struct flow *f, const struct op *op, const struct op_traffic *t,
			double volume)
{
	struct sim_dev *d = t->at->dev;
	struct sim_memory_control *c = &d->control;
	const double cost = volume * (t->adds ? d->model.add_cost : 1);
	const bool communicates = class_of(op, t->at) == DEV_COMMUNICATION;
	if (!communicates || c->in_force.policy == DEV_MEMORY_FAIR)
		flow_need(f, &d->memory, cost);
	if (communicates && d->memory.behind)
		flow_need(f, &c->communication, cost);
	if (!communicates && !t->write && d->memory.behind)
		flow_wait(f, &d->memory, volume);
}

void sim_memory_count_part(const struct op *op, const struct op_traffic *t, double volume)
{
	struct dev_memory_bytes *passed = &t->at->dev->control.passed;
	const bool passes = t->path == PATH_MEMORY || t->path == PATH_REFILL;
	if (t->at->kind == DEV_MEM_DEVICE && passes)
		(t->write ? passed->written : passed->read)[class_of(op, t->at)] += volume;
}

void sim_memory_count(const struct op *op)
{
	const uint32_t rows = op->work->gemm.m, kept = op->tiles ? sim_redirect_count(op) : 0;
	for (unsigned i = 0; i < op->traffics; i++) {
		const struct op_traffic *t = &op->work->traffic[i];
		const bool is_c = op->tiles && t->use == SIM_GEMM_C;
		sim_memory_count_part(op, t, is_c ? t->volume * kept / rows : t->volume);
	}
}

/* ------------------------------------------------------------------ what flows need */

/* True if it passes load/store units or an engine, and links. */
static bool leaves_memory(const struct op_traffic *t)
{
	return t->path != PATH_REFILL && t->path != PATH_L1 && !t->stays;
}

static void need_pinned(struct sim_dev *d, struct flow *f, const struct op_traffic *t,
			double volume)
{
	flow_need(f, &sim_machine.host_memory, volume);
	flow_need(f, t->write ? &d->link_up : &d->link_down, volume);
	if (t->at->node != sim_near_node(d))
		flow_need(f, t->write ? &d->far_up : &d->far_down, volume);
}

void sim_traffic_need(const struct op *op, struct flow *f, const struct op_traffic *t,
		      double volume)
{
	struct sim_dev *d = op->stream->dev, *owner = t->at->dev;
	if (t->at->kind == DEV_MEM_PINNED) {
		need_pinned(d, f, t, volume);
		return;
	}
	if (t->path == PATH_L1 || t->path == PATH_L2)
		return;
	if (t->path == PATH_CACHE)
		flow_need(f, &owner->llc, volume);
	else
		need_memory(f, op, t, volume);
	if (owner != d && leaves_memory(t))
		sim_peer_need(f, t->write ? d : owner, t->write ? owner : d, volume);
}

/* Only `c_part` of C is written to C's own memory. Returns the bytes that pass the unit or
 * engine. */
double sim_traffic_need_all(struct flow *f, const struct op *op, double part, double c_part)
{
	double through = 0;
	for (unsigned i = 0; i < op->traffics; i++) {
		const struct op_traffic *t = &op->work->traffic[i];
		const bool is_c = op->tiles && t->use == SIM_GEMM_C;
		const double volume = t->volume * part * (is_c ? c_part : 1);
		sim_traffic_need(op, f, t, volume);
		if (leaves_memory(t))
			through += volume;
	}
	return through;
}
