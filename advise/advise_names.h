/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names that advise/ has in common with overlap/ficco, whose measurements its predictions are
 * compared with.
 */
#ifndef GPUSIG_ADVISE_NAMES_H
#define GPUSIG_ADVISE_NAMES_H

/* FiCCO's schedules (arXiv 2512.10236) as docs/method/overlap.md defines them: BASELINE(constant,
 * name, more) is the one that the others are compared with, SCHEDULE(constant, name, more) is each
 * other one. MORE(constant) is what the code that expands the list adds to a row. */
#define ADVISE_SCHEDULE_LIST(BASELINE, SCHEDULE, MORE)                                             \
	BASELINE(SERIAL, "serial", MORE(SERIAL))                                                   \
	SCHEDULE(SHARD, "shard", MORE(SHARD))                                                      \
	SCHEDULE(UNIFORM_FUSED_1D, "uniform-fused-1d", MORE(UNIFORM_FUSED_1D))                     \
	SCHEDULE(HETERO_FUSED_1D, "hetero-fused-1d", MORE(HETERO_FUSED_1D))                        \
	SCHEDULE(HETERO_UNFUSED_1D, "hetero-unfused-1d", MORE(HETERO_UNFUSED_1D))                  \
	SCHEDULE(UNIFORM_FUSED_2D, "uniform-fused-2d", MORE(UNIFORM_FUSED_2D))

/* OP(constant, name): all-gather or all-to-all, then GEMM; GEMM, then reduce-scatter. */
#define ADVISE_OP_LIST(OP) OP(AG_GEMM, "ag-gemm") OP(GEMM_RS, "gemm-rs") OP(A2A_GEMM, "a2a-gemm")

#endif
