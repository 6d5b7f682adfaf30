/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which all-to-all algorithm is fastest across the GPUs of one process? Part j of device i's vector
 * goes to device j. Compares two ways to send the messages by copy engines, in steps or all at once
 * (collectives/devices/all_to_all_graph.h), with the vendor's library if there is one: a send to
 * and a receive from every device in one group call.
 *
 * Timed: one all-to-all at a time, not in place, with a device's part to itself
 * (collectives/devices/device_collective.h).
 *
 *     bin/collectives/device_all_to_all --device host:0,1 --algorithm pairwise --size 2K:1M:x4
 */
#include "collectives/devices/device_collective.h"

static const struct bench_variant variants[] = {
	{"pairwise", BENCH_SELF}, {"spread-out", BENCH_SELF}, DEVICE_LIBRARY_ROWS, {0}};
static const struct bench_metric primary[] = {
	{"device_all_to_all_spread_out_busbw", "bus_bandwidth", "spread-out", DEVICE_LARGE},
	{"device_all_to_all_library_busbw", "bus_bandwidth", "library", DEVICE_LARGE},
	{0}};

static const struct bench bench = {
	.name = "collectives/device_all_to_all",
	.question = "which all-to-all algorithm is fastest across the GPUs of one process?",
	.formula = DEVICE_PARTS_FORMULA,
	.timed = "one out-of-place all-to-all, a device's own part included, enqueued beforehand, "
		 "all devices released at once: the longest of the devices' "
		 "durations" DEVICE_CALLS_TIMED,
	.limits = DEVICE_PARTS_LIMITS,
	.axes = device_parts_axes,
	.variants = variants,
	.quantities = nccl_tests_quantities,
	.primary = primary,
	.cliff = {"size", "bus_bandwidth", "spread-out"},
};

int main(int argc, char **argv)
{
	return device_collective_main(&bench, DEV_ALL_TO_ALL, argc, argv);
}
