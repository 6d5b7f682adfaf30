/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is the bandwidth of memory and of each cache? Read, write, copy and triad over a growing
 * footprint, with every unit busy: the steps of the curve are the cache levels, its end is memory.
 *
 * Timed: kernel passes over buffers that were touched before, repeated inside the kernel so that a
 * small footprint does not measure the launch. Bandwidth counts every element that the program
 * reads or writes: read 1, write 1, copy 2, triad 3. Additional traffic of the hardware (a cache
 * line read before an ordinary store) is not counted; non-temporal stores avoid it.
 *
 * Copy and triad of a footprint that is memory, at least 16 last-level caches, are one pass a
 * launch, by one 16-byte vector a thread, on a device that is fastest so (dev_pass_blocks()): a GPU
 * starts blocks in the order of addresses, so all concurrent accesses are close together. All else
 * is done by one wave of blocks that drift apart: docs/method/micro.md.
 *
 * Where a unit divides memory between first-level cache and shared memory, regular and nontemporal
 * ask for cache; `regular_min_l1` is the bandwidth for kernels that claim shared memory.
 *
 *     bin/micro/memory --device host --op triad --footprint 64K:1G:x4
 */
#include "bench/pattern.h"
#include "bench/roofline.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

enum op { READ, WRITE, COPY, TRIAD };

static const char *const op_names[] = {"read", "write", "copy", "triad", NULL};
static const char *const kernel_names[][2] = {
	{"read", NULL}, {"write", "write_nt"}, {"copy", "copy_nt"}, {"triad", "triad_nt"}};
/* Over memory, with the grid of dev_pass_blocks(). Arguments are those above without `reps`. */
static const char *const once_names[][2] = {
	[COPY] = {"copy_once", "copy_once_nt"}, [TRIAD] = {"triad_once", "triad_once_nt"}};
static const unsigned arrays_of[] = {1, 1, 2, 3};

static const struct axis axes[] = {
	{"op", "operation of the kernel", AXIS_WORD, "read,write,copy,triad", .words = op_names},
	{"footprint", "bytes of all arrays together", AXIS_SIZE, "L1/2,L2/2,LLC/2,4LLC,16LLC",
	 "L1/4,L1/2,L1,L2/4,L2/2,L2,LLC/8,LLC/4,LLC/2,LLC,2LLC,4LLC,8LLC,16LLC", .min = 12288,
	 .octave = 5},
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"memory_bandwidth", BENCH_RATE, .unit = "byte/s"},
	{"llc_bandwidth", BENCH_RATE, .unit = "byte/s"},
	{0}};

static const struct bench_metric primary[] = {
	{"memory_read_bandwidth", "memory_bandwidth", "regular", "op=read footprint=16LLC"},
	{"memory_triad_bandwidth", "memory_bandwidth", "regular", "op=triad footprint=16LLC"},
	{"memory_triad_nt_bandwidth", "memory_bandwidth", "nontemporal",
	 "op=triad footprint=16LLC"},
	{"llc_read_bandwidth", "llc_bandwidth", NULL, "op=read footprint=LLC/2"},
	{"l1_read_bandwidth", "bandwidth", "regular", "op=read footprint=L1/2"},
	{0}};

/* A launch moves at least this much, so its start weighs little; more on a device with many threads
 * (roofline_reps()). */
#define LAUNCH_BYTES (UINT64_C(256) << 20)
#define MAX_L1_BYTES (UINT64_C(512) << 10) /* of a unit; none has more */
/* Last-level caches; a virtual machine may use several times the cache size that it reports. */
#define BEYOND_CACHE 16u

enum { REGULAR, NONTEMPORAL };

struct state {
	enum op op;
	uint64_t bytes; /* of one array */
	uint32_t reps, word;
	unsigned min_l1;      /* the variant with the smallest first-level cache */
	uint32_t once_blocks; /* the grid of kernels *_once; 0: those with `reps` are launched */
	float scale;
	char *array[3];               /* one after the other; the first one is written */
	uint32_t *sink, sums;         /* on the device, and how many passes were added to it */
	float *pattern[3], *result;   /* on the host: the contents of the arrays, and the expected
					 contents of the first one */
	struct dev_kernel *kernel[2]; /* regular, nontemporal */
};

static bool exceeds_caches(const struct bench_case *c)
{
	const uint64_t llc = dev_props(c->dev)->llc_bytes;
	return llc && axis_u64(c, "footprint") >= BEYOND_CACHE * llc;
}

static int admit(const struct bench_case *c)
{
	if (axis_u64(c, "footprint") > dev_props(c->dev)->memory_bytes / 2)
		return err_note(-ENOMEM, "footprint exceeds half of the device's free memory");
	return 0;
}

static void prepare_expected(struct bench_case *c)
{
	struct state *s = c->state;
	s->result = s->op == COPY ? s->pattern[1] : bench_alloc_host(c, PATTERN_BYTES);
	for (size_t i = 0; c->status == 0 && i < PATTERN_WORDS; i++) {
		if (s->op == WRITE)
			memcpy(&s->result[i], &s->word, sizeof(s->word));
		if (s->op == TRIAD)
			s->result[i] = s->pattern[1][i] + s->scale * s->pattern[2][i];
	}
}

static int poison_sum(struct bench_case *c)
{
	struct state *s = c->state;
	s->sums = 0;
	return dev_fill(c->dev, c->stream, s->sink, 0, sizeof(*s->sink));
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	s->op = (enum op)axis_index(c, "op");
	const unsigned arrays = arrays_of[s->op];
	s->bytes = axis_u64(c, "footprint") / arrays;
	s->bytes -= s->bytes % DEV_KERNEL_ALIGN;
	s->once_blocks = arrays > 1 && exceeds_caches(c) ? dev_pass_blocks(c->dev, s->bytes) : 0;
	const uint64_t pass_bytes = s->bytes * arrays;
	s->reps = s->once_blocks ? 1 : roofline_reps(c->dev, pass_bytes, LAUNCH_BYTES);
	s->word = (uint32_t)rng_u64(&c->rng);
	s->scale = 0.5f;
	s->sink = bench_alloc(c, DEV_MEM_DEVICE, 256);
	TRY(c->status, poison_sum(c));
	const char *const *names = s->once_blocks ? once_names[s->op] : kernel_names[s->op];
	s->kernel[REGULAR] = bench_kernel(c, names[REGULAR]);
	if (names[NONTEMPORAL])
		s->kernel[NONTEMPORAL] = bench_kernel(c, names[NONTEMPORAL]);
	else
		bench_variant_off(c, NONTEMPORAL);
	s->min_l1 = bench_variant(c, "regular_min_l1");
	if (!dev_can(c->dev, DEV_CAP_CARVEOUT) ||
	    pass_bytes > MAX_L1_BYTES * dev_props(c->dev)->units) {
		bench_variant_off(c, s->min_l1);
		s->min_l1 = REGULAR;
	}
	s->array[0] = bench_alloc(c, DEV_MEM_DEVICE, pass_bytes);
	for (unsigned i = 0; i < arrays; i++) {
		s->array[i] = s->array[0] + i * s->bytes;
		s->pattern[i] = pattern_reals(c);
		pattern_fill(c, c->dev, s->array[i], s->bytes, s->pattern[i]);
	}
	prepare_expected(c);
	if (arrays == 1)
		roofline_off(c);
	else
		roofline_open(c, s->array[1], s->bytes * (arrays - 1), s->array[0], s->bytes);
	return c->status;
}

static int launch_pass(struct bench_case *c, long kernel, bool prefer_cache)
{
	struct state *s = c->state;
	const uint32_t reps = bench_single_pass(c) ? 1 : s->reps;
	const void *const read_args[] = {&s->array[0], &s->bytes, &reps, &s->sink};
	const void *const write_args[] = {&s->array[0], &s->bytes, &reps, &s->word};
	const void *const copy_args[] = {&s->array[0], &s->array[1], &s->bytes, &reps};
	const void *const triad_args[] = {&s->array[0], &s->array[1], &s->array[2],
					  &s->bytes,    &reps,        &s->scale};
	const void *const triad_once_args[] = {&s->array[0], &s->array[1], &s->array[2], &s->bytes,
					       &s->scale};
	const void *const *const args[] = {read_args, write_args, copy_args,
					   s->once_blocks ? triad_once_args : triad_args};
	const struct dev_launch launch = {
		.grid = s->once_blocks ? s->once_blocks
				       : dev_wave_blocks(c->dev, s->kernel[kernel]),
		.args = args[s->op],
		.prefer_cache = prefer_cache};
	s->sums++;
	return dev_launch(c->dev, c->stream, s->kernel[kernel], &launch);
}

static int launch_cached(struct bench_case *c, long kernel) { return launch_pass(c, kernel, true); }

static int launch_uncached(struct bench_case *c, long kernel)
{
	return launch_pass(c, kernel, false);
}

static void model(const struct bench_case *c, long kernel, struct bench_model *m)
{
	const struct state *s = c->state;
	m->bytes = (double)s->bytes * arrays_of[s->op] * s->reps;
}

static int poison(struct bench_case *c, long kernel)
{
	struct state *s = c->state;
	return s->op == READ ? poison_sum(c)
			     : dev_fill(c->dev, c->stream, s->array[0], 0xa5, s->bytes);
}

/* Every execution since the last poison has added its sum, so all of them are checked. */
static int check_sum(struct bench_case *c)
{
	struct state *s = c->state;
	uint32_t found = 0, expected = s->sums * pattern_sum(s->pattern[0], s->bytes);
	int status = dev_download(c->dev, &found, s->sink, sizeof(found));
	if (status == 0 && found != expected)
		return bench_wrong("%u sums of all words give %u, not %u", s->sums, found,
				   expected);
	return status;
}

/* The device may round triad once (fused multiply-add) or twice. */
static int check(struct bench_case *c, long kernel)
{
	struct state *s = c->state;
	return s->op == READ ? check_sum(c)
			     : pattern_check(c, c->dev, s->array[0], s->bytes, s->result,
					     s->op == TRIAD ? 1e-6f : 0.0f);
}

static const struct bench_variant variants[] = {
	[REGULAR] = {"regular", BENCH_DEVICE, .arg = REGULAR, .once = launch_cached},
	[NONTEMPORAL] = {"nontemporal", BENCH_DEVICE, .arg = NONTEMPORAL, .once = launch_cached},
	ROOFLINE_VARIANTS,
	{"regular_min_l1", BENCH_DEVICE, .arg = REGULAR, .once = launch_uncached},
	{0}};

static int derive(struct bench_case *c)
{
	const struct state *s = c->state;
	const double accesses = arrays_of[s->op], written = 1.0 / accesses;
	bench_fact_number(c, "passes", s->reps);
	const struct bench_quantity rate = {BENCH_RATE, .of = {BENCH_OF(s->min_l1)},
					    .unit = "byte/s",
					    .factor = (double)s->bytes * accesses * s->reps};
	/* The bound is measured with the smallest first-level cache. */
	roofline_bound(c, s->min_l1, 1.0 - written, written, true);
	if (s->min_l1 == REGULAR)
		roofline_bound(c, NONTEMPORAL, 1.0 - written, written, true);
	for (unsigned v = 0; v < bench_variants(c) && exceeds_caches(c); v++) {
		if (variants[v].once != launch_cached)
			continue;
		bench_alias(c, "bandwidth", (int)v, "memory_bandwidth",
			    "bytes / median_s, footprint at least 16 last-level caches");
		bench_nominal(c, "memory_bandwidth", (int)v,
			      dev_props(c->dev)->nominal.memory_bandwidth, true);
	}
	/* All first-level caches together may hold half of the last-level cache. */
	if (axis_u64(c, "footprint") == dev_props(c->dev)->llc_bytes / 2)
		TRY(c->status, bench_derive(c, "llc_bandwidth", -1, &rate,
					    "bytes / median_s with the smallest L1"));
	return bench_ratio(c, "nontemporal_time_ratio", NONTEMPORAL, REGULAR, NULL);
}

static const struct bench bench = {
	.name = "micro/memory",
	.question = "what is the bandwidth of memory and caches?",
	.formula = "bandwidth = bytes of all array accesses / median time; per element read 1, "
		   "write 1, copy 2, triad 3; byte/s",
	.timed = "kernel passes on every unit over touched buffers, so many or so long that the "
		 "launch is negligible; not allocation",
	.limits = "lines read before ordinary stores are not counted; a footprint between levels "
		  "shows a mix; only copy, triad and memory_bandwidth have bounds",
	.share = 1.5,
	.axes = axes,
	.variant_option = "stores",
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.cliff = {"footprint", "bandwidth", "regular", "op=read"},
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.model = model,
	.poison = poison,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
