/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which reduce-scatter algorithm is fastest across the GPUs of one process? Every device begins
 * with a vector, and device i ends with the sum of part i of all. Compares the schedules of
 * collectives/schedules, executed by streams, peer copies and a kernel that adds, with the vendor's
 * own collective if there is one. A schedule whose message is several ranges sends each as a copy.
 *
 * Timed: one reduce-scatter at a time, in place (collectives/devices/device_collective.h).
 *
 *     bin/collectives/device_reduce_scatter --device host:0,1 --algorithm ring --size 2K:1M:x4
 */
#include "collectives/devices/device_collective.h"

static const struct bench_metric primary[] = {
	{"device_reduce_scatter_busbw", "best_bus_bandwidth", NULL, DEVICE_LARGE},
	{"device_reduce_scatter_library_busbw", "bus_bandwidth", "library", DEVICE_LARGE},
	{0}};

static const struct bench bench = {
	.name = "collectives/device_reduce_scatter",
	.question = "which reduce-scatter algorithm is fastest across the GPUs of one process?",
	.formula = DEVICE_PARTS_FORMULA,
	.timed = "one reduce-scatter in place, enqueued beforehand, all devices released at once: "
		 "the longest of the devices' durations" DEVICE_CALLS_TIMED,
	.limits = DEVICE_PARTS_LIMITS,
	.axes = device_parts_axes,
	.variants = device_half_variants,
	.quantities = nccl_tests_quantities,
	.primary = primary,
	.cliff = {"size", "bus_bandwidth", "ring"},
};

int main(int argc, char **argv)
{
	return device_collective_main(&bench, DEV_REDUCE_SCATTER, argc, argv);
}
