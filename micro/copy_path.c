/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast are H2D, D2H, D2D and peer copies, by engine and by kernel? The same copy through a copy
 * engine and through kernels with a growing number of blocks, in one direction and in both at once,
 * whole and cut into pieces.
 *
 * Timed: copies back to back in a stream that was filled before it was released, so enqueueing
 * costs nothing. Bandwidth counts the bytes of the copy once (they are read once and written once);
 * both_ways counts both copies. Where the units can access both buffers directly, the bound is
 * their rate of reading alone or writing alone; over a link it is the link's nominal rate, where
 * the driver tells it. up is host to device, down device to host, local within the device, peer to
 * the second device of --device. Host memory is pinned.
 * `engine_round_trip` is one copy from the call until the host has waited for it. `pageable` is the
 * same with ordinary memory, where the call blocks. micro/copy_command asks what a command costs.
 *
 *     bin/micro/copy_path --device host --direction up,local --size 4K:256M:x4 --path engine,kernel
 */
#include "bench/bench_expect.h"
#include "bench/blocking_kernel.h"
#include "bench/roofline.h"
#include "device/kernels.h"
#include "micro/copy_path/copy_path_metrics.h"
#include "micro/copy_path/route.h"

#include <math.h>

static const struct axis axes[] = {ROUTE_DIRECTIONS(.quick = "up,down,local,peer"),
				   {.name = "size",
				    .help = "bytes of one copy",
				    .kind = AXIS_SIZE,
				    .min = 4096,
				    .multiple = 4096,
				    .quick = "4K:64M:x16,64M",
				    .full = "4K:256M:x2",
				    .gpu_class = "4K:64M:x16,64M,1G",
				    .gpu_class_full = "4K:1G:x2"},
				   {0}};

#define LARGE(direction) "direction=" direction " size=64M|1G|64M"
static const struct bench_metric primary[] = {
	{"up_engine_bandwidth", "bandwidth", "engine", LARGE("up")},
	{"down_engine_bandwidth", "bandwidth", "engine", LARGE("down")},
	{"both_ways_engine_bandwidth", "bandwidth", "both_ways", LARGE("up")},
	{"peer_engine_bandwidth", "bandwidth", "engine", LARGE("peer")},
	{"peer_both_ways_engine_bandwidth", "bandwidth", "both_ways", LARGE("peer")},
	{"local_engine_bandwidth", "bandwidth", "engine", LARGE("local")},
	{"local_both_ways_engine_bandwidth", "bandwidth", "both_ways", LARGE("local")},
	{"up_kernel_bandwidth", "bandwidth", "kernel_nt", LARGE("up")},
	{"down_kernel_bandwidth", "bandwidth", "kernel_nt", LARGE("down")},
	{"peer_kernel_bandwidth", "bandwidth", "kernel_nt", LARGE("peer")},
	{"local_kernel_bandwidth", "bandwidth", "kernel_nt", LARGE("local")},
	{"up_engine_latency_4k", "time", "engine_round_trip", "direction=up size=4K"},
	{"down_engine_latency_4k", "time", "engine_round_trip", "direction=down size=4K"},
	{"peer_engine_latency_4k", "time", "engine_round_trip", "direction=peer size=4K"},
	{0}};

#define SMALL 4096u /* bytes; single copies up to here are timed, too */
#define ENGINES (1u << ENGINE | 1u << BOTH_WAYS | 1u << SPLIT_4 | 1u << SPLIT_16 | 1u << ROUND_TRIP)
#define SATURATED 0.95

struct state {
	struct route route;
	struct dev_stream *back;
	struct dev_event *fork, *join;
	struct dev_kernel *copy, *copy_nt;
};

static enum direction case_direction(const struct bench_case *c)
{
	return (enum direction)axis_index(c, "direction");
}

static int admit(const struct bench_case *c)
{
	return route_admit(c, case_direction(c), axis_u64(c, "size"));
}

static int copy_pieces(struct bench_case *c, long pieces)
{
	const struct route *r = &((struct state *)c->state)->route;
	const uint64_t each = r->size / (uint64_t)pieces;
	for (uint64_t at = 0; at + each <= r->size; at += each)
		TRY(c->status, dev_copy(c->dev, c->stream, r->to.ptr + at, r->from.ptr + at, each));
	return c->status;
}

static int round_trip(struct bench_case *c, long pieces)
{
	copy_pieces(c, pieces);
	return TRY(c->status, dev_stream_sync(c->dev, c->stream));
}

static int pageable_copy(struct bench_case *c, long unused)
{
	const struct route *r = &((struct state *)c->state)->route;
	TRY(c->status, dev_copy(c->dev, c->stream, r->paged_to.ptr, r->paged_from.ptr, r->size));
	return TRY(c->status, dev_stream_sync(c->dev, c->stream));
}

static int launch_copy(struct bench_case *c, struct dev_kernel *kernel, long blocks)
{
	const struct route *r = &((struct state *)c->state)->route;
	uint32_t reps = 1;
	const void *const args[] = {&r->to.ptr, &r->from.ptr, &r->size, &reps};
	const struct dev_launch launch = {
		.grid = blocks ? (uint32_t)blocks : dev_wave_blocks(c->dev, kernel), .args = args};
	return dev_launch(c->dev, c->stream, kernel, &launch);
}

/* 0 blocks: enough for every unit. */
static int kernel_copy(struct bench_case *c, long blocks)
{
	return launch_copy(c, ((struct state *)c->state)->copy, blocks);
}

static int kernel_copy_nt(struct bench_case *c, long blocks)
{
	return launch_copy(c, ((struct state *)c->state)->copy_nt, blocks);
}

/* The second stream starts after the work now in c->stream; c->stream continues after both. */
static int both_ways(struct bench_case *c, long pieces, uint64_t iterations)
{
	struct state *s = c->state;
	const struct route *r = &s->route;
	TRY(c->status, bench_follow(c, c->stream, s->back, s->fork));
	for (uint64_t i = 0; i < iterations; i++) {
		copy_pieces(c, pieces);
		TRY(c->status,
		    dev_copy(c->dev, s->back, r->back_to.ptr, r->back_from.ptr, r->size));
	}
	return TRY(c->status, bench_follow(c, s->back, c->stream, s->join));
}

static void model_both_ways(const struct bench_case *c, long arg, struct bench_model *m)
{
	m->bytes = 2.0 * (double)axis_u64(c, "size");
}

#define BY_ENGINE(pieces)                                                                          \
	.arg = (pieces), .once = copy_pieces, .queued = (pieces), .needs = DEV_CAP_COPY_ENGINE
#define BY_BLOCKS(blocks)                                                                          \
	{                                                                                          \
		"kernel_" #blocks, BENCH_DEVICE, .arg = (blocks), .once = kernel_copy              \
	}

static const struct bench_variant variants[] = {
	[ENGINE] = {"engine", BENCH_DEVICE, BY_ENGINE(1)},
	[BOTH_WAYS] = {"both_ways", BENCH_DEVICE, .arg = 1, .body = both_ways, .queued = 2,
		       .model = model_both_ways, .needs = DEV_CAP_COPY_ENGINE},
	[SPLIT_4] = {"engine_split_4", BENCH_DEVICE, BY_ENGINE(4)},
	[SPLIT_16] = {"engine_split_16", BENCH_DEVICE, BY_ENGINE(16)},
	[ROUND_TRIP] = {"engine_round_trip", BENCH_HOST, .arg = 1, .once = round_trip,
			.needs = DEV_CAP_COPY_ENGINE},
	[PAGEABLE] = {"pageable", BENCH_HOST, .once = pageable_copy},
	[KERNEL] = {"kernel", BENCH_DEVICE, .once = kernel_copy},
	[KERNEL_NT] = {"kernel_nt", BENCH_DEVICE, .once = kernel_copy_nt},
	BY_BLOCKS(1),
	BY_BLOCKS(2),
	BY_BLOCKS(4),
	BY_BLOCKS(8),
	BY_BLOCKS(16),
	BY_BLOCKS(32),
	BY_BLOCKS(64),
	BY_BLOCKS(128),
	BY_BLOCKS(256),
	BY_BLOCKS(512),
	BY_BLOCKS(1024),
	ROOFLINE_VARIANTS,
	{0}};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	const struct route *r = &s->route;
	const uint64_t size = axis_u64(c, "size");
	route_open(&s->route, c, case_direction(c), size);
	bench_expect(c, ~(UINT64_C(1) << PAGEABLE), r->to.dev, r->to.ptr, size, r->pattern, 0.0f);
	bench_expect(c, 1u << BOTH_WAYS, r->back_to.dev, r->back_to.ptr, size, r->pattern, 0.0f);
	if (r->pageable)
		bench_expect(c, 1u << PAGEABLE, c->dev, r->paged_to.ptr, size, r->pattern, 0.0f);
	else
		bench_variant_off(c, PAGEABLE);
	s->back = bench_stream(c, dev_props(c->dev)->priority_normal);
	s->fork = bench_event(c);
	s->join = bench_event(c);
	s->copy = bench_kernel(c, "copy");
	s->copy_nt = bench_kernel(c, "copy_nt");
	if (TRY(c->status,
		blocking_kernel_need_local_engine(c, ENGINES, r->to.ptr, r->from.ptr, size)))
		return c->status;
	for (unsigned v = 0; variants[v].name; v++)
		if (variants[v].once == kernel_copy &&
		    variants[v].arg > (long)dev_wave_blocks(c->dev, s->copy))
			bench_variant_off(c, v);
	if (size <= SMALL)
		bench_single_times(c, ROUND_TRIP);
	/* Over a link no other measurement bounds the copy. */
	if (r->direction == LOCAL || (r->direction != PEER && dev_can(c->dev, DEV_CAP_HOST_ACCESS)))
		return roofline_open(c, r->from.ptr, size, r->to.ptr, size);
	roofline_off(c);
	return c->status;
}

/* Pieces are verified, too: they are shorter than the whole. */
static int verify_mechanism(struct bench_case *c)
{
	const struct route *r = &((struct state *)c->state)->route;
	const struct {
		uint64_t variants, pieces;
	} same_size[] = {{ENGINES & ~(1u << SPLIT_4 | 1u << SPLIT_16), 1},
			 {1u << SPLIT_4, 4},
			 {1u << SPLIT_16, 16}};
	for (size_t i = 0; i < 3; i++)
		TRY(c->status,
		    blocking_kernel_verify_engine(c, same_size[i].variants, r->to.ptr, r->from.ptr,
						  r->size / same_size[i].pieces));
	return TRY(c->status, blocking_kernel_verify_back(c, 1u << BOTH_WAYS, r->back_to.ptr,
							  r->back_from.ptr, r->size));
}

static const struct bench_quantity_row quantities[] = {
	{"kernel_time_ratio", BENCH_RATIO, "kernel", "engine"},
	{"kernel_time_ratio", BENCH_RATIO, "kernel_nt", "engine"},
	{"both_ways_time_ratio", BENCH_RATIO, "both_ways", "engine"},
	{"pageable_time_ratio", BENCH_RATIO, "pageable", "engine"},
	{"DIL", BENCH_RATIO, "engine_split_4", "engine"},
	{"DIL", BENCH_RATIO, "engine_split_16", "engine"},
	{0}};

/* The fewest blocks of the copy kernel that reach its best bandwidth. */
static int derive(struct bench_case *c)
{
	const struct state *s = c->state;
	double best = INFINITY, min_blocks = dev_wave_blocks(c->dev, s->copy);
	bool any = false;
	for (unsigned v = 0; variants[v].name; v++)
		if (variants[v].once == kernel_copy)
			best = fmin(best, bench_median(c, v));
	for (unsigned v = bench_variants(c); v-- > 0;) {
		if (variants[v].once != kernel_copy || variants[v].arg == 0)
			continue;
		any = any || bench_variant_on(c, v);
		if (bench_median(c, v) <= best / SATURATED)
			min_blocks = (double)variants[v].arg;
	}
	if (any)
		bench_value(c, "blocks_to_saturate", -1, min_blocks, "",
			    "fewest blocks of the kernel that reach 0.95 of its best bandwidth");
	return copy_path_bound(c, &s->route);
}

static const struct bench bench = {
	.name = "micro/copy_path",
	.question = "how fast are copies, by engine and by kernel?",
	.formula = "bandwidth = bytes of the copy, counted once, / median time; byte/s",
	.timed = "copies back to back in a stream filled beforehand; not enqueueing, allocation or "
		 "checking",
	.limits = "buffers are reused, so a copy that fits in a cache is served from it; a copy "
		  "over a link is bounded by the nominal rate, if the driver reports one",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER | DEV_CAP_PAGEABLE,
	.share = 2.0,
	.axes = axes,
	.variant_option = "path",
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.cliff = {"size", "bandwidth", "engine"},
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.bytes = "size",
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
