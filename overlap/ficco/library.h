/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schedule serial with the vendor's collective as its communication (device/dev_collectives.h):
 * what users have. All-gather or all-to-all, then the whole GEMM; or the whole GEMM, then
 * reduce-scatter. All-gather and reduce-scatter are in place, where the GEMM has A or C; all-to-all
 * copies a device's own group too.
 */
#ifndef GPUSIG_FICCO_LIBRARY_H
#define GPUSIG_FICCO_LIBRARY_H

#include "overlap/ficco/operands.h"

struct ficco_library {
	struct dev_comm *comm;   /* NULL: the variants of the library do not run */
	struct ficco_plan *plan; /* ficco_collective_plan_open() */
};

/* In setup, of devices with DEV_CAP_COLLECTIVES. -ENOTSUP with a text: groups of unequal size, or
 * of no whole number of floats, or the library fails here. */
int library_open(struct ficco_library *l, struct bench_case *c, const struct ficco_problem *problem,
		 enum dev_type type);
void library_close(struct ficco_library *l);

/* Gives a prepared graph of the case that has run once without a gate: GEMM and collective, or the
 * collective alone in memory of its own. -ENOTSUP with a text: the library fails, or a queue is too
 * short. */
int library_graph(const struct ficco_library *l, const struct operands *o, struct bench_case *c,
		  bool with_gemm, struct work_graph **g_p);

#endif
