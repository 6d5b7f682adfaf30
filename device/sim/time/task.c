/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tasks that run are in a heap by the time at which they finish.
 */
#include "device/sim/time/task.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tasks that end within a millionth of a nanosecond end together, so that rounding does not split
 * one step in two. */
#define SAME_TIME_NS 1e-6

struct sim_clock sim_clock;

static struct sim_task **heap, **finished;
static struct flow **flows;
static size_t running, reserved;
static uint64_t started;

void sim_clock_begin_epoch(void)
{
	if (running)
		return;
	sim_clock.epoch_ns += (uint64_t)ceil(sim_clock.now_ns);
	sim_clock.now_ns = 0;
}

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

int sim_tasks_reserve(size_t more)
{
	const size_t capacity = reserved + more;
	if (grow_array(&heap, capacity) || grow_array(&finished, capacity) ||
	    grow_array(&flows, capacity))
		return -ENOMEM;
	reserved = capacity;
	return 0;
}

void sim_tasks_unreserve(size_t fewer)
{
	sim_task_set_rates(); /* resources that are freed next are not looked at later */
	reserved -= fewer;
	if (reserved > 0)
		return;
	free(heap);
	free(finished);
	free(flows);
	heap = finished = NULL;
	flows = NULL;
	started = 0;
	sim_clock = (struct sim_clock){0};
}

/* ------------------------------------------------------------------ the heap */

static bool is_before(const struct sim_task *a, const struct sim_task *b)
{
	return a->finish_ns < b->finish_ns ||
	       (!(a->finish_ns > b->finish_ns) && a->number < b->number);
}

static void heap_put(size_t at, struct sim_task *task)
{
	heap[at] = task;
	task->at = at;
}

/* Move the task from a free place to where it belongs. */
static void heap_settle(size_t at, struct sim_task *task)
{
	for (; at > 0 && is_before(task, heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap_put(at, heap[(at - 1) / 2]);
	for (size_t child; (child = 2 * at + 1) < running; at = child) {
		if (child + 1 < running && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], task))
			break;
		heap_put(at, heap[child]);
	}
	heap_put(at, task);
}

static void heap_remove(struct sim_task *task)
{
	struct sim_task *last = heap[--running];
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

double sim_task_next_ns(void) { return running ? heap[0]->finish_ns : INFINITY; }

/* ------------------------------------------------------------------ start and end */

void sim_task_start_delay(struct sim_task *task, double ns, void (*then)(struct sim_task *task))
{
	task->is_flow = false;
	task->since_ns = sim_clock.now_ns;
	task->finish_ns = sim_clock.now_ns + ns;
	task->then = then;
	task->number = started++;
	heap_settle(running++, task);
}

void sim_task_start_flow(struct sim_task *task, void (*then)(struct sim_task *task))
{
	const double whole = task->stretch * task->slow_down;
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
		       ? 1 / (1 / task->flow.rate + task->pause_ns / task->slow_down)
		       : task->flow.rate;
}

void sim_task_update_left(struct sim_task *task)
{
	task->left = fmax(0, task->left - (sim_clock.now_ns - task->since_ns) * task->rate);
	task->since_ns = sim_clock.now_ns;
}

static struct sim_task *task_of(struct flow *f)
{
	return (struct sim_task *)(void *)((char *)f - offsetof(struct sim_task, flow));
}

void sim_task_set_rates(void)
{
	const size_t count = flow_find_changed(flows);
	flow_set_rates(flows, count);
	for (size_t i = 0; i < count; i++) {
		struct sim_task *task = task_of(flows[i]);
		const double rate = progress_rate(task);
		/* With an unchanged rate the end stays exact; adding up pieces would round. */
		if (task->rate <= rate && task->rate >= rate)
			continue;
		sim_task_update_left(task);
		task->rate = rate;
		sim_task_finish_at(task, sim_clock.now_ns + task->left / rate);
	}
}

static int by_number(const void *a, const void *b)
{
	const struct sim_task *const *x = a, *const *y = b;
	return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

void sim_task_complete_at(double now_ns)
{
	size_t done = 0;
	sim_clock.now_ns = fmax(sim_clock.now_ns, now_ns);
	while (running > 0 && heap[0]->finish_ns <= now_ns + SAME_TIME_NS) {
		finished[done] = heap[0];
		sim_task_stop(finished[done++]);
	}
	if (done > 1)
		qsort(finished, done, sizeof(void *), by_number);
	for (size_t i = 0; i < done; i++)
		finished[i]->then(finished[i]);
}
