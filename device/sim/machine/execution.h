/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Begin and end of copies, fills and blocks.
 */
#ifndef GPUSIG_SIM_EXECUTION_H
#define GPUSIG_SIM_EXECUTION_H

#include "device/sim/machine/machine.h"

/* ------------------------------------------------------------------ units (units.c) */

/* One class of idle units. */
void sim_units_open(struct sim_dev *d);
/* Give free slots to the blocks of ready launches. */
void sim_units_start_blocks(struct sim_dev *d);
/* The blocks of a group leave their units. */
void sim_units_leave(struct sim_task *group);
/* Those that blocks of the stream may use. */
uint32_t sim_units_of(const struct dev_stream *s);
/* Blocks with these claims that one unit holds. */
uint32_t sim_units_residents(const struct sim_dev *d, uint64_t claim_bytes,
			     uint64_t register_bytes);

/* ------------------------------------------------------------------ engines and units
 * (execution.c) */

/* The factor that all durations of a device have now: that of its opening, and drift. */
double sim_slowness(const struct sim_dev *d);
/* Random factor of an operation's durations, with slowness; of something else by the number of its
 * draw: an operation's serial in the upper half, and not 0 in the lower one. */
double op_stretch(struct sim_dev *d, uint64_t serial);
double op_stretch_of_draw(struct sim_dev *d, uint64_t draw);

/* Insert an operation into a ready list of its device, by priority; remove it. */
void sim_exec_ready_insert(struct op **list, struct op *op);
void sim_exec_ready_remove(struct op **list, const struct op *op);

/* Give free engines to the copies that are ready. */
void sim_exec_start_copies(struct sim_dev *d);
/* An operation has ended, or is abandoned: its engine is free, if it had one. */
void sim_exec_release_engine(const struct op *op);

/* Continue a copy or fill after its latency, and a launch after its own. */
void sim_exec_start_transfer(struct sim_task *task);
void sim_exec_mark_launch_ready(struct sim_task *task);

/* The blocks of a group begin, after their delay. */
void sim_exec_start_group(struct sim_task *group);
double sim_exec_block_delay_ns(const struct op *op, uint32_t block);
double sim_exec_block_stretch(const struct op *op, uint32_t block);
/* Set the demands of a group's flow. */
void sim_exec_block_flow(struct sim_task *group);
/* Add the demands of `volume` bytes of this traffic to a flow. */
void sim_exec_need_memory(const struct op *op, struct flow *f, const struct op_traffic *t,
			  double volume);

#endif
