/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Engine or kernel: which way should bytes go? The same copy through a copy engine and through kernels with a growing
 * number of blocks, one way and both ways at once, whole and cut into pieces.
 *
 * Timed: copies back to back in a stream that was filled before it was released, so enqueueing costs nothing.
 * Bandwidth counts the bytes of the copy once (they are read once and written once); both_ways counts both copies.
 * Where units reach both ends by the same way, the bound is what they read or write alone. up is host to device, down
 * device to host, local within the device, peer to the second device of --device.
 *
 *     bin/micro/copy_path --device host --direction up,local --size 4K:256M:x4 --path engine,kernel
 */
#include "device/kernels.h"
#include "lib/bench_ceiling.h"
#include "lib/bench_hold.h"
#include "lib/bench_tile.h"
#include "lib/err.h"

#include <errno.h>

enum direction { UP, DOWN, LOCAL, PEER };
enum { ENGINE, BOTH_WAYS, SPLIT_4, SPLIT_16, KERNEL, KERNEL_NT, KERNEL_1 };

static const char *const directions[] = {"up", "down", "local", "peer", NULL};

/* param: pieces of an engine copy, blocks of a kernel (0: enough for every unit). */
static const struct bench_variant variants[] = {
	[ENGINE] = {.name = "engine", .timing = BENCH_DEVICE, .param = 1},
	[BOTH_WAYS] = {.name = "both_ways", .timing = BENCH_DEVICE, .param = 1, .queued = 2},
	[SPLIT_4] = {.name = "engine_split_4", .timing = BENCH_DEVICE, .param = 4, .queued = 4},
	[SPLIT_16] = {.name = "engine_split_16", .timing = BENCH_DEVICE, .param = 16, .queued = 16},
	[KERNEL] = {.name = "kernel", .timing = BENCH_DEVICE},
	[KERNEL_NT] = {.name = "kernel_nt", .timing = BENCH_DEVICE},
	[KERNEL_1] = {.name = "kernel_1", .timing = BENCH_DEVICE, .param = 1},
	{.name = "kernel_2", .timing = BENCH_DEVICE, .param = 2}, {.name = "kernel_4", .timing = BENCH_DEVICE, .param = 4},
	{.name = "kernel_8", .timing = BENCH_DEVICE, .param = 8}, {.name = "kernel_16", .timing = BENCH_DEVICE, .param = 16},
	{.name = "kernel_32", .timing = BENCH_DEVICE, .param = 32}, {.name = "kernel_64", .timing = BENCH_DEVICE, .param = 64},
	{.name = "kernel_128", .timing = BENCH_DEVICE, .param = 128},
	CEILING_VARIANTS,
	{0}};
enum { CEILING = sizeof(variants) / sizeof(variants[0]) - 4 };

static const struct axis axes[] = {
	{.name = "direction", .help = "from where to where", .kind = AXIS_WORD, .words = directions,
	 .quick = "up,down,local", .full = "up,down,local,peer"},
	{.name = "size", .help = "bytes of one copy", .kind = AXIS_SIZE, .min = 4096, .multiple = 4096,
	 .quick = "4K:64M:x16,64M", .full = "4K:256M:x2"},
	{0}};

static const struct bench_metric primary[] = {
	{"engine_copy_bandwidth", "bandwidth", "engine", "direction=local size=64M", "max", "byte/s", "higher"},
	{"kernel_copy_bandwidth", "bandwidth", "kernel_nt", "direction=local size=64M", "max", "byte/s", "higher"},
	{"engine_copy_interval_4k", "time", "engine", "direction=up size=4K", "min", "s", "lower"},
	{0}};

#define PROOF_BYTES (64u << 10)

/* Where a copy begins or ends. */
struct end {
	struct dev *dev;
	enum dev_mem kind;
	char *ptr;
};

struct state {
	uint64_t size;
	struct end from, to;           /* of the copy measured */
	struct end back_from, back_to; /* of the copy that runs against it */
	struct dev_stream *back;
	struct dev_event *fork, *join;
	struct dev_kernel *copy, *copy_nt;
	struct ceiling ceiling;
	uint32_t *tile;
};

static struct state *state(const struct bench_case *c) { return c->state; }

static enum direction direction(const struct bench_case *c) { return (enum direction)bench_choice(c, "direction"); }

static int admit(const struct bench_case *c)
{
	if (direction(c) == PEER && c->devices->count < 2)
		return err_note(-ENODEV, "a peer copy needs two devices, such as --device host:0,1");
	if (bench_number(c, "size") > dev_props(c->dev)->memory_bytes / 4)
		return err_note(-ENOMEM, "four buffers of this size exceed the device's free memory");
	return 0;
}

static void choose_ends(struct bench_case *c)
{
	struct state *s = state(c);
	struct end here = {.dev = c->dev, .kind = DEV_MEM_DEVICE};
	struct end host = {.dev = c->dev, .kind = DEV_MEM_PINNED};
	struct end there = {.dev = c->devices->dev[c->devices->count - 1], .kind = DEV_MEM_DEVICE};
	const struct end of[][2] = {[UP] = {host, here}, [DOWN] = {here, host}, [LOCAL] = {here, here}, [PEER] = {here, there}};
	s->from = s->back_to = of[direction(c)][0];
	s->to = s->back_from = of[direction(c)][1];
	if (direction(c) == PEER)
		own_result(c, dev_peer_enable(c->dev, there.dev));
}

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	s->size = bench_number(c, "size");
	for (unsigned v = KERNEL_1; v < CEILING; v++)
		if ((uint64_t)variants[v].param > dev_props(c->dev)->busy_blocks)
			bench_variant_off(c, v);
	choose_ends(c);
	s->tile = tile_words(c);
	s->from.ptr = tile_memory(c, s->from.dev, s->from.kind, s->size, s->tile);
	s->to.ptr = own_memory_on(c, s->to.dev, s->to.kind, s->size);
	s->back_from.ptr = tile_memory(c, s->back_from.dev, s->back_from.kind, s->size, s->tile);
	s->back_to.ptr = own_memory_on(c, s->back_to.dev, s->back_to.kind, s->size);
	s->back = own_stream(c, dev_props(c->dev)->priority_normal);
	s->fork = own_event(c);
	s->join = own_event(c);
	s->copy = own_kernel(c, "copy");
	s->copy_nt = own_kernel(c, "copy_nt");
	/* Over a link nothing is known to be faster than the copy itself. */
	if (direction(c) == LOCAL || (direction(c) != PEER && dev_can(c->dev, DEV_CAP_HOST_ACCESS)))
		return ceiling_open(&s->ceiling, c, CEILING, s->from.ptr, s->size, s->to.ptr, s->size);
	ceiling_off(&s->ceiling, c, CEILING);
	return own_status(c);
}

static int engine_copy(struct bench_case *c, uint64_t pieces)
{
	struct state *s = state(c);
	uint64_t each = s->size / pieces;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < pieces; i++)
		status = dev_copy(c->dev, c->stream, s->to.ptr + i * each, s->from.ptr + i * each, each);
	return status;
}

static int kernel_copy(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	uint32_t reps = 1, blocks = (uint32_t)variants[variant].param;
	const void *const args[] = {&s->to.ptr, &s->from.ptr, &s->size, &reps};
	struct dev_launch launch = {.grid = blocks ? blocks : dev_props(c->dev)->busy_blocks, .args = args};
	return dev_launch(c->dev, c->stream, variant == KERNEL_NT ? s->copy_nt : s->copy, &launch);
}

/* The second stream starts after what c->stream holds now, and c->stream goes on after it. */
static int both_ways(struct bench_case *c, uint64_t iterations)
{
	struct state *s = state(c);
	int status = bench_follow(c, c->stream, s->back, s->fork);
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = engine_copy(c, 1);
		if (status == 0)
			status = dev_copy(c->dev, s->back, s->back_to.ptr, s->back_from.ptr, s->size);
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
		status = variant < KERNEL ? engine_copy(c, (uint64_t)variants[variant].param) : kernel_copy(c, variant);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	m->bytes = (double)state(c)->size * (variant == BOTH_WAYS ? 2.0 : 1.0);
	if (variant >= CEILING)
		ceiling_model(&state(c)->ceiling, variant, m);
}

static int spoil(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	int status = dev_fill(c->dev, c->stream, s->to.ptr, 0xa5, s->size);
	if (status == 0 && variant == BOTH_WAYS)
		status = dev_fill(c->dev, c->stream, s->back_to.ptr, 0xa5, s->size);
	return status;
}

static int check(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	int status = variant >= CEILING ? 0 : tile_check(s->to.dev, s->to.ptr, s->size, s->tile, 0.0f);
	if (status == 0 && variant == BOTH_WAYS)
		status = tile_check(s->back_to.dev, s->back_to.ptr, s->size, s->tile, 0.0f);
	return status;
}

static int prove(struct bench_case *c)
{
	struct state *s = state(c);
	uint64_t bytes = s->size < PROOF_BYTES ? s->size : PROOF_BYTES;
	uint64_t engines = 1u << ENGINE | 1u << BOTH_WAYS | 1u << SPLIT_4 | 1u << SPLIT_16;
	return bench_variant_on(c, ENGINE) ? hold_prove_engine(c, engines, s->to.ptr, s->from.ptr, bytes) : 0;
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
	              {"DIL", SPLIT_4, ENGINE, "seconds(4 pieces) / seconds(whole)"},
	              {"DIL", SPLIT_16, ENGINE, "seconds(16 pieces) / seconds(whole)"}};
	int status = 0;
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
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
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
