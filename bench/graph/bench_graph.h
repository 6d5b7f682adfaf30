/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work graphs of a case (bench/graph/work_graph.h is the manual), and the proof that two of them
 * can run at once. Errors and ownership are those of bench/bench_alloc.h: sticky, and the case
 * closes what it opened, so a setup is a flat list of calls.
 *
 *     s->lanes = bench_lanes(c);
 *     s->copy = bench_graph(c, s->lanes);
 *     work_graph_copy(s->copy, work_lane_normal(s->lanes, 0), to, from, bytes, 0);
 *     return bench_graph_prepare(c, s->copy);
 */
#ifndef GPUSIG_BENCH_GRAPH_H
#define GPUSIG_BENCH_GRAPH_H

#include "bench/bench_alloc.h"
#include "bench/graph/work_graph.h"

/* Lanes over the devices of the case, in their order. Peer access is enabled by
 * bench_enable_peers(). */
struct work_lanes *bench_lanes(struct bench_case *c);
/* Over some of them. The others need peer access to the first, whose memory holds the gate. */
struct work_lanes *bench_lanes_on(struct bench_case *c, struct dev *const *devices, size_t count);
struct work_graph *bench_graph(struct bench_case *c, struct work_lanes *lanes);

/* work_graph_prepare(), and a first run without a gate. Returns c->status. */
int bench_graph_prepare(struct bench_case *c, struct work_graph *g);

/* In body: work_graph_time() so many times, one after the other; the sum is c->self_seconds. */
int bench_graph_time(struct bench_case *c, struct work_graph *g, uint64_t iterations);

/* dev_peer_enable() for every pair of the case's devices. Returns c->status. */
int bench_enable_peers(struct bench_case *c);

/* In verify_mechanism: does all of `other` complete while the gate holds `held`? Otherwise their
 * streams share a queue, and the two would run one after the other. The mechanism `name` of the
 * variants in `uses` (bit mask), as bench_mechanism_of(); UINT64_MAX: of the whole case. Both
 * graphs are prepared, of the same lanes, without a lane in common. */
int bench_verify_independent(struct bench_case *c, uint64_t uses, const char *name,
			     struct work_graph *held, struct work_graph *other);

/* In verify_mechanism: blocking_kernel_verify_copy() of each variant in `uses` (bit mask), by the
 * smallest copy of its graph that leaves a memory, or else stays in it, once for each size. Graphs
 * by variant, so many; NULL or without copies by an engine: nothing to verify. */
int bench_verify_engine(struct bench_case *c, uint64_t uses, struct work_graph *const *graphs,
			unsigned count);

/* In setup, of a prepared graph that is said to take no unit, such as a collective by copy engines:
 * -ENOTSUP with a text where it does. That is so if every slot of every device of the case was
 * blocked and the graph was done only when blocks had timed out, twice. All else, and virtual time,
 * is 0: the mechanism tells. `bytes`: as many as the graph moves on a device, for the time-out;
 * takes up to a second. */
int bench_need_no_units(struct bench_case *c, struct work_graph *g, uint64_t bytes);

/* In verify_mechanism: the graph is done while every slot of every device of the case is blocked:
 * the mechanism "completes_while_all_units_are_held" of the variants in `uses` (bit mask), which
 * are invalid without it. */
int bench_verify_no_units(struct bench_case *c, uint64_t uses, struct work_graph *g,
			  uint64_t bytes);

#endif
