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
 * same with ordinary memory, where the call blocks.
 *
 *     bin/micro/copy_path --device host --direction up,local --size 4K:256M:x4 --path engine,kernel
 */
#include "bench/bench_alloc.h"
#include "bench/blocking_kernel.h"
#include "device/kernels.h"
#include "micro/copy_path/copy_path_metrics.h"
#include "micro/copy_path/route.h"

static const struct axis axes[] = {{.name = "direction",
				    .help = "up is H2D, down D2H, local D2D; peer: between devices",
				    .kind = AXIS_WORD,
				    .words = route_directions,
				    .peers = "peer",
				    .quick = "up,down,local,peer"},
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

static const struct bench_metric primary[] = {
	{"up_engine_bandwidth", "bandwidth", "engine", "direction=up size=64M|1G|64M", "byte/s",
	 "higher"},
	{"down_engine_bandwidth", "bandwidth", "engine", "direction=down size=64M|1G|64M", "byte/s",
	 "higher"},
	{"both_ways_engine_bandwidth", "bandwidth", "both_ways", "direction=up size=64M|1G|64M",
	 "byte/s", "higher"},
	{"peer_engine_bandwidth", "bandwidth", "engine", "direction=peer size=64M|1G|64M", "byte/s",
	 "higher"},
	{"peer_both_ways_engine_bandwidth", "bandwidth", "both_ways",
	 "direction=peer size=64M|1G|64M", "byte/s", "higher"},
	{"local_engine_bandwidth", "bandwidth", "engine", "direction=local size=64M|1G|64M",
	 "byte/s", "higher"},
	{"local_both_ways_engine_bandwidth", "bandwidth", "both_ways",
	 "direction=local size=64M|1G|64M", "byte/s", "higher"},
	{"up_kernel_bandwidth", "bandwidth", "kernel_nt", "direction=up size=64M|1G|64M", "byte/s",
	 "higher"},
	{"down_kernel_bandwidth", "bandwidth", "kernel_nt", "direction=down size=64M|1G|64M",
	 "byte/s", "higher"},
	{"peer_kernel_bandwidth", "bandwidth", "kernel_nt", "direction=peer size=64M|1G|64M",
	 "byte/s", "higher"},
	{"local_kernel_bandwidth", "bandwidth", "kernel_nt", "direction=local size=64M|1G|64M",
	 "byte/s", "higher"},
	{"up_engine_latency_4k", "time", "engine_round_trip", "direction=up size=4K", "s", "lower"},
	{"down_engine_latency_4k", "time", "engine_round_trip", "direction=down size=4K", "s",
	 "lower"},
	{"peer_engine_latency_4k", "time", "engine_round_trip", "direction=peer size=4K", "s",
	 "lower"},
	{0}};

#define SMALL 4096u /* bytes; single copies up to here are timed, too */
#define WHOLE (1u << ENGINE | 1u << BOTH_WAYS | 1u << ROUND_TRIP)
#define ENGINES (WHOLE | 1u << SPLIT_4 | 1u << SPLIT_16)

struct state {
	struct route route;
	struct dev_stream *back;
	struct dev_event *fork, *join;
	struct dev_kernel *copy, *copy_nt;
	struct roofline roofline;
};

static struct state *case_state(const struct bench_case *c) { return c->state; }

static enum direction case_direction(const struct bench_case *c)
{
	return (enum direction)axis_index(c, "direction");
}

static int admit(const struct bench_case *c)
{
	return route_admit(c, case_direction(c), axis_u64(c, "size"));
}

static int setup(struct bench_case *c)
{
	struct state *s = case_state(c);
	uint64_t size = axis_u64(c, "size");
	route_open(&s->route, c, case_direction(c), size);
	if (!s->route.pageable)
		bench_variant_off(c, PAGEABLE);
	s->back = bench_stream(c, dev_props(c->dev)->priority_normal);
	s->fork = bench_event(c);
	s->join = bench_event(c);
	s->copy = bench_kernel(c, "copy");
	s->copy_nt = bench_kernel(c, "copy_nt");
	if (bench_status_add(c, blocking_kernel_need_engine(c, ENGINES)) ||
	    bench_status_add(c, blocking_kernel_need_local_engine(c, ENGINES, s->route.to.ptr,
								  s->route.from.ptr, size)))
		return bench_status(c);
	for (unsigned v = KERNEL_1; v < ROOFLINE; v++)
		if ((uint64_t)copy_path_variants[v].param > dev_wave_blocks(c->dev, s->copy))
			bench_variant_off(c, v);
	if (size <= SMALL)
		bench_single_times(c, ROUND_TRIP);
	/* Over a link no other measurement bounds the copy. */
	if (case_direction(c) == LOCAL ||
	    (case_direction(c) != PEER && dev_can(c->dev, DEV_CAP_HOST_ACCESS)))
		return roofline_open(&s->roofline, c, ROOFLINE, s->route.from.ptr, size,
				     s->route.to.ptr, size);
	roofline_off(&s->roofline, c, ROOFLINE);
	return bench_status(c);
}

static int engine_copy(struct bench_case *c, uint64_t pieces)
{
	const struct route *r = &case_state(c)->route;
	uint64_t each = r->size / pieces;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < pieces; i++)
		status = dev_copy(c->dev, c->stream, r->to.ptr + i * each, r->from.ptr + i * each,
				  each);
	return status;
}

static int round_trip(struct bench_case *c)
{
	int status = engine_copy(c, 1);
	return status ? status : dev_stream_sync(c->dev, c->stream);
}

static int pageable_copy(struct bench_case *c)
{
	const struct route *r = &case_state(c)->route;
	int status = dev_copy(c->dev, c->stream, r->paged_to.ptr, r->paged_from.ptr, r->size);
	return status ? status : dev_stream_sync(c->dev, c->stream);
}

static int kernel_copy(struct bench_case *c, unsigned variant)
{
	struct state *s = case_state(c);
	const struct route *r = &s->route;
	uint32_t reps = 1, blocks = (uint32_t)copy_path_variants[variant].param;
	const void *const args[] = {&r->to.ptr, &r->from.ptr, &r->size, &reps};
	struct dev_kernel *kernel = variant == KERNEL_NT ? s->copy_nt : s->copy;
	struct dev_launch launch = {.grid = blocks ? blocks : dev_wave_blocks(c->dev, kernel),
				    .args = args};
	return dev_launch(c->dev, c->stream, kernel, &launch);
}

/* The second stream starts after the work now in c->stream; c->stream continues after both. */
static int both_ways(struct bench_case *c, uint64_t iterations)
{
	struct state *s = case_state(c);
	const struct route *r = &s->route;
	int status = bench_follow(c, c->stream, s->back, s->fork);
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = engine_copy(c, 1);
		if (status == 0)
			status = dev_copy(c->dev, s->back, r->back_to.ptr, r->back_from.ptr,
					  r->size);
	}
	return status ? status : bench_follow(c, s->back, c->stream, s->join);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	int status = 0;
	if (variant == BOTH_WAYS)
		return both_ways(c, iterations);
	if (variant >= ROOFLINE)
		return roofline_body(&case_state(c)->roofline, c, variant, iterations);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = variant == PAGEABLE     ? pageable_copy(c)
			 : variant == ROUND_TRIP ? round_trip(c)
			 : variant < KERNEL
				 ? engine_copy(c, (uint64_t)copy_path_variants[variant].param)
				 : kernel_copy(c, variant);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	m->bytes = (double)case_state(c)->route.size * (variant == BOTH_WAYS ? 2.0 : 1.0);
	if (variant >= ROOFLINE)
		roofline_model(&case_state(c)->roofline, variant, m);
}

static const struct end *copy_target(const struct route *r, unsigned variant)
{
	return variant == PAGEABLE ? &r->paged_to : &r->to;
}

static int poison(struct bench_case *c, unsigned variant)
{
	const struct route *r = &case_state(c)->route;
	int status = route_poison(r, c, copy_target(r, variant));
	return status == 0 && variant == BOTH_WAYS ? route_poison(r, c, &r->back_to) : status;
}

static int check(struct bench_case *c, unsigned variant)
{
	const struct route *r = &case_state(c)->route;
	int status = variant >= ROOFLINE ? 0 : route_check(r, c, copy_target(r, variant));
	return status == 0 && variant == BOTH_WAYS ? route_check(r, c, &r->back_to) : status;
}

/* Pieces are verified, too: they are shorter than the whole. */
static int verify_mechanism(struct bench_case *c)
{
	static const uint64_t with_same_size[] = {WHOLE, 1u << SPLIT_4, 1u << SPLIT_16};
	static const uint64_t pieces[] = {1, 4, 16};
	const struct route *r = &case_state(c)->route;
	int status = 0;
	for (size_t i = 0; status == 0 && i < sizeof(pieces) / sizeof(pieces[0]); i++)
		status = blocking_kernel_verify_engine(c, with_same_size[i], r->to.ptr, r->from.ptr,
						       r->size / pieces[i]);
	return status ? status
		      : blocking_kernel_verify_back(c, 1u << BOTH_WAYS, r->back_to.ptr,
						    r->back_from.ptr, r->size);
}

static int derive(struct bench_case *c)
{
	const struct state *s = case_state(c);
	return copy_path_derive(c, &s->roofline, &s->route, dev_wave_blocks(c->dev, s->copy));
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
	.variants = copy_path_variants,
	.primary = primary,
	.cliff = {"size", "bandwidth", "engine", "higher", NULL},
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
