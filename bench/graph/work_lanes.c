/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/work_lanes.h"
#include "bench/bench_gate.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void work_lanes_keep_error(int *first, char text[256], int status)
{
	if (*first || !status)
		return;
	*first = status;
	snprintf(text, 256, "%s", err_text());
}

struct dev *work_lane_device(const struct work_lanes *l, size_t lane)
{
	return l->devices[l->lanes[lane].device];
}

int work_lanes_open(struct dev *const *devices, size_t count, struct work_lanes **l_p)
{
	struct gate *gate = NULL;
	struct work_lanes *l = calloc(1, sizeof(*l));
	struct dev **copy = calloc(count, sizeof(struct dev *));
	int status =
		l && copy ? 0 : err_note(-ENOMEM, "lanes of %zu devices: out of memory", count);
	for (size_t i = 0; status == 0 && i < count; i++) {
		copy[i] = devices[i];
		if (!dev_can(devices[i], DEV_CAP_WAIT_VALUE))
			status =
				err_note(-ENOTSUP,
					 "device %zu of the list lacks stream waits for values", i);
	}
	if (status == 0)
		status = gate_open(devices[0], GATE_LIMIT_NS, &gate);
	if (status) {
		free(copy);
		free(l);
		return status;
	}
	*l = (struct work_lanes){.devices = copy, .device_count = count, .gate = gate};
	*l_p = l;
	return 0;
}

int work_lanes_sync(struct work_lanes *l, int status)
{
	char text[256] = "";
	int first = 0;
	work_lanes_keep_error(&first, text, status);
	for (size_t i = 0; i < l->count; i++)
		work_lanes_keep_error(&first, text,
				      dev_stream_sync(work_lane_device(l, i), l->lanes[i].stream));
	return first ? err_note(first, "%s", text) : 0;
}

void work_lanes_close(struct work_lanes *l)
{
	if (!l)
		return;
	work_lanes_sync(l, 0);
	for (size_t i = 0; i < l->count; i++) {
		dev_event_close(work_lane_device(l, i), l->lanes[i].begin);
		dev_event_close(work_lane_device(l, i), l->lanes[i].end);
		dev_stream_close(work_lane_device(l, i), l->lanes[i].stream);
	}
	gate_close(l->gate);
	free(l->devices);
	free(l->lanes);
	free(l);
}

static int open_lane(struct dev *dev, int priority, struct lane *lane)
{
	int status = dev_stream_open(dev, priority, &lane->stream);
	if (status == 0)
		status = dev_event_open(dev, &lane->begin);
	if (status == 0)
		status = dev_event_open(dev, &lane->end);
	if (status == 0)
		return 0;
	dev_event_close(dev, lane->begin);
	dev_stream_close(dev, lane->stream);
	return status;
}

uint32_t work_lane(struct work_lanes *l, uint32_t device, int priority)
{
	struct lane lane = {.device = device};
	if (l->status == 0 && device >= l->device_count)
		work_lanes_keep_error(
			&l->status, l->error_text,
			err_note(-EINVAL, "a lane of device %u of %zu", device, l->device_count));
	if (l->status == 0 && l->count == l->capacity) {
		size_t capacity = l->capacity ? 2 * l->capacity : 16;
		struct lane *grown = realloc(l->lanes, capacity * sizeof(*grown));
		if (grown) {
			l->lanes = grown;
			l->capacity = capacity;
		} else {
			work_lanes_keep_error(
				&l->status, l->error_text,
				err_note(-ENOMEM, "%zu lanes: out of memory", capacity));
		}
	}
	if (l->status == 0)
		work_lanes_keep_error(&l->status, l->error_text,
				      open_lane(l->devices[device], priority, &lane));
	if (l->status)
		return 0;
	l->lanes[l->count] = lane;
	return (uint32_t)l->count++;
}
