/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is reducing data on arrival faster than staging and adding it? A chunk arrives and is added to
 * the local chunk. On arrival the adding kernel reads it directly from its source; staged, it is
 * first copied to a buffer, then read again and added. T3 (arXiv 2401.16677) adds in hardware as
 * data arrives; this measures how far software can avoid the same traffic.
 *
 * Timed: one chunk after the other, back to back in a stream that was filled before it was
 * released. Traffic per byte that arrives: on arrival the chunk is read, the local one is read, the
 * result is written, 3; staged, the chunk is written and read once more, 5. If a staged chunk is
 * cut into pieces, each piece is still in the cache when it is added. local is within the device,
 * up from the host, peer from the second device of --device.
 *
 *     bin/micro/reduce --device host --direction local --size 1M,64M
 */
#include "bench/bench_expect.h"
#include "bench/blocking_kernel.h"
#include "bench/roofline.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>

enum direction { LOCAL, UP, PEER };
enum { ON_ARRIVAL, ENGINE, KERNEL, ENGINE_16, KERNEL_16 };

static const char *const directions[] = {"local", "up", "peer", NULL};

static const struct axis axes[] = {{.name = "direction",
				    .help = "local (D2D), up (H2D), peer (P2P)",
				    .kind = AXIS_WORD,
				    .words = directions,
				    .quick = "local,up",
				    .full = "local,up,peer"},
				   {.name = "size",
				    .help = "bytes of the chunk",
				    .kind = AXIS_SIZE,
				    .min = 4096,
				    .multiple = 4096,
				    .quick = "64K,1M,16M,64M",
				    .full = "4K:256M:x4",
				    .simulated = "64K,1M,16M",
				    .gpu_class = "1M,16M,64M,256M",
				    .gpu_class_full = "64K:1G:x4"},
				   {0}};

#define ENGINES (1u << ENGINE | 1u << ENGINE_16)

struct state {
	uint64_t size;
	char *incoming, *local, *staging, *result;
	struct dev_kernel *add, *copy;
};

static enum direction case_direction(const struct bench_case *c)
{
	return (enum direction)axis_index(c, "direction");
}

static int admit(const struct bench_case *c)
{
	if (case_direction(c) == PEER && c->devices->count < 2)
		return err_note(-ENODEV,
				"a chunk from a peer needs two devices, such as --device host:0,1");
	if (axis_u64(c, "size") > dev_props(c->dev)->memory_bytes / 4)
		return err_note(-ENOMEM,
				"four buffers of this size exceed the device's free memory");
	return 0;
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	enum direction d = case_direction(c);
	struct dev *from = d == PEER ? c->devices->dev[1] : c->dev;
	float *incoming = pattern_reals(c), *local = pattern_reals(c);
	s->size = axis_u64(c, "size");
	if (d == PEER)
		TRY(c->status, dev_peer_enable(c->dev, from));
	s->incoming = pattern_alloc(c, from, d == UP ? DEV_MEM_PINNED : DEV_MEM_DEVICE, s->size,
				    incoming);
	s->local = pattern_alloc(c, c->dev, DEV_MEM_DEVICE, s->size, local);
	s->staging = bench_alloc(c, DEV_MEM_DEVICE, s->size);
	s->result = bench_alloc(c, DEV_MEM_DEVICE, s->size);
	s->add = bench_kernel(c, "triad");
	s->copy = bench_kernel(c, "copy");
	TRY(c->status,
	    blocking_kernel_need_local_engine(c, ENGINES, s->staging, s->incoming, s->size));
	float *sum = bench_alloc_host(c, PATTERN_BYTES);
	for (size_t i = 0; c->status == 0 && i < PATTERN_WORDS; i++)
		sum[i] = local[i] + incoming[i];
	bench_expect(c, BENCH_ALL, c->dev, s->result, s->size, sum, 0.0f);
	bench_expect(c, BENCH_ALL, c->dev, s->staging, s->size, NULL, 0.0f);
	/* In all variants the local chunk and the result are in the device's memory. */
	return roofline_open(c, s->local, s->size, s->result, s->size);
}

static int launch_add(struct bench_case *c, const char *arrived, uint64_t at, uint64_t bytes)
{
	struct state *s = c->state;
	const char *local = s->local + at;
	char *result = s->result + at;
	uint32_t reps = 1;
	float scale = 1.0f;
	const void *const args[] = {&result, &local, &arrived, &bytes, &reps, &scale};
	struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, s->add), .args = args};
	return dev_launch(c->dev, c->stream, s->add, &launch);
}

static int launch_copy(struct bench_case *c, const char *from, uint64_t bytes)
{
	struct state *s = c->state;
	uint32_t reps = 1;
	const void *const args[] = {&s->staging, &from, &bytes, &reps};
	struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, s->copy), .args = args};
	return dev_launch(c->dev, c->stream, s->copy, &launch);
}

static int add_on_arrival(struct bench_case *c, long arg)
{
	const struct state *s = c->state;
	return launch_add(c, s->incoming, 0, s->size);
}

/* All pieces use the beginning of the staging buffer. */
static int stage_by_engine(struct bench_case *c, long pieces)
{
	const struct state *s = c->state;
	const uint64_t bytes = s->size / (uint64_t)pieces;
	for (uint64_t at = 0; at + bytes <= s->size; at += bytes) {
		TRY(c->status, dev_copy(c->dev, c->stream, s->staging, s->incoming + at, bytes));
		TRY(c->status, launch_add(c, s->staging, at, bytes));
	}
	return c->status;
}

static int stage_by_kernel(struct bench_case *c, long pieces)
{
	const struct state *s = c->state;
	const uint64_t bytes = s->size / (uint64_t)pieces;
	for (uint64_t at = 0; at + bytes <= s->size; at += bytes) {
		TRY(c->status, launch_copy(c, s->incoming + at, bytes));
		TRY(c->status, launch_add(c, s->staging, at, bytes));
	}
	return c->status;
}

static const struct bench_variant variants[] = {
	[ON_ARRIVAL] = {"on_arrival", BENCH_DEVICE, .arg = 1, .once = add_on_arrival},
	[ENGINE] = {"engine_staged", BENCH_DEVICE, .arg = 1, .once = stage_by_engine, .queued = 2,
		    .needs = DEV_CAP_COPY_ENGINE},
	[KERNEL] = {"kernel_staged", BENCH_DEVICE, .arg = 1, .once = stage_by_kernel, .queued = 2},
	[ENGINE_16] = {"engine_staged_16", BENCH_DEVICE, .arg = 16, .once = stage_by_engine,
		       .queued = 32, .needs = DEV_CAP_COPY_ENGINE},
	[KERNEL_16] = {"kernel_staged_16", BENCH_DEVICE, .arg = 16, .once = stage_by_kernel,
		       .queued = 32},
	ROOFLINE_VARIANTS,
	{0}};

static int verify_mechanism(struct bench_case *c)
{
	const struct state *s = c->state;
	TRY(c->status,
	    blocking_kernel_verify_engine(c, 1u << ENGINE, s->staging, s->incoming, s->size));
	return TRY(c->status, blocking_kernel_verify_engine(c, 1u << ENGINE_16, s->staging,
							    s->incoming, s->size / 16));
}

static int derive(struct bench_case *c)
{
	const double size = (double)axis_u64(c, "size");
	for (unsigned v = 0; !variants[v].reference; v++) {
		if (!bench_variant_on(c, v))
			continue;
		bench_model_value(c, "moved_bytes", (int)v,
				  (variants[v].once == add_on_arrival ? 3.0 : 5.0) * size, "byte",
				  "traffic of a chunk of n bytes: on arrival 3 n, staged 5 n");
		/* All variants read the local chunk and write the result. */
		roofline_bound(c, v, 1.0, 1.0, true);
	}
	return c->status;
}

static const struct bench_quantity_row quantities[] = {
	{"time_ratio", BENCH_RATIO, NULL, "on_arrival",
	 "seconds(staged) / seconds(on_arrival); traffic alone gives 5/3"},
	{0}};

static const struct bench_metric primary[] = {
	{"staging_time_ratio", "time_ratio", "engine_staged", "direction=local size=16M"},
	{"kernel_staging_time_ratio", "time_ratio", "kernel_staged", "direction=local size=16M"},
	{0}};

static const struct bench bench = {
	.name = "micro/reduce",
	.question = "is reduction on arrival faster than staging?",
	.formula = "bandwidth = bytes that arrive, counted once, / median time; time_ratio = "
		   "staged / on arrival",
	.timed = "chunks back to back in a stream filled beforehand; not enqueueing, allocation or "
		 "checking",
	.limits = "the sum goes to a third buffer; a kernel adds, because no supported device adds "
		  "in its "
		  "memory or its copy engines",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
	.axes = axes,
	.variant_option = "method",
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.bytes = "size",
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
