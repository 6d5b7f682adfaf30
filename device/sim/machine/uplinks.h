/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Uplinks: what several devices share on their way to the host.
 */
#ifndef GPUSIG_SIM_UPLINKS_H
#define GPUSIG_SIM_UPLINKS_H

#include "device/sim/time/share.h"

#include <stdbool.h>

struct sim_dev;

/* Demands of a flow between the device and the host's memory; `up` is from the device. */
void sim_uplink_need(struct flow *f, const struct sim_dev *d, bool up, double volume);
/* Demands of a flow between two devices. */
void sim_uplink_need_peer(struct flow *f, const struct sim_dev *from, const struct sim_dev *to,
			  double volume);

/* The place where the ways of two devices to the host meet, as in struct dev_path. */
const char *sim_uplink_meet(const struct sim_dev *d, const struct sim_dev *other);

#endif
