/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What takes time: copies, fills and the blocks of launches.
 */
#include <math.h>
#include <string.h>

#include "device/sim_world.h"

/* A longer hold would leave no digits for nanoseconds. */
#define LONGEST_NS 1e15

static struct sim_dev *dev_of(const struct op *op) { return op->stream->dev; }

/* ------------------------------------------------------------------ what flows need */

static void need_memory(struct sim_dev *d, struct flow *f, const struct alloc *a, double amount, bool write)
{
	if (a->kind == DEV_MEM_PINNED) {
		flow_need(f, &sim_world.host_memory, amount);
		flow_need(f, write ? &d->link_up : &d->link_down, amount);
		return;
	}
	flow_need(f, &a->dev->memory, amount);
	if (a->dev != d) {
		flow_need(f, write ? &d->peer_out : &d->peer_in, amount);
		flow_need(f, write ? &a->dev->peer_in : &a->dev->peer_out, amount);
	}
}

static void limit_block(struct sim_dev *d, struct flow *f, struct resource *r, double amount)
{
	double alone_ns = amount / (r->capacity * d->model.block_share);
	flow_need(f, r, amount);
	if (alone_ns > f->least_ns)
		f->least_ns = alone_ns;
}

static void block_flow(struct activity *a)
{
	const struct op *op = a->op;
	struct sim_dev *d = dev_of(op);
	double part = op->type->part ? op->type->part(op, a->block) : 1.0 / op->grid;
	double through_unit = 0;
	flow_begin(&a->flow);
	for (unsigned i = 0; i < op->traffics; i++) {
		double amount = op->traffic[i].amount * part;
		const struct alloc *at = op->traffic[i].at;
		bool own = at->dev == d && at->kind == DEV_MEM_DEVICE;
		if (own && op->traffic[i].path == PATH_CACHE)
			flow_need(&a->flow, &d->llc, amount);
		else if (own || op->traffic[i].path != PATH_REFILL)
			need_memory(d, &a->flow, at, amount, op->traffic[i].write);
		if (op->traffic[i].path != PATH_REFILL)
			through_unit += amount;
	}
	limit_block(d, &a->flow, &a->unit->load_store, through_unit);
	if (op->block_flops > 0)
		limit_block(d, &a->flow, &a->unit->compute, op->block_flops / op->peak_flops);
	if (a->block == 0)
		a->flow.least_ns = fmax(a->flow.least_ns, op->first_block_ns);
}

/* ------------------------------------------------------------------ copies and fills */

void work_ready(struct op **list, struct op *op)
{
	while (*list && ((*list)->kind != OP_LAUNCH || (*list)->stream->priority >= op->stream->priority))
		list = &(*list)->ready_next;
	op->ready_next = *list;
	*list = op;
}

void work_unready(struct op **list, const struct op *op)
{
	while (*list && *list != op)
		list = &(*list)->ready_next;
	if (*list)
		*list = op->ready_next;
}

static void end_move(struct activity *a)
{
	struct op *op = a->op;
	if (op->kind == OP_FILL)
		memset(op->dst, (int)op->value, op->bytes);
	else if (op->bytes)
		memcpy(op->dst, op->src, op->bytes);
	if (op->corrupts)
		kernel_corrupt(op);
	if (op->has_engine)
		dev_of(op)->engines_busy--;
	sim_world.flows_changed = true;
	activity_end(a);
	op_end(op);
}

void work_move(struct activity *a)
{
	struct op *op = a->op;
	struct sim_dev *d = dev_of(op);
	double amount = (double)op->bytes;
	flow_begin(&a->flow);
	need_memory(d, &a->flow, op->use[0], amount, true);
	if (op->kind == OP_COPY) {
		need_memory(d, &a->flow, op->use[1], amount, false);
		a->flow.least_ns = amount / (d->model.engine_bandwidth * 1e-9);
		a->flow.weight = d->model.engine_weight;
	}
	activity_flows(a, end_move);
}

void work_start_copies(struct sim_dev *d)
{
	while (d->copies_ready && d->engines_busy < d->model.copy_engines) {
		struct op *op = d->copies_ready;
		d->copies_ready = op->ready_next;
		d->engines_busy++;
		op->has_engine = true;
		struct activity *a = activity_begin(op);
		activity_lasts(a, d->model.copy_ns * a->stretch, work_move);
	}
}

/* ------------------------------------------------------------------ launches */

/* Of mean 1. */
static double lognormal(struct rng *r, double sigma)
{
	return sigma > 0 ? exp(sigma * rng_normal(r) - sigma * sigma / 2) : 1;
}

double op_stretch(struct sim_dev *d, uint64_t serial)
{
	struct rng r;
	rng_seed(&r, d->model.seed + ((uint64_t)d->base.index << 54), serial << 32);
	double stretch = d->open_factor * lognormal(&r, d->model.jitter_sigma);
	stretch *= fmax(0.01, 1 + d->model.drift_per_s * sim_world.now_ns * 1e-9);
	if (d->model.outlier_probability > 0 && rng_unit(&r) < d->model.outlier_probability)
		stretch *= d->model.outlier_factor;
	return stretch;
}

static double block_stretch(const struct op *op, uint32_t block)
{
	const struct sim_dev *d = dev_of(op);
	struct rng r;
	if (d->model.block_jitter_sigma <= 0)
		return op->stretch;
	/* Counted from 1 below the operation's own draw, so that the order of events changes no draw. */
	rng_seed(&r, d->model.seed + ((uint64_t)d->base.index << 54), (op->serial << 32) + 1 + block);
	return op->stretch * lognormal(&r, d->model.block_jitter_sigma);
}

static void end_block(struct activity *a)
{
	struct op *op = a->op;
	if (op->type->finish)
		op->type->finish(op, a->block);
	a->unit->residents--;
	a->unit->shared_used_bytes -= op->claim_bytes;
	if (a->flows)
		sim_world.flows_changed = true;
	activity_end(a);
	if (--op->blocks_left > 0)
		return;
	if (op->corrupts)
		kernel_corrupt(op);
	op_end(op);
}

static void start_block(struct activity *a)
{
	struct op *op = a->op;
	if (op->type->start)
		op->type->start(op, a->block, (uint64_t)sim_world.now_ns);
	if (op->type->holds) {
		a->held = true;
		activity_lasts(a, kernel_is_released(op) ? 0 : fmin((double)op->arg[3].u64, LONGEST_NS), end_block);
		return;
	}
	block_flow(a);
	activity_flows(a, end_block);
}

static struct unit *choose_unit(struct sim_dev *d, uint64_t claim_bytes)
{
	struct unit *best = NULL;
	for (uint32_t i = 0; i < d->model.units; i++) {
		struct unit *u = &d->unit[i];
		if (u->residents < d->model.slots_per_unit &&
		    claim_bytes <= d->model.shared_per_unit_bytes - u->shared_used_bytes &&
		    (!best || u->residents < best->residents))
			best = u;
	}
	return best;
}

void work_start_blocks(struct sim_dev *d)
{
	while (d->launches_ready) {
		struct op *op = d->launches_ready;
		struct unit *u = choose_unit(d, op->claim_bytes);
		if (!u)
			return;
		struct activity *a = activity_begin(op);
		a->unit = u;
		a->block = op->next_block++;
		a->stretch = block_stretch(op, a->block);
		u->residents++;
		u->shared_used_bytes += op->claim_bytes;
		activity_lasts(a, d->model.block_ns * a->stretch, start_block);
		if (op->next_block == op->grid)
			d->launches_ready = op->ready_next;
	}
}

void work_launch(struct activity *a)
{
	struct op *op = a->op;
	activity_end(a);
	work_ready(&dev_of(op)->launches_ready, op);
}

