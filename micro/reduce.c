/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduction on arrival, or read-add-write? A chunk comes in and is added to one's own. On arrival the adding kernel reads
 * it where it comes from; staged it is copied first, then read again to be added. T3 (arXiv 2401.16677) adds in hardware
 * as data arrives; this is what software can do about the same bytes.
 *
 * Timed: one chunk after the other, back to back in a stream that was filled before it was released. Named traffic per
 * byte that arrives: on arrival it is read, one's own is read, the result is written, 3; staged it is written and read
 * once more, 5. A staged chunk that is cut into tiles finds each tile still in the cache, where there is one.
 * local is within the device, up from the host, peer from the second device of --device.
 *
 *     bin/micro/reduce --device host --direction local --size 1M,64M
 */
#include "device/kernels.h"
#include "lib/bench_ceiling.h"
#include "lib/bench_hold.h"
#include "lib/bench_tile.h"
#include "lib/err.h"

#include <errno.h>

enum direction { LOCAL, UP, PEER };
enum { ON_ARRIVAL, ENGINE, KERNEL, ENGINE_16, KERNEL_16, CEILING };

static const char *const directions[] = {"local", "up", "peer", NULL};

static const struct axis axes[] = {
	{.name = "direction", .help = "where the chunk comes from", .kind = AXIS_WORD, .words = directions, .quick = "local,up",
	 .full = "local,up,peer"},
	{.name = "size", .help = "bytes of the chunk", .kind = AXIS_SIZE, .min = 4096, .multiple = 4096,
	 .quick = "64K,1M,16M,64M", .full = "4K:256M:x4", .simulated = "64K,1M,16M",
	 .wide = "1M,16M,64M,256M", .wide_full = "64K:1G:x4"},
	{0}};

/* param: into how many tiles the chunk is cut. */
static const struct bench_variant variants[] = {
	[ON_ARRIVAL] = {.name = "on_arrival", .timing = BENCH_DEVICE, .param = 1},
	[ENGINE] = {.name = "engine_staged", .timing = BENCH_DEVICE, .param = 1, .queued = 2},
	[KERNEL] = {.name = "kernel_staged", .timing = BENCH_DEVICE, .param = 1, .queued = 2},
	[ENGINE_16] = {.name = "engine_staged_16", .timing = BENCH_DEVICE, .param = 16, .queued = 32},
	[KERNEL_16] = {.name = "kernel_staged_16", .timing = BENCH_DEVICE, .param = 16, .queued = 32},
	CEILING_VARIANTS,
	{0}};

static const struct bench_metric primary[] = {
	{"staging_time_ratio", "time_ratio", "engine_staged", "direction=local size=16M", "median", "", "lower"}, {0}};

#define PROOF_BYTES (64u << 10)

struct state {
	uint64_t size;
	char *incoming, *own, *staging, *result;
	float *sum; /* the tile that the result shall hold */
	struct dev_kernel *add, *copy;
	struct ceiling ceiling;
};

static struct state *state(const struct bench_case *c) { return c->state; }

static enum direction direction(const struct bench_case *c) { return (enum direction)bench_choice(c, "direction"); }

static int admit(const struct bench_case *c)
{
	if (direction(c) == PEER && c->devices->count < 2)
		return err_note(-ENODEV, "a chunk from a peer needs two devices, such as --device host:0,1");
	if (bench_number(c, "size") > dev_props(c->dev)->memory_bytes / 4)
		return err_note(-ENOMEM, "four buffers of this size exceed the device's free memory");
	return 0;
}

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	enum direction d = direction(c);
	struct dev *from = d == PEER ? c->devices->dev[1] : c->dev;
	float *incoming = tile_reals(c), *own = tile_reals(c);
	s->size = bench_number(c, "size");
	if (d == PEER)
		own_result(c, dev_peer_enable(c->dev, from));
	s->incoming = tile_memory(c, from, d == UP ? DEV_MEM_PINNED : DEV_MEM_DEVICE, s->size, incoming);
	s->own = tile_memory(c, c->dev, DEV_MEM_DEVICE, s->size, own);
	s->staging = own_memory(c, DEV_MEM_DEVICE, s->size);
	s->result = own_memory(c, DEV_MEM_DEVICE, s->size);
	s->add = own_kernel(c, "triad");
	s->copy = own_kernel(c, "copy");
	s->sum = own_host(c, TILE_BYTES);
	for (size_t i = 0; own_status(c) == 0 && i < TILE_WORDS; i++)
		s->sum[i] = own[i] + incoming[i];
	/* Whatever way the chunk takes, one's own and the result are in the device's memory. */
	return ceiling_open(&s->ceiling, c, CEILING, s->own, s->size, s->result, s->size);
}

static int add(struct bench_case *c, const char *arrived, uint64_t at, uint64_t bytes)
{
	struct state *s = state(c);
	const char *own = s->own + at;
	char *result = s->result + at;
	uint32_t reps = 1;
	float scale = 1.0f;
	const void *const args[] = {&result, &own, &arrived, &bytes, &reps, &scale};
	struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, s->add), .args = args};
	return dev_launch(c->dev, c->stream, s->add, &launch);
}

static int stage(struct bench_case *c, bool engine, uint64_t at, uint64_t bytes)
{
	struct state *s = state(c);
	const char *from = s->incoming + at;
	uint32_t reps = 1;
	const void *const args[] = {&s->staging, &from, &bytes, &reps};
	if (engine)
		return dev_copy(c->dev, c->stream, s->staging, from, bytes);
	struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, s->copy), .args = args};
	return dev_launch(c->dev, c->stream, s->copy, &launch);
}

/* Tiles share the beginning of the staging buffer. */
static int chunk(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	bool engine = variant == ENGINE || variant == ENGINE_16;
	uint64_t tiles = (uint64_t)variants[variant].param, bytes = s->size / tiles;
	int status = 0;
	if (variant == ON_ARRIVAL)
		return add(c, s->incoming, 0, s->size);
	for (uint64_t i = 0; status == 0 && i < tiles; i++) {
		status = stage(c, engine, i * bytes, bytes);
		if (status == 0)
			status = add(c, s->staging, i * bytes, bytes);
	}
	return status;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	int status = 0;
	if (variant >= CEILING)
		return ceiling_body(&state(c)->ceiling, c, variant, iterations);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = chunk(c, variant);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	m->bytes = (double)state(c)->size;
	if (variant >= CEILING)
		ceiling_model(&state(c)->ceiling, variant, m);
}

static int spoil(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	(void)variant;
	int status = dev_fill(c->dev, c->stream, s->result, 0xa5, s->size);
	return status ? status : dev_fill(c->dev, c->stream, s->staging, 0xa5, s->size);
}

static int check(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	return variant >= CEILING ? 0 : tile_check(c->dev, s->result, s->size, s->sum, 0.0f);
}

static int prove(struct bench_case *c)
{
	struct state *s = state(c);
	uint64_t bytes = s->size < PROOF_BYTES ? s->size : PROOF_BYTES, engines = 1u << ENGINE | 1u << ENGINE_16;
	return bench_variant_on(c, ENGINE) ? hold_prove_engine(c, engines, s->staging, s->incoming, bytes) : 0;
}

static int derive(struct bench_case *c)
{
	double size = (double)state(c)->size;
	int status = 0;
	for (unsigned v = ON_ARRIVAL; status == 0 && v < CEILING; v++) {
		if (!bench_variant_on(c, v))
			continue;
		bench_value(c, "moved_bytes", (int)v, (v == ON_ARRIVAL ? 3.0 : 5.0) * size, "byte",
		            "named traffic of a chunk of n bytes: on arrival 3 n, staged 5 n");
		/* However it is done, one's own is read and the result is written. */
		ceiling_bound(&state(c)->ceiling, c, v, 1.0, 1.0);
		if (v != ON_ARRIVAL)
			status = bench_ratio(c, "time_ratio", v, ON_ARRIVAL, "seconds(staged) / seconds(on_arrival); traffic says 5/3");
	}
	return status;
}

static const struct bench bench = {
	.name = "micro/reduce",
	.question = "reduction on arrival, or read-add-write?",
	.formula = "bandwidth = bytes that arrive, counted once, / median time; time_ratio = staged / on arrival",
	.timed = "chunks back to back in a stream filled beforehand; not enqueueing, allocation or checking",
	.limits = "the sum goes to a third buffer; a kernel adds, for no device here adds in its memory or its engines",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
	.axes = axes,
	.variant_option = "way",
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
