/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which allreduce algorithm is fastest for each message size? Compares Swing (arXiv 2401.09356),
 * direct (all pairs at once), ring, several rings at once, bucket, recursive doubling,
 * Rabenseifner, Bruck, Trivance (arXiv 2602.17254), Bine (arXiv 2508.17311) and the MPI library's
 * own, interleaved in one job on the given ranks.
 *
 * The vector is reduced out of place; every rank gets the result. swing-b numbers its chunks such
 * that each message is one range, where such a numbering exists. swing-b-indexed packs and unpacks
 * instead; the ratio of the two is the cost of indexing.
 *
 *     mpirun -n 4 bin/collectives/allreduce --shape 2x2 --algorithm swing-b,ring --size 32:1M:x4
 */
#include "collectives/ranks/collective.h"

static const struct bench_variant variants[] = {{"direct", BENCH_SELF},
						{"ring", BENCH_SELF},
						{"multi-ring", BENCH_SELF},
						{"bucket", BENCH_SELF},
						{"rd-l", BENCH_SELF},
						{"rd-b", BENCH_SELF},
						{"rd-mirrored", BENCH_SELF},
						{"rabenseifner", BENCH_SELF},
						{"swing-l", BENCH_SELF},
						{"swing-b", BENCH_SELF},
						{"swing-b-indexed", BENCH_SELF},
						{"bruck", BENCH_SELF},
						{"trivance", BENCH_SELF},
						{"bine", BENCH_SELF},
						{NCCL_TESTS_LIBRARY, BENCH_SELF},
						{0}};

static const struct axis axes[] = {
	COLLECTIVE_SHAPE_AXIS,
	{"ports", "concurrent messages: one, or one per direction of every dimension", AXIS_WORD,
	 "one", "one,all", .words = collective_ports},
	COLLECTIVE_TYPE_AXIS,
	COLLECTIVE_OP_AXIS,
	{"size", "bytes of the vector, rounded down to elements", AXIS_SIZE, "32,8K,64K,1M",
	 "32:128M:x4,64K,1M,256M", .min = 1, .max = SESSION_MAX_BYTES},
	{0}};

static const struct bench_quantity_row quantities[] = {
	NCCL_TESTS_QUANTITIES,
	{"indexing_time_ratio", BENCH_RATIO, "swing-b-indexed", "swing-b"},
	{0}};

#define CASE(size) "ports=one type=f32 op=sum size=" size
static const struct bench_metric primary[] = {
	{"allreduce_busbw", "best_bus_bandwidth", NULL, CASE("1M")},
	{"allreduce_library_busbw", "bus_bandwidth", "library", CASE("1M")},
	{"allreduce_library_latency", "time", "library", CASE("32")},
	{0}};

static const struct bench bench = {
	.name = "collectives/allreduce",
	.question = "which allreduce algorithm is fastest by size?",
	.formula = "bus_bandwidth = 2 (p-1)/p bytes / time; bandwidth = bytes / time; byte/s",
	.timed = "one allreduce after a barrier: last rank's entry to last rank's return; on "
		 "several hosts the longest duration",
	.limits = COLLECTIVE_LIMITS,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.cliff = {"size", "bus_bandwidth", "library"},
};

int main(int argc, char **argv) { return collective_main(&bench, SCHEDULE_ALLREDUCE, argc, argv); }
