/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What allreduce, reduce_scatter and allgather have in common: everything but their declarations. A program of
 * collectives/ declares a struct bench without callbacks, and calls collective_main(), which adds them.
 *
 * Vectors are host memory; with a device that the host can't reach into they are its memory, every rank's its own
 * (rank_device.h), messages are staged, and the library is, too: device_vectors.h, exchange.h.
 *
 * Timed, iteration by iteration: a barrier, then the collective. Where all ranks read one clock (one host, a simulator) the time
 * is from the last rank's entry to the last rank's exit; elsewhere the longest of the ranks' own durations. Only then comes
 * any statistic.
 */
#ifndef GPUSIG_COLLECTIVE_H
#define GPUSIG_COLLECTIVE_H

#include "collectives/schedules/schedule.h"
#include "lib/bench.h"

/* A variant is an algorithm of collectives/schedules, its param the layout (enum schedule_layout) that is taken where it
 * exists; a name that ends with "-indexed" is the algorithm before that. SESSION_LIBRARY is MPI's own collective. All are
 * BENCH_SELF. */

/* The shape that --shape defaults to: one dimension of all ranks. */
extern char collective_line[];

/* For the axis of shapes: a shape with as many nodes as there are ranks. */
int collective_accept_shape(const char *word);

extern const char *const collective_ports[]; /* one all */

/* Become ranks; the leader runs the benchmark, with its arguments also in the dialect of nccl-tests (dialect.h). */
int collective_main(const struct bench *b, enum schedule_kind kind, int argc, char **argv);

#endif
