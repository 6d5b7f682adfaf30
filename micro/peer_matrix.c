/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is the bandwidth and latency between every pair of GPUs? A sweep: the bandwidth of every
 * ordered pair of the devices of --device, one after the other within one case (`each`). Then each
 * pair on its own: bandwidth and latency, one-way and both ways at once; from one device to all
 * others, from all to one and from all to all at once; and of host memory of every NUMA node to and
 * from every device. By copy engines and by copy kernels.
 *
 * Timed: runs of the same copies back to back, in streams that were filled before one write of the
 * host released all of them. The time is the longest from a device's release to the end of its last
 * copy, so what several devices move is divided by the time of the slowest, never the sum of their
 * own rates. Bandwidth counts the bytes of every copy once. The source device writes into the
 * other's memory; a device reads and writes host memory, which is pinned. Where several take part,
 * `size` is what one device sends or receives, in even parts. A round trip is one copy of 4 KiB,
 * from the call until the host has waited for it.
 *
 *     bin/micro/peer_matrix --device sim:0-7 --route '0>3,3>0,all>all'
 */
#include "bench/blocking_kernel.h"
#include "micro/peer_matrix/sweep.h"
#include "micro/peer_matrix/transfers.h"

static const struct axis axes[] = {{.name = "route",
				    .help = "sweep, pairs, spread, exchange, numa; or each, '0>3', "
					    "'0>all', 'all>0', 'all>all', "
					    "'numa0>3', '3>numa0', quoted",
				    .kind = AXIS_WORD,
				    .expand = peer_route_expand,
				    .quick = "sweep,pairs,spread,exchange,numa"},
				   {.name = "size",
				    .help = "bytes that a device sends or receives",
				    .kind = AXIS_SIZE,
				    .min = 4096,
				    .multiple = 4096,
				    .quick = "16M",
				    .gpu_class = "64M",
				    .simulated = "1M"},
				   {0}};

enum { ENGINE, ENGINE_BOTH, ENGINE_TRIP, KERNEL, KERNEL_BOTH, KERNEL_TRIP, VARIANTS };
#define ENGINES (1u << ENGINE | 1u << ENGINE_BOTH | 1u << ENGINE_TRIP)
static const struct bench_variant variants[] = {
	[ENGINE] = BENCH_ROW("engine", BENCH_SELF),
	[ENGINE_BOTH] = BENCH_ROW("engine_both_ways", BENCH_SELF),
	[ENGINE_TRIP] = BENCH_ROW("engine_round_trip", BENCH_HOST),
	[KERNEL] = BENCH_ROW("kernel", BENCH_SELF),
	[KERNEL_BOTH] = BENCH_ROW("kernel_both_ways", BENCH_SELF),
	[KERNEL_TRIP] = BENCH_ROW("kernel_round_trip", BENCH_HOST),
	{0}};

static const struct bench_metric primary[] = {
	{"pair_min_bandwidth", "min_bandwidth", "engine", "route=each", "byte/s", "higher"},
	{"pair_median_bandwidth", "median_bandwidth", "engine", "route=each", "byte/s", "higher"},
	{"pair_engine_latency_4k", "time", "engine_round_trip", "route=0>1", "s", "lower"},
	{"all_to_all_engine_injection", "injection_bandwidth", "engine", "route=all>all", "byte/s",
	 "higher"},
	{"all_to_all_kernel_injection", "injection_bandwidth", "kernel", "route=all>all", "byte/s",
	 "higher"},
	{0}};

struct state {
	bool is_sweep;
	struct sweep sweep;
	struct transfers transfers; /* of every other route */
	struct work_graph *graph[VARIANTS];
};

static struct state *case_state(const struct bench_case *c) { return c->state; }

static bool is_both(unsigned variant) { return variant == ENGINE_BOTH || variant == KERNEL_BOTH; }
static bool is_trip(unsigned variant) { return variant == ENGINE_TRIP || variant == KERNEL_TRIP; }
static bool is_engine(unsigned variant) { return variant < KERNEL; }

static int setup_sweep(struct bench_case *c)
{
	struct state *s = case_state(c);
	sweep_open(&s->sweep, c, axis_u64(c, "size"));
	for (unsigned v = 0; v < VARIANTS; v++)
		if (is_both(v) || is_trip(v))
			bench_variant_off(c, v);
	bench_status_add(c, bench_status(c) ? 0 : blocking_kernel_need_engine(c, ENGINES));
	for (unsigned v = 0; bench_status(c) == 0 && v < VARIANTS; v++)
		if (bench_variant_on(c, v))
			sweep_prepare(&s->sweep, is_engine(v));
	return bench_status(c);
}

static int setup(struct bench_case *c)
{
	struct state *s = case_state(c);
	struct peer_route route = {{.kind = END_ALL}, {.kind = END_ALL}};
	int status = peer_route_parse(axis_str(c, "route"), &route);
	s->is_sweep = route.from.kind == END_EACH;
	if (status == 0 && s->is_sweep)
		return setup_sweep(c);
	if (status == 0)
		status = transfers_open(&s->transfers, c, &route, axis_u64(c, "size"));
	if (bench_status_add(c, status))
		return bench_status(c);
	for (unsigned v = 0; v < VARIANTS; v++)
		if (!transfers_both(&s->transfers) && (is_both(v) || is_trip(v)))
			bench_variant_off(c, v);
	if (bench_status_add(c, blocking_kernel_need_engine(c, ENGINES)))
		return bench_status(c);
	for (unsigned v = 0; v < VARIANTS; v++)
		if (bench_variant_on(c, v) && !is_trip(v))
			s->graph[v] = transfers_graph(&s->transfers, is_both(v), is_engine(v));
	return bench_status(c);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = case_state(c);
	if (s->is_sweep)
		return sweep_time(&s->sweep, variant, is_engine(variant), iterations);
	return is_trip(variant)
		       ? transfers_round_trip(&s->transfers, is_engine(variant), iterations)
		       : transfers_time(&s->transfers, s->graph[variant], iterations);
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct state *s = case_state(c);
	if (s->is_sweep)
		m->bytes = (double)s->sweep.count * (double)s->sweep.bytes;
	else if (!is_trip(variant))
		m->bytes = (double)transfers_bytes(&s->transfers, is_both(variant));
}

static uint64_t checked_bytes(unsigned variant)
{
	return is_trip(variant) ? LATENCY_BYTES : UINT64_MAX;
}

static int poison(struct bench_case *c, unsigned variant)
{
	struct state *s = case_state(c);
	return s->is_sweep
		       ? sweep_poison(&s->sweep)
		       : transfers_poison(&s->transfers, is_both(variant), checked_bytes(variant));
}

static int check(struct bench_case *c, unsigned variant)
{
	struct state *s = case_state(c);
	return s->is_sweep
		       ? sweep_check(&s->sweep)
		       : transfers_check(&s->transfers, is_both(variant), checked_bytes(variant));
}

static int verify_copy(struct bench_case *c, const struct transfer *at, uint64_t bytes,
		       uint64_t uses, bool back)
{
	const struct transfers *t = &case_state(c)->transfers;
	const struct blocking_copy copy = {.dev = at->by,
					   .stream = work_lane_stream(t->lanes, at->lane),
					   .to = at->target,
					   .from = at->source,
					   .bytes = bytes};
	return blocking_kernel_verify_copy(c, &copy, uses, back);
}

/* The first pair's copy. */
static int verify_sweep(struct bench_case *c)
{
	const struct sweep *s = &case_state(c)->sweep;
	const struct sweep_pair *first = &s->pair[0];
	const struct blocking_copy copy = {.dev = c->devices->dev[first->from],
					   .stream = work_lane_stream(s->lanes[first->from], 0),
					   .to = first->target,
					   .from = s->source[first->from],
					   .bytes = s->bytes};
	return blocking_kernel_verify_copy(c, &copy, 1u << ENGINE, false);
}

/* The first copy of either direction, and one of a round trip's size. */
static int verify_mechanism(struct bench_case *c)
{
	if (case_state(c)->is_sweep)
		return verify_sweep(c);
	const struct transfers *t = &case_state(c)->transfers;
	const struct transfer *first = &t->transfer[0], *back = &t->transfer[t->forward];
	int status = verify_copy(c, first, first->bytes, 1u << ENGINE | 1u << ENGINE_BOTH, false);
	if (status == 0)
		status = verify_copy(c, first, LATENCY_BYTES, 1u << ENGINE_TRIP, false);
	if (status == 0 && transfers_both(t))
		status = verify_copy(c, back, back->bytes, 1u << ENGINE_BOTH, true);
	return status;
}

static int derive_sweep(struct bench_case *c)
{
	struct sweep *s = &case_state(c)->sweep;
	int status = sweep_report_ways(s);
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++)
		if (bench_variant_on(c, v))
			status = sweep_derive(s, v);
	return status;
}

static void teardown(struct bench_case *c) { sweep_close(&case_state(c)->sweep); }

static int derive(struct bench_case *c)
{
	if (case_state(c)->is_sweep)
		return derive_sweep(c);
	const struct transfers *t = &case_state(c)->transfers;
	const bool all = t->route.from.kind == END_ALL && t->route.to.kind == END_ALL;
	const double bytes =
		(double)transfers_bytes(t, false) / (all ? (double)c->devices->count : 1.0);
	int status = 0;
	if (c->devices->count == 1)
		bench_fact_text(c, "pairs_not_measured", "there is one device");
	for (unsigned v = 0; status == 0 && v < VARIANTS && !transfers_both(t); v++)
		if (bench_variant_on(c, v))
			status = bench_rate(c, "injection_bandwidth", v, bytes, "byte/s",
					    "bytes that one device sends or receives / seconds of "
					    "the slowest");
	return status;
}

static const struct bench bench = {
	.name = "micro/peer_matrix",
	.question = "how fast is the path between every two GPUs?",
	.formula = "bandwidth = bytes of all copies, each counted once, / median time of the "
		   "slowest device; byte/s",
	.timed = "copies back to back in streams filled beforehand; not enqueueing, allocation or "
		 "checking",
	.limits = "the source writes; reads from a peer are not measured. Buffers are reused, so "
		  "copies that fit in a cache are served from it",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
	.share = 2.0,
	.axes = axes,
	.variant_option = "path",
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.indexed.body = body,
	.indexed.model = model,
	.indexed.poison = poison,
	.indexed.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
