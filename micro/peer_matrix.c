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
#include "lib/err.h"
#include "micro/peer_matrix/sweep.h"

static const struct axis axes[] = {
	{"route",
	 "sweep, pairs, spread, exchange, numa; or each, '0>3', '0>all', 'all>0', 'all>all', "
	 "'numa0>3', '3>numa0', quoted",
	 AXIS_WORD, .expand = peer_route_expand, .quick = "sweep,pairs,spread,exchange,numa"},
	{"size", "bytes that a device sends or receives", AXIS_SIZE, .min = 4096, .multiple = 4096,
	 .quick = "16M", .gpu_class = "64M", .simulated = "1M"},
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"min_bandwidth", BENCH_RATE, .unit = "byte/s"},
	{"median_bandwidth", BENCH_RATE, .unit = "byte/s"},
	{"injection_bandwidth", BENCH_RATE, .unit = "byte/s"},
	{0}};

static const struct bench_metric primary[] = {
	{"pair_min_bandwidth", "min_bandwidth", "engine", "route=each"},
	{"pair_median_bandwidth", "median_bandwidth", "engine", "route=each"},
	{"pair_engine_latency_4k", "time", "engine_round_trip", "route=0>1"},
	{"all_to_all_engine_injection", "injection_bandwidth", "engine", "route=all>all"},
	{"all_to_all_kernel_injection", "injection_bandwidth", "kernel", "route=all>all"},
	{0}};

/* A variant copies by an engine, one way and back to back, but for what it has of these. */
enum { BY_KERNEL = 1, BOTH_WAYS = 2, ROUND_TRIP = 4, WAYS = 4 };

struct state {
	bool is_sweep;
	struct sweep sweep;
	struct transfers transfers; /* of the sweep's pairs, or of the route */
	struct work_graph *graph[WAYS];
};

static int time_copies(struct bench_case *c, long how, uint64_t iterations)
{
	struct state *s = c->state;
	return s->is_sweep ? sweep_time(&s->sweep, how & BY_KERNEL, iterations)
			   : transfers_time(&s->transfers, s->graph[how], iterations);
}

static int copy_and_wait(struct bench_case *c, long how)
{
	return transfers_round_trip(&((struct state *)c->state)->transfers, how & BY_KERNEL);
}

static void model(const struct bench_case *c, long how, struct bench_model *m)
{
	const struct state *s = c->state;
	m->bytes = (double)transfers_bytes(&s->transfers, how & BOTH_WAYS);
}

enum { ENGINE, ENGINE_BOTH, ENGINE_TRIP, KERNEL, KERNEL_BOTH, KERNEL_TRIP };
#define COPIES(label, how)                                                                         \
	.name = (label), .timing = BENCH_SELF, .arg = (how), .body = time_copies, .model = model
#define TRIP(label, how) .name = (label), .timing = BENCH_HOST, .arg = (how), .once = copy_and_wait
static const struct bench_variant variants[] = {
	[ENGINE] = {COPIES("engine", 0), .needs = DEV_CAP_COPY_ENGINE},
	[ENGINE_BOTH] = {COPIES("engine_both_ways", BOTH_WAYS), .needs = DEV_CAP_COPY_ENGINE},
	[ENGINE_TRIP] = {TRIP("engine_round_trip", ROUND_TRIP), .needs = DEV_CAP_COPY_ENGINE},
	[KERNEL] = {COPIES("kernel", BY_KERNEL)},
	[KERNEL_BOTH] = {COPIES("kernel_both_ways", BY_KERNEL | BOTH_WAYS)},
	[KERNEL_TRIP] = {TRIP("kernel_round_trip", BY_KERNEL | ROUND_TRIP)},
	{0}};

/* Routes without a way back are measured one way. */
static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	struct transfers *t = &s->transfers;
	struct peer_route route;
	if (TRY(c->status, peer_route_parse(axis_str(c, "route"), &route)))
		return c->status;
	s->is_sweep = route.from.kind == END_EACH;
	if (s->is_sweep)
		sweep_open(&s->sweep, t, c, axis_u64(c, "size"));
	else
		transfers_open(t, c, &route, axis_u64(c, "size"));
	for (unsigned v = 0; variants[v].name; v++) {
		const long how = variants[v].arg;
		const bool both = how & BOTH_WAYS, trip = how & ROUND_TRIP;
		if ((both || trip) && !transfers_both(t))
			bench_variant_off(c, v);
		else if (bench_variant_on(c, v) && s->is_sweep)
			sweep_prepare(&s->sweep, v, how & BY_KERNEL);
		else if (bench_variant_on(c, v) && !trip)
			s->graph[how] = transfers_graph(t, t->lanes, 0, transfers_count(t, both),
							how & BY_KERNEL);
	}
	return c->status;
}

static uint64_t checked_bytes(long how) { return how & ROUND_TRIP ? LATENCY_BYTES : UINT64_MAX; }

static int poison(struct bench_case *c, long how)
{
	struct state *s = c->state;
	s->sweep.poisoned = true;
	return transfers_poison(&s->transfers, how & BOTH_WAYS, checked_bytes(how));
}

static int check(struct bench_case *c, long how)
{
	const struct state *s = c->state;
	return transfers_check(&s->transfers, how & BOTH_WAYS, checked_bytes(how));
}

static int verify_copy(struct bench_case *c, const struct transfer *at, uint64_t bytes,
		       uint64_t uses, bool back)
{
	const struct blocking_copy copy = {at->by, at->stream, at->target, at->source, bytes};
	return blocking_kernel_verify_copy(c, &copy, uses, back);
}

/* The first copy of either direction, and one of a round trip's size. */
static int verify_mechanism(struct bench_case *c)
{
	const struct transfers *t = &((struct state *)c->state)->transfers;
	const struct transfer *first = t->transfer, *back = first + t->forward;
	TRY(c->status,
	    verify_copy(c, first, first->bytes, 1u << ENGINE | 1u << ENGINE_BOTH, false));
	TRY(c->status, verify_copy(c, first, LATENCY_BYTES, 1u << ENGINE_TRIP, false));
	if (transfers_both(t))
		TRY(c->status, verify_copy(c, back, back->bytes, 1u << ENGINE_BOTH, true));
	return c->status;
}

static void teardown(struct bench_case *c) { sweep_close(&((struct state *)c->state)->sweep); }

static int derive(struct bench_case *c)
{
	struct state *s = c->state;
	const struct transfers *t = &s->transfers;
	const bool all = t->route.from.kind == END_ALL && t->route.to.kind == END_ALL;
	const double bytes =
		(double)transfers_bytes(t, false) / (all ? (double)c->devices->count : 1.0);
	if (s->is_sweep)
		return sweep_derive(&s->sweep);
	if (c->devices->count == 1)
		bench_fact_text(c, "pairs_not_measured", "there is one device");
	for (unsigned v = 0; v < bench_variants(c) && !transfers_both(t); v++)
		if (bench_variant_on(c, v))
			TRY(c->status, bench_rate(c, "injection_bandwidth", v, bytes, "byte/s",
						  "bytes that one device sends or receives / "
						  "seconds of the slowest"));
	return c->status;
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
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
