/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which reduce-scatter algorithm is fastest for each message size? This is the first half of
 * allreduce alone: every rank ends with the sum of its own chunk. Rank r has chunk r, as in MPI, so
 * algorithms whose messages are several ranges pack and unpack. One port.
 *
 *     mpirun -n 4 bin/collectives/reduce_scatter --algorithm swing-b,ring --size 32:1M:x4
 */
#include "collectives/ranks/collective.h"

static const struct axis axes[] = {COLLECTIVE_SHAPE_AXIS,
				   COLLECTIVE_TYPE_AXIS,
				   COLLECTIVE_OP_AXIS,
				   COLLECTIVE_WHOLE_SIZE_AXIS,
				   {0}};

static const struct bench_metric primary[] = {
	{"reduce_scatter_busbw", "best_bus_bandwidth", NULL, "type=f32 op=sum size=2M"},
	{"reduce_scatter_library_busbw", "bus_bandwidth", "library", "type=f32 op=sum size=2M"},
	{0}};

static const struct bench bench = {
	.name = "collectives/reduce_scatter",
	.question = "which reduce-scatter algorithm is fastest by size?",
	.formula = "bus_bandwidth = (p-1)/p bytes / time; bandwidth = bytes / time; byte/s",
	.timed = "one reduce-scatter after a barrier: last rank's entry to last rank's return; on "
		 "several hosts the longest duration",
	.limits = COLLECTIVE_LIMITS,
	.axes = axes,
	.variants = collective_half_variants,
	.quantities = nccl_tests_quantities,
	.primary = primary,
	.cliff = {"size", "bus_bandwidth", "library"},
};

int main(int argc, char **argv)
{
	return collective_main(&bench, SCHEDULE_REDUCE_SCATTER, argc, argv);
}
