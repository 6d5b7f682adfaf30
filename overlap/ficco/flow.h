/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A schedule on devices: a plan's transfers, products and reductions as a graph (overlap/graph). Also its products alone, its
 * transfers alone (with the reductions that gemm-rs needs), and both beside each other without any dependency between them, which
 * work on memory of their own so that neither disturbs the other's data.
 *
 * Lanes. Each device computes in one, adds up in one, and sends in one for each of its links; a peer that is host memory sends
 * and gets in lanes of the one device. In all of them the order is that of the steps.
 */
#ifndef GPUSIG_FICCO_FLOW_H
#define GPUSIG_FICCO_FLOW_H

#include "overlap/ficco/operands.h"
#include "overlap/graph/work_graph.h"

enum flow_part { FLOW_WHOLE, FLOW_PIECES, FLOW_TRANSFERS, FLOW_BESIDE, FLOW_PARTS };

struct flow_lanes {
	struct work_lanes *all;
	uint32_t compute[OPERANDS_MOST], add[OPERANDS_MOST];
	uint32_t out[OPERANDS_MOST][OPERANDS_MOST]; /* by device and link */
	uint32_t in[OPERANDS_MOST];                 /* by link, from peers that are host memory */
	uint32_t devices;
};

int flow_lanes_open(struct flow_lanes *l, const struct dev_set *set, uint32_t members, bool adds);
void flow_lanes_close(struct flow_lanes *l); /* accepts what is all zeroes */

/* Can this plan be carried out with this type, by engines (blocks 0) or kernels? 0, or -ENOTSUP with a text: kernels take
 * multiples of DEV_KERNEL_ALIGN bytes, products of f8 multiples of 16. */
int flow_admit(const struct overlap_plan *plan, enum dev_type type, uint32_t blocks);

/* A prepared graph, run once without a gate. Copies by engines, or by kernels of so many blocks. */
int flow_open(const struct flow_lanes *l, const struct operands *o, const struct overlap_plan *plan, enum flow_part part,
              uint32_t blocks, struct work_graph **g_p);

/* In the latest release of a graph with both: the longest of the lanes that compute, and of all others. */
int flow_sides(const struct flow_lanes *l, const struct work_graph *g, double *compute_s_p, double *transfer_s_p);

#endif
