/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common part of the programs allreduce, reduce_scatter and allgather. A program declares a
 * struct bench without callbacks and calls collective_main(), which adds them.
 *
 * Vectors are in host memory. With a device whose memory the host cannot access, the vectors are in
 * the memory of each rank's device (rank_device.h), and all messages, also those of the MPI
 * library, are staged where it does not take such memory: device_vectors.h, exchange.h.
 *
 * Every iteration is a barrier, then the timed collective. Where all ranks read one clock (one
 * host, a simulator) the time is from the last rank's entry to the last rank's exit; elsewhere it
 * is the longest of the ranks' own durations. This maximum is taken before any statistic.
 */
#ifndef GPUSIG_COLLECTIVE_H
#define GPUSIG_COLLECTIVE_H

#include "collectives/nccl_tests/nccl_tests_rates.h"
#include "collectives/ranks/session.h"

/* Variants of reduce_scatter and allgather, where rank r has chunk r, as in MPI: algorithms of
 * collectives/schedules, by name; a suffix "-indexed" is not part of it (session_schedule()).
 * NCCL_TESTS_LIBRARY is MPI's own collective. */
extern const struct bench_variant collective_half_variants[];

/* Axes of all programs. The shape has as many nodes as there are ranks; its default, which
 * collective_main() sets, is one dimension with all of them. */
#define COLLECTIVE_SHAPE_AXIS                                                                      \
	{                                                                                          \
		"shape",                                                                           \
			"the ranks as a torus: 8, 4x2, 2x2x2; the sides multiply to the number "   \
			"of ranks",                                                                \
			AXIS_WORD, .accept = collective_accept_shape                               \
	}
#define COLLECTIVE_TYPE_AXIS                                                                       \
	{                                                                                          \
		"type", "element type", AXIS_WORD, "f32", "i32,i64,f32,f64", .words = data_types   \
	}
#define COLLECTIVE_OP_AXIS                                                                         \
	{                                                                                          \
		"op", "operation", AXIS_WORD, "sum", "sum,max", .words = data_ops                  \
	}
/* Size axis of a vector that is gathered or scattered. */
#define COLLECTIVE_WHOLE_SIZE_AXIS                                                                 \
	{                                                                                          \
		"size", "bytes of the whole vector, rounded down to elements", AXIS_SIZE,          \
			"32,128K,2M", "32:128M:x4,256M", .min = 1, .max = SESSION_MAX_BYTES        \
	}
#define COLLECTIVE_LIMITS                                                                          \
	"ranks on one host communicate through its memory: no network, no torus; more ranks than " \
	"cores measure the scheduler; messages between devices, also those of the library, are "   \
	"staged through pinned host memory where MPI does not take device memory"

int collective_accept_shape(const char *word);

extern const char *const collective_ports[]; /* one all */

/* Starts MPI. The leader runs the benchmark, which also takes the flags of nccl-tests and prints
 * its table (collectives/nccl_tests). Returns the exit code. */
int collective_main(const struct bench *b, enum schedule_kind kind, int argc, char **argv);

#endif
