/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim_world.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

/* What ends within a millionth of a nanosecond ends together: rounding must not make two steps of one. */
#define SAME_TIME_NS 1e-6

/* A longer hold would leave no digits for nanoseconds. */
#define LONGEST_NS 1e15

struct world sim_world;

static struct sim_dev *dev_of(const struct op *op) { return op->stream->dev; }

/* ------------------------------------------------------------------ activities */

static int grow(void *array_p, size_t count)
{
	void *old, *more;
	memcpy(&old, array_p, sizeof(old));
	more = realloc(old, count * sizeof(void *));
	if (!more)
		return -ENOMEM;
	memcpy(array_p, &more, sizeof(more));
	return 0;
}

int world_reserve(size_t more)
{
	struct world *w = &sim_world;
	size_t room = w->reserved + more;
	if (grow(&w->active, room) || grow(&w->finished, room) || grow(&w->idle, room) || grow(&w->flows, room))
		return -ENOMEM;
	while (w->reserved < room) {
		struct activity *a = malloc(sizeof(*a));
		if (!a) {
			world_unreserve(w->reserved + more - room);
			return -ENOMEM;
		}
		w->idle[w->idles++] = a;
		w->reserved++;
	}
	return 0;
}

void world_unreserve(size_t fewer)
{
	struct world *w = &sim_world;
	for (; fewer > 0 && w->idles > 0; fewer--, w->reserved--)
		free(w->idle[--w->idles]);
	if (w->reserved > 0)
		return;
	free(w->active);
	free(w->finished);
	free(w->idle);
	free(w->flows);
	memset(w, 0, sizeof(*w));
}

static struct activity *activity_begin(struct op *op)
{
	struct world *w = &sim_world;
	struct activity *a = w->idle[--w->idles];
	memset(a, 0, offsetof(struct activity, flow));
	a->unit = NULL;
	a->held = false;
	a->op = op;
	a->stretch = op->stretch;
	return a;
}

static void activity_end(struct activity *a) { sim_world.idle[sim_world.idles++] = a; }

static void lasts(struct activity *a, double ns, void (*then)(struct activity *a))
{
	a->flows = false;
	a->since_ns = sim_world.now_ns;
	a->finish_ns = sim_world.now_ns + ns;
	a->then = then;
	sim_world.active[sim_world.actives++] = a;
}

static void flows(struct activity *a, void (*then)(struct activity *a))
{
	if (a->flow.demands == 0 && a->flow.least_ns <= 0) {
		lasts(a, 0, then);
		return;
	}
	lasts(a, INFINITY, then);
	a->flows = true;
	a->left = a->stretch * a->op->slow_down;
	a->flow.rate = 0;
	a->rate = 0;
	sim_world.flows_changed = true;
}

static void set_rates(void)
{
	struct world *w = &sim_world;
	size_t count = 0;
	for (size_t i = 0; i < w->actives; i++)
		if (w->active[i]->flows)
			w->flows[count++] = &w->active[i]->flow;
	share(w->flows, count);
	for (size_t i = 0; i < w->actives; i++) {
		struct activity *a = w->active[i];
		/* An unchanged rate keeps its end exactly; adding up pieces would not. */
		if (!a->flows || (a->rate <= a->flow.rate && a->rate >= a->flow.rate))
			continue;
		a->left = fmax(0, a->left - (w->now_ns - a->since_ns) * a->rate);
		a->since_ns = w->now_ns;
		a->rate = a->flow.rate;
		a->finish_ns = w->now_ns + a->left / a->rate;
	}
	w->flows_changed = false;
}

/* ------------------------------------------------------------------ ends of operations */

void stamp_release(struct stamp *stamp)
{
	if (stamp && --stamp->holders == 0)
		free(stamp);
}

static void stamp_now(struct stamp *stamp)
{
	stamp->done = true;
	stamp->at_ns = sim_world.now_ns;
}

static void op_free(struct op *op)
{
	for (unsigned i = 0; i < op->uses; i++)
		op->use[i]->users--;
	stamp_release(op->stamp);
	free(op);
}

/* The head of its stream is done, or dropped. */
static void op_end(struct op *op)
{
	struct dev_stream *s = op->stream;
	s->head = op->next;
	if (!s->head)
		s->tail = NULL;
	s->queued--;
	op_free(op);
}

static void end_span(struct activity *a)
{
	struct op *op = a->op;
	if (op->kind == OP_WRITE_VALUE) {
		*(uint32_t *)(void *)op->dst = op->value;
		world_written();
	}
	activity_end(a);
	op_end(op);
}

void world_written(void)
{
	for (size_t i = 0; i < sim_world.actives; i++) {
		struct activity *a = sim_world.active[i];
		if (a->held && *(uint32_t *)a->op->arg[0].pointer)
			a->finish_ns = sim_world.now_ns;
	}
}

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
}

/* ------------------------------------------------------------------ copies and fills */

static void ready_append(struct op **list, struct op *op)
{
	while (*list && ((*list)->kind != OP_LAUNCH || (*list)->stream->priority >= op->stream->priority))
		list = &(*list)->ready_next;
	op->ready_next = *list;
	*list = op;
}

static void ready_remove(struct op **list, const struct op *op)
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

static void move_flow(struct activity *a)
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
	flows(a, end_move);
}

static void start_copies(struct sim_dev *d)
{
	while (d->copies_ready && d->engines_busy < d->model.copy_engines) {
		struct op *op = d->copies_ready;
		d->copies_ready = op->ready_next;
		d->engines_busy++;
		op->has_engine = true;
		struct activity *a = activity_begin(op);
		lasts(a, d->model.copy_ns * a->stretch, move_flow);
	}
}

/* ------------------------------------------------------------------ launches */

static double lognormal(struct rng *r, double sigma) { return sigma > 0 ? exp(sigma * rng_normal(r) - sigma * sigma / 2) : 1; }

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
		lasts(a, *(uint32_t *)op->arg[0].pointer ? 0 : fmin((double)op->arg[3].u64, LONGEST_NS), end_block);
		return;
	}
	block_flow(a);
	flows(a, end_block);
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

static void start_blocks(struct sim_dev *d)
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
		lasts(a, d->model.block_ns * a->stretch, start_block);
		if (op->next_block == op->grid)
			d->launches_ready = op->ready_next;
	}
}

static void launch_ready(struct activity *a)
{
	struct op *op = a->op;
	activity_end(a);
	ready_append(&dev_of(op)->launches_ready, op);
}

/* ------------------------------------------------------------------ streams */

static void op_fail(struct op *op)
{
	struct dev_stream *s = op->stream;
	s->failed = -EIO;
	snprintf(s->failure, sizeof(s->failure), "sim:%u: %s failed while it ran: %s of the model", s->dev->base.index,
	         op->kind == OP_COPY ? "a copy" : op->type->name, op->kind == OP_COPY ? "fail_copy_at" : "fail_launch_at");
}

static void drop(struct op *op)
{
	/* A dropped record still ends, or waiters in other streams would never do. */
	if (op->kind == OP_RECORD && !op->stamp->done)
		stamp_now(op->stamp);
	op_end(op);
}

/* False when the operation can't start yet. */
static bool op_start(struct op *op)
{
	struct sim_dev *d = dev_of(op);
	if (op->kind == OP_WAIT && !op->stamp->done)
		return false;
	if (op->kind == OP_WAIT_VALUE && *(const uint32_t *)(const void *)op->dst < op->value)
		return false;
	op->started = true;
	switch (op->kind) {
	case OP_RECORD:
		stamp_now(op->stamp);
		lasts(activity_begin(op), d->model.event_ns * op->stretch, end_span);
		break;
	case OP_WAIT: op_end(op); break;
	case OP_WAIT_VALUE:
	case OP_WRITE_VALUE: lasts(activity_begin(op), d->model.value_ns * op->stretch, end_span); break;
	case OP_COPY: ready_append(&d->copies_ready, op); break;
	case OP_FILL: lasts(activity_begin(op), d->model.launch_ns * op->stretch, move_flow); break;
	case OP_LAUNCH: lasts(activity_begin(op), d->model.launch_ns * op->stretch, launch_ready); break;
	}
	return true;
}

static bool stream_advance(struct dev_stream *s)
{
	bool changed = false;
	while (s->head && !s->head->started) {
		if (s->failed) {
			drop(s->head);
		} else if (s->head->fails) {
			op_fail(s->head);
			drop(s->head);
		} else if (!op_start(s->head)) {
			break;
		}
		changed = true;
	}
	return changed;
}

/* Start all that can start now. One stream's end may be another one's beginning. */
static void settle(void)
{
	bool changed = true;
	while (changed) {
		changed = false;
		for (struct sim_dev *d = sim_world.devs; d; d = d->next)
			for (struct dev_stream *s = d->streams; s; s = s->next)
				changed |= stream_advance(s);
	}
	for (struct sim_dev *d = sim_world.devs; d; d = d->next) {
		start_copies(d);
		start_blocks(d);
	}
}

void world_enqueue(struct op *op)
{
	struct dev_stream *s = op->stream;
	if (s->tail)
		s->tail->next = op;
	else
		s->head = op;
	s->tail = op;
	s->queued++;
}

/* ------------------------------------------------------------------ time */

static double next_finish(void)
{
	double next = INFINITY;
	settle();
	if (sim_world.flows_changed)
		set_rates();
	for (size_t i = 0; i < sim_world.actives; i++)
		next = fmin(next, sim_world.active[i]->finish_ns);
	return next;
}

static void finish_at(double now_ns)
{
	struct world *w = &sim_world;
	size_t keep = 0, done = 0;
	w->now_ns = fmax(w->now_ns, now_ns);
	for (size_t i = 0; i < w->actives; i++) {
		if (w->active[i]->finish_ns <= now_ns + SAME_TIME_NS)
			w->finished[done++] = w->active[i];
		else
			w->active[keep++] = w->active[i];
	}
	w->actives = keep;
	for (size_t i = 0; i < done; i++) {
		w->flows_changed |= w->finished[i]->flows;
		w->finished[i]->then(w->finished[i]);
	}
}

bool world_step(void)
{
	double next = next_finish();
	if (isinf(next))
		return false;
	finish_at(next);
	return true;
}

void world_run(double until_ns)
{
	for (double next = next_finish(); next <= until_ns; next = next_finish())
		finish_at(next);
	sim_world.now_ns = fmax(sim_world.now_ns, until_ns);
}

/* ------------------------------------------------------------------ giving up */

static void abandon(struct activity *a)
{
	struct op *op = a->op;
	if (a->unit) {
		a->unit->residents--;
		a->unit->shared_used_bytes -= op->claim_bytes;
	}
	if (op->has_engine)
		dev_of(op)->engines_busy--;
	sim_world.flows_changed |= a->flows;
	activity_end(a);
}

void world_cancel(struct dev_stream *s)
{
	struct world *w = &sim_world;
	size_t keep = 0;
	for (size_t i = 0; i < w->actives; i++) {
		if (w->active[i]->op->stream == s)
			abandon(w->active[i]);
		else
			w->active[keep++] = w->active[i];
	}
	w->actives = keep;
	while (s->head) {
		ready_remove(&s->dev->launches_ready, s->head);
		ready_remove(&s->dev->copies_ready, s->head);
		drop(s->head);
	}
}
