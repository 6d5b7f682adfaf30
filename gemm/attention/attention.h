/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attention that a case of gemm/attention measures: its operands, and what it must give.
 *
 * softmax(Q K^T / sqrt(DEPTH)) V, for every KV head of every sequence. ATTENTION_GROUP query heads
 * share a KV head (grouped-query attention, arXiv 2305.13245), as in Llama 3 (8 KV heads, depth
 * 128), so the queries of a KV head are rows of one matrix, the four of one position after the
 * other. With a causal mask the last position is that of the last key, and a query sees no later
 * keys than its own. K and V lie in one allocation, all keys before all values. They are drawn in
 * [-1, 1) and repeat as operands of GEMMs do (bench/bench_gemm.h); so do queries.
 *
 * The check. The answer is computed in double from its definition, of all rows where that takes at
 * most ATTENTION_ANSWERS products, else of as many random ones as do, at least 8. A weight p has a
 * relative error e of its own, which is random, so an element of the result is off by e sqrt(sum of
 * p^2 v^2) <= e R, R = sqrt(sum of p^2), a common factor of the weights being lost in their
 * quotient. e is ATTENTION_TOLERANCE eps of f32 (1 + sqrt(keys) / 16) for arithmetic in f32, where
 * the root is the growth of running sums over the keys that a row sees; and of bf16, where scores
 * and weights are rounded to it between the steps, 2^-6 besides: eight times what one rounding
 * leaves. A key too few changes an element by about half its weight, R / (2 sqrt(keys)): in f32 it
 * is found among a hundred thousand, in bf16 among some hundreds, and there among more if a
 * thousandth of them is missing. All rows must be means of V, within [-1, 1].
 */
#ifndef GPUSIG_ATTENTION_H
#define GPUSIG_ATTENTION_H

#include "bench/bench_gemm.h"
#include "device/kernels.h"

#define ATTENTION_GROUP 4u
#define ATTENTION_ANSWERS (UINT64_C(1) << 27)
#define ATTENTION_TOLERANCE 60.0

struct attention {
	bool decodes;               /* one query of each head */
	uint32_t heads, rows, keys; /* KV heads of all sequences; rows of Q and keys of each */
	uint32_t queries; /* of a head, that a causal mask tells apart; 1: nothing is masked */
	struct bench_gemm operands; /* type and size of its numbers */
	void *q, *kv;
	uint64_t q_bytes, k_bytes, scores_bytes; /* of all heads; V has as many as K */
	struct element_matrix host_q, host_kv;
	uint32_t *checked, checked_rows;
	double *answers, *spread; /* rows; their R */
};

/* For an axis' `accept`: "decode-KEYS", one query of each head, or "prefill-KEYS", as many queries
 * as keys. KEYS is a multiple of 32, so that the scores of a head fill whole DEV_KERNEL_ALIGN. */
int attention_accept(const char *word);

enum { ATTENTION_CAUSAL, ATTENTION_UNMASKED, ATTENTION_MASKS };
extern const char *const attention_masks[ATTENTION_MASKS + 1]; /* words of the axis `mask` */

/* Everything but operands and answers, of an attention with so many keys and KV heads; and of the
 * case's axes `type`, `phase`, `mask`, `heads` and `batch`. In decode a causal mask hides nothing.
 * -ENOTSUP: too large. */
int attention_size(struct attention *a, struct dev *dev, enum dev_type type, bool decodes,
		   bool causal, uint64_t heads, uint32_t keys);
int attention_size_axes(struct attention *a, const struct bench_case *c);

/* Then operands, which the case owns, and answers. Returns c->status. */
int attention_open(struct attention *a, struct bench_case *c);

/* Keys that a row sees, of `heads` * `rows`; in the mean of all rows, over `keys`. */
uint32_t attention_seen(const struct attention *a, uint64_t row);
double attention_seen_share(const struct attention *a);

/* 2 * DEPTH for every key that a row sees, for either product: what a mask hides is no work, as
 * FlashAttention-2 counts (arXiv 2307.08691). */
double attention_flops(const struct attention *a);

/* Reads a result, rows of numbers of a type, back and compares. 0, -EBADMSG with a text, or a
 * device error. */
int attention_check(const struct attention *a, struct bench_case *c, const void *result,
		    enum dev_type type);

#endif
