/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tasks: what takes time. Those that run are in a heap by the time at which they finish.
 */
#include "device/sim/machine/machine.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tasks that end within a millionth of a nanosecond end together, so that rounding does not split
 * one step in two. */
#define SAME_TIME_NS 1e-6

/* ------------------------------------------------------------------ the pool */

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
	if (grow_array(&engine->heap, capacity) || grow_array(&engine->finished, capacity) ||
	    grow_array(&engine->flows, capacity) || grow_array(&engine->ready, capacity))
		return -ENOMEM;
	engine->reserved = capacity;
	return 0;
}

void sim_engine_unreserve(size_t fewer)
{
	struct sim_engine *engine = &sim_engine;
	sim_task_set_rates(); /* resources that are freed next are not looked at later */
	engine->reserved -= fewer;
	if (engine->reserved > 0)
		return;
	free(engine->heap);
	free(engine->finished);
	free(engine->flows);
	free(engine->ready);
	sim_gemm_cache_clear();
	memset(engine, 0, sizeof(*engine));
}

int sim_tasks_open(struct sim_dev *d)
{
	const size_t slots = (size_t)d->model.units * d->model.slots_per_unit;
	d->tasks = calloc(slots, sizeof(*d->tasks));
	d->tasks_idle = calloc(slots, sizeof(void *));
	if (!d->tasks || !d->tasks_idle || sim_engine_reserve(slots)) {
		free(d->tasks);
		free(d->tasks_idle);
		return err_note(-ENOMEM, "sim:%u: open: out of memory for %zu slots", d->base.index,
				slots);
	}
	for (size_t i = slots; i > 0; i--)
		d->tasks_idle[d->tasks_idle_count++] = &d->tasks[i - 1];
	return 0;
}

void sim_tasks_close(struct sim_dev *d)
{
	sim_engine_unreserve((size_t)d->model.units * d->model.slots_per_unit);
	free(d->tasks);
	free(d->tasks_idle);
}

static struct sim_task *begin_task(struct sim_task *task, struct op *op)
{
	memset(task, 0, offsetof(struct sim_task, flow));
	task->op = op;
	task->stretch = op->stretch;
	task->rounds = task->per_unit = task->units = 1;
	task->next_of_stream = op->stream->tasks;
	if (task->next_of_stream)
		task->next_of_stream->previous_of_stream = task;
	op->stream->tasks = task;
	return task;
}

struct sim_task *sim_task_begin(struct op *op) { return begin_task(&op->stream->task, op); }

struct sim_task *sim_task_begin_group(struct op *op)
{
	struct sim_dev *d = op->stream->dev;
	return begin_task(d->tasks_idle[--d->tasks_idle_count], op);
}

void sim_task_end(struct sim_task *task)
{
	struct dev_stream *s = task->op->stream;
	if (task->next_of_stream)
		task->next_of_stream->previous_of_stream = task->previous_of_stream;
	if (task->previous_of_stream)
		task->previous_of_stream->next_of_stream = task->next_of_stream;
	else
		s->tasks = task->next_of_stream;
	if (task != &s->task)
		s->dev->tasks_idle[s->dev->tasks_idle_count++] = task;
}

/* ------------------------------------------------------------------ the heap */

static bool is_before(const struct sim_task *a, const struct sim_task *b)
{
	return a->finish_ns < b->finish_ns ||
	       (!(a->finish_ns > b->finish_ns) && a->number < b->number);
}

static void heap_put(size_t at, struct sim_task *task)
{
	sim_engine.heap[at] = task;
	task->at = at;
}

/* Move the task from a free place to where it belongs. */
static void heap_settle(size_t at, struct sim_task *task)
{
	struct sim_task **heap = sim_engine.heap;
	for (; at > 0 && is_before(task, heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap_put(at, heap[(at - 1) / 2]);
	for (size_t child; (child = 2 * at + 1) < sim_engine.running; at = child) {
		if (child + 1 < sim_engine.running && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], task))
			break;
		heap_put(at, heap[child]);
	}
	heap_put(at, task);
}

static void heap_remove(struct sim_task *task)
{
	struct sim_task *last = sim_engine.heap[--sim_engine.running];
	if (last != task)
		heap_settle(task->at, last);
	task->at = SIZE_MAX;
}

bool sim_task_is_running(const struct sim_task *task) { return task->at != SIZE_MAX; }

void sim_task_finish_at(struct sim_task *task, double finish_ns)
{
	task->finish_ns = finish_ns;
	heap_settle(task->at, task);
}

double sim_task_next_ns(void)
{
	return sim_engine.running ? sim_engine.heap[0]->finish_ns : INFINITY;
}

/* ------------------------------------------------------------------ start and end */

void sim_task_start_delay(struct sim_task *task, double ns, void (*then)(struct sim_task *task))
{
	task->is_flow = false;
	task->since_ns = sim_engine.now_ns;
	task->finish_ns = sim_engine.now_ns + ns;
	task->then = then;
	task->number = sim_engine.started++;
	heap_settle(sim_engine.running++, task);
}

void sim_task_start_flow(struct sim_task *task, void (*then)(struct sim_task *task))
{
	const double whole = task->stretch * task->op->slow_down;
	if (task->flow.demands == 0) {
		sim_task_start_delay(task, task->flow.min_ns * whole * task->rounds, then);
		return;
	}
	sim_task_start_delay(task, INFINITY, then);
	task->is_flow = true;
	task->left = whole * task->rounds;
	task->rate = 0;
	flow_join(&task->flow);
}

void sim_task_stop(struct sim_task *task)
{
	heap_remove(task);
	if (task->is_flow)
		flow_leave(&task->flow);
}

/* Every round of blocks but the first starts with a pause, which no flow passes. */
static double progress_rate(const struct sim_task *task)
{
	return task->rounds > 1 || task->pause_ns > 0
		       ? 1 / (1 / task->flow.rate + task->pause_ns / task->op->slow_down)
		       : task->flow.rate;
}

void sim_task_update_left(struct sim_task *task)
{
	task->left = fmax(0, task->left - (sim_engine.now_ns - task->since_ns) * task->rate);
	task->since_ns = sim_engine.now_ns;
}

static struct sim_task *task_of(struct flow *f)
{
	return (struct sim_task *)(void *)((char *)f - offsetof(struct sim_task, flow));
}

void sim_task_set_rates(void)
{
	const size_t count = flow_find_changed(sim_engine.flows);
	flow_set_rates(sim_engine.flows, count);
	for (size_t i = 0; i < count; i++) {
		struct sim_task *task = task_of(sim_engine.flows[i]);
		const double rate = progress_rate(task);
		/* With an unchanged rate the end stays exact; adding up pieces would round. */
		if (task->rate <= rate && task->rate >= rate)
			continue;
		sim_task_update_left(task);
		task->rate = rate;
		sim_task_finish_at(task, sim_engine.now_ns + task->left / rate);
	}
}

static int by_number(const void *a, const void *b)
{
	const struct sim_task *const *x = a, *const *y = b;
	return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

void sim_task_complete_at(double now_ns)
{
	struct sim_engine *engine = &sim_engine;
	size_t done = 0;
	engine->now_ns = fmax(engine->now_ns, now_ns);
	while (engine->running > 0 && engine->heap[0]->finish_ns <= now_ns + SAME_TIME_NS) {
		engine->finished[done] = engine->heap[0];
		sim_task_stop(engine->finished[done++]);
	}
	if (done > 1)
		qsort(engine->finished, done, sizeof(void *), by_number);
	for (size_t i = 0; i < done; i++)
		engine->finished[i]->then(engine->finished[i]);
}
