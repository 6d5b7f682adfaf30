/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/machine/execution.h"
#include "device/sim/t3/tracker.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_engine sim_engine;

static struct sim_dev *dev_of(const struct op *op) { return op->stream->dev; }

void sim_engine_begin_epoch(void)
{
	if (sim_engine.running)
		return;
	sim_engine.epoch_ns += (uint64_t)ceil(sim_engine.now_ns);
	sim_engine.now_ns = 0;
}

/* ------------------------------------------------------------------ what may be able to go on */

static bool is_earlier(const struct dev_stream *a, const struct dev_stream *b)
{
	return a->pass < b->pass || (a->pass == b->pass && a->order < b->order);
}

/* Streams are looked at in passes, in the order in which they were opened: what frees a stream that
 * is later in the order is seen in the same pass, else in the next one. */
static void mark_ready(struct dev_stream *s)
{
	struct dev_stream **heap = sim_engine.ready;
	if (s->ready)
		return;
	s->ready = true;
	s->pass = sim_engine.pass + (sim_engine.advancing && s->order <= sim_engine.order);
	size_t at = sim_engine.ready_count++;
	for (; at > 0 && is_earlier(s, heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = s;
}

static struct dev_stream *take_ready(void)
{
	struct dev_stream **heap = sim_engine.ready, *first = heap[0];
	const size_t count = --sim_engine.ready_count;
	struct dev_stream *last = heap[count];
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && is_earlier(heap[child + 1], heap[child]);
		if (!is_earlier(heap[child], last))
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	first->ready = false;
	return first;
}

static void forget_ready(struct dev_stream *s)
{
	size_t keep = 0;
	if (!s->ready)
		return;
	s->ready = false;
	/* The others are entered again. */
	const size_t count = sim_engine.ready_count;
	sim_engine.ready_count = 0;
	for (size_t i = 0; i < count; i++)
		if (sim_engine.ready[i] != s)
			sim_engine.ready[keep++] = sim_engine.ready[i];
	for (size_t i = 0; i < keep; i++) {
		sim_engine.ready[i]->ready = false;
		mark_ready(sim_engine.ready[i]);
	}
}

void sim_dev_changed(struct sim_dev *d) { d->changed = sim_engine.devs_changed = true; }

static void begin_wait(struct dev_stream *s, struct dev_stream **list)
{
	if (s->waits)
		return;
	s->waits = true;
	s->waits_next = *list;
	*list = s;
}

static void end_wait(struct dev_stream *s, struct dev_stream **list)
{
	while (*list && *list != s)
		list = &(*list)->waits_next;
	if (!*list)
		return;
	*list = s->waits_next;
	s->waits = false;
}

/* The streams that wait for what this operation waits for. */
static struct dev_stream **waiters_of(const struct op *op)
{
	return op->kind == OP_WAIT         ? &op->stamp->waiters
	       : op->kind == OP_WAIT_TILES ? &op->tracker->waiters
					   : &sim_engine.value_waiters;
}

static bool has_value(const struct op *op)
{
	return *(const uint32_t *)(const void *)op->dst >= op->value;
}

static void mark_those_with_values(void)
{
	sim_engine.memory_written = false;
	for (struct dev_stream **at = &sim_engine.value_waiters; *at;) {
		struct dev_stream *s = *at;
		if (!has_value(s->head)) {
			at = &s->waits_next;
			continue;
		}
		*at = s->waits_next;
		s->waits = false;
		mark_ready(s);
	}
}

/* ------------------------------------------------------------------ ends of operations */

void event_stamp_release(struct event_stamp *stamp)
{
	if (stamp && --stamp->holders == 0)
		free(stamp);
}

void sim_engine_wake(struct dev_stream **waiters)
{
	while (*waiters) {
		struct dev_stream *s = *waiters;
		*waiters = s->waits_next;
		s->waits = false;
		mark_ready(s);
	}
}

static void complete_stamp(struct event_stamp *stamp)
{
	stamp->done = true;
	stamp->epoch_ns = sim_engine.epoch_ns;
	stamp->at_ns = sim_engine.now_ns;
	sim_engine_wake(&stamp->waiters);
}

static void op_free(struct op *op)
{
	sim_gemm_cache_end(op);
	for (unsigned i = 0; i < op->uses; i++)
		op->work->use[i]->users--;
	event_stamp_release(op->stamp);
	sim_tracker_release(op->tracker);
	free(op->work);
	free(op);
}

void op_end(struct op *op)
{
	struct dev_stream *s = op->stream;
	s->head = op->next;
	if (!s->head)
		s->tail = NULL;
	s->queued--;
	if (s->head)
		mark_ready(s);
	op_free(op);
}

static void end_delay(struct sim_task *task)
{
	struct op *op = task->op;
	if (op->kind == OP_WRITE_VALUE) {
		*(uint32_t *)(void *)op->dst = op->value;
		sim_memory_changed_by(op);
		sim_engine_written();
	}
	sim_task_end(task);
	op_end(op);
}

/* ------------------------------------------------------------------ blocks that hold slots */

void sim_engine_hold(struct sim_task *group)
{
	group->held = true;
	group->next_held = sim_engine.held;
	sim_engine.held = group;
}

void sim_engine_let_go(struct sim_task *group)
{
	struct sim_task **at = &sim_engine.held;
	while (*at && *at != group)
		at = &(*at)->next_held;
	if (*at)
		*at = group->next_held;
	group->held = false;
}

void sim_engine_written(void)
{
	sim_engine.memory_written = true;
	for (struct sim_task *group = sim_engine.held; group; group = group->next_held)
		if (kernel_is_released(group->op) && group->finish_ns > sim_engine.now_ns)
			sim_task_finish_at(group, sim_engine.now_ns);
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
	if ((op->kind == OP_WAIT && op->stamp && !op->stamp->done) ||
	    (op->kind == OP_WAIT_VALUE && !has_value(op)) ||
	    (op->kind == OP_WAIT_TILES && sim_tracker_holds(op))) {
		begin_wait(op->stream, waiters_of(op));
		return false;
	}
	op->started = true;
	switch (op->kind) {
	case OP_RECORD:
		complete_stamp(op->stamp);
		sim_task_start_delay(sim_task_begin(op), d->model.event_ns * op->stretch,
				     end_delay);
		break;
	case OP_ARM:
		sim_tracker_arm_now(op);
		op_end(op);
		break;
	case OP_WAIT:
	case OP_WAIT_TILES:
		op_end(op);
		break;
	case OP_WAIT_VALUE:
	case OP_WRITE_VALUE:
		sim_task_start_delay(sim_task_begin(op), d->model.value_ns * op->stretch,
				     end_delay);
		break;
	case OP_COPY:
		sim_exec_ready_insert(&d->copies_ready, op);
		sim_dev_changed(d);
		break;
	case OP_FILL:
		sim_task_start_delay(sim_task_begin(op),
				     (d->model.launch_ns + sim_op_latency_ns(op)) * op->stretch,
				     sim_exec_start_transfer);
		break;
	case OP_LAUNCH:
		sim_task_start_delay(sim_task_begin(op), d->model.launch_ns * op->stretch,
				     sim_exec_mark_launch_ready);
		break;
	}
	return true;
}

static void stream_advance(struct dev_stream *s)
{
	while (s->head && !s->head->started) {
		if (s->failed) {
			drop_op(s->head);
		} else if (s->head->fails) {
			op_fail(s->head);
			drop_op(s->head);
		} else if (!op_start(s->head)) {
			break;
		}
	}
}

/* Start all that can start now. */
static void start_ready_work(void)
{
	if (sim_engine.memory_written)
		mark_those_with_values();
	sim_engine.advancing = true;
	while (sim_engine.ready_count) {
		struct dev_stream *s = take_ready();
		sim_engine.pass = s->pass;
		sim_engine.order = s->order;
		stream_advance(s);
	}
	sim_engine.advancing = false;
	sim_engine.pass++;
	if (!sim_engine.devs_changed)
		return;
	sim_engine.devs_changed = false;
	for (struct sim_dev *d = sim_engine.devs; d; d = d->next) {
		if (!d->changed)
			continue;
		d->changed = false;
		sim_exec_start_copies(d);
		sim_units_start_blocks(d);
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
	if (s->head == op)
		mark_ready(s);
}

/* ------------------------------------------------------------------ time */

static double next_finish(void)
{
	start_ready_work();
	sim_task_set_rates();
	return sim_task_next_ns();
}

bool sim_engine_step(void)
{
	double next = next_finish();
	if (isinf(next))
		return false;
	sim_task_complete_at(next);
	return true;
}

double sim_engine_run(double until_ns)
{
	double next;
	while ((next = next_finish()) <= until_ns)
		sim_task_complete_at(next);
	sim_engine.now_ns = fmax(sim_engine.now_ns, until_ns);
	return next;
}

/* ------------------------------------------------------------------ dropping work */

static void abandon_task(struct sim_task *task)
{
	struct op *op = task->op;
	sim_task_stop(task);
	if (task->held)
		sim_engine_let_go(task);
	if (task->class)
		sim_units_leave(task);
	sim_exec_release_engine(op);
	sim_dev_changed(dev_of(op));
	sim_task_end(task);
}

void sim_engine_cancel(struct dev_stream *s)
{
	while (s->tasks)
		abandon_task(s->tasks);
	if (s->waits)
		end_wait(s, waiters_of(s->head));
	for (struct op *op = s->head, *next; op; op = next) {
		next = op->next;
		sim_exec_ready_remove(&s->dev->launches_ready, op);
		sim_exec_ready_remove(&s->dev->copies_ready, op);
		drop_op(op);
	}
	forget_ready(s);
}
