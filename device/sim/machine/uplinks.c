/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UPLINKS. With uplink_devices = N, devices 0 to N - 1 are behind one switch, N to 2 N - 1 behind
 * the next one. What moves between any of them and the host's memory passes the switch's uplink,
 * which carries uplink_bandwidth in each direction. With uplink_peers = 1 what moves between
 * devices of different switches passes both uplinks as well, as where no other links join them.
 *
 * Uplinks belong to the machine, and the model of the device that moves decides what they are. A
 * device reports that its way to the host meets those behind its switch at a "switch", and others
 * at the "host_bridge"; without uplinks it reports nothing.
 */
#include "device/sim/machine/uplinks.h"
#include "device/sim/machine/device.h"

static struct resource uplinks[DEV_MAX][2];

static unsigned switch_of(const struct sim_dev *d)
{
	return d->base.index / d->model.uplink_devices;
}

static void need_uplink(struct flow *f, const struct sim_dev *d, bool up, double volume)
{
	struct resource *r = &uplinks[switch_of(d)][up];
	r->capacity = d->model.uplink_bandwidth * 1e-9;
	flow_need(f, r, volume);
}

void sim_uplink_need(struct flow *f, const struct sim_dev *d, bool up, double volume)
{
	if (d->model.uplink_devices)
		need_uplink(f, d, up, volume);
}

void sim_uplink_need_peer(struct flow *f, const struct sim_dev *from, const struct sim_dev *to,
			  double volume)
{
	if (!from->model.uplink_peers || !to->model.uplink_peers ||
	    switch_of(from) == switch_of(to))
		return;
	need_uplink(f, from, true, volume);
	need_uplink(f, to, false, volume);
}

const char *sim_uplink_meet(const struct sim_dev *d, const struct sim_dev *other)
{
	if (!d->model.uplink_devices || !other->model.uplink_devices)
		return "";
	return switch_of(d) == switch_of(other) ? "switch" : "host_bridge";
}
