/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that trackers start. They are ready in the order in which tiles became complete, so only
 * the first of a device is among the copies that wait for an engine.
 */
#include "device/sim/machine/copies.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/memory.h"
#include "device/sim/t3/tiles.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static uint64_t offset_of(const struct sim_tracked_tile *tile)
{
	const struct dev_tracker *t = tile->tracker;
	return tile->area.row * t->rows.row_bytes + tile->area.column * t->element_bytes;
}

/* Rows and columns of a tile. */
static uint64_t rows_of(const struct sim_tracked_tile *tile)
{
	return tile->area.rows_end - tile->area.row;
}
static uint64_t columns_of(const struct sim_tracked_tile *tile)
{
	return tile->area.columns_end - tile->area.column;
}

/* ------------------------------------------------------------------ copies that are ready */

static void use_memory(struct op *op, struct alloc *a, const char *at, uint64_t extent, bool write)
{
	const unsigned use = op->uses++;
	op->work->use[use] = a;
	op->work->range[use] = (struct sim_range){at, extent};
	a->users++;
	op_traffic(op, use, (double)op->bytes, write, PATH_MEMORY);
	op->work->traffic[use].adds = write;
}

static const struct op_tracking tracking_of_forwards;

/* NULL: out of memory. */
static struct op *copy_of(struct sim_tracked_tile *tile)
{
	struct dev_tracker *t = tile->tracker;
	struct sim_trackers *s = t->dev->trackers;
	struct dev_stream *stream = s->stream + 1;
	struct op *op = sim_op_alloc(OP_COPY);
	if (!op)
		return NULL;
	while (stream->head)
		stream++;
	const uint64_t extent =
		(rows_of(tile) - 1) * t->rows.row_bytes + columns_of(tile) * t->element_bytes;
	stream->head = stream->tail = op;
	stream->queued = 1;
	op->stream = stream;
	op->started = true;
	op->forward = tile;
	op->tracker = t;
	op->tracking = &tracking_of_forwards;
	t->holders++;
	op->ready_number = tile->ready_number;
	op->stretch = tile->stretch;
	op->slow_down = 1;
	sim_op_slow_down(t->dev, op, "engine");
	op->src = t->rows.at + offset_of(tile);
	op->dst = (char *)tile->range->rows.to + offset_of(tile);
	op->bytes = rows_of(tile) * columns_of(tile) * t->element_bytes;
	use_memory(op, tile->range->target, op->dst, extent, true);
	use_memory(op, t->matrix, op->src, extent, false);
	return op;
}

static void fail_tracker(struct dev_tracker *t, int status, const char *text)
{
	if (t->failed)
		return;
	t->failed = status;
	snprintf(t->failure, sizeof(t->failure), "%s", text);
}

static void offer_next(struct sim_dev *d)
{
	struct sim_trackers *s = d->trackers;
	struct sim_tracked_tile *tile;
	while (!s->offered && (tile = sim_tile_take_first(&s->ready))) {
		s->offered = copy_of(tile);
		if (s->offered) {
			sim_ready_insert(&d->copies_ready, s->offered);
			sim_dev_changed(d);
			continue;
		}
		fail_tracker(tile->tracker, -ENOMEM, "sim: copy a tile: out of memory");
		tile->tracker->forwards--;
		sim_tracker_check_end(tile->tracker);
	}
}

static void mark_copy_ready(struct sim_tracked_tile *tile)
{
	struct sim_dev *d = tile->tracker->dev;
	tile->ready_number = ++d->ready_numbers;
	sim_tile_append(&d->trackers->ready, tile);
	offer_next(d);
}

/* ------------------------------------------------------------------ tiles that are complete */

static void end_trigger(struct sim_task *task);

static void wait_for_first(struct sim_trackers *s)
{
	sim_task_start_delay(op_begin_task(&s->trigger),
			     fmax(0, s->triggered.first->due_ns - sim_clock.now_ns), end_trigger);
}

static void end_trigger(struct sim_task *task)
{
	struct sim_trackers *s = task->op->stream->dev->trackers;
	const double now_ns = task->finish_ns;
	op_end_task(task);
	while (s->triggered.first && s->triggered.first->due_ns <= now_ns)
		mark_copy_ready(sim_tile_take_first(&s->triggered));
	if (s->triggered.first)
		wait_for_first(s);
}

void sim_tracker_forward(struct sim_tracked_tile *tile)
{
	struct dev_tracker *t = tile->tracker;
	struct sim_trackers *s = t->dev->trackers;
	const uint64_t draw = (t->serial << 32) + 1 + (uint64_t)(tile - t->tiles);
	tile->stretch = op_stretch_of_draw(t->dev, draw);
	const double count_ns = tile->has_entry ? 0 : t->dev->model.memory_latency_ns;
	const double delay_ns = (t->dev->model.tracker_ns + count_ns) * tile->stretch;
	const bool is_first = !s->triggered.first;
	if (delay_ns <= 0) {
		mark_copy_ready(tile);
		return;
	}
	tile->due_ns = sim_clock.now_ns + delay_ns;
	if (!is_first)
		tile->due_ns = fmax(tile->due_ns, s->triggered.last->due_ns);
	sim_tile_append(&s->triggered, tile);
	if (is_first && !s->stream->tasks)
		wait_for_first(s);
}

/* ------------------------------------------------------------------ copies with an engine */

static void begin_forward(const struct op *op)
{
	struct sim_trackers *s = op->stream->dev->trackers;
	s->counts.forwarded++;
	s->offered = NULL;
	offer_next(op->stream->dev);
}

static void move_tile(const struct op *op)
{
	const struct sim_tracked_tile *tile = op->forward;
	const struct dev_tracker *t = tile->tracker;
	if (t->dev->model.data != SIM_DATA_REAL)
		return;
	for (uint64_t i = 0; i < rows_of(tile); i++)
		sim_memory_add(t->map.type, op->dst + i * t->rows.row_bytes,
			       op->src + i * t->rows.row_bytes, columns_of(tile));
}

static void end_forward(struct op *op)
{
	const struct sim_tracked_tile *tile = op->forward;
	struct dev_tracker *t = tile->tracker;
	const struct sim_written arrived = {.dev = op->work->use[0]->dev,
					    .at = op->dst,
					    .rows = rows_of(tile),
					    .bytes = columns_of(tile) * t->element_bytes,
					    .stride_bytes = t->rows.row_bytes};
	const struct sim_tracked_tile *excess = sim_tracker_count(&arrived);
	char text[sizeof(t->failure)];
	if (excess)
		fail_tracker(t, sim_tracker_note_excess(excess, text, sizeof(text)), text);
	t->forwards--;
	sim_tracker_check_end(t);
}

static const struct op_tracking tracking_of_forwards = {.begin = begin_forward,
							.move = move_tile,
							.end = end_forward,
							.release = sim_tracker_release};

void sim_tracker_drop_forwards(struct dev_tracker *t)
{
	struct sim_trackers *s = t->dev->trackers;
	for (size_t i = 1; i < s->streams; i++) {
		struct op *op = s->stream[i].head;
		if (!op || op->tracker != t)
			continue;
		if (op == s->offered)
			s->offered = NULL;
		sim_stream_cancel(&s->stream[i]);
	}
	if (!s->triggered.first)
		sim_stream_cancel(s->stream);
	offer_next(t->dev);
}
