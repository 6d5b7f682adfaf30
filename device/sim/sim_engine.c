/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/sim_engine.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tasks that end within a millionth of a nanosecond end together, so that rounding does not split
 * one step in two. */
#define SAME_TIME_NS 1e-6

struct sim_engine sim_engine;

static struct sim_dev *dev_of(const struct op *op) { return op->stream->dev; }

/* ------------------------------------------------------------------ tasks */

static int grow_array(void *array_p, size_t count)
{
	void *old, *more;
	memcpy(&old, array_p, sizeof(old));
	more = realloc(old, count * sizeof(void *));
	if (!more)
		return -ENOMEM;
	memcpy(array_p, &more, sizeof(more));
	return 0;
}

int sim_engine_reserve(size_t more)
{
	struct sim_engine *engine = &sim_engine;
	size_t capacity = engine->reserved + more;
	if (grow_array(&engine->active, capacity) || grow_array(&engine->finished, capacity) ||
	    grow_array(&engine->idle, capacity) || grow_array(&engine->flows, capacity))
		return -ENOMEM;
	while (engine->reserved < capacity) {
		struct sim_task *task = malloc(sizeof(*task));
		if (!task) {
			sim_engine_unreserve(engine->reserved + more - capacity);
			return -ENOMEM;
		}
		engine->idle[engine->idle_count++] = task;
		engine->reserved++;
	}
	return 0;
}

void sim_engine_unreserve(size_t fewer)
{
	struct sim_engine *engine = &sim_engine;
	for (; fewer > 0 && engine->idle_count > 0; fewer--, engine->reserved--)
		free(engine->idle[--engine->idle_count]);
	if (engine->reserved > 0)
		return;
	free(engine->active);
	free(engine->finished);
	free(engine->idle);
	free(engine->flows);
	sim_gemm_cache_clear();
	memset(engine, 0, sizeof(*engine));
}

struct sim_task *sim_task_begin(struct op *op)
{
	struct sim_engine *engine = &sim_engine;
	struct sim_task *task = engine->idle[--engine->idle_count];
	memset(task, 0, offsetof(struct sim_task, flow));
	task->unit = NULL;
	task->held = false;
	task->op = op;
	task->stretch = op->stretch;
	return task;
}

void sim_task_end(struct sim_task *task) { sim_engine.idle[sim_engine.idle_count++] = task; }

void sim_task_start_delay(struct sim_task *task, double ns, void (*then)(struct sim_task *task))
{
	task->is_flow = false;
	task->since_ns = sim_engine.now_ns;
	task->finish_ns = sim_engine.now_ns + ns;
	task->then = then;
	sim_engine.active[sim_engine.active_count++] = task;
}

void sim_task_start_flow(struct sim_task *task, void (*then)(struct sim_task *task))
{
	if (task->flow.demands == 0 && task->flow.min_ns <= 0) {
		sim_task_start_delay(task, 0, then);
		return;
	}
	sim_task_start_delay(task, INFINITY, then);
	task->is_flow = true;
	task->left = task->stretch * task->op->slow_down;
	task->flow.rate = 0;
	task->rate = 0;
	sim_engine.flows_changed = true;
}

static void set_rates(void)
{
	struct sim_engine *engine = &sim_engine;
	size_t count = 0;
	for (size_t i = 0; i < engine->active_count; i++)
		if (engine->active[i]->is_flow)
			engine->flows[count++] = &engine->active[i]->flow;
	flow_set_rates(engine->flows, count);
	for (size_t i = 0; i < engine->active_count; i++) {
		struct sim_task *task = engine->active[i];
		/* With an unchanged rate the end stays exact; adding up pieces would round. */
		if (!task->is_flow ||
		    (task->rate <= task->flow.rate && task->rate >= task->flow.rate))
			continue;
		task->left = fmax(0, task->left - (engine->now_ns - task->since_ns) * task->rate);
		task->since_ns = engine->now_ns;
		task->rate = task->flow.rate;
		task->finish_ns = engine->now_ns + task->left / task->rate;
	}
	engine->flows_changed = false;
}

void sim_engine_begin_epoch(void)
{
	if (sim_engine.active_count)
		return;
	sim_engine.epoch_ns += (uint64_t)ceil(sim_engine.now_ns);
	sim_engine.now_ns = 0;
}

/* ------------------------------------------------------------------ ends of operations */

void event_stamp_release(struct event_stamp *stamp)
{
	if (stamp && --stamp->holders == 0)
		free(stamp);
}

static void complete_stamp(struct event_stamp *stamp)
{
	stamp->done = true;
	stamp->epoch_ns = sim_engine.epoch_ns;
	stamp->at_ns = sim_engine.now_ns;
}

static void op_free(struct op *op)
{
	for (unsigned i = 0; i < op->uses; i++)
		op->use[i]->users--;
	event_stamp_release(op->stamp);
	sim_gemm_cache_end(op->gemm_result, &op->gemm, op->blocks_left == 0);
	free(op);
}

void op_end(struct op *op)
{
	struct dev_stream *s = op->stream;
	s->head = op->next;
	if (!s->head)
		s->tail = NULL;
	s->queued--;
	op_free(op);
}

static void end_delay(struct sim_task *task)
{
	struct op *op = task->op;
	if (op->kind == OP_WRITE_VALUE) {
		*(uint32_t *)(void *)op->dst = op->value;
		sim_engine_written();
	}
	sim_task_end(task);
	op_end(op);
}

void sim_engine_written(void)
{
	for (size_t i = 0; i < sim_engine.active_count; i++) {
		struct sim_task *task = sim_engine.active[i];
		if (task->held && kernel_is_released(task->op))
			task->finish_ns = sim_engine.now_ns;
	}
}

/* ------------------------------------------------------------------ streams */

static void op_fail(struct op *op)
{
	struct dev_stream *s = op->stream;
	s->failed = -EIO;
	snprintf(s->failure, sizeof(s->failure), "sim:%u: %s failed while it ran: %s of the model",
		 s->dev->base.index, op->kind == OP_COPY ? "a copy" : op->type->name,
		 op->kind == OP_COPY ? "fail_copy_at" : "fail_launch_at");
}

static void drop_op(struct op *op)
{
	/* A dropped record still completes, or its waiters in other streams would hang. */
	if (op->kind == OP_RECORD && !op->stamp->done)
		complete_stamp(op->stamp);
	op_end(op);
}

/* False if the operation cannot start yet. */
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
		complete_stamp(op->stamp);
		sim_task_start_delay(sim_task_begin(op), d->model.event_ns * op->stretch,
				     end_delay);
		break;
	case OP_WAIT:
		op_end(op);
		break;
	case OP_WAIT_VALUE:
	case OP_WRITE_VALUE:
		sim_task_start_delay(sim_task_begin(op), d->model.value_ns * op->stretch,
				     end_delay);
		break;
	case OP_COPY:
		sim_exec_ready_insert(&d->copies_ready, op);
		break;
	case OP_FILL:
		sim_task_start_delay(sim_task_begin(op),
				     (d->model.launch_ns + sim_op_latency_ns(d, op)) * op->stretch,
				     sim_exec_start_transfer);
		break;
	case OP_LAUNCH:
		sim_task_start_delay(sim_task_begin(op), d->model.launch_ns * op->stretch,
				     sim_exec_mark_launch_ready);
		break;
	}
	return true;
}

static bool stream_advance(struct dev_stream *s)
{
	bool changed = false;
	while (s->head && !s->head->started) {
		if (s->failed) {
			drop_op(s->head);
		} else if (s->head->fails) {
			op_fail(s->head);
			drop_op(s->head);
		} else if (!op_start(s->head)) {
			break;
		}
		changed = true;
	}
	return changed;
}

/* Start all that can start now. Repeats, because the end of work in one stream may let work in
 * another one start. */
static void start_ready_work(void)
{
	bool changed = true;
	while (changed) {
		changed = false;
		for (struct sim_dev *d = sim_engine.devs; d; d = d->next)
			for (struct dev_stream *s = d->streams; s; s = s->next)
				changed |= stream_advance(s);
	}
	for (struct sim_dev *d = sim_engine.devs; d; d = d->next) {
		sim_exec_start_copies(d);
		sim_exec_start_blocks(d);
	}
}

void sim_engine_enqueue(struct op *op)
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
	start_ready_work();
	if (sim_engine.flows_changed)
		set_rates();
	for (size_t i = 0; i < sim_engine.active_count; i++)
		next = fmin(next, sim_engine.active[i]->finish_ns);
	return next;
}

static void complete_tasks_at(double now_ns)
{
	struct sim_engine *engine = &sim_engine;
	size_t keep = 0, done = 0;
	engine->now_ns = fmax(engine->now_ns, now_ns);
	for (size_t i = 0; i < engine->active_count; i++) {
		if (engine->active[i]->finish_ns <= now_ns + SAME_TIME_NS)
			engine->finished[done++] = engine->active[i];
		else
			engine->active[keep++] = engine->active[i];
	}
	engine->active_count = keep;
	for (size_t i = 0; i < done; i++) {
		engine->flows_changed |= engine->finished[i]->is_flow;
		engine->finished[i]->then(engine->finished[i]);
	}
}

bool sim_engine_step(void)
{
	double next = next_finish();
	if (isinf(next))
		return false;
	complete_tasks_at(next);
	return true;
}

double sim_engine_run(double until_ns)
{
	double next;
	while ((next = next_finish()) <= until_ns)
		complete_tasks_at(next);
	sim_engine.now_ns = fmax(sim_engine.now_ns, until_ns);
	return next;
}

/* ------------------------------------------------------------------ dropping work */

static void abandon_task(struct sim_task *task)
{
	struct op *op = task->op;
	if (task->unit) {
		task->unit->residents--;
		task->unit->shared_used_bytes -= op->claim_bytes;
	}
	if (op->has_engine)
		dev_of(op)->engines_busy--;
	sim_engine.flows_changed |= task->is_flow;
	sim_task_end(task);
}

void sim_engine_cancel(struct dev_stream *s)
{
	struct sim_engine *engine = &sim_engine;
	size_t keep = 0;
	for (size_t i = 0; i < engine->active_count; i++) {
		if (engine->active[i]->op->stream == s)
			abandon_task(engine->active[i]);
		else
			engine->active[keep++] = engine->active[i];
	}
	engine->active_count = keep;
	for (struct op *op = s->head, *next; op; op = next) {
		next = op->next;
		sim_exec_ready_remove(&s->dev->launches_ready, op);
		sim_exec_ready_remove(&s->dev->copies_ready, op);
		drop_op(op);
	}
}
