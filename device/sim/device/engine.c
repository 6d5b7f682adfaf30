/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The event loop: operations start as soon as they can, and time passes.
 *
 * COST of an operation from the moment when it is the first of its stream. Jitter J is one draw per
 * operation, j one per block.
 *
 *   event record         J * event_ns after the stamp
 *   value wait or write  J * value_ns
 *   copy                 a free engine (machine/engines.h), then J * (copy_ns + peer + flow of the
 *                        bytes); of a batch, whose copies run in order, batch_copy_ns from the
 *                        second one on
 *   fill                 J * (launch_ns + peer + flow of the bytes); takes no engine
 *   read of a file       J * (storage_ns + flow of the bytes: STORAGE); takes no engine
 *   launch, gemm         J * launch_ns, of a gemm gemm_ns more, then blocks go to units; each takes
 *                        j * J * (block_ns + peer + flow), of a gemm gemm_block_ns more
 *   chase                as a launch, and block 0 takes j * J * latency for every step. In own
 *                        memory that of the first level that can hold the ring: l1_latency_ns up
 *                        to l1_bytes, l2_latency_ns up to l2_bytes, llc_latency_ns up to
 *                        llc_bytes, else memory_latency_ns. In pinned memory link_latency_ns, and
 *                        in peer memory link_latency_ns + peer
 *
 * `peer` is the sum of peer_latency_ns of the links on the way between the devices between which
 * bytes move; of several ways the largest sum, and 0 where all memory is own or pinned. The start
 * of a chase has none.
 */
#include "device/sim/device/calls.h"
#include "device/sim/machine/copies.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/t3/tracker.h"

#include <errno.h>
#include <math.h>

static void end_delay(struct sim_task *task)
{
	struct op *op = task->op;
	if (op->kind == OP_WRITE_VALUE) {
		*(uint32_t *)(void *)op->dst = op->value;
		sim_memory_changed_by(op);
		sim_memory_written();
	}
	op_end_task(task);
	op_end(op);
}

static void mark_launch_ready(struct sim_task *task)
{
	struct op *op = task->op;
	struct sim_dev *d = op->stream->dev;
	op_end_task(task);
	if (op->tiles && sim_tracker_begin_gemm(op)) {
		op_end(op);
		return;
	}
	sim_cache_start(op);
	sim_memory_count(op);
	sim_ready_insert(&d->launches_ready, op);
	d->units.launch_arrived = true;
	sim_dev_changed(d);
}

static void op_fail(struct op *op)
{
	sim_stream_fail(op->stream, -EIO, "sim:%u: %s failed while it ran: %s of the model",
			op->stream->dev->base.index,
			op->kind == OP_COPY ? "a copy" : op->type->name,
			op->kind == OP_COPY ? "fail_copy_at" : "fail_launch_at");
}

/* True if an operation has to wait. */
static bool has_to_wait(struct op *op)
{
	if (op->kind == OP_WAIT && op->stamp && !op->stamp->done)
		sim_stream_begin_wait(op->stream, &op->stamp->waiters);
	else if (op->kind == OP_WAIT_VALUE && !op_has_value(op))
		sim_stream_wait_for_value(op->stream);
	else if (op->kind == OP_WAIT_TILES && sim_tracker_holds(op))
		sim_stream_begin_wait(op->stream, &op->tracker->waiters);
	else
		return false;
	return true;
}

/* False if the operation cannot start yet. */
static bool op_start(struct op *op)
{
	struct sim_dev *d = op->stream->dev;
	if (has_to_wait(op))
		return false;
	op->started = true;
	sim_power_begin(op);
	switch (op->kind) {
	case OP_RECORD:
		event_stamp_complete(op->stamp);
		sim_task_start_delay(op_begin_task(op), d->model.event_ns * op->stretch, end_delay);
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
		sim_task_start_delay(op_begin_task(op), d->model.value_ns * op->stretch, end_delay);
		break;
	case OP_COPY:
		sim_ready_insert(&d->copies_ready, op);
		sim_dev_changed(d);
		break;
	case OP_FILL:
		sim_task_start_delay(op_begin_task(op),
				     (d->model.launch_ns + sim_op_latency_ns(op)) * op->stretch,
				     sim_copies_start_transfer);
		break;
	case OP_FILE_READ:
		sim_task_start_delay(op_begin_task(op), d->model.storage_ns * op->stretch,
				     sim_copies_start_transfer);
		break;
	case OP_LAUNCH:
		sim_task_start_delay(op_begin_task(op),
				     (d->model.launch_ns + (op->tiles ? d->model.gemm_ns : 0)) *
					     op->stretch,
				     mark_launch_ready);
		break;
	}
	return true;
}

static void stream_advance(struct dev_stream *s)
{
	while (s->head && !s->head->started) {
		if (s->failed) {
			op_drop(s->head);
		} else if (s->head->fails) {
			op_fail(s->head);
			op_drop(s->head);
		} else if (!op_start(s->head)) {
			break;
		}
	}
}

/* Start all that can start now. */
static void start_ready_work(void)
{
	sim_streams_advance(stream_advance);
	if (!sim_machine.devs_changed)
		return;
	sim_machine.devs_changed = false;
	for (struct sim_dev *d = sim_machine.devs; d; d = d->next) {
		if (!d->changed)
			continue;
		d->changed = false;
		sim_copies_start(d);
		sim_units_start_blocks(d);
	}
}

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
	sim_clock.now_ns = fmax(sim_clock.now_ns, until_ns);
	return next;
}
