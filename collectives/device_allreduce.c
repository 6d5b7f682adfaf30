/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which allreduce algorithm is fastest across the GPUs of one process? Compares the schedules of
 * collectives/schedules, executed by streams, peer copies and a kernel that adds, with the vendor's
 * own collective if there is one. The devices are those of --device, as a line; a message goes
 * straight to its peer.
 *
 * Timed: one allreduce at a time, in place (collectives/devices/device_collective.h).
 *
 *     bin/collectives/device_allreduce --device host:0,1 --algorithm ring,rd-l --size 32:1M:x4
 */
#include "collectives/devices/device_collective.h"

static const struct bench_variant variants[] = {{"direct", BENCH_SELF},
						{"ring", BENCH_SELF},
						{"multi-ring", BENCH_SELF},
						{"rd-l", BENCH_SELF},
						{"rd-b", BENCH_SELF},
						{"rabenseifner", BENCH_SELF},
						{"swing-l", BENCH_SELF},
						{"swing-b", BENCH_SELF},
						{"bruck", BENCH_SELF},
						{"trivance", BENCH_SELF},
						{"bine", BENCH_SELF},
						DEVICE_LIBRARY_ROWS,
						{0}};

static const struct axis axes[] = {
	{"size", "bytes of the vector of floats, rounded down to whole ones", AXIS_SIZE,
	 "32,8K,64K,1M,16M", "32:128M:x4,64K,1M,16M,256M", "32,8K,64K,1M", "32,8K,64K,1M,16M,256M",
	 "32:128M:x4,64K,1M,256M", .min = 1, .max = DEVICE_MAX_BYTES},
	{0}};

#define LARGE "size=16M|256M|1M"
static const struct bench_metric primary[] = {
	{"device_allreduce_busbw", "best_bus_bandwidth", NULL, LARGE},
	{"device_allreduce_library_busbw", "bus_bandwidth", "library", LARGE},
	{"device_allreduce_latency", "best_time", NULL, "size=32"},
	{"device_allreduce_library_latency", "time", "library", "size=32"},
	{0}};

static const struct bench bench = {
	.name = "collectives/device_allreduce",
	.question = "which allreduce algorithm is fastest across the GPUs of one process?",
	.formula = "bus_bandwidth = 2 (p-1)/p bytes / time; bandwidth = bytes / time; byte/s",
	.timed = "one allreduce in place, enqueued beforehand, all devices released at once: the "
		 "longest of the devices' durations" DEVICE_CALLS_TIMED,
	.limits = "one at a time: pipelined calls take less time each; vectors below p times 256 "
		  "byte leave chunks empty; no pipelining within a call",
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.quantities = nccl_tests_quantities,
	.primary = primary,
	.cliff = {"size", "bus_bandwidth", "ring"},
};

int main(int argc, char **argv)
{
	return device_collective_main(&bench, DEV_ALLREDUCE, argc, argv);
}
