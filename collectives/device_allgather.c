/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which all-gather algorithm is fastest across the GPUs of one process? Device i begins with part i
 * of the vector and ends with all parts. Compares the schedules of collectives/schedules, executed
 * by streams and peer copies, with the vendor's own collective if there is one. A schedule whose
 * message is several ranges sends each as a copy.
 *
 * Timed: one all-gather at a time, in place (collectives/devices/device_collective.h).
 *
 *     bin/collectives/device_allgather --device host:0,1 --algorithm ring,rd-b --size 2K:1M:x4
 */
#include "collectives/devices/device_collective.h"

static const struct bench_metric primary[] = {
	{"device_allgather_busbw", "best_bus_bandwidth", NULL, DEVICE_LARGE},
	{"device_allgather_library_busbw", "bus_bandwidth", "library", DEVICE_LARGE},
	{0}};

static const struct bench bench = {
	.name = "collectives/device_allgather",
	.question = "which all-gather algorithm is fastest across the GPUs of one process?",
	.formula = DEVICE_PARTS_FORMULA,
	.timed = "one all-gather in place, enqueued beforehand, all devices released at once: the "
		 "longest of the devices' durations" DEVICE_CALLS_TIMED,
	.limits = DEVICE_PARTS_LIMITS,
	.axes = device_parts_axes,
	.variants = device_half_variants,
	.quantities = nccl_tests_quantities,
	.primary = primary,
	.cliff = {"size", "bus_bandwidth", "ring"},
};

int main(int argc, char **argv)
{
	return device_collective_main(&bench, DEV_ALLGATHER, argc, argv);
}
