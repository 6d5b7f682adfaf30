/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph of empty kernels, one after the other, launched as one operation: what does a kernel cost that nobody launches?
 */
#ifndef GPUSIG_LAUNCH_GRAPH_H
#define GPUSIG_LAUNCH_GRAPH_H

#include "lib/bench.h"

#define GRAPH_KERNELS 64u
/* Graphs at most in a queue at once: over four thousand kernels. */
#define GRAPHS_QUEUED_MOST 64u

/* Note GRAPH_KERNELS launches of `empty`, of one block each. graph_p is the caller's, to be closed with dev_graph_close(). */
int graph_open(struct bench_case *c, struct dev_kernel *empty, struct dev_graph **graph_p);

/* In derive: times of the variants `launched` (back to back on the device), `enqueued` (the host's call) and `waited` (launch
 * and wait), each for one kernel of the graph. */
int graph_derive(struct bench_case *c, unsigned launched, unsigned enqueued, unsigned waited);

#endif
