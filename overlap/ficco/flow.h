/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A schedule on devices: the transfers, GEMMs and reductions of a plan as a graph
 * (bench/graph/work_graph.h). Also its GEMMs alone, its transfers alone (with the reductions that
 * gemm-rs needs), and both concurrently without dependencies; these use memory of their own, so
 * that neither side changes the other's data.
 *
 * Lanes. Each device has a lane for GEMMs, one for reductions, and one for each outgoing link. The
 * transfers of peers in host memory use lanes of the one device. Every lane follows the order of
 * the steps.
 */
#ifndef GPUSIG_FLOW_H
#define GPUSIG_FLOW_H

#include "bench/graph/work_graph.h"
#include "overlap/ficco/operands.h"

enum flow_part { FLOW_WHOLE, FLOW_GEMMS, FLOW_TRANSFERS, FLOW_CONCURRENT, FLOW_PARTS };

struct flow_lanes {
	struct work_lanes *all;
	uint32_t compute[OPERANDS_MAX_RANKS], add[OPERANDS_MAX_RANKS];
	uint32_t out[OPERANDS_MAX_RANKS][OPERANDS_MAX_RANKS]; /* by device and link */
	uint32_t in[OPERANDS_MAX_RANKS]; /* by link, from peers in host memory */
	uint32_t devices;
};

/* `adds`: reductions need a lane. */
int flow_lanes_open(struct flow_lanes *l, const struct dev_set *set, uint32_t ranks, bool adds);
void flow_lanes_close(struct flow_lanes *l); /* accepts a zeroed struct */

/* Is this plan possible with this type, by copy engines (blocks 0) or kernels? 0, or -ENOTSUP with
 * a text: kernels take multiples of DEV_KERNEL_ALIGN bytes, f8 GEMM sides are multiples of 16. */
int flow_admit(const struct ficco_plan *plan, enum dev_type type, uint32_t blocks);

/* Gives a prepared graph that has run once without a gate. Copies are done by copy engines
 * (blocks 0), or by kernels with this many thread blocks. */
int flow_open(const struct flow_lanes *l, const struct operands *o, const struct ficco_plan *plan,
	      enum flow_part part, uint32_t blocks, struct work_graph **g_p);

/* Seconds of both sides in the latest release of a FLOW_CONCURRENT graph: the longest GEMM lane,
 * and the longest of all other lanes. */
int flow_side_seconds(const struct flow_lanes *l, const struct work_graph *g, double *compute_s_p,
		      double *transfer_s_p);

#endif
