/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph of empty kernels, one after the other, launched as one operation: the cost of a kernel
 * without its own launch.
 */
#ifndef GPUSIG_GRAPH_H
#define GPUSIG_GRAPH_H

#include "bench/bench.h"

#define GRAPH_KERNELS 64u
/* Maximum of graphs in a queue: over four thousand kernels. */
#define MAX_GRAPHS_QUEUED 64u

/* Captures GRAPH_KERNELS launches of `empty`, of one block each. The caller closes *graph_p with
 * dev_graph_close(). */
int graph_open(struct bench_case *c, struct dev_kernel *empty, struct dev_graph **graph_p);

/* In derive: times of the variants `launched` (back to back on the device), `enqueued` (the host's
 * call) and `waited` (launch and wait), each for one kernel of the graph. */
int graph_derive(struct bench_case *c, unsigned launched, unsigned enqueued, unsigned waited);

#endif
