/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/device_group.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>

static int open_group_device(struct device_group *g, size_t i)
{
	struct dev *d = g->set->dev[i];
	int status = 0;
	if (!dev_can(d, DEV_CAP_PEER | DEV_CAP_WAIT_VALUE))
		return err_note(-ENOTSUP,
				"device %zu of the list does not support peer copies or waits for "
				"a value",
				i);
	for (size_t k = 0; status == 0 && k < i; k++)
		status = dev_peer_enable(d, g->set->dev[k]);
	if (status == 0)
		status = dev_stream_open(d, dev_props(d)->priority_normal, &g->stream[i]);
	if (status == 0)
		status = dev_event_open(d, &g->begin[i]);
	return status ? status : dev_event_open(d, &g->end[i]);
}

int device_group_open(struct device_group *g, const struct dev_set *set)
{
	*g = (struct device_group){.set = set};
	int status = gate_open(set->dev[0], GATE_LIMIT_NS, &g->gate);
	for (size_t i = 0; status == 0 && i < set->count; i++)
		status = open_group_device(g, i);
	return status;
}

void device_group_close(struct device_group *g)
{
	if (!g->set)
		return;
	device_group_sync(g, 0);
	for (size_t i = 0; i < g->set->count; i++) {
		struct dev *d = g->set->dev[i];
		dev_event_close(d, g->begin[i]);
		dev_event_close(d, g->end[i]);
		dev_stream_close(d, g->stream[i]);
	}
	gate_close(g->gate);
	*g = (struct device_group){0};
}

int device_group_hold(struct device_group *g)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < g->set->count; i++) {
		status = gate_shut(g->gate, g->set->dev[i], g->stream[i]);
		if (status == 0)
			status = dev_event_record(g->set->dev[i], g->stream[i], g->begin[i]);
	}
	return status;
}

/* Keeps the first error and its text. */
static void keep_first_error(int *first, char text[256], int status)
{
	if (*first || !status)
		return;
	*first = status;
	snprintf(text, 256, "%s", err_text());
}

int device_group_sync(struct device_group *g, int status)
{
	char text[256] = "";
	int first = 0;
	keep_first_error(&first, text, status);
	for (size_t i = 0; i < g->set->count; i++)
		if (g->stream[i])
			keep_first_error(&first, text,
					 dev_stream_sync(g->set->dev[i], g->stream[i]));
	return first ? err_note(first, "%s", text) : 0;
}

int device_group_release(struct device_group *g, int status, struct device_group_round *round_p)
{
	struct dev *clock = g->set->dev[0];
	struct device_group_round round = {0};
	char text[256] = "";
	int first = 0;
	keep_first_error(&first, text, status);
	for (size_t i = 0; first == 0 && i < g->set->count; i++)
		keep_first_error(&first, text,
				 dev_event_record(g->set->dev[i], g->stream[i], g->end[i]));
	uint64_t released = dev_clock_ns(clock);
	keep_first_error(&first, text, gate_release(g->gate));
	keep_first_error(&first, text, device_group_sync(g, 0));
	round.host_s = 1e-9 * (double)(dev_clock_ns(clock) - released);
	for (size_t i = 0; first == 0 && i < g->set->count; i++) {
		double ns = 0.0;
		keep_first_error(&first, text,
				 dev_event_elapsed_ns(g->set->dev[i], g->begin[i], g->end[i], &ns));
		round.longest_s = 1e-9 * ns > round.longest_s ? 1e-9 * ns : round.longest_s;
	}
	if (first)
		return err_note(first, "%s", text);
	*round_p = round;
	return 0;
}
