/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variants of gemm/attention. In decode each run takes K and V from the next set of rotating
 * buffers; in prefill, which a cache helps little, all take the same.
 */
#ifndef GPUSIG_ATTENTION_RUNS_H
#define GPUSIG_ATTENTION_RUNS_H

#include "gemm/attention/attention.h"

/* A case's state. */
struct attention_runs {
	struct attention attention;
	struct rotation *cold; /* K and V */
	struct dev_kernel *attend, *merge, *softmax, *read;
	uint32_t parts, *sink;
	void *part, *out, *scores, *chain_out;
	uint64_t part_bytes, out_bytes;
	struct bench_gemm gemm;
};

/* In setup. `chain`: the variant of that work. Returns c->status. */
int attention_runs_open(struct bench_case *c, unsigned chain);

/* Callbacks of variants. The result of the chain has the operands' type, that of fused is f32. */
int fused_once(struct bench_case *c, long arg);
int fused_poison(struct bench_case *c, long arg);
int fused_check(struct bench_case *c, long arg);
int chain_once(struct bench_case *c, long arg);
int chain_poison(struct bench_case *c, long arg);
int chain_check(struct bench_case *c, long arg);
int read_once(struct bench_case *c, long arg);
int gemm_once(struct bench_case *c, long arg);

#endif
