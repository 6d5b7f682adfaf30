/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can memory deliver? Read, write, copy and triad over a growing footprint, every unit busy: the steps of
 * the curve are the cache levels, its end is memory.
 *
 * Timed: kernel passes over buffers that were touched before, repeated inside the kernel so that a small
 * footprint is not a measurement of the launch. Bandwidth counts every byte the program names: read 1, write 1,
 * copy 2, triad 3 per element. What the hardware moves on top (a cache line read before an ordinary store) is not
 * counted; non-temporal stores avoid it, which is why they are a variant of their own.
 *
 * Where a unit divides memory between first-level cache and shared memory, regular_max_l1 asks for cache, and all others for
 * shared memory, as all programs do: regular is what a kernel finds beside one that claims it.
 *
 *     bin/micro/memory --device host --op triad --footprint 64K:1G:x4
 */
#include "device/kernels.h"
#include "lib/bench_ceiling.h"
#include "lib/bench_tile.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

enum op { READ, WRITE, COPY, TRIAD };

static const char *const op_names[] = {"read", "write", "copy", "triad", NULL};
static const char *const kernel_names[][2] = {
	{"read", NULL}, {"write", "write_nt"}, {"copy", "copy_nt"}, {"triad", "triad_nt"}};
static const unsigned arrays_of[] = {1, 1, 2, 3};

static const struct axis axes[] = {
	{.name = "op", .help = "what the kernel does", .kind = AXIS_WORD, .words = op_names,
	 .quick = "read,write,copy,triad"},
	{.name = "footprint", .help = "bytes of all arrays together", .kind = AXIS_SIZE, .min = 12288,
	 .quick = "L1/2,L2/2,LLC/2,4LLC,16LLC",
	 .full = "L1/4,L1/2,L1,L2/4,L2/2,L2,LLC/8,LLC/4,LLC/2,LLC,2LLC,4LLC,8LLC,16LLC"},
	{0}};

static const struct bench_variant variants[] = {
	{.name = "regular", .timing = BENCH_DEVICE}, {.name = "nontemporal", .timing = BENCH_DEVICE}, CEILING_VARIANTS,
	{.name = "regular_max_l1", .timing = BENCH_DEVICE}, {0}};
enum { REGULAR, NONTEMPORAL, CEILING, MAX_L1 = sizeof(variants) / sizeof(variants[0]) - 2 };

static const struct bench_metric primary[] = {
	{"memory_read_bandwidth", "memory_bandwidth", NULL, "op=read", "max", "byte/s", "higher"},
	{"memory_triad_bandwidth", "memory_bandwidth", NULL, "op=triad", "max", "byte/s", "higher"},
	{"best_read_bandwidth", "bandwidth", "regular", "op=read", "max", "byte/s", "higher"},
	{0}};

/* A launch moves at least this much, so that starting it does not count; more on a device with many threads. */
#define LAUNCH_BYTES (UINT64_C(256) << 20)
/* Of a unit; none has a larger first-level cache. */
#define L1_AT_MOST (UINT64_C(512) << 10)
/* Footprints from here on, in last-level caches, are said to show memory: a virtual machine may be given a part of a cache
 * that is several times what it is told. */
#define BEYOND_CACHE 16u

struct state {
	enum op op;
	uint64_t bytes; /* of one array */
	uint32_t reps, word;
	float scale;
	char *array[3]; /* one after the other; the one written comes first */
	uint32_t *sink;
	float *tile[3], *result; /* on the host: what the arrays hold, and what the first one shall hold afterwards */
	struct dev_kernel *kernel[CEILING]; /* regular, nontemporal */
	struct ceiling ceiling;
};

static struct state *state(const struct bench_case *c) { return c->state; }

static int admit(const struct bench_case *c)
{
	if (bench_number(c, "footprint") > dev_props(c->dev)->memory_bytes / 2)
		return err_note(-ENOMEM, "this is more than half of the device's free memory");
	return 0;
}

static void expect(struct bench_case *c)
{
	struct state *s = state(c);
	s->result = s->op == COPY ? s->tile[1] : own_host(c, TILE_BYTES);
	for (size_t i = 0; own_status(c) == 0 && i < TILE_WORDS; i++) {
		if (s->op == WRITE)
			memcpy(&s->result[i], &s->word, sizeof(s->word));
		if (s->op == TRIAD)
			s->result[i] = s->tile[1][i] + s->scale * s->tile[2][i];
	}
}

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	s->op = (enum op)bench_choice(c, "op");
	s->bytes = bench_number(c, "footprint") / arrays_of[s->op];
	s->bytes -= s->bytes % DEV_KERNEL_ALIGN;
	uint64_t least = ceiling_launch_bytes(c->dev);
	s->reps = (uint32_t)((least > LAUNCH_BYTES ? least : LAUNCH_BYTES) / (s->bytes * arrays_of[s->op]) + 1);
	s->word = (uint32_t)rng_u64(&c->rng);
	s->scale = 0.5f;
	s->sink = own_memory(c, DEV_MEM_DEVICE, 256);
	for (unsigned v = 0; v < 2; v++) {
		if (kernel_names[s->op][v])
			s->kernel[v] = own_kernel(c, kernel_names[s->op][v]);
		else
			bench_variant_off(c, v);
	}
	if (!dev_can(c->dev, DEV_CAP_CARVEOUT) || bench_number(c, "footprint") > L1_AT_MOST * dev_props(c->dev)->units)
		bench_variant_off(c, MAX_L1);
	s->array[0] = own_memory(c, DEV_MEM_DEVICE, s->bytes * arrays_of[s->op]);
	for (unsigned i = 0; i < arrays_of[s->op]; i++) {
		s->array[i] = s->array[0] + i * s->bytes;
		s->tile[i] = tile_reals(c);
		tile_fill(c, c->dev, s->array[i], s->bytes, s->tile[i]);
	}
	expect(c);
	if (arrays_of[s->op] == 1)
		ceiling_off(&s->ceiling, c, CEILING);
	else
		ceiling_open(&s->ceiling, c, CEILING, s->array[1], s->bytes * (arrays_of[s->op] - 1), s->array[0], s->bytes);
	return own_status(c);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = state(c);
	const void *const read_args[] = {&s->array[0], &s->bytes, &s->reps, &s->sink};
	const void *const write_args[] = {&s->array[0], &s->bytes, &s->reps, &s->word};
	const void *const copy_args[] = {&s->array[0], &s->array[1], &s->bytes, &s->reps};
	const void *const triad_args[] = {&s->array[0], &s->array[1], &s->array[2], &s->bytes, &s->reps, &s->scale};
	const void *const *const args[] = {read_args, write_args, copy_args, triad_args};
	int status = 0;
	if (ceiling_is(&s->ceiling, variant))
		return ceiling_body(&s->ceiling, c, variant, iterations);
	struct dev_kernel *kernel = s->kernel[variant == NONTEMPORAL ? NONTEMPORAL : REGULAR];
	struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, kernel), .args = args[s->op], .prefer_cache = variant == MAX_L1};
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = dev_launch(c->dev, c->stream, kernel, &launch);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct state *s = state(c);
	if (ceiling_is(&s->ceiling, variant))
		ceiling_model(&s->ceiling, variant, m);
	else
		m->bytes = (double)s->bytes * arrays_of[s->op] * s->reps;
}

static int spoil(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	(void)variant;
	return s->op == READ ? dev_fill(c->dev, c->stream, s->sink, 0, sizeof(*s->sink))
	                     : dev_fill(c->dev, c->stream, s->array[0], 0xa5, s->bytes);
}

static int check_sum(struct bench_case *c)
{
	struct state *s = state(c);
	uint32_t found = 0, expected = tile_sum(s->tile[0], s->bytes);
	int status = dev_download(c->dev, &found, s->sink, sizeof(found));
	if (status == 0 && found != expected)
		return bench_wrong("sum of all words is %u, not %u", found, expected);
	return status;
}

/* The device may fuse triad's two roundings. */
static int check(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	if (ceiling_is(&s->ceiling, variant))
		return 0;
	if (s->op == READ)
		return check_sum(c);
	return tile_check(c->dev, s->array[0], s->bytes, s->result, s->op == TRIAD ? 1e-6f : 0.0f);
}

static int derive(struct bench_case *c)
{
	const struct state *s = state(c);
	uint64_t llc = dev_props(c->dev)->llc_bytes;
	double written = 1.0 / arrays_of[s->op];
	/* Their bound is measured with the cache that they have; regular_max_l1 has more. */
	for (unsigned v = 0; v < CEILING; v++) {
		ceiling_bound(&s->ceiling, c, v, 1.0 - written, written);
		if (llc && bench_number(c, "footprint") >= BEYOND_CACHE * llc)
			bench_alias(c, "bandwidth", (int)v, "memory_bandwidth",
			            "bytes / median_s, footprint at least 16 last-level caches");
	}
	return bench_ratio(c, "nontemporal_time_ratio", 1, 0, "seconds(nontemporal) / seconds(regular)");
}

static const struct bench bench = {
	.name = "micro/memory",
	.question = "what can memory and the caches deliver?",
	.formula = "bandwidth = bytes the program names / median time; per element read 1, write 1, copy 2, triad 3; byte/s",
	.timed = "kernel passes on every unit over touched buffers; not allocation, not the launch (passes repeat inside)",
	.limits = "lines read before ordinary stores are not counted; a footprint between levels shows a mix; "
	          "nothing measured bounds reading alone or writing alone, which bound copy and triad",
	.share = 1.5,
	.axes = axes,
	.variant_option = "stores",
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.spoil = spoil,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
