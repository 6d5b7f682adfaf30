/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency between the cores of neighbouring ranks: they play the ping-pong of lib/core_latency.h
 * themselves, because a rank that waits keeps its core busy.
 */
#ifndef GPUSIG_RANK_LATENCY_H
#define GPUSIG_RANK_LATENCY_H

#include <mpi.h>

/* All ranks of one host: ranks 0 and 1, 2 and 3, and so on get a cache line that both can access.
 * A pair that can't share memory, as in containers of their own, has none; nobody has one where
 * there are more ranks than `processors`. */
void rank_latency_open(MPI_Comm host, int processors);

/* All ranks of the host. Where a pair has a line, adds one way's seconds to sum_p[0] and one to
 * sum_p[1] on its first rank. Blocks until the other rank has played. */
void rank_latency_play(unsigned batches, double sum_p[2]);

#endif
