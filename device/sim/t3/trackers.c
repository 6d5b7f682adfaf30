/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trackers open and close; operations of streams arm them and wait for them.
 */
#include "device/sim/machine/device.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/t3/tiles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ devices */

int sim_trackers_open(struct sim_dev *d)
{
	if (!d->model.tracker_entries)
		return 0;
	const size_t streams = 2 + (size_t)d->model.copy_engines;
	struct sim_trackers *s = calloc(1, sizeof(*s));
	struct dev_stream *stream = calloc(streams, sizeof(*stream));
	if (!s || !stream || sim_streams_reserve(streams)) {
		free(s);
		free(stream);
		return err_note(-ENOMEM, "sim:%u: open: out of memory for a tracker",
				d->base.index);
	}
	for (size_t i = 0; i < streams; i++)
		stream[i].dev = d;
	s->counts.entries = d->model.tracker_entries;
	s->streams = streams;
	s->stream = stream;
	s->trigger = (struct op){
		.kind = OP_COPY, .started = true, .stream = stream, .stretch = 1, .slow_down = 1};
	d->trackers = s;
	return 0;
}

bool sim_tracker_leads_to(const struct dev_tracker *t, const struct sim_dev *d)
{
	for (size_t i = 0; i < t->map.count; i++)
		if (t->rows.ranges[i].target && t->rows.ranges[i].target->dev == d)
			return true;
	return false;
}

static void release_tracker(struct dev_tracker *t)
{
	if (--t->holders)
		return;
	free(t->tiles);
	free(t->rows.ranges);
	free(t);
}

void sim_tracker_release(struct op *op) { release_tracker(op->tracker); }

const struct op_tracking sim_tracking_of_waits = {.release = sim_tracker_release};

static void name_memory(const struct dev_tracker *t, bool named)
{
	const uint32_t change = named ? 1 : UINT32_MAX;
	t->matrix->trackers += change;
	for (size_t i = 0; i < t->map.count; i++)
		if (t->rows.ranges[i].target)
			t->rows.ranges[i].target->trackers += change;
}

void sim_tracker_close(struct dev_tracker *t)
{
	struct dev_tracker **at = &t->dev->trackers->open;
	sim_tracker_abandon(t);
	name_memory(t, false);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->rows.lost = true;
	sim_streams_wake(&t->waiters);
	release_tracker(t);
}

static void lose_tracker(struct dev_tracker *t, const struct sim_dev *gone)
{
	if (!sim_tracker_leads_to(t, gone))
		return;
	sim_tracker_abandon(t);
	t->rows.lost = true;
	for (size_t i = 0; i < t->map.count; i++)
		if (t->rows.ranges[i].target && t->rows.ranges[i].target->dev == gone)
			t->rows.ranges[i].target = NULL;
}

void sim_trackers_close(struct sim_dev *d, void (*forget)(const void *tracker))
{
	struct sim_trackers *s = d->trackers;
	for (struct sim_dev *other = sim_machine.devs; other; other = other->next)
		for (struct dev_tracker *t = other->trackers ? other->trackers->open : NULL;
		     t && other != d; t = t->next)
			lose_tracker(t, d);
	if (!s)
		return;
	for (struct dev_tracker *t = s->open, *next; t; t = next) {
		next = t->next;
		forget(t);
		sim_tracker_close(t);
	}
	sim_streams_unreserve(s->streams);
	free(s->stream);
	free(s);
	d->trackers = NULL;
}

/* ------------------------------------------------------------------ opening and closing */

/* The device memory that holds a matrix of the map's shape. */
static int find_matrix(struct sim_dev *d, const struct dev_tracker *t, const void *at,
		       struct alloc **a_p)
{
	struct alloc *a = sim_memory_find(d, at, t->rows.bytes, "a tracker");
	if (!a)
		return -EFAULT;
	if (a->kind != DEV_MEM_DEVICE)
		return err_note(-EFAULT, "sim:%u: a tracker: %p is not in device memory",
				d->base.index, at);
	if ((uintptr_t)at % t->element_bytes)
		return err_note(-EINVAL,
				"sim:%u: a tracker: a matrix is not aligned to its elements",
				d->base.index);
	*a_p = a;
	return 0;
}

static int check_target(struct sim_dev *d, const struct dev_tracker *t,
			const struct sim_tracked_range *range)
{
	uint64_t marks[DEV_MAX] = {0};
	const char *to = range->rows.to;
	const struct sim_dev *there = range->target->dev;
	const unsigned most = FLOW_DEMANDS - FLOW_OWN - FLOW_PEER * 2;
	if (to < t->rows.at + t->rows.bytes && t->rows.at < to + t->rows.bytes)
		return err_note(-EINVAL,
				"sim:%u: a tracker: the target of rows %u to %u is its own matrix",
				d->base.index, range->rows.first_row,
				range->rows.first_row + range->rows.rows - 1);
	if (range->rows.what == DEV_TRACKED_FORWARD && !d->model.copy_engines)
		return err_note(-ENOTSUP, "sim:%u: a tracker: forwarding needs copy engines",
				d->base.index);
	if (!sim_alloc_adds(range->target))
		return err_note(-ENOTSUP,
				"sim:%u: a tracker: the memory of sim:%u does not support adding",
				d->base.index, there->base.index);
	if (there != d && sim_way_mark(d, there, marks) > most)
		return err_note(-ENOTSUP, "sim:%u: a tracker: more than %u links lead to sim:%u",
				d->base.index, most, there->base.index);
	return 0;
}

static int find_memory(struct sim_dev *d, struct dev_tracker *t)
{
	int status = find_matrix(d, t, t->rows.at, &t->matrix);
	if (!status && t->matrix->dev != d)
		status = err_note(-EFAULT, "sim:%u: a tracker: the matrix is in memory of sim:%u",
				  d->base.index, t->matrix->dev->base.index);
	for (size_t i = 0; i < t->map.count && !status; i++) {
		struct sim_tracked_range *range = &t->rows.ranges[i];
		if (!range->rows.to)
			continue;
		status = find_matrix(d, t, range->rows.to, &range->target);
		if (!status)
			status = check_target(d, t, range);
	}
	return status;
}

static uint64_t tiles_along(uint64_t size, uint64_t of_tile) { return (size - 1) / of_tile + 1; }

static uint32_t end_of_tile(uint32_t begin, uint32_t size, uint32_t limit)
{
	return limit - begin < size ? limit : begin + size;
}

/* -EINVAL: a tile could have more writes than can be counted. */
static int set_tiles(struct dev_tracker *t, struct sim_tracked_range *range)
{
	const uint32_t end = range->rows.first_row + range->rows.rows;
	struct sim_tracked_tile *tile = range->tiles;
	for (uint64_t row = range->rows.first_row; row < end; row += t->map.tile_rows) {
		for (uint64_t column = 0; column < t->map.columns;
		     column += t->map.tile_columns, tile++) {
			const struct tile area = {
				(uint32_t)row, end_of_tile((uint32_t)row, t->map.tile_rows, end),
				(uint32_t)column,
				end_of_tile((uint32_t)column, t->map.tile_columns, t->map.columns)};
			const uint64_t elements = (uint64_t)(area.rows_end - area.row) *
						  (area.columns_end - area.column);
			if (elements > UINT64_MAX / range->rows.updates)
				return err_note(-EINVAL, "a tracker: %u updates are too many",
						range->rows.updates);
			*tile = (struct sim_tracked_tile){.tracker = t,
							  .range = range,
							  .area = area,
							  .enough = elements * range->rows.updates};
		}
	}
	return 0;
}

static int add_tiles(struct dev_tracker *t)
{
	uint64_t count = 0;
	t->tiles_across = (uint32_t)tiles_along(t->map.columns, t->map.tile_columns);
	for (size_t i = 0; i < t->map.count; i++)
		if (t->rows.ranges[i].rows.what != DEV_TRACKED_AWAY)
			count += tiles_along(t->rows.ranges[i].rows.rows, t->map.tile_rows) *
				 t->tiles_across;
	if (count <= UINT32_MAX)
		t->tiles = calloc(count + 1, sizeof(*t->tiles));
	if (!t->tiles)
		return err_note(-ENOMEM, "a tracker: out of memory for %llu tiles",
				(unsigned long long)count);
	t->tile_count = (uint32_t)count;
	int status = 0;
	struct sim_tracked_tile *tile = t->tiles;
	for (size_t i = 0; i < t->map.count && !status; i++) {
		struct sim_tracked_range *range = &t->rows.ranges[i];
		if (range->rows.what == DEV_TRACKED_AWAY)
			continue;
		range->tiles = tile;
		tile += tiles_along(range->rows.rows, t->map.tile_rows) * t->tiles_across;
		status = set_tiles(t, range);
	}
	return status;
}

int sim_tracker_make(struct sim_dev *d, const struct dev_tracker_map *map, struct dev_tracker **t_p)
{
	struct dev_tracker *t = calloc(1, sizeof(*t));
	if (t)
		t->rows.ranges = calloc(map->count, sizeof(*t->rows.ranges));
	if (!t || !t->rows.ranges) {
		free(t);
		return err_note(-ENOMEM, "sim:%u: open a tracker: out of memory", d->base.index);
	}
	t->dev = d;
	t->holders = 1;
	t->map = *map;
	t->map.ranges = NULL;
	t->rows.at = map->at;
	t->element_bytes = dev_type_bytes(map->type);
	t->rows.row_bytes = map->columns * t->element_bytes;
	t->rows.bytes = map->rows * t->rows.row_bytes;
	for (size_t i = 0; i < map->count; i++)
		t->rows.ranges[i].rows = map->ranges[i];
	int status = find_memory(d, t);
	if (!status)
		status = add_tiles(t);
	if (status) {
		release_tracker(t);
		return status;
	}
	name_memory(t, true);
	t->next = d->trackers->open;
	d->trackers->open = t;
	*t_p = t;
	return 0;
}

/* ------------------------------------------------------------------ operations of streams */

static void reset_tiles(struct dev_tracker *t)
{
	for (uint32_t i = 0; i < t->tile_count; i++) {
		t->tiles[i].writes = 0;
		t->tiles[i].has_entry = false;
	}
	t->incomplete = t->tile_count;
	t->forwards = 0;
	t->failed = 0;
	for (size_t i = 0; i < t->map.count && t->dev->model.data == SIM_DATA_REAL; i++) {
		const struct dev_tracked_rows *rows = &t->rows.ranges[i].rows;
		if (rows->what != DEV_TRACKED_AWAY)
			memset(t->rows.at + rows->first_row * t->rows.row_bytes, 0,
			       rows->rows * t->rows.row_bytes);
	}
	sim_memory_changed(t->matrix);
}

void sim_tracker_arm_now(struct op *op)
{
	struct dev_tracker *t = op->tracker;
	struct sim_trackers *s = t->dev->trackers;
	const unsigned index = t->dev->base.index;
	if (t->rows.lost) {
		sim_stream_fail(op->stream, -EFAULT,
				"sim:%u: arm a tracker: it, or memory that it uses, was closed",
				index);
	} else if (sim_tracker_is_armed(t)) {
		sim_stream_fail(op->stream, -EBUSY, "sim:%u: arm a tracker: it is already armed",
				index);
	} else if (sim_tracker_armed_at(t->dev, t->rows.at, t->rows.bytes)) {
		sim_stream_fail(
			op->stream, -EBUSY,
			"sim:%u: arm a tracker: another armed one covers part of its matrix",
			index);
	} else {
		reset_tiles(t);
		t->times_armed++;
		t->serial = op->serial;
		t->next_armed = s->armed;
		s->armed = t;
		sim_memory_written();
	}
}

/* The failure goes to the stream that waits first. */
static void end_tracking(struct dev_tracker *t, struct dev_stream *s)
{
	struct dev_tracker **at = &t->dev->trackers->armed;
	while (*at != t)
		at = &(*at)->next_armed;
	*at = t->next_armed;
	t->times_ended = t->times_armed;
	if (t->failed)
		sim_stream_fail(s, t->failed, "%s", t->failure);
}

bool sim_tracker_holds(struct op *op)
{
	struct dev_tracker *t = op->tracker;
	const unsigned index = op->stream->dev->base.index;
	if (t->rows.lost) {
		sim_stream_fail(
			op->stream, -EFAULT,
			"sim:%u: wait for a tracker: it, or memory that it uses, was closed",
			index);
		return false;
	}
	if (!op->value && !sim_tracker_is_armed(t)) {
		sim_stream_fail(op->stream, -EINVAL, "sim:%u: wait for a tracker: it is not armed",
				index);
		return false;
	}
	if (!op->value)
		op->value = t->times_armed;
	/* Another stream that waited for the same is first. */
	if (t->times_ended >= op->value)
		return false;
	if (!sim_tracker_is_over(t))
		return true;
	end_tracking(t, op->stream);
	return false;
}
