/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copy engines; the copies and fills that are ready, begin and end.
 */
#ifndef GPUSIG_SIM_COPIES_H
#define GPUSIG_SIM_COPIES_H

struct op;
struct sim_dev;
struct sim_task;

/* Insert an operation into a ready list of its device, by priority; remove it. */
void sim_ready_insert(struct op **list, struct op *op);
void sim_ready_remove(struct op **list, const struct op *op);

/* Give free engines to the copies that are ready. */
void sim_copies_start(struct sim_dev *d);
/* An operation has ended, or is abandoned: its engine is free, if it had one. */
void sim_copies_release_engine(const struct op *op);
/* Continue a copy, fill or read of a file after its latency. */
void sim_copies_start_transfer(struct sim_task *task);

#endif
