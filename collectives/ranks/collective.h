/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common part of the programs allreduce, reduce_scatter and allgather. A program declares a
 * struct bench without callbacks and calls collective_main(), which adds them.
 *
 * Vectors are in host memory. With a device whose memory the host cannot access, the vectors are in
 * the memory of each rank's device (rank_device.h), and all messages, also those of the MPI
 * library, are staged: device_vectors.h, exchange.h.
 *
 * Every iteration is a barrier, then the timed collective. Where all ranks read one clock (one
 * host, a simulator) the time is from the last rank's entry to the last rank's exit; elsewhere it
 * is the longest of the ranks' own durations. This maximum is taken before any statistic.
 */
#ifndef GPUSIG_COLLECTIVE_H
#define GPUSIG_COLLECTIVE_H

#include "bench/bench.h"
#include "collectives/schedules/schedule.h"

/* A variant is an algorithm of collectives/schedules. Its param is the layout (enum
 * schedule_layout), which is used where it exists. The suffix "-indexed" of a name is not part of
 * the algorithm's name. SESSION_LIBRARY is MPI's own collective. All are BENCH_SELF. */

/* For the axis "shape": accepts a shape with as many nodes as there are ranks. Its default, which
 * collective_main() sets, is one dimension with all ranks. */
int collective_accept_shape(const char *word);

extern const char *const collective_ports[]; /* one all */

/* Starts MPI. The leader runs the benchmark and also accepts the options of nccl-tests
 * (nccl_tests_args.h). Returns the exit code. */
int collective_main(const struct bench *b, enum schedule_kind kind, int argc, char **argv);

#endif
