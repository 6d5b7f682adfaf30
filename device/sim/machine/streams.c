/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/machine/streams.h"
#include "device/sim/machine/copies.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/gemm_cache.h"
#include "device/sim/machine/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Streams that may be able to go on, by pass and order. */
static struct dev_stream **ready;
static size_t ready_count, reserved;
static uint64_t pass, order, numbered;
static bool advancing, memory_written;
static struct dev_stream *value_waiters;

int sim_streams_reserve(size_t more)
{
	struct dev_stream **grown = realloc(ready, (reserved + more) * sizeof(void *));
	if (!grown)
		return -ENOMEM;
	ready = grown;
	const int status = sim_tasks_reserve(more);
	reserved += status ? 0 : more;
	return status;
}

void sim_streams_unreserve(size_t fewer)
{
	sim_tasks_unreserve(fewer);
	reserved -= fewer;
	if (reserved > 0)
		return;
	free(ready);
	ready = NULL;
}

void sim_stream_number(struct dev_stream *s) { s->order = numbered++; }

/* ------------------------------------------------------------------ what may be able to go on */

static bool is_earlier(const struct dev_stream *a, const struct dev_stream *b)
{
	return a->pass < b->pass || (a->pass == b->pass && a->order < b->order);
}

/* Streams are looked at in passes, in the order in which they were opened: what frees a stream that
 * is later in the order is seen in the same pass, else in the next one. */
static void mark_ready(struct dev_stream *s)
{
	if (s->ready)
		return;
	s->ready = true;
	s->pass = pass + (advancing && s->order <= order);
	size_t at = ready_count++;
	for (; at > 0 && is_earlier(s, ready[(at - 1) / 2]); at = (at - 1) / 2)
		ready[at] = ready[(at - 1) / 2];
	ready[at] = s;
}

static struct dev_stream *take_ready(void)
{
	struct dev_stream *first = ready[0];
	const size_t count = --ready_count;
	struct dev_stream *last = ready[count];
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && is_earlier(ready[child + 1], ready[child]);
		if (!is_earlier(ready[child], last))
			break;
		ready[at] = ready[child];
	}
	ready[at] = last;
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
	const size_t count = ready_count;
	ready_count = 0;
	for (size_t i = 0; i < count; i++)
		if (ready[i] != s)
			ready[keep++] = ready[i];
	for (size_t i = 0; i < keep; i++) {
		ready[i]->ready = false;
		mark_ready(ready[i]);
	}
}

bool op_has_value(const struct op *op)
{
	return *(const uint32_t *)(const void *)op->dst >= op->value;
}

static void mark_those_with_values(void)
{
	memory_written = false;
	for (struct dev_stream **at = &value_waiters; *at;) {
		struct dev_stream *s = *at;
		if (!op_has_value(s->head)) {
			at = &s->waits_next;
			continue;
		}
		*at = s->waits_next;
		s->waits_in = NULL;
		mark_ready(s);
	}
}

void sim_streams_advance(void (*advance)(struct dev_stream *s))
{
	if (memory_written)
		mark_those_with_values();
	advancing = true;
	while (ready_count) {
		struct dev_stream *s = take_ready();
		pass = s->pass;
		order = s->order;
		advance(s);
	}
	advancing = false;
	pass++;
}

void sim_stream_enqueue(struct op *op)
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

/* ------------------------------------------------------------------ waits */

void sim_stream_begin_wait(struct dev_stream *s, struct dev_stream **list)
{
	if (s->waits_in)
		return;
	s->waits_in = list;
	s->waits_next = *list;
	*list = s;
}

static void end_wait(struct dev_stream *s)
{
	struct dev_stream **list = s->waits_in;
	while (*list != s)
		list = &(*list)->waits_next;
	*list = s->waits_next;
	s->waits_in = NULL;
}

void sim_stream_wait_for_value(struct dev_stream *s) { sim_stream_begin_wait(s, &value_waiters); }

void sim_streams_look_at_values(void) { memory_written = true; }

void sim_memory_written(void)
{
	memory_written = true;
	sim_groups_release();
}

/* ------------------------------------------------------------------ ends of operations */

void event_stamp_release(struct event_stamp *stamp)
{
	if (stamp && --stamp->holders == 0)
		free(stamp);
}

void sim_streams_wake(struct dev_stream **waiters)
{
	while (*waiters) {
		struct dev_stream *s = *waiters;
		*waiters = s->waits_next;
		s->waits_in = NULL;
		mark_ready(s);
	}
}

void event_stamp_complete(struct event_stamp *stamp)
{
	stamp->done = true;
	stamp->epoch_ns = sim_clock.epoch_ns;
	stamp->at_ns = sim_clock.now_ns;
	sim_streams_wake(&stamp->waiters);
}

static void op_free(struct op *op)
{
	sim_gemm_cache_end(op);
	for (unsigned i = 0; i < op->uses; i++)
		op->work->use[i]->users--;
	event_stamp_release(op->stamp);
	if (op->tracking && op->tracking->release)
		op->tracking->release(op);
	free(op->work);
	free(op);
}

void op_end(struct op *op)
{
	struct dev_stream *s = op->stream;
	sim_power_end(op);
	s->head = op->next;
	if (!s->head)
		s->tail = NULL;
	s->queued--;
	if (s->head)
		mark_ready(s);
	op_free(op);
}

void op_drop(struct op *op)
{
	/* A dropped record still completes, or its waiters in other streams would hang. */
	if (op->kind == OP_RECORD && !op->stamp->done)
		event_stamp_complete(op->stamp);
	op_end(op);
}

/* ------------------------------------------------------------------ tasks */

void op_add_task(struct op *op, struct sim_task *task)
{
	memset(task, 0, offsetof(struct sim_task, flow));
	task->op = op;
	task->stretch = op->stretch;
	task->slow_down = op->slow_down;
	task->rounds = 1;
	task->next = op->stream->tasks;
	if (task->next)
		task->next->previous = task;
	op->stream->tasks = task;
}

struct sim_task *op_begin_task(struct op *op)
{
	op_add_task(op, &op->stream->task);
	return &op->stream->task;
}

void op_end_task(struct sim_task *task)
{
	if (task->next)
		task->next->previous = task->previous;
	if (task->previous)
		task->previous->next = task->next;
	else
		task->op->stream->tasks = task->next;
}

/* ------------------------------------------------------------------ failures */

void sim_stream_fail(struct dev_stream *s, int status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	text_vfit(s->failure, sizeof(s->failure), format, args);
	va_end(args);
	s->failed = status;
}

static void abandon_task(struct sim_task *task)
{
	struct op *op = task->op;
	sim_task_stop(task);
	sim_copies_release_engine(op);
	sim_dev_changed(op->stream->dev);
	if (task == &op->stream->task)
		op_end_task(task);
	else
		sim_group_leave(sim_group_of(task));
}

void sim_stream_cancel(struct dev_stream *s)
{
	while (s->tasks)
		abandon_task(s->tasks);
	if (s->waits_in)
		end_wait(s);
	for (struct op *op = s->head, *next; op; op = next) {
		next = op->next;
		sim_ready_remove(&s->dev->launches_ready, op);
		sim_ready_remove(&s->dev->copies_ready, op);
		op_drop(op);
	}
	forget_ready(s);
}
