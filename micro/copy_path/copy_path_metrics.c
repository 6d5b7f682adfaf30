/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_path/copy_path_metrics.h"
#include "bench/roofline.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>

#define EXCEEDED 1.02 /* as for any bound: bench_bound() */
/* Those whose share of the link is derived. */
#define OF_LINK (1u << ENGINE | 1u << BOTH_WAYS | 1u << KERNEL | 1u << KERNEL_NT)

/* Byte/s of the copy's direction, and of two copies of the same bytes in both: twice the slower
 * one. 0: unknown. */
struct link_rates {
	double one_way, both_ways;
};

static bool goes_both_ways(const struct bench_case *c, const struct route *r, unsigned variant)
{
	return bench_work(c, variant).bytes > (double)r->size;
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

/* True if the device copies clearly faster than the driver says that its link can, as behind a
 * virtual PCIe bridge: then the driver is wrong, and its rate is not a limit. */
static bool is_exceeded(const struct bench_case *c, const struct route *r,
			const struct link_rates *rates)
{
	bool exceeded = false;
	for (unsigned v = 0; OF_LINK >> v; v++) {
		const double rate = goes_both_ways(c, r, v) ? rates->both_ways : rates->one_way;
		exceeded =
			exceeded || (OF_LINK >> v & 1 &&
				     bench_work(c, v).bytes / bench_median(c, v) > EXCEEDED * rate);
	}
	return exceeded;
}

/* Keep the tighter of the measured bound and the link's. */
static int bound_by_link(struct bench_case *c, const struct route *r, unsigned variant,
			 const struct link_rates *rates, double measured)
{
	const bool both_ways = goes_both_ways(c, r, variant);
	const double rate = both_ways ? rates->both_ways : rates->one_way;
	if (!(rate > 0))
		return 0;
	if (OF_LINK >> variant & 1)
		TRY(c->status,
		    bench_rate(c, "link_share", variant, bench_work(c, variant).bytes / rate, "",
			       both_ways ? "bandwidth / nominal rate of the link, both ways"
					 : "bandwidth / nominal rate of the link, one way"));
	if (!(measured < rate))
		bench_nominal(c, "bandwidth", (int)variant, rate, true);
	return c->status;
}

int copy_path_bound(struct bench_case *c, const struct route *r)
{
	const bool one_memory = r->direction == LOCAL || dev_can(c->dev, DEV_CAP_HOST_ACCESS);
	struct link_rates rates;
	TRY(c->status, read_link(c, r, &rates));
	if (c->status == 0 && rates.one_way > 0 && is_exceeded(c, r, &rates)) {
		bench_fact_text(c, "link_exceeded", "yes: copies are faster than the driver says");
		rates = (struct link_rates){0};
	}
	for (unsigned v = 0; c->status == 0 && !bench_row(c, v)->reference; v++)
		bound_by_link(c, r, v, &rates, roofline_bound(c, v, 1.0, 1.0, one_memory));
	return c->status;
}
