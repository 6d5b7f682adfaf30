/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies, fills and the blocks of launches: what they need and how long they take.
 */
#include "device/sim/machine/execution.h"
#include "device/sim/t3/tracker.h"

#include <math.h>
#include <string.h>

/* With a longer hold the clock, a double, could not resolve nanoseconds. */
#define MAX_HOLD_NS 1e15

static struct sim_dev *dev_of(const struct op *op) { return op->stream->dev; }

/* ------------------------------------------------------------------ what flows need */

/* True if it passes load/store units or an engine, and links. */
static bool leaves_memory(const struct op_traffic *t)
{
	return t->path != PATH_REFILL && t->path != PATH_L1 && !t->stays;
}

static void need_pinned(struct sim_dev *d, struct flow *f, const struct op_traffic *t,
			double volume)
{
	flow_need(f, &sim_engine.host_memory, volume);
	flow_need(f, t->write ? &d->link_up : &d->link_down, volume);
	if (t->at->node != sim_near_node(d))
		flow_need(f, t->write ? &d->far_up : &d->far_down, volume);
}

void sim_exec_need_memory(const struct op *op, struct flow *f, const struct op_traffic *t,
			  double volume)
{
	struct sim_dev *d = dev_of(op), *owner = t->at->dev;
	if (t->at->kind == DEV_MEM_PINNED) {
		need_pinned(d, f, t, volume);
		return;
	}
	if (t->path == PATH_L1 || t->path == PATH_L2)
		return;
	if (t->path == PATH_CACHE)
		flow_need(f, &owner->llc, volume);
	else
		sim_memory_need(f, op, t, volume);
	if (owner != d && leaves_memory(t))
		sim_peer_need(f, t->write ? d : owner, t->write ? owner : d, volume);
}

/* Only `c_part` of C is written to C's own memory. Returns the bytes that pass the unit or
 * engine. */
static double need_traffic(struct flow *f, const struct op *op, double part, double c_part)
{
	double through = 0;
	for (unsigned i = 0; i < op->traffics; i++) {
		const struct op_traffic *t = &op->work->traffic[i];
		const bool is_c = op->tiles && t->use == SIM_GEMM_C;
		const double volume = t->volume * part * (is_c ? c_part : 1);
		sim_exec_need_memory(op, f, t, volume);
		if (leaves_memory(t))
			through += volume;
	}
	return through;
}

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

void sim_exec_block_flow(struct sim_task *task)
{
	const struct op *op = task->op;
	struct sim_dev *d = dev_of(op);
	flow_begin(&task->flow);
	task->flow.blocks = task->units * task->per_unit;
	task->flow.per_unit = task->per_unit;
	const double away = sim_tracker_need_away(&task->flow, op, task->block),
		     through_unit = away + need_traffic(&task->flow, op, task->part,
							sim_tracker_c_part(op, task->block));
	const double through_l1 = task->part * l1_bytes(op);
	limit_block(d, &task->flow, &task->class->load_store, through_unit);
	if (through_l1 > 0)
		limit_block(d, &task->flow, &task->class->l1, through_l1);
	if (op->block_flops > 0)
		limit_block(d, &task->flow, &task->class->compute,
			    kernel_block_tiles(op, task->block) * op->block_flops / op->peak_flops);
	if (task->block == 0)
		task->flow.min_ns = fmax(task->flow.min_ns, op->first_block_ns);
}

/* ------------------------------------------------------------------ copies and fills */

static bool goes_first(const struct op *a, const struct op *b)
{
	if (a->kind == OP_LAUNCH && a->stream->priority != b->stream->priority)
		return a->stream->priority > b->stream->priority;
	return a->ready_number < b->ready_number;
}

void sim_exec_ready_insert(struct op **list, struct op *op)
{
	if (!op->ready_number)
		op->ready_number = ++op->stream->dev->ready_numbers;
	while (*list && !goes_first(op, *list))
		list = &(*list)->ready_next;
	op->ready_next = *list;
	*list = op;
}

void sim_exec_ready_remove(struct op **list, const struct op *op)
{
	while (*list && *list != op)
		list = &(*list)->ready_next;
	if (*list)
		*list = op->ready_next;
}

static void move_bytes(const struct op *op)
{
	const bool moves = op->bytes && sim_memory_moves(dev_of(op), op->bytes);
	if (op->forward)
		sim_tracker_move_tile(op);
	else if (moves && op->kind == OP_FILL)
		memset(op->dst, (int)op->value, op->bytes);
	else if (moves && op->adds)
		sim_memory_add(op->element, op->dst, op->src,
			       op->bytes / dev_type_bytes(op->element));
	else if (moves)
		memcpy(op->dst, op->src, op->bytes);
}

/* True if a copy needs one of the engines that copy up (D2H), or down (H2D). */
static bool is_of_host(const struct op *op, bool up)
{
	const bool limited = dev_of(op)->model.host_engines;
	for (unsigned i = 0; limited && i < op->traffics; i++) {
		const struct op_traffic *t = &op->work->traffic[i];
		if (t->at->kind == DEV_MEM_PINNED && t->write == up)
			return true;
	}
	return false;
}

static bool take_engine(struct op *op)
{
	struct sim_dev *d = dev_of(op);
	const uint32_t most = d->model.host_engines;
	const bool up = is_of_host(op, true), down = is_of_host(op, false);
	if ((up && d->engines_up == most) || (down && d->engines_down == most))
		return false;
	d->engines_up += up;
	d->engines_down += down;
	d->engines_busy++;
	op->has_engine = true;
	return true;
}

void sim_exec_release_engine(const struct op *op)
{
	struct sim_dev *d = dev_of(op);
	if (!op->has_engine)
		return;
	d->engines_up -= is_of_host(op, true);
	d->engines_down -= is_of_host(op, false);
	d->engines_busy--;
	sim_dev_changed(d);
}

static void end_transfer(struct sim_task *task)
{
	struct op *op = task->op;
	move_bytes(op);
	if (op->corrupts)
		kernel_corrupt(op);
	sim_memory_changed_by(op);
	sim_engine.memory_written = true;
	sim_exec_release_engine(op);
	sim_task_end(task);
	sim_tracker_count_copy(op);
	op_end(op);
}

void sim_exec_start_transfer(struct sim_task *task)
{
	struct op *op = task->op;
	struct sim_dev *d = dev_of(op);
	double volume = (double)op->bytes;
	sim_cache_start(op);
	sim_memory_count(op);
	flow_begin(&task->flow);
	need_traffic(&task->flow, op, 1, 1);
	if (op->kind == OP_COPY) {
		task->flow.min_ns = volume / (d->model.engine_bandwidth * 1e-9);
		task->flow.weight = d->model.engine_weight;
	}
	sim_task_start_flow(task, end_transfer);
}

void sim_exec_start_copies(struct sim_dev *d)
{
	struct op **next = &d->copies_ready;
	while (*next && d->engines_busy < d->model.copy_engines) {
		struct op *op = *next;
		if (!take_engine(op)) {
			next = &op->ready_next;
			continue;
		}
		*next = op->ready_next;
		if (op->forward)
			sim_tracker_begin_forward(op);
		struct sim_task *task = sim_task_begin(op);
		double delay_ns = (op->forward ? 0 : d->model.copy_ns) + sim_op_latency_ns(op);
		sim_task_start_delay(task, delay_ns * task->stretch, sim_exec_start_transfer);
	}
}

/* ------------------------------------------------------------------ launches */

/* Mean 1. */
static double draw_lognormal(struct rng *r, double sigma)
{
	return sigma > 0 ? exp(sigma * rng_normal(r) - sigma * sigma / 2) : 1;
}

double sim_slowness(const struct sim_dev *d)
{
	double now_s = 1e-9 * ((double)sim_engine.epoch_ns + sim_engine.now_ns);
	return d->open_factor * fmax(0.01, 1 + d->model.drift_per_s * now_s);
}

double op_stretch_of_draw(struct sim_dev *d, uint64_t draw)
{
	struct rng r;
	rng_seed(&r, d->seed, draw);
	double stretch = sim_slowness(d) * draw_lognormal(&r, d->model.jitter_sigma);
	if (d->model.outlier_probability > 0 && rng_unit(&r) < d->model.outlier_probability)
		stretch *= d->model.outlier_factor;
	return stretch;
}

double op_stretch(struct sim_dev *d, uint64_t serial)
{
	return op_stretch_of_draw(d, serial << 32);
}

double sim_exec_block_stretch(const struct op *op, uint32_t block)
{
	const struct sim_dev *d = dev_of(op);
	struct rng r;
	if (d->model.block_jitter_sigma <= 0)
		return op->stretch;
	/* The stream of draws depends on the operation and the block only, so that the order of
	 * events changes no draw. 0 is the operation's own draw. */
	rng_seed(&r, d->seed, (op->serial << 32) + 1 + block);
	return op->stretch * draw_lognormal(&r, d->model.block_jitter_sigma);
}

static uint64_t stamp_now_ns(const struct sim_dev *d)
{
	int64_t at_ns = (int64_t)sim_engine.epoch_ns +
			(int64_t)floor(sim_engine.now_ns + d->model.stamp_error_ns);
	return at_ns > 0 ? (uint64_t)at_ns : 0;
}

static void end_group(struct sim_task *group)
{
	struct op *op = group->op;
	const uint32_t blocks = group->units * group->per_unit;
	for (uint32_t i = 0; op->type->finish && i < blocks; i++) {
		op->type->finish(op, group->block + i);
		op->blocks_left--;
	}
	if (!op->type->finish)
		op->blocks_left -= blocks * group->rounds;
	for (uint32_t i = 0; op->tracker && i < blocks; i++)
		sim_tracker_count_block(op, group->block + i);
	if (op->blocks_left == 0 && op->type == &kernel_copy_type)
		sim_tracker_count_copy(op);
	if (group->held)
		sim_engine_let_go(group);
	sim_units_leave(group);
	sim_task_end(group);
	if (op->blocks_left == 0 && op->corrupts)
		kernel_corrupt(op);
	sim_memory_changed_by(op);
	sim_engine.memory_written = true;
	if (op->blocks_left == 0)
		op_end(op);
}

void sim_exec_start_group(struct sim_task *group)
{
	struct op *op = group->op;
	const uint32_t blocks = group->units * group->per_unit;
	for (uint32_t i = 0; op->type->start && i < blocks; i++)
		op->type->start(op, group->block + i, stamp_now_ns(dev_of(op)));
	if (op->type->holds) {
		const bool released = kernel_is_released(op);
		sim_task_start_delay(group,
				     released ? 0 : fmin((double)op->work->arg[3].u64, MAX_HOLD_NS),
				     end_group);
		if (!released)
			sim_engine_hold(group);
		return;
	}
	sim_exec_block_flow(group);
	sim_task_start_flow(group, end_group);
}

double sim_exec_block_delay_ns(const struct op *op, uint32_t block)
{
	const struct sim_dev *d = dev_of(op);
	return d->model.block_ns + fmax(sim_op_latency_ns(op), sim_tracker_latency_ns(op, block));
}

void sim_exec_mark_launch_ready(struct sim_task *task)
{
	struct op *op = task->op;
	struct sim_dev *d = dev_of(op);
	sim_task_end(task);
	if (op->tiles && sim_tracker_begin_gemm(op)) {
		op_end(op);
		return;
	}
	sim_cache_start(op);
	sim_memory_count(op);
	sim_exec_ready_insert(&d->launches_ready, op);
	d->launch_arrived = true;
	sim_dev_changed(d);
}
