/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency between two cores: the time until a cache line that one wrote reaches the other. It tells
 * apart siblings of a core, one cache complex, two complexes and two sockets, and on a virtual
 * machine shows where the hypervisor put its processors, which may change at any time.
 */
#ifndef GPUSIG_CORE_LATENCY_H
#define GPUSIG_CORE_LATENCY_H

#include <stdatomic.h>

/* Two latencies whose ratio is larger are of two placements. */
#define CORE_LATENCY_LEVEL 1.3

/* One way of a ping-pong between two cores, in seconds: of `batches` batches of 64 round trips the
 * shortest, so that what interrupts one of them does not count. Blocks for 10 to 40 us a batch and
 * as long again for two threads that are started. The line is in memory of the first core's NUMA
 * node. 0; -EINVAL: the process may not use one of them, or they are one; or -errno of the threads
 * or the memory. */
int core_latency(int core, int other, unsigned batches, double *seconds_p);

/* The mean over neighbours in the list of cores that this process may use, at most 8 pairs that are
 * spread evenly: one number that changes when some core moves. 0; -ENODEV: there is one core; or as
 * core_latency(). */
int core_latency_mean(unsigned batches, double *seconds_p);

/* The two sides of a ping-pong, for two processes: `line` is in memory that both share, alone on
 * its cache line, and zero at first. Each blocks until the other has come and played as many
 * batches, one at least. _ping returns the seconds of one way, as core_latency(). */
double core_latency_ping(atomic_uint *line, unsigned batches);
void core_latency_pong(atomic_uint *line, unsigned batches);

#endif
