/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Variants and metrics of overlap/trigger.
 */
#ifndef GPUSIG_TRIGGER_METRICS_H
#define GPUSIG_TRIGGER_METRICS_H

#include "overlap/trigger/round.h"

/* The program's variants: identifier, name, timing, and the strategy: what produces, what is sent,
 * and more. The first copy is what BENCH_SELF times. */
#define TRIGGER_VARIANTS(V)                                                                        \
	V(GEMM_ALONE, "gemm_alone", DEVICE, LIBRARY, SEND_NONE)                                    \
	V(GEMM_TILED, "gemm_tiled", DEVICE, TILED, SEND_NONE)                                      \
	V(GEMM_COUNTING, "gemm_counting", DEVICE, COUNTING, SEND_NONE)                             \
	V(SEND_ALONE, "send_alone", DEVICE, NONE, SEND_WHOLE)                                      \
	V(WHOLE, "whole_then_send", DEVICE, LIBRARY, SEND_WHOLE)                                   \
	V(WHOLE_TILED, "whole_tiled_then_send", DEVICE, TILED, SEND_WHOLE)                         \
	V(SPLIT, "split", DEVICE, SPLIT, SEND_BANDS, .staggered = true)                            \
	V(TRIGGERED, "triggered", DEVICE, COUNTING, SEND_BANDS)                                    \
	V(STAGGERED, "triggered_staggered", DEVICE, COUNTING, SEND_BANDS, .staggered = true)       \
	V(ARRIVE_ADD, "arrive_add", DEVICE, COUNTING, SEND_BANDS, .add = ADD_FROM_SENDER)          \
	V(COPY_THEN_ADD, "copy_then_add", DEVICE, COUNTING, SEND_BANDS, .add = ADD_FROM_COPY)      \
	V(REMOTE_STORE, "remote_store", DEVICE, TILED, SEND_STORES)                                \
	V(REMOTE_ADD, "remote_add", DEVICE, TILED, SEND_ADDS)                                      \
	V(FIRST_WHOLE, "first_of_whole", SELF, LIBRARY, SEND_WHOLE)                                \
	V(FIRST_SPLIT, "first_of_split", SELF, SPLIT, SEND_BANDS, .staggered = true)               \
	V(FIRST_TRIGGERED, "first_of_triggered", SELF, COUNTING, SEND_BANDS)

#define TRIGGER_ENUM(id, ...) id,
enum { TRIGGER_VARIANTS(TRIGGER_ENUM) VARIANTS };
#undef TRIGGER_ENUM

/* By variant, as the `arg` of its row. */
extern const struct strategy trigger_strategies[VARIANTS];

#define TRIGGER_TILED_S "seconds(whole_tiled_then_send) / seconds: the same tiles, without a copy"
#define TRIGGER_LIBRARY_S "seconds(whole_then_send) / seconds: another GEMM, without a copy"

/* In derive, after the rows of quantities: gains, and the traffic that T3's hardware would have, as
 * a model. Gains (bench/bench_overlap.h): S, S_ideal and fraction_of_ideal of `split`, over the
 * library's GEMM and one send; S_tiled, S_ideal_tiled and fraction_of_ideal_tiled of what is
 * triggered, over the same tiles and one send. S of these is against the library's GEMM. What is
 * stored or added where it is sent has S and S_tiled, too, but no limit and no fraction: it has no
 * copy, so nothing overlaps. */
int trigger_derive(struct bench_case *c, const struct producers *s);

#endif
