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
	product_forget_all();
	memset(w, 0, sizeof(*w));
}

struct activity *activity_begin(struct op *op)
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

void activity_end(struct activity *a) { sim_world.idle[sim_world.idles++] = a; }

void activity_lasts(struct activity *a, double ns, void (*then)(struct activity *a))
{
	a->flows = false;
	a->since_ns = sim_world.now_ns;
	a->finish_ns = sim_world.now_ns + ns;
	a->then = then;
	sim_world.active[sim_world.actives++] = a;
}

void activity_flows(struct activity *a, void (*then)(struct activity *a))
{
	if (a->flow.demands == 0 && a->flow.least_ns <= 0) {
		activity_lasts(a, 0, then);
		return;
	}
	activity_lasts(a, INFINITY, then);
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
	product_end(op->product, &op->gemm, op->blocks_left == 0);
	free(op);
}

/* The head of its stream is done, or dropped. */
void op_end(struct op *op)
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
		if (a->held && kernel_is_released(a->op))
			a->finish_ns = sim_world.now_ns;
	}
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
	if (op->kind == OP_WAIT && op->stamp && !op->stamp->done)
		return false;
	if (op->kind == OP_WAIT_VALUE && *(const uint32_t *)(const void *)op->dst < op->value)
		return false;
	op->started = true;
	switch (op->kind) {
	case OP_RECORD:
		stamp_now(op->stamp);
		activity_lasts(activity_begin(op), d->model.event_ns * op->stretch, end_span);
		break;
	case OP_WAIT: op_end(op); break;
	case OP_WAIT_VALUE:
	case OP_WRITE_VALUE: activity_lasts(activity_begin(op), d->model.value_ns * op->stretch, end_span); break;
	case OP_COPY: work_ready(&d->copies_ready, op); break;
	case OP_FILL: activity_lasts(activity_begin(op), d->model.launch_ns * op->stretch, work_move); break;
	case OP_LAUNCH: activity_lasts(activity_begin(op), d->model.launch_ns * op->stretch, work_launch); break;
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
		work_start_copies(d);
		work_start_blocks(d);
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
	double next;
	while ((next = next_finish()) <= until_ns)
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
	for (struct op *op = s->head, *next; op; op = next) {
		next = op->next;
		work_unready(&s->dev->launches_ready, op);
		work_unready(&s->dev->copies_ready, op);
		drop(op);
	}
}
