/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A schedule on devices: the transfers, GEMMs and reductions of a plan as a graph
 * (bench/graph/work_graph.h). Also its GEMMs alone, its transfers alone (with reductions and
 * what returns of them), and both concurrently without dependencies; these use memory of their own,
 * so that neither side changes the other's data. Every lane follows the order of the steps.
 *
 * And the schedule serial with the vendor's collective as its communication
 * (device/dev_collectives.h): what users have. All-gather or all-to-all, then the whole GEMM; or
 * the whole GEMM, then reduce-scatter or all-reduce. All but all-to-all are in place, where the
 * GEMM has A or C; all-to-all copies a device's own group too.
 */
#ifndef GPUSIG_FLOW_H
#define GPUSIG_FLOW_H

#include "overlap/ficco/operands.h"

enum flow_part { FLOW_WHOLE, FLOW_GEMMS, FLOW_TRANSFERS, FLOW_CONCURRENT, FLOW_PARTS };

/* The kernel that adds partial sums of a type's C; NULL where none does. */
const char *flow_adding_kernel(enum dev_type type);

/* Is this plan possible with this type, by copy engines (blocks 0) or kernels? 0, or -ENOTSUP with
 * a text: kernels take multiples of DEV_KERNEL_ALIGN bytes, f8 GEMM sides are multiples of 16. */
int flow_admit(const struct ficco_plan *plan, enum dev_type type, uint32_t blocks);

/* Gives a prepared graph of the case that has run once without a gate. Copies are done by copy
 * engines (blocks 0), or by kernels with this many thread blocks. -ENOTSUP, which is not an error
 * of the case: too many operations for a queue. */
int flow_open(const struct operands *o, struct bench_case *c, const struct ficco_plan *plan,
	      enum flow_part part, uint32_t blocks, struct work_graph **g_p);

/* Transfers between two peers in host memory are not carried out. */
static inline bool flow_carries(const struct operands *o, const struct ficco_transfer *t)
{
	return o->rank[t->from].dev || o->rank[t->to].dev;
}

struct ficco_library {
	struct dev_comm *comm;   /* NULL: the variants of the library do not run */
	struct ficco_plan *plan; /* ficco_collective_plan_open(); the caller closes it */
};

/* In setup, of devices with DEV_CAP_COLLECTIVES. -ENOTSUP with a text: groups of unequal size, or
 * of no whole number of floats, or the library fails here. */
int library_open(struct ficco_library *l, struct bench_case *c, const struct ficco_problem *problem,
		 enum dev_type type);

/* Gives a prepared graph of the case that has run once without a gate: GEMM and collective, or the
 * collective alone in memory of its own. -ENOTSUP with a text: the library fails, or a queue is too
 * short. */
int library_graph(const struct ficco_library *l, const struct operands *o, struct bench_case *c,
		  bool with_gemm, struct work_graph **g_p);

#endif
