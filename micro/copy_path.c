/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Engine or kernel: which way should bytes go? The same copy through a copy engine and through kernels with a growing
 * number of blocks, one way and both ways at once, whole and cut into pieces.
 *
 * Timed: copies back to back in a stream that was filled before it was released, so enqueueing costs nothing.
 * Bandwidth counts the bytes of the copy once (they are read once and written once); both_ways counts both copies.
 * up is host to device, down device to host, local within the device, peer to the second device of --device.
 *
 *     bin/micro/copy_path --device host --direction up,local --size 4K:256M:x4 --path engine,kernel
 */
#include "device/kernels.h"
#include "lib/bench.h"
#include "lib/bench_hold.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	{.name = "kernel_2", .timing = BENCH_DEVICE, .param = 2},
	{.name = "kernel_4", .timing = BENCH_DEVICE, .param = 4},
	{.name = "kernel_8", .timing = BENCH_DEVICE, .param = 8},
	{.name = "kernel_16", .timing = BENCH_DEVICE, .param = 16},
	{.name = "kernel_32", .timing = BENCH_DEVICE, .param = 32},
	{.name = "kernel_64", .timing = BENCH_DEVICE, .param = 64},
	{.name = "kernel_128", .timing = BENCH_DEVICE, .param = 128},
	{0}};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) - 1 };

static const struct axis axes[] = {
	{.name = "direction", .help = "from where to where", .kind = AXIS_WORD, .words = directions,
	 .quick = "up,down,local", .full = "up,down,local,peer"},
	{.name = "size", .help = "bytes of one copy", .kind = AXIS_SIZE, .min = 4096, .multiple = 4096,
	 .quick = "4K:64M:x16,64M", .full = "4K:256M:x2"},
	{0}};

static const struct bench_metric primary[] = {
	{"engine_copy_bandwidth", "bandwidth", "engine", "direction=local", "max", "byte/s", "higher"},
	{"kernel_copy_bandwidth", "bandwidth", "kernel_nt", "direction=local", "max", "byte/s", "higher"},
	{"engine_copy_latency", "time", "engine", "direction=up", "min", "s", "lower"},
	{0}};

/* Random bytes repeat after this many: filling gigabytes would take longer than measuring them. */
#define TILE_BYTES (1u << 20)
#define PROOF_BYTES (64u << 10)
#define PROOF_TIMEOUT_NS UINT64_C(300000000)

struct end {
	struct dev *dev;
	enum dev_mem kind;
	void *ptr;
};

struct state {
	uint64_t size;
	struct end from, to;     /* of the copy measured */
	struct end back_from, back_to; /* of the copy that runs against it */
	struct dev_stream *back;
	struct dev_event *fork, *join;
	struct dev_kernel *copy, *copy_nt;
	unsigned char *tile, *read;
};

static struct state *state(const struct bench_case *c) { return c->state; }

static enum direction direction(const struct bench_case *c)
{
	unsigned d = 0;
	while (directions[d] != bench_word(c, "direction"))
		d++;
	return (enum direction)d;
}

static int admit(const struct bench_case *c)
{
	if (direction(c) == PEER && c->devices->count < 2)
		return err_note(-ENODEV, "a peer copy needs two devices, such as --device host:0,1");
	if (bench_number(c, "size") > dev_props(c->dev)->memory_bytes / 4)
		return err_note(-ENOMEM, "four buffers of this size exceed the device's free memory");
	return 0;
}

static uint64_t tile_at(const struct state *s, uint64_t at)
{
	return s->size - at < TILE_BYTES ? s->size - at : TILE_BYTES;
}

static int open_end(struct bench_case *c, struct end *end, bool filled)
{
	struct state *s = state(c);
	int status = dev_alloc(end->dev, end->kind, s->size, &end->ptr);
	for (uint64_t at = 0; status == 0 && filled && at < s->size; at += TILE_BYTES)
		status = dev_upload(end->dev, (char *)end->ptr + at, s->tile, tile_at(s, at));
	return status;
}

static int open_streams(struct bench_case *c)
{
	struct state *s = state(c);
	int status = dev_stream_open(c->dev, dev_props(c->dev)->priority_normal, &s->back);
	if (status == 0)
		status = dev_event_open(c->dev, &s->fork);
	if (status == 0)
		status = dev_event_open(c->dev, &s->join);
	if (status == 0)
		status = dev_kernel_find(c->dev, "copy", &s->copy);
	return status ? status : dev_kernel_find(c->dev, "copy_nt", &s->copy_nt);
}

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	enum direction d = direction(c);
	struct end here = {.dev = c->dev, .kind = DEV_MEM_DEVICE};
	struct end host = {.dev = c->dev, .kind = DEV_MEM_PINNED};
	struct end there = {.dev = c->devices->dev[c->devices->count - 1], .kind = DEV_MEM_DEVICE};
	s->size = bench_number(c, "size");
	s->from = d == UP ? host : here;
	s->to = d == DOWN ? host : d == PEER ? there : here;
	s->back_from = s->to;
	s->back_to = s->from;
	s->tile = malloc(TILE_BYTES);
	s->read = malloc(TILE_BYTES);
	if (!s->tile || !s->read)
		return err_note(-ENOMEM, "tile: out of memory");
	rng_fill_u32(&c->rng, (uint32_t *)(void *)s->tile, TILE_BYTES / 4);
	for (unsigned v = KERNEL_1; v < VARIANTS; v++)
		if ((uint64_t)variants[v].param > dev_props(c->dev)->busy_blocks)
			bench_variant_off(c, v);
	int status = d == PEER ? dev_peer_enable(c->dev, there.dev) : 0;
	if (status == 0)
		status = open_end(c, &s->from, true);
	if (status == 0)
		status = open_end(c, &s->to, false);
	if (status == 0)
		status = open_end(c, &s->back_from, true);
	if (status == 0)
		status = open_end(c, &s->back_to, false);
	return status ? status : open_streams(c);
}

static int engine_copy(struct bench_case *c, uint64_t pieces)
{
	struct state *s = state(c);
	uint64_t each = s->size / pieces;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < pieces; i++)
		status = dev_copy(c->dev, c->stream, (char *)s->to.ptr + i * each, (const char *)s->from.ptr + i * each, each);
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
	int status = dev_event_record(c->dev, c->stream, s->fork);
	if (status == 0)
		status = dev_stream_wait(c->dev, s->back, s->fork);
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = engine_copy(c, 1);
		if (status == 0)
			status = dev_copy(c->dev, s->back, s->back_to.ptr, s->back_from.ptr, s->size);
	}
	if (status == 0)
		status = dev_event_record(c->dev, s->back, s->join);
	return status ? status : dev_stream_wait(c->dev, c->stream, s->join);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	int status = 0;
	if (variant == BOTH_WAYS)
		return both_ways(c, iterations);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = variant < KERNEL ? engine_copy(c, (uint64_t)variants[variant].param) : kernel_copy(c, variant);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	m->bytes = (double)state(c)->size * (variant == BOTH_WAYS ? 2.0 : 1.0);
}

static int spoil(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	int status = dev_fill(c->dev, c->stream, s->to.ptr, 0xa5, s->size);
	if (status == 0 && variant == BOTH_WAYS)
		status = dev_fill(c->dev, c->stream, s->back_to.ptr, 0xa5, s->size);
	return status ? status : dev_stream_sync(c->dev, c->stream);
}

static int check_end(struct bench_case *c, const struct end *end)
{
	struct state *s = state(c);
	for (uint64_t at = 0; at < s->size; at += TILE_BYTES) {
		int status = dev_download(end->dev, s->read, (const char *)end->ptr + at, tile_at(s, at));
		if (status)
			return status;
		if (memcmp(s->read, s->tile, tile_at(s, at)) != 0)
			return bench_wrong("bytes differ within %u from offset %llu", TILE_BYTES, (unsigned long long)at);
	}
	return 0;
}

static int check(struct bench_case *c, unsigned variant)
{
	int status = check_end(c, &state(c)->to);
	return status == 0 && variant == BOTH_WAYS ? check_end(c, &state(c)->back_to) : status;
}

/* An engine is what copies while no unit is free: every slot is held, a copy completes, and the holders are still there. */
static int prove(struct bench_case *c)
{
	struct state *s = state(c);
	const struct dev_props *p = dev_props(c->dev);
	uint32_t slots = p->units * p->slots_per_unit, arrived = 0, timed_out = 0;
	struct hold hold;
	if (!dev_can(c->dev, DEV_CAP_COPY_ENGINE | DEV_CAP_WAIT_VALUE) || !bench_variant_on(c, ENGINE))
		return 0;
	int status = hold_open(&hold, c->dev, slots);
	if (status == 0)
		status = hold_start(&hold, slots, 0, PROOF_TIMEOUT_NS);
	if (status == 0) {
		uint64_t bytes = s->size < PROOF_BYTES ? s->size : PROOF_BYTES;
		status = hold_settle(&hold, slots, PROOF_TIMEOUT_NS / 4, &arrived);
		int copied = dev_copy(c->dev, c->stream, s->to.ptr, s->from.ptr, bytes);
		int synced = dev_stream_sync(c->dev, c->stream);
		int released = hold_release(&hold, &timed_out);
		status = status ? status : copied ? copied : synced ? synced : released;
	}
	hold_close(&hold);
	if (status == 0)
		bench_mechanism(c, "engine_copies_while_units_are_held", arrived == slots && timed_out == 0,
		                "%u of %u slots held, %u gave up before the copy was done", arrived, slots, timed_out);
	return status;
}

static int derive(struct bench_case *c)
{
	int status = bench_ratio(c, "kernel_time_ratio", KERNEL, ENGINE, "seconds(kernel) / seconds(engine)");
	if (status == 0)
		status = bench_ratio(c, "kernel_time_ratio", KERNEL_NT, ENGINE, "seconds(kernel_nt) / seconds(engine)");
	if (status == 0)
		status = bench_ratio(c, "both_ways_time_ratio", BOTH_WAYS, ENGINE, "seconds(both_ways) / seconds(engine)");
	if (status == 0)
		status = bench_ratio(c, "DIL", SPLIT_4, ENGINE, "seconds(4 pieces) / seconds(whole)");
	return status ? status : bench_ratio(c, "DIL", SPLIT_16, ENGINE, "seconds(16 pieces) / seconds(whole)");
}

static void close_end(struct end *end)
{
	if (end->dev)
		dev_free(end->dev, end->ptr);
}

static void teardown(struct bench_case *c)
{
	struct state *s = state(c);
	if (s->back)
		dev_stream_sync(c->dev, s->back);
	close_end(&s->from);
	close_end(&s->to);
	close_end(&s->back_from);
	close_end(&s->back_to);
	dev_event_close(c->dev, s->fork);
	dev_event_close(c->dev, s->join);
	dev_stream_close(c->dev, s->back);
	free(s->tile);
	free(s->read);
}

static const struct bench bench = {
	.name = "micro/copy_path",
	.question = "engine or kernel: which way should bytes go?",
	.formula = "bandwidth = bytes of the copy, counted once, / median time; byte/s",
	.timed = "copies back to back in a stream filled beforehand; not enqueueing, allocation or checking",
	.limits = "buffers are reused, so a copy that fits in a cache is served from it",
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
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
