/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Engine or kernel: which way should bytes go? The same copy through a copy engine and through kernels with a growing
 * number of blocks, one way and both ways at once, whole and cut into pieces.
 *
 * Timed: copies back to back in a stream that was filled before it was released, so enqueueing costs nothing.
 * Bandwidth counts the bytes of the copy once (they are read once and written once); both_ways counts both copies.
 * Where units reach both ends by the same way, the bound is what they read or write alone. up is host to device, down
 * device to host, local within the device, peer to the second device of --device. The host's memory is pinned; `pageable`
 * is the same copy of ordinary memory, which makes the caller wait, so it is timed by the host from call to completion.
 *
 *     bin/micro/copy_path --device host --direction up,local --size 4K:256M:x4 --path engine,kernel
 */
#include "device/kernels.h"
#include "lib/bench_ceiling.h"
#include "lib/bench_hold.h"
#include "lib/bench_own.h"
#include "micro/copy_path/route.h"

#include <math.h>

enum { ENGINE, BOTH_WAYS, SPLIT_4, SPLIT_16, PAGEABLE, KERNEL, KERNEL_NT, KERNEL_1 };

/* param: pieces of an engine copy, blocks of a kernel (0: enough for every unit). */
static const struct bench_variant variants[] = {
	[ENGINE] = {.name = "engine", .timing = BENCH_DEVICE, .param = 1},
	[BOTH_WAYS] = {.name = "both_ways", .timing = BENCH_DEVICE, .param = 1, .queued = 2},
	[SPLIT_4] = {.name = "engine_split_4", .timing = BENCH_DEVICE, .param = 4, .queued = 4},
	[SPLIT_16] = {.name = "engine_split_16", .timing = BENCH_DEVICE, .param = 16, .queued = 16},
	[PAGEABLE] = {.name = "pageable", .timing = BENCH_HOST},
	[KERNEL] = {.name = "kernel", .timing = BENCH_DEVICE},
	[KERNEL_NT] = {.name = "kernel_nt", .timing = BENCH_DEVICE},
	[KERNEL_1] = {.name = "kernel_1", .timing = BENCH_DEVICE, .param = 1},
	{.name = "kernel_2", .timing = BENCH_DEVICE, .param = 2}, {.name = "kernel_4", .timing = BENCH_DEVICE, .param = 4},
	{.name = "kernel_8", .timing = BENCH_DEVICE, .param = 8}, {.name = "kernel_16", .timing = BENCH_DEVICE, .param = 16},
	{.name = "kernel_32", .timing = BENCH_DEVICE, .param = 32}, {.name = "kernel_64", .timing = BENCH_DEVICE, .param = 64},
	{.name = "kernel_128", .timing = BENCH_DEVICE, .param = 128}, {.name = "kernel_256", .timing = BENCH_DEVICE, .param = 256},
	{.name = "kernel_512", .timing = BENCH_DEVICE, .param = 512},
	{.name = "kernel_1024", .timing = BENCH_DEVICE, .param = 1024},
	CEILING_VARIANTS,
	{0}};
enum { CEILING = sizeof(variants) / sizeof(variants[0]) - 4 };

static const struct axis axes[] = {
	{.name = "direction", .help = "from where to where; peer among several devices", .kind = AXIS_WORD, .words = route_directions,
	 .peers = "peer", .quick = "up,down,local,peer"},
	{.name = "size", .help = "bytes of one copy", .kind = AXIS_SIZE, .min = 4096, .multiple = 4096,
	 .quick = "4K:64M:x16,64M", .full = "4K:256M:x2", .wide = "4K:64M:x16,64M,1G", .wide_full = "4K:1G:x2"},
	{0}};

static const struct bench_metric primary[] = {
	{"engine_copy_bandwidth", "bandwidth", "engine", "direction=local size=64M", "max", "byte/s", "higher"},
	{"kernel_copy_bandwidth", "bandwidth", "kernel_nt", "direction=local size=64M", "max", "byte/s", "higher"},
	{"engine_copy_interval_4k", "time", "engine", "direction=up size=4K", "min", "s", "lower"},
	{0}};

#define PROOF_BYTES (64u << 10)
#define SATURATED 0.95

struct state {
	struct route route;
	struct dev_stream *back;
	struct dev_event *fork, *join;
	struct dev_kernel *copy, *copy_nt;
	struct ceiling ceiling;
};

static struct state *state(const struct bench_case *c) { return c->state; }

static enum direction direction(const struct bench_case *c) { return (enum direction)bench_choice(c, "direction"); }

static int admit(const struct bench_case *c) { return route_admit(c, direction(c), bench_number(c, "size")); }

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	uint64_t size = bench_number(c, "size");
	route_open(&s->route, c, direction(c), size);
	if (!s->route.pageable)
		bench_variant_off(c, PAGEABLE);
	s->back = own_stream(c, dev_props(c->dev)->priority_normal);
	s->fork = own_event(c);
	s->join = own_event(c);
	s->copy = own_kernel(c, "copy");
	s->copy_nt = own_kernel(c, "copy_nt");
	if (own_status(c))
		return own_status(c);
	for (unsigned v = KERNEL_1; v < CEILING; v++)
		if ((uint64_t)variants[v].param > dev_wave_blocks(c->dev, s->copy))
			bench_variant_off(c, v);
	/* Over a link nothing is known to be faster than the copy itself. */
	if (direction(c) == LOCAL || (direction(c) != PEER && dev_can(c->dev, DEV_CAP_HOST_ACCESS)))
		return ceiling_open(&s->ceiling, c, CEILING, s->route.from.ptr, size, s->route.to.ptr, size);
	ceiling_off(&s->ceiling, c, CEILING);
	return own_status(c);
}

static int engine_copy(struct bench_case *c, uint64_t pieces)
{
	const struct route *r = &state(c)->route;
	uint64_t each = r->size / pieces;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < pieces; i++)
		status = dev_copy(c->dev, c->stream, r->to.ptr + i * each, r->from.ptr + i * each, each);
	return status;
}

static int pageable_copy(struct bench_case *c)
{
	const struct route *r = &state(c)->route;
	int status = dev_copy(c->dev, c->stream, r->paged_to.ptr, r->paged_from.ptr, r->size);
	return status ? status : dev_stream_sync(c->dev, c->stream);
}

static int kernel_copy(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	const struct route *r = &s->route;
	uint32_t reps = 1, blocks = (uint32_t)variants[variant].param;
	const void *const args[] = {&r->to.ptr, &r->from.ptr, &r->size, &reps};
	struct dev_kernel *kernel = variant == KERNEL_NT ? s->copy_nt : s->copy;
	struct dev_launch launch = {.grid = blocks ? blocks : dev_wave_blocks(c->dev, kernel), .args = args};
	return dev_launch(c->dev, c->stream, kernel, &launch);
}

/* The second stream starts after what c->stream holds now, and c->stream goes on after it. */
static int both_ways(struct bench_case *c, uint64_t iterations)
{
	struct state *s = state(c);
	const struct route *r = &s->route;
	int status = bench_follow(c, c->stream, s->back, s->fork);
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = engine_copy(c, 1);
		if (status == 0)
			status = dev_copy(c->dev, s->back, r->back_to.ptr, r->back_from.ptr, r->size);
	}
	return status ? status : bench_follow(c, s->back, c->stream, s->join);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	int status = 0;
	if (variant == BOTH_WAYS)
		return both_ways(c, iterations);
	if (variant >= CEILING)
		return ceiling_body(&state(c)->ceiling, c, variant, iterations);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = variant == PAGEABLE ? pageable_copy(c)
		         : variant < KERNEL  ? engine_copy(c, (uint64_t)variants[variant].param)
		                             : kernel_copy(c, variant);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	m->bytes = (double)state(c)->route.size * (variant == BOTH_WAYS ? 2.0 : 1.0);
	if (variant >= CEILING)
		ceiling_model(&state(c)->ceiling, variant, m);
}

static const struct end *target(const struct route *r, unsigned variant)
{
	return variant == PAGEABLE ? &r->paged_to : &r->to;
}

static int spoil(struct bench_case *c, unsigned variant)
{
	const struct route *r = &state(c)->route;
	int status = route_spoil(r, c, target(r, variant));
	return status == 0 && variant == BOTH_WAYS ? route_spoil(r, c, &r->back_to) : status;
}

static int check(struct bench_case *c, unsigned variant)
{
	const struct route *r = &state(c)->route;
	int status = variant >= CEILING ? 0 : route_check(r, target(r, variant));
	return status == 0 && variant == BOTH_WAYS ? route_check(r, &r->back_to) : status;
}

static int prove(struct bench_case *c)
{
	const struct route *r = &state(c)->route;
	uint64_t bytes = r->size < PROOF_BYTES ? r->size : PROOF_BYTES;
	uint64_t engines = 1u << ENGINE | 1u << BOTH_WAYS | 1u << SPLIT_4 | 1u << SPLIT_16;
	return bench_variant_on(c, ENGINE) ? hold_prove_engine(c, engines, r->to.ptr, r->from.ptr, bytes) : 0;
}

/* Of one kernel, by its number of blocks: the least that come within 5 % of the best. */
static void saturation(struct bench_case *c)
{
	double best = bench_median(c, KERNEL);
	uint32_t least = dev_wave_blocks(c->dev, state(c)->copy);
	for (unsigned v = KERNEL_1; v < CEILING; v++)
		best = fmin(best, bench_median(c, v));
	for (unsigned v = CEILING; v-- > KERNEL_1;)
		if (bench_median(c, v) <= best / SATURATED)
			least = (uint32_t)variants[v].param;
	if (!isnan(best) && bench_variant_on(c, KERNEL_1))
		bench_value(c, "blocks_to_saturate", -1, least, "", "least blocks of the kernel with 0.95 of its best bandwidth");
}

static int derive(struct bench_case *c)
{
	static const struct {
		const char *name;
		unsigned over, under;
		const char *formula;
	} ratios[] = {{"kernel_time_ratio", KERNEL, ENGINE, "seconds(kernel) / seconds(engine)"},
	              {"kernel_time_ratio", KERNEL_NT, ENGINE, "seconds(kernel_nt) / seconds(engine)"},
	              {"both_ways_time_ratio", BOTH_WAYS, ENGINE, "seconds(both_ways) / seconds(engine)"},
	              {"pageable_time_ratio", PAGEABLE, ENGINE, "seconds(pageable copy, waited for) / seconds(engine)"},
	              {"DIL", SPLIT_4, ENGINE, "seconds(4 pieces) / seconds(whole)"},
	              {"DIL", SPLIT_16, ENGINE, "seconds(16 pieces) / seconds(whole)"}};
	int status = 0;
	saturation(c);
	for (unsigned v = 0; v < CEILING; v++)
		ceiling_bound(&state(c)->ceiling, c, v, 1.0, 1.0);
	for (size_t i = 0; status == 0 && i < sizeof(ratios) / sizeof(ratios[0]); i++)
		status = bench_ratio(c, ratios[i].name, ratios[i].over, ratios[i].under, ratios[i].formula);
	return status;
}

static const struct bench bench = {
	.name = "micro/copy_path",
	.question = "engine or kernel: which way should bytes go?",
	.formula = "bandwidth = bytes of the copy, counted once, / median time; byte/s",
	.timed = "copies back to back in a stream filled beforehand; not enqueueing, allocation or checking",
	.limits = "buffers are reused, so a copy that fits in a cache is served from it; a copy over a link has no bound",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER | DEV_CAP_PAGEABLE,
	.share = 2.0,
	.axes = axes,
	.variant_option = "path",
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.spoil = spoil,
	.check = check,
	.prove = prove,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
