/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/machine/copies.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/kernels.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/storage.h"
#include "device/sim/machine/streams.h"

#include <string.h>

struct sim_machine sim_machine;

static bool goes_first(const struct op *a, const struct op *b)
{
	if (a->kind == OP_LAUNCH && a->stream->priority != b->stream->priority)
		return a->stream->priority > b->stream->priority;
	return a->ready_number < b->ready_number;
}

void sim_ready_insert(struct op **list, struct op *op)
{
	if (!op->ready_number)
		op->ready_number = ++op->stream->dev->ready_numbers;
	while (*list && !goes_first(op, *list))
		list = &(*list)->ready_next;
	op->ready_next = *list;
	*list = op;
}

void sim_ready_remove(struct op **list, const struct op *op)
{
	while (*list && *list != op)
		list = &(*list)->ready_next;
	if (*list)
		*list = op->ready_next;
}

static void move_bytes(struct op *op)
{
	const bool moves = op->bytes && sim_memory_moves(op->stream->dev, op->bytes);
	if (op->tracking && op->tracking->move)
		op->tracking->move(op);
	else if (moves && op->kind == OP_FILL)
		memset(op->dst, (int)op->value, op->bytes);
	else if (moves && op->kind == OP_FILE_READ)
		sim_storage_read(op);
	else if (moves && op->adds)
		sim_memory_add(op->element, op->dst, op->src,
			       op->bytes / dev_type_bytes(op->element));
	else if (moves)
		memcpy(op->dst, op->src, op->bytes);
}

void sim_copies_release_engine(const struct op *op)
{
	struct sim_dev *d = op->stream->dev;
	if (!op->engine)
		return;
	op->engine->busy = false;
	d->engines.busy--;
	sim_dev_changed(d);
}

static void end_transfer(struct sim_task *task)
{
	struct op *op = task->op;
	move_bytes(op);
	if (op->corrupts)
		kernel_corrupt(op);
	sim_memory_changed_by(op);
	sim_streams_look_at_values();
	sim_copies_release_engine(op);
	op_end_task(task);
	if (op->tracking)
		op->tracking->end(op);
	op_end(op);
}

void sim_copies_start_transfer(struct sim_task *task)
{
	struct op *op = task->op;
	struct sim_dev *d = op->stream->dev;
	double volume = (double)op->bytes;
	sim_cache_start(op);
	sim_memory_count(op);
	flow_begin(&task->flow);
	sim_traffic_need_all(&task->flow, op, 1, 1);
	if (op->kind == OP_COPY) {
		task->flow.min_ns = volume / (d->model.engine_bandwidth * 1e-9);
		task->flow.weight = d->model.engine_weight;
	}
	if (op->kind == OP_FILE_READ)
		sim_storage_need(&task->flow, op);
	sim_task_start_flow(task, end_transfer);
}

void sim_copies_start(struct sim_dev *d)
{
	struct op *op;
	bool switches = false;
	while ((op = sim_engines_take(d, &switches)) != NULL) {
		if (op->tracking && op->tracking->begin)
			op->tracking->begin(op);
		struct sim_task *task = op_begin_task(op);
		const double command_ns = op->forward   ? 0
					  : op->follows ? d->model.batch_copy_ns
							: d->model.copy_ns;
		double delay_ns = command_ns + (switches ? d->model.engine_switch_ns : 0) +
				  sim_op_latency_ns(op);
		sim_task_start_delay(task, delay_ns * task->stretch, sim_copies_start_transfer);
	}
}
