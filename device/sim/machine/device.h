/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device of the machine, and the machine: which parts it has, and what passes them. Bytes and
 * nanoseconds. Who opens a device owns it (device/calls.h), with its streams and its memory; the
 * lock of calls protects all of them.
 */
#ifndef GPUSIG_SIM_DEVICE_H
#define GPUSIG_SIM_DEVICE_H

#include "device/sim/machine/cache.h"
#include "device/sim/machine/engines.h"
#include "device/sim/machine/power.h"
#include "device/sim/machine/traffic.h"
#include "device/sim/machine/units.h"

struct dev_stream;
struct sim_trackers;

/* Parts that the tenants of one device share (`tenants`): its memory, the rate of its last-level
 * cache, and its links to the host. */
struct sim_shared {
	struct resource memory, llc, link_up, link_down, far_up, far_down;
	unsigned tenants; /* open ones */
};

#define SIM_PEERS 128

struct sim_dev {
	struct dev base; /* first */
	struct sim_dev *next;
	struct dev_stream *streams; /* open ones */
	struct op *launches_ready, *copies_ready;
	uint64_t ready_numbers;
	struct sim_engines engines;
	bool changed; /* engines or units may be free, or work for them is ready */

	struct sim_model model;
	double open_factor;
	uint64_t seed;                 /* of all draws but that one */
	struct sim_trackers *trackers; /* NULL: the device has no tracker */
	struct sim_dev *peer[SIM_PEERS];
	unsigned peers;
	uint64_t serial, allocs;
	uint64_t used_bytes, used_host_bytes;

	struct sim_cache cache;
	struct sim_units units;
	struct sim_memory_control control;
	struct sim_power power;
	struct sim_shared *shared;
	struct resource peer_in, peer_out;
	uint8_t way[DEV_MAX][DEV_MAX]; /* device on the way from one to another; or SIM_NO_WAY */
};

extern struct sim_machine {
	struct sim_dev *devs; /* open ones */
	bool devs_changed;
	struct resource host_memory;
} sim_machine;

/* Engines or units of the device may be free, or work for them is ready. */
static inline void sim_dev_changed(struct sim_dev *d)
{
	d->changed = sim_machine.devs_changed = true;
}

#endif
