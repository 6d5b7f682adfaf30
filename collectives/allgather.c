/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which all-gather algorithm is fastest for each message size? This is the second half of allreduce
 * alone: every rank begins with its own chunk and ends with all chunks. Rank r has chunk r, as in
 * MPI, so algorithms whose messages are several ranges pack and unpack. One port.
 *
 *     mpirun -n 4 bin/collectives/allgather --algorithm swing-b,ring --size 32:1M:x4
 */
#include "collectives/ranks/collective.h"

static const struct axis axes[] = {
	COLLECTIVE_SHAPE_AXIS, COLLECTIVE_TYPE_AXIS, COLLECTIVE_WHOLE_SIZE_AXIS, {0}};

static const struct bench_metric primary[] = {
	{"allgather_busbw", "best_bus_bandwidth", NULL, "type=f32 size=2M"},
	{"allgather_library_busbw", "bus_bandwidth", "library", "type=f32 size=2M"},
	{0}};

static const struct bench bench = {
	.name = "collectives/allgather",
	.question = "which all-gather algorithm is fastest by size?",
	.formula = "bus_bandwidth = (p-1)/p bytes / time; bandwidth = bytes / time; byte/s",
	.timed = "one all-gather after a barrier: last rank's entry to last rank's return; on "
		 "several hosts the longest duration",
	.limits = COLLECTIVE_LIMITS,
	.axes = axes,
	.variants = collective_half_variants,
	.quantities = nccl_tests_quantities,
	.primary = primary,
	.cliff = {"size", "bus_bandwidth", "library"},
};

int main(int argc, char **argv) { return collective_main(&bench, SCHEDULE_ALLGATHER, argc, argv); }
