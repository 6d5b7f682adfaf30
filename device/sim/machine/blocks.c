/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups of blocks: what they need, how long they take, and how they begin and end.
 */
#include "device/sim/machine/device.h"
#include "device/sim/machine/kernels.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/redirect.h"
#include "device/sim/machine/streams.h"
#include "lib/rng.h"

#include <math.h>
#include <string.h>

/* With a longer hold the clock, a double, could not resolve nanoseconds. */
#define MAX_HOLD_NS 1e15

struct block_group *sim_group_of(struct sim_task *task)
{
	return (struct block_group *)(void *)((char *)task - offsetof(struct block_group, task));
}

struct block_group *sim_group_begin(struct op *op)
{
	struct sim_units *u = &op->stream->dev->units;
	struct block_group *group = u->groups_idle[--u->groups_idle_count];
	memset(group, 0, offsetof(struct block_group, task));
	group->per_unit = group->units = 1;
	op_add_task(op, &group->task);
	return group;
}

/* ------------------------------------------------------------------ those that hold slots */

static struct block_group *held;

void sim_group_hold(struct block_group *group)
{
	group->held = true;
	group->next_held = held;
	held = group;
}

static void let_go(struct block_group *group)
{
	struct block_group **at = &held;
	while (*at && *at != group)
		at = &(*at)->next_held;
	if (*at)
		*at = group->next_held;
	group->held = false;
}

void sim_groups_release(void)
{
	for (struct block_group *group = held; group; group = group->next_held)
		if (kernel_is_released(group->task.op) && group->task.finish_ns > sim_clock.now_ns)
			sim_task_finish_at(&group->task, sim_clock.now_ns);
}

void sim_group_leave(struct block_group *group)
{
	struct sim_units *u = &group->task.op->stream->dev->units;
	if (group->held)
		let_go(group);
	sim_units_leave(group);
	op_end_task(&group->task);
	u->groups_idle[u->groups_idle_count++] = group;
}

/* ------------------------------------------------------------------ what they need */

static double l1_bytes(const struct op *op)
{
	double bytes = 0;
	for (unsigned i = 0; i < op->traffics; i++)
		bytes += op->work->traffic[i].path == PATH_L1 ? op->work->traffic[i].volume : 0;
	return bytes;
}

static void limit_block(struct sim_dev *d, struct flow *f, struct resource *r, double volume)
{
	double alone_ns = volume / (r->capacity * d->model.block_share);
	flow_need_unit(f, r, volume);
	if (alone_ns > f->min_ns)
		f->min_ns = alone_ns;
}

void sim_group_flow(struct block_group *group)
{
	const struct op *op = group->task.op;
	struct flow *f = &group->task.flow;
	struct sim_dev *d = op->stream->dev;
	flow_begin(f);
	f->blocks = group->units * group->per_unit;
	f->per_unit = group->per_unit;
	const double away = sim_redirect_need(f, op, group->block),
		     through_unit =
			     away + sim_traffic_need_all(f, op, group->part,
							 sim_redirect_kept_part(op, group->block));
	const double through_l1 = group->part * l1_bytes(op);
	limit_block(d, f, &group->class->load_store, through_unit);
	if (through_l1 > 0)
		limit_block(d, f, &group->class->l1, through_l1);
	if (op->block_flops > 0)
		limit_block(d, f, &group->class->compute,
			    kernel_block_tiles(op, group->block) * op->block_flops /
				    op->peak_flops);
	if (group->block == 0)
		f->min_ns = fmax(f->min_ns, op->first_block_ns);
}

static uint64_t stamp_now_ns(const struct sim_dev *d)
{
	int64_t at_ns = (int64_t)sim_clock.epoch_ns +
			(int64_t)floor(sim_clock.now_ns + d->model.stamp_error_ns);
	return at_ns > 0 ? (uint64_t)at_ns : 0;
}

static void end_group(struct sim_task *task)
{
	struct block_group *group = sim_group_of(task);
	struct op *op = task->op;
	const uint32_t blocks = group->units * group->per_unit;
	for (uint32_t i = 0; op->type->finish && i < blocks; i++) {
		op->type->finish(op, group->block + i);
		op->blocks_left--;
	}
	if (!op->type->finish)
		op->blocks_left -= blocks * task->rounds;
	for (uint32_t i = 0; op->tracking && op->tracking->end_block && i < blocks; i++)
		op->tracking->end_block(op, group->block + i);
	if (op->blocks_left == 0 && op->tracking && op->tracking->end)
		op->tracking->end(op);
	sim_group_leave(group);
	if (op->blocks_left == 0 && op->corrupts)
		kernel_corrupt(op);
	sim_memory_changed_by(op);
	sim_streams_look_at_values();
	if (op->blocks_left == 0)
		op_end(op);
}

void sim_group_start(struct sim_task *task)
{
	struct block_group *group = sim_group_of(task);
	struct op *op = task->op;
	const uint32_t blocks = group->units * group->per_unit;
	for (uint32_t i = 0; op->type->start && i < blocks; i++)
		op->type->start(op, group->block + i, stamp_now_ns(op->stream->dev));
	if (op->type->holds) {
		const bool released = kernel_is_released(op);
		sim_task_start_delay(task,
				     released ? 0 : fmin((double)op->work->arg[3].u64, MAX_HOLD_NS),
				     end_group);
		if (!released)
			sim_group_hold(group);
		return;
	}
	sim_group_flow(group);
	sim_task_start_flow(task, end_group);
}

double sim_block_delay_ns(const struct op *op, uint32_t block)
{
	const struct sim_dev *d = op->stream->dev;
	return d->model.block_ns + (op->tiles ? d->model.gemm_block_ns : 0) +
	       fmax(sim_op_latency_ns(op), sim_redirect_latency_ns(op, block));
}
