/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_path/copy_path_metrics.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>

#define SATURATED 0.95
#define EXCEEDED 1.02 /* as for any bound: bench_bound() */

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
			    "fewest blocks of the kernel that reach 0.95 of its best bandwidth");
}

/* ---------------------------------------------------------------- the link */

/* Byte/s of the copy's direction, and of two copies of the same bytes in both: twice the slower
 * one. 0: unknown. */
struct link_rates {
	double one_way, both_ways;
};

static double rate_of(const struct link_rates *rates, unsigned variant)
{
	return variant == BOTH_WAYS ? rates->both_ways : rates->one_way;
}

static uint64_t copied_bytes(const struct route *r, unsigned variant)
{
	return variant == BOTH_WAYS ? 2 * r->size : r->size;
}

static int read_link(struct bench_case *c, const struct route *r, struct link_rates *rates)
{
	struct dev_link_limit limit;
	int status = r->direction == LOCAL  ? -ENODATA
		     : r->direction == PEER ? dev_peer_limit_read(c->dev, r->to.dev, &limit)
					    : dev_host_limit_read(c->dev, &limit);
	*rates = (struct link_rates){0};
	if (status == -ENODATA) {
		err_clear();
		return 0;
	}
	if (status)
		return status;
	rates->one_way = r->direction == UP ? limit.in_bytes_per_s : limit.out_bytes_per_s;
	rates->both_ways = 2.0 * fmin(limit.in_bytes_per_s, limit.out_bytes_per_s);
	bench_fact_text(c, "link", limit.link);
	bench_fact_number(c, "link_limit_bytes_per_s", rates->one_way);
	bench_fact_number(c, "link_limit_both_ways_bytes_per_s", rates->both_ways);
	return 0;
}

/* Those whose share of the link is derived. */
static bool is_of_link(unsigned variant)
{
	return variant == ENGINE || variant == BOTH_WAYS || variant == KERNEL ||
	       variant == KERNEL_NT;
}

/* True if the device copies clearly faster than the driver says that its link can, as behind a
 * virtual PCIe bridge: then the driver is wrong, and its rate is not a limit. */
static bool is_exceeded(const struct bench_case *c, const struct route *r,
			const struct link_rates *rates)
{
	bool exceeded = false;
	for (unsigned v = 0; v < ROOFLINE; v++)
		if (is_of_link(v) &&
		    (double)copied_bytes(r, v) / bench_median(c, v) > EXCEEDED * rate_of(rates, v))
			exceeded = true;
	return exceeded;
}

/* Keep the tighter of the measured bound and the link's. */
static int bound_by_link(struct bench_case *c, const struct route *r, unsigned variant,
			 const struct link_rates *rates, double measured)
{
	const double rate = rate_of(rates, variant);
	int status = 0;
	if (!(rate > 0))
		return 0;
	if (is_of_link(variant))
		status = bench_rate(
			c, "link_share", variant, (double)copied_bytes(r, variant) / rate, "",
			variant == BOTH_WAYS ? "bandwidth / nominal rate of the link, both ways"
					     : "bandwidth / nominal rate of the link, one way");
	if (status || measured < rate)
		return status;
	bench_nominal(c, "bandwidth", (int)variant, rate, true);
	return 0;
}

static int derive_bounds(struct bench_case *c, const struct roofline *roofline,
			 const struct route *r)
{
	const bool one_memory = r->direction == LOCAL || dev_can(c->dev, DEV_CAP_HOST_ACCESS);
	struct link_rates rates;
	int status = read_link(c, r, &rates);
	if (status == 0 && rates.one_way > 0 && is_exceeded(c, r, &rates)) {
		bench_fact_text(c, "link_exceeded", "yes: copies are faster than the driver says");
		rates = (struct link_rates){0};
	}
	for (unsigned v = 0; v < ROOFLINE && status == 0; v++) {
		const double measured = roofline_bound(roofline, c, v, 1.0, 1.0, one_memory);
		status = bound_by_link(c, r, v, &rates, measured);
	}
	return status;
}

int copy_path_derive(struct bench_case *c, const struct roofline *roofline,
		     const struct route *route, uint32_t wave_blocks)
{
	static const struct {
		const char *name;
		unsigned over_engine;
	} ratios[] = {{"kernel_time_ratio", KERNEL},
		      {"kernel_time_ratio", KERNEL_NT},
		      {"both_ways_time_ratio", BOTH_WAYS},
		      {"pageable_time_ratio", PAGEABLE},
		      {"DIL", SPLIT_4},
		      {"DIL", SPLIT_16}};
	derive_saturation(c, wave_blocks);
	int status = derive_bounds(c, roofline, route);
	for (size_t i = 0; status == 0 && i < sizeof(ratios) / sizeof(ratios[0]); i++)
		status = bench_ratio(c, ratios[i].name, ratios[i].over_engine, ENGINE, NULL);
	return status;
}
