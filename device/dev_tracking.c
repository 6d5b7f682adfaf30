/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev_tracking.h"
#include "device/backends.h"
#include "device/dev.h"
#include "lib/err.h"

#include <errno.h>

static bool is_of_some_c(enum dev_type type)
{
	for (int i = 0; i < DEV_TYPES; i++)
		if (dev_types[i].result == type)
			return true;
	return false;
}

int dev_copy_add(struct dev *d, struct dev_stream *s, void *dst, const void *src, uint64_t bytes,
		 enum dev_type type)
{
	if (!dev_can(d, DEV_CAP_MEMORY_ADDS))
		return dev_note_not_supported(d, "copy_add");
	if (!is_of_some_c(type))
		return err_note(-EINVAL, "copy_add: element type %u is not a result type",
				(unsigned)type);
	if (bytes % dev_type_bytes(type))
		return err_note(-EINVAL,
				"copy_add: %llu bytes are not a whole number of %s elements",
				(unsigned long long)bytes, dev_types[type].name);
	return d->ops->tracking->copy_add(d, s, dst, src, bytes, type);
}

/* ------------------------------------------------------------------ the tracker */

static int check_range(const struct dev_tracker_map *map, size_t i)
{
	const struct dev_tracked_rows *r = &map->ranges[i];
	const uint32_t end = i ? map->ranges[i - 1].first_row + map->ranges[i - 1].rows : 0;
	if (r->first_row != end || r->rows == 0 || r->rows > map->rows - end)
		return err_note(-EINVAL, "a tracker of %u rows: range %zu has rows %u to %u",
				map->rows, i, r->first_row, r->first_row + r->rows);
	if ((unsigned)r->what > DEV_TRACKED_KEPT || (r->what != DEV_TRACKED_AWAY && !r->updates))
		return err_note(-EINVAL, "a tracker: range %zu has %u updates and does %u", i,
				r->updates, (unsigned)r->what);
	if ((r->what == DEV_TRACKED_KEPT) != !r->to)
		return err_note(-EINVAL, "a tracker: range %zu %s", i,
				r->to ? "has a target, but is kept" : "has no target");
	return 0;
}

static int check_map(const struct dev_tracker_map *map)
{
	int status = 0;
	if (!map->rows || !map->columns || !map->tile_rows || !map->tile_columns || !map->count)
		return err_note(-EINVAL, "a tracker of %u x %u in tiles of %u x %u, %zu ranges",
				map->rows, map->columns, map->tile_rows, map->tile_columns,
				map->count);
	if (!is_of_some_c(map->type))
		return err_note(-EINVAL, "a tracker: element type %u is not a result type",
				(unsigned)map->type);
	for (size_t i = 0; i < map->count && !status; i++)
		status = check_range(map, i);
	const struct dev_tracked_rows *last = &map->ranges[map->count - 1];
	if (!status && last->first_row + last->rows != map->rows)
		return err_note(-EINVAL, "a tracker of %u rows: its ranges end at row %u",
				map->rows, last->first_row + last->rows);
	return status;
}

int dev_tracker_open(struct dev *d, const struct dev_tracker_map *map, struct dev_tracker **t_p)
{
	if (!dev_can(d, DEV_CAP_TRACKER))
		return dev_note_not_supported(d, "tracker_open");
	int status = check_map(map);
	return status ? status : d->ops->tracking->tracker_open(d, map, t_p);
}

void dev_tracker_close(struct dev *d, struct dev_tracker *t)
{
	if (t)
		d->ops->tracking->tracker_close(d, t);
}

int dev_tracker_arm(struct dev *d, struct dev_stream *s, struct dev_tracker *t)
{
	return dev_can(d, DEV_CAP_TRACKER) ? d->ops->tracking->tracker_arm(d, s, t)
					   : dev_note_not_supported(d, "tracker_arm");
}

int dev_tracker_wait(struct dev *d, struct dev_stream *s, struct dev_tracker *t)
{
	return dev_can(d, DEV_CAP_TRACKER) ? d->ops->tracking->tracker_wait(d, s, t)
					   : dev_note_not_supported(d, "tracker_wait");
}

int dev_tracker_counts(struct dev *d, struct dev_tracker_counts *counts_p)
{
	return dev_can(d, DEV_CAP_TRACKER) ? d->ops->tracking->tracker_counts(d, counts_p)
					   : dev_note_not_supported(d, "tracker_counts");
}

/* ------------------------------------------------------------------ the memory controller */

int dev_stream_class(struct dev *d, struct dev_stream *s, enum dev_traffic_class traffic)
{
	if (!dev_can(d, DEV_CAP_MEMORY_CONTROL))
		return dev_note_not_supported(d, "stream_class");
	if ((unsigned)traffic >= DEV_TRAFFIC_CLASSES)
		return err_note(-EINVAL, "stream_class: unknown class %u", (unsigned)traffic);
	return d->ops->tracking->stream_class(d, s, traffic);
}

int dev_memory_control(struct dev *d, const struct dev_memory_control *control)
{
	if (!dev_can(d, DEV_CAP_MEMORY_CONTROL))
		return dev_note_not_supported(d, "memory_control");
	if ((unsigned)control->policy > DEV_MEMORY_COMPUTE_FIRST)
		return err_note(-EINVAL, "memory_control: unknown policy %u",
				(unsigned)control->policy);
	if (control->policy == DEV_MEMORY_COMPUTE_FIRST &&
	    !(control->threshold > 0 && control->threshold <= 1 && control->starvation > 0 &&
	      control->starvation < 1))
		return err_note(-EINVAL,
				"memory_control: threshold %g and starvation %g; must be within "
				"(0, 1] and (0, 1)",
				control->threshold, control->starvation);
	return d->ops->tracking->memory_control(d, control);
}

int dev_memory_control_read(struct dev *d, struct dev_memory_control *control_p)
{
	return dev_can(d, DEV_CAP_MEMORY_CONTROL)
		       ? d->ops->tracking->memory_control_read(d, control_p)
		       : dev_note_not_supported(d, "memory_control_read");
}

int dev_memory_bytes(struct dev *d, struct dev_memory_bytes *bytes_p)
{
	return dev_can(d, DEV_CAP_MEMORY_CONTROL) ? d->ops->tracking->memory_bytes(d, bytes_p)
						  : dev_note_not_supported(d, "memory_bytes");
}
