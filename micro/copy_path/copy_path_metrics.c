/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_path/copy_path_metrics.h"
#include "micro/copy_path/route.h"

#include <math.h>

#define SATURATED 0.95

const struct bench_variant copy_path_variants[] = {
	[ENGINE] = {.name = "engine", .timing = BENCH_DEVICE, .param = 1},
	[BOTH_WAYS] = {.name = "both_ways", .timing = BENCH_DEVICE, .param = 1, .queued = 2},
	[SPLIT_4] = {.name = "engine_split_4", .timing = BENCH_DEVICE, .param = 4, .queued = 4},
	[SPLIT_16] = {.name = "engine_split_16", .timing = BENCH_DEVICE, .param = 16, .queued = 16},
	[ROUND_TRIP] = {.name = "engine_round_trip", .timing = BENCH_HOST, .param = 1},
	[PAGEABLE] = {.name = "pageable", .timing = BENCH_HOST},
	[KERNEL] = {.name = "kernel", .timing = BENCH_DEVICE},
	[KERNEL_NT] = {.name = "kernel_nt", .timing = BENCH_DEVICE},
	[KERNEL_1] = {.name = "kernel_1", .timing = BENCH_DEVICE, .param = 1},
	{.name = "kernel_2", .timing = BENCH_DEVICE, .param = 2},
	{.name = "kernel_4", .timing = BENCH_DEVICE, .param = 4},
	{.name = "kernel_8", .timing = BENCH_DEVICE, .param = 8},
	{.name = "kernel_16", .timing = BENCH_DEVICE, .param = 16},
	{.name = "kernel_32", .timing = BENCH_DEVICE, .param = 32},
	{.name = "kernel_64", .timing = BENCH_DEVICE, .param = 64},
	{.name = "kernel_128", .timing = BENCH_DEVICE, .param = 128},
	{.name = "kernel_256", .timing = BENCH_DEVICE, .param = 256},
	{.name = "kernel_512", .timing = BENCH_DEVICE, .param = 512},
	[KERNEL_1024] = {.name = "kernel_1024", .timing = BENCH_DEVICE, .param = 1024},
	ROOFLINE_VARIANTS,
	{0}};

static void derive_saturation(struct bench_case *c, uint32_t wave_blocks)
{
	double best = bench_median(c, KERNEL);
	uint32_t min_blocks = wave_blocks;
	for (unsigned v = KERNEL_1; v < ROOFLINE; v++)
		best = fmin(best, bench_median(c, v));
	for (unsigned v = ROOFLINE; v-- > KERNEL_1;)
		if (bench_median(c, v) <= best / SATURATED)
			min_blocks = (uint32_t)copy_path_variants[v].param;
	if (!isnan(best) && bench_variant_on(c, KERNEL_1))
		bench_value(c, "blocks_to_saturate", -1, min_blocks, "",
			    "fewest blocks of the kernel with 0.95 of its best bandwidth");
}

int copy_path_derive(struct bench_case *c, const struct roofline *roofline, uint32_t wave_blocks)
{
	static const struct {
		const char *name;
		unsigned over, under;
		const char *formula;
	} ratios[] = {
		{"kernel_time_ratio", KERNEL, ENGINE, "seconds(kernel) / seconds(engine)"},
		{"kernel_time_ratio", KERNEL_NT, ENGINE, "seconds(kernel_nt) / seconds(engine)"},
		{"both_ways_time_ratio", BOTH_WAYS, ENGINE, "seconds(both_ways) / seconds(engine)"},
		{"pageable_time_ratio", PAGEABLE, ENGINE,
		 "seconds(pageable copy, waited for) / seconds(engine)"},
		{"DIL", SPLIT_4, ENGINE, "seconds(4 pieces) / seconds(whole)"},
		{"DIL", SPLIT_16, ENGINE, "seconds(16 pieces) / seconds(whole)"}};
	const bool one_memory =
		axis_index(c, "direction") == LOCAL || dev_can(c->dev, DEV_CAP_HOST_ACCESS);
	int status = 0;
	derive_saturation(c, wave_blocks);
	for (unsigned v = 0; v < ROOFLINE; v++)
		roofline_bound(roofline, c, v, 1.0, 1.0, one_memory);
	for (size_t i = 0; status == 0 && i < sizeof(ratios) / sizeof(ratios[0]); i++)
		status = bench_ratio(c, ratios[i].name, ratios[i].over, ratios[i].under,
				     ratios[i].formula);
	return status;
}
