/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/graph/work_internals.h"
#include "lib/vec.h"

#include <errno.h>
#include <stdlib.h>

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

int work_lanes_sync(struct work_lanes *l)
{
	struct err_first first = {0};
	for (size_t i = 0; i < l->count; i++)
		err_keep(&first, dev_stream_sync(work_lane_device(l, i), l->lanes[i].stream));
	return err_kept(&first);
}

void work_lanes_close(struct work_lanes *l)
{
	if (!l)
		return;
	work_lanes_sync(l);
	for (size_t i = 0; i < l->count; i++) {
		dev_event_close(work_lane_device(l, i), l->lanes[i].begin);
		dev_event_close(work_lane_device(l, i), l->lanes[i].end);
		if (!l->lanes[i].adopted)
			dev_stream_close(work_lane_device(l, i), l->lanes[i].stream);
	}
	gate_close(l->gate);
	free(l->devices);
	free(l->lanes);
	free(l);
}

static int open_lane(struct dev *dev, int priority, struct lane *lane)
{
	int status = lane->adopted ? 0 : dev_stream_open(dev, priority, &lane->stream);
	if (status)
		return status;
	status = dev_event_open(dev, &lane->begin);
	if (status == 0)
		status = dev_event_open(dev, &lane->end);
	if (status == 0)
		return 0;
	dev_event_close(dev, lane->begin);
	if (!lane->adopted)
		dev_stream_close(dev, lane->stream);
	return status;
}

static uint32_t add_lane(struct work_lanes *l, struct lane lane, int priority)
{
	struct err_first *error = &l->error;
	if (error->status == 0 && lane.device >= l->device_count)
		err_keep(error, err_note(-EINVAL, "a lane of device %u of %zu", lane.device,
					 l->device_count));
	if (error->status)
		return 0;
	struct lane *grown = vec_grow(l->lanes, l->count, &l->capacity, sizeof(*grown));
	if (grown)
		l->lanes = grown;
	else
		err_keep(error, err_note(-ENOMEM, "%zu lanes: out of memory", l->count + 1));
	if (error->status || err_keep(error, open_lane(l->devices[lane.device], priority, &lane)))
		return 0;
	l->lanes[l->count] = lane;
	return (uint32_t)l->count++;
}

uint32_t work_lane(struct work_lanes *l, uint32_t device, int priority)
{
	return l ? add_lane(l, (struct lane){.device = device}, priority) : 0;
}

uint32_t work_lane_normal(struct work_lanes *l, uint32_t device)
{
	bool known = l && device < l->device_count;
	return work_lane(l, device, known ? dev_props(l->devices[device])->priority_normal : 0);
}

uint32_t work_lane_of(struct work_lanes *l, uint32_t device, struct dev_stream *stream)
{
	struct lane lane = {.device = device, .adopted = true, .stream = stream};
	return l ? add_lane(l, lane, 0) : 0;
}

struct dev_stream *work_lane_stream(const struct work_lanes *l, uint32_t lane)
{
	return l && lane < l->count ? l->lanes[lane].stream : NULL;
}
