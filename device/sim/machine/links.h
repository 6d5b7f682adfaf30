/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ways over the links between devices, and what operations pass there.
 */
#ifndef GPUSIG_SIM_LINKS_H
#define GPUSIG_SIM_LINKS_H

#include "device/sim/model/model.h"
#include "device/sim/time/share.h"

struct op;
struct sim_dev;

#define SIM_NO_WAY UINT8_MAX

/* After a device was added to those of the machine; after it was removed. */
void sim_links_open(struct sim_dev *d);
void sim_links_close(unsigned index);

/* The way from one device to another is by the source's model. All but the first of these need one
 * that exists. */
bool sim_way_exists(const struct sim_dev *from, const struct sim_dev *to);
double sim_way_latency_ns(const struct sim_dev *from, const struct sim_dev *to);
double sim_way_bandwidth(const struct sim_dev *from, const struct sim_dev *to, unsigned *hops_p);
/* Mark its links in a bit of `marks` each, DEV_MAX words; returns how many were not marked. */
unsigned sim_way_mark(const struct sim_dev *from, const struct sim_dev *to, uint64_t *marks);

/* ------------------------------------------------------------------ what operations pass */

/* Demands of a flow on everything between two devices. */
void sim_peer_need(struct flow *f, struct sim_dev *from, struct sim_dev *to, double volume);
/* `peer` of COST (engine.c): of a copy, a fill, or a block of a launch on `d`. */
double sim_op_latency_ns(const struct op *op);
/* Links that its flows pass. */
unsigned sim_op_links(const struct op *op);
/* -ENOTSUP: a flow of the operation would pass more links than FLOW_DEMANDS holds. */
int sim_op_check_links(const struct sim_dev *d, const struct op *op);

#endif
