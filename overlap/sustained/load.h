/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A GEMM on every device, alone or concurrent with an allreduce among them, as graphs that follow
 * each other in the case's stream. In a graph each device first copies the original of its vector
 * to the vector, so that sums stay what they are however many graphs follow, and then takes part in
 * the allreduce; its GEMM runs in a stream of its own. The graph ends when all of it has.
 *
 *     engine   messages straight to their receivers by copy engines, sums by the kernel reduce_add
 *              ("direct" of collectives/schedules)
 *     library  the vendor's allreduce
 */
#ifndef GPUSIG_LOAD_H
#define GPUSIG_LOAD_H

#include "bench/bench_gemm.h"
#include "collectives/devices/collective_graph.h"

extern const char *const load_methods[]; /* the words of the axis `method` */

/* Variants: the GEMMs alone; with the allreduce. */
enum { LOAD_GEMMS, LOAD_BOTH, LOADS };

struct load {
	struct bench_gemm gemm[DEV_MAX];
	struct vectors vectors;
	uint32_t compute[DEV_MAX], case_lane; /* lanes */
	struct dev_comm *comm;
	struct work_graph *graph[LOADS];
};

/* In admit: whether the devices can. In setup: of the case's axes `method`, `size`, and those of
 * bench_gemm_open_axes(); -ENOTSUP where the method is not possible here. Returns c->status. */
int load_admit(const struct bench_case *c);
int load_open(struct load *l, struct bench_case *c);

/* In poison and check: of a load with an allreduce also its vectors. */
int load_poison(const struct load *l, struct bench_case *c);
int load_check(struct load *l, struct bench_case *c, unsigned which);

#endif
