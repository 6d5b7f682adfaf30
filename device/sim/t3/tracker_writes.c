/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counting by trackers: writes of elements, by tile.
 */
#include "device/sim/machine/device.h"
#include "device/sim/machine/memory.h"
#include "device/sim/t3/tiles.h"

#include <errno.h>
#include <stdio.h>

/* ------------------------------------------------------------------ lists of tiles */

void sim_tile_append(struct sim_tile_list *list, struct sim_tracked_tile *tile)
{
	tile->next = NULL;
	tile->previous = list->last;
	if (list->last)
		list->last->next = tile;
	else
		list->first = tile;
	list->last = tile;
}

static void remove_tile(struct sim_tile_list *list, struct sim_tracked_tile *tile)
{
	if (tile->previous)
		tile->previous->next = tile->next;
	else
		list->first = tile->next;
	if (tile->next)
		tile->next->previous = tile->previous;
	else
		list->last = tile->previous;
}

struct sim_tracked_tile *sim_tile_take_first(struct sim_tile_list *list)
{
	struct sim_tracked_tile *tile = list->first;
	if (tile)
		remove_tile(list, tile);
	return tile;
}

/* ------------------------------------------------------------------ tiles and entries */

static bool has_all_writes(const struct sim_tracked_tile *tile)
{
	return tile->writes == tile->enough;
}

void sim_tracker_check_end(struct dev_tracker *t)
{
	if (sim_tracker_is_over(t))
		sim_streams_wake(&t->waiters);
}

static void complete_tile(struct sim_tracked_tile *tile)
{
	struct dev_tracker *t = tile->tracker;
	t->dev->trackers->counts.tiles++;
	t->incomplete--;
	if (tile->range->rows.what == DEV_TRACKED_FORWARD) {
		t->forwards++;
		sim_tracker_forward(tile);
	} else {
		sim_tracker_check_end(t);
	}
}

static void take_entry(struct sim_trackers *s, struct sim_tracked_tile *tile)
{
	tile->has_entry = true;
	if (++s->entries_used > s->counts.most_used)
		s->counts.most_used = s->entries_used;
}

static void overflow_tile(struct sim_trackers *s, struct sim_tracked_tile *tile)
{
	s->counts.overflowed++;
	sim_tile_append(&s->overflowed, tile);
}

/* Free entries are for the tiles that wait for one. */
static void serve_overflowed(struct sim_dev *d)
{
	struct sim_trackers *s = d->trackers;
	while (s->overflowed.first && s->entries_used < d->model.tracker_entries)
		take_entry(s, sim_tile_take_first(&s->overflowed));
}

/* It has an entry, or waits for one. */
static void give_up_entry(struct sim_trackers *s, struct sim_tracked_tile *tile)
{
	if (tile->has_entry)
		s->entries_used--;
	else
		remove_tile(&s->overflowed, tile);
}

/* False: the tile would be written too often. */
static bool count_in_tile(struct sim_tracked_tile *tile, uint64_t elements)
{
	struct sim_dev *d = tile->tracker->dev;
	struct sim_trackers *s = d->trackers;
	if (elements > tile->enough - tile->writes)
		return false;
	if (tile->writes == 0 && s->entries_used < d->model.tracker_entries)
		take_entry(s, tile);
	else if (tile->writes == 0)
		overflow_tile(s, tile);
	tile->writes += elements;
	if (!has_all_writes(tile))
		return true;
	give_up_entry(s, tile);
	complete_tile(tile);
	serve_overflowed(d);
	return true;
}

static void take_out_of(struct sim_tile_list *list, const struct dev_tracker *t)
{
	for (struct sim_tracked_tile *tile = list->first, *next; tile; tile = next) {
		next = tile->next;
		if (tile->tracker == t)
			remove_tile(list, tile);
	}
}

void sim_tracker_abandon(struct dev_tracker *t)
{
	struct sim_trackers *s = t->dev->trackers;
	take_out_of(&s->triggered, t);
	take_out_of(&s->ready, t);
	sim_tracker_drop_forwards(t);
	for (uint32_t i = 0; i < t->tile_count; i++) {
		if (t->tiles[i].writes > 0 && !has_all_writes(&t->tiles[i]))
			give_up_entry(s, &t->tiles[i]);
		t->tiles[i].writes = 0;
	}
	for (struct dev_tracker **at = &s->armed; *at; at = &(*at)->next_armed) {
		if (*at == t) {
			*at = t->next_armed;
			break;
		}
	}
	t->times_ended = t->times_armed;
	t->forwards = 0;
	serve_overflowed(t->dev);
}

/* ------------------------------------------------------------------ areas of a matrix */

static uint32_t lower_of(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t higher_of(uint32_t a, uint32_t b) { return a > b ? a : b; }

static uint64_t common_elements(const struct tile *a, const struct tile *b)
{
	const uint32_t row = higher_of(a->row, b->row),
		       rows_end = lower_of(a->rows_end, b->rows_end),
		       column = higher_of(a->column, b->column),
		       columns_end = lower_of(a->columns_end, b->columns_end);
	return (uint64_t)(rows_end - row) * (columns_end - column);
}

/* The area lies in the range. */
static const struct sim_tracked_tile *
count_in_range(struct dev_tracker *t, struct sim_tracked_range *range, const struct tile *area)
{
	const uint32_t first = range->rows.first_row;
	const struct sim_tracked_tile *excess = NULL;
	for (uint32_t i = (area->row - first) / t->map.tile_rows;
	     i <= (area->rows_end - 1 - first) / t->map.tile_rows; i++) {
		for (uint32_t j = area->column / t->map.tile_columns;
		     j <= (area->columns_end - 1) / t->map.tile_columns; j++) {
			struct sim_tracked_tile *tile =
				&range->tiles[(uint64_t)i * t->tiles_across + j];
			if (!count_in_tile(tile, common_elements(&tile->area, area)))
				excess = tile;
		}
	}
	return excess;
}

static const struct sim_tracked_tile *count_area(struct dev_tracker *t, struct tile area)
{
	const struct sim_tracked_tile *excess = NULL;
	const uint32_t rows_end = area.rows_end;
	for (size_t i = 0; i < t->map.count && area.row < rows_end; i++) {
		struct sim_tracked_range *range = &t->rows.ranges[i];
		area.rows_end = lower_of(rows_end, range->rows.first_row + range->rows.rows);
		if (area.rows_end <= area.row)
			continue;
		const struct sim_tracked_tile *here = range->rows.what == DEV_TRACKED_AWAY
							      ? NULL
							      : count_in_range(t, range, &area);
		excess = here ? here : excess;
		area.row = area.rows_end;
	}
	return excess;
}

/* Whole elements of a range of bytes, part of which is in the matrix. */
static const struct sim_tracked_tile *count_bytes(struct dev_tracker *t, const char *at,
						  uint64_t bytes)
{
	const char *from = at > t->rows.at ? at : t->rows.at,
		   *to = at + bytes < t->rows.at + t->rows.bytes ? at + bytes
								 : t->rows.at + t->rows.bytes;
	const struct sim_tracked_tile *excess = NULL;
	if (from >= to)
		return NULL;
	uint64_t element =
		((uint64_t)(from - t->rows.at) + t->element_bytes - 1) / t->element_bytes;
	const uint64_t end = (uint64_t)(to - t->rows.at) / t->element_bytes;
	while (element < end) {
		struct tile area = {.row = (uint32_t)(element / t->map.columns),
				    .column = (uint32_t)(element % t->map.columns),
				    .columns_end = t->map.columns};
		const uint32_t end_row = (uint32_t)(end / t->map.columns);
		area.rows_end = area.column == 0 && end_row > area.row ? end_row : area.row + 1;
		if (end_row == area.row)
			area.columns_end = (uint32_t)(end % t->map.columns);
		const struct sim_tracked_tile *here = count_area(t, area);
		excess = here ? here : excess;
		element = (uint64_t)(area.rows_end - 1) * t->map.columns + area.columns_end;
	}
	return excess;
}

static const struct sim_tracked_tile *count_rows(struct dev_tracker *t, const struct sim_written *w)
{
	const uint64_t offset = (uint64_t)(w->at - t->rows.at), in_row = offset % t->rows.row_bytes;
	const struct sim_tracked_tile *excess = NULL;
	if (w->stride_bytes == t->rows.row_bytes && w->at >= t->rows.at &&
	    offset + (w->rows - 1) * w->stride_bytes + w->bytes <= t->rows.bytes &&
	    in_row + w->bytes <= t->rows.row_bytes && in_row % t->element_bytes == 0 &&
	    w->bytes % t->element_bytes == 0) {
		const uint32_t row = (uint32_t)(offset / t->rows.row_bytes);
		return count_area(
			t, (struct tile){row, row + (uint32_t)w->rows,
					 (uint32_t)(in_row / t->element_bytes),
					 (uint32_t)((in_row + w->bytes) / t->element_bytes)});
	}
	for (uint64_t i = 0; i < w->rows; i++) {
		const struct sim_tracked_tile *here =
			count_bytes(t, w->at + i * w->stride_bytes, w->bytes);
		excess = here ? here : excess;
	}
	return excess;
}

/* ------------------------------------------------------------------ writes */

static bool has_some_of(const struct dev_tracker *t, const char *at, uint64_t bytes)
{
	return at < t->rows.at + t->rows.bytes && t->rows.at < at + bytes;
}

struct dev_tracker *sim_tracker_armed_at(const struct sim_dev *d, const char *at, uint64_t bytes)
{
	struct dev_tracker *t = d->trackers ? d->trackers->armed : NULL;
	while (t && !has_some_of(t, at, bytes))
		t = t->next_armed;
	return t;
}

const struct sim_tracked_tile *sim_tracker_count(const struct sim_written *w)
{
	const struct sim_tracked_tile *excess = NULL;
	const uint64_t extent = (w->rows - 1) * w->stride_bytes + w->bytes;
	struct dev_tracker *t = w->dev->trackers ? w->dev->trackers->armed : NULL;
	for (; t && w->bytes; t = t->next_armed) {
		const struct sim_tracked_tile *here =
			has_some_of(t, w->at, extent) ? count_rows(t, w) : NULL;
		excess = here ? here : excess;
	}
	return excess;
}

int sim_tracker_note_excess(const struct sim_tracked_tile *tile, char *text, size_t size)
{
	snprintf(text, size,
		 "sim:%u: the tile at row %u, column %u of a tracked matrix is written more than "
		 "%u times",
		 tile->tracker->dev->base.index, tile->area.row, tile->area.column,
		 tile->range->rows.updates);
	return -EINVAL;
}

void sim_tracker_count_of(struct op *op, const struct sim_written *w)
{
	struct dev_stream *s = op->stream;
	const struct sim_tracked_tile *excess = sim_tracker_count(w);
	if (excess && !s->failed)
		s->failed = sim_tracker_note_excess(excess, s->failure, sizeof(s->failure));
}

static void count_copy(struct op *op)
{
	sim_tracker_count_of(op, &(struct sim_written){.dev = op->work->use[0]->dev,
						       .at = op->dst,
						       .rows = 1,
						       .bytes = op->bytes});
}

const struct op_tracking sim_tracking_of_copies = {.end = count_copy};
