/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Storage: reads of files by devices.
 */
#ifndef GPUSIG_SIM_STORAGE_H
#define GPUSIG_SIM_STORAGE_H

struct flow;
struct op;

/* Demands of a read, beyond those of device memory that it writes. */
void sim_storage_need(struct flow *f, const struct op *op);
/* Read the file; what the file does not have fails the stream. */
void sim_storage_read(struct op *op);

#endif
