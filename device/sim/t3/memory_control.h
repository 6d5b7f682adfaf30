/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory controller: how the two classes of traffic share a device's memory.
 */
#ifndef GPUSIG_SIM_MEMORY_CONTROL_H
#define GPUSIG_SIM_MEMORY_CONTROL_H

struct dev_memory_control;
struct sim_dev;

/* Apply the model's setting, or another one. The device has no work. */
void sim_memory_control_open(struct sim_dev *d);
void sim_memory_control_set(struct sim_dev *d, const struct dev_memory_control *control);
/* -EBUSY: it has. */
int sim_memory_control_check_idle(const struct sim_dev *d);

#endif
