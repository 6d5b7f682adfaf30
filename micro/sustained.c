/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What memory bandwidth is sustained under continuous load, and at what energy per byte? Samples
 * take milliseconds; memory that is busy for minutes heats up, is refreshed more often, and may
 * share its power with the units.
 *
 * After the samples, triad passes over memory follow each other for two seconds, or for --minutes
 * (bench/train.h). The second half gives sustained_bandwidth. Bytes are those that the program
 * reads or writes, three of every element; non-temporal stores, so that the hardware moves no
 * others.
 *
 * Timed: kernel passes over touched buffers, between events on the device.
 *
 *     bin/micro/sustained --device cuda --minutes 10
 */
#include "bench/pattern.h"
#include "bench/roofline.h"
#include "bench/train.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>

#define ARRAYS 3u
/* A launch moves at least this much, so its start weighs little. */
#define LAUNCH_BYTES (UINT64_C(256) << 20)

static const struct axis axes[] = {
	{"footprint", "bytes of the three arrays together", AXIS_SIZE, "16LLC", .min = 12288},
	TRAIN_MINUTES,
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"sustained_bandwidth", BENCH_OBSERVED, .unit = "byte/s"}, {0}};

static const struct bench_metric primary[] = {
	{"memory_sustained_triad_bandwidth", "sustained_bandwidth", "triad", "minutes=0"}, {0}};

enum { TRIAD };
static const struct bench_variant variants[] = {[TRIAD] = {"triad", BENCH_DEVICE}, {0}};

struct state {
	uint64_t bytes;             /* of one array */
	uint32_t reps, once_blocks; /* the grid of the kernel without reps; 0: that with them */
	float scale;
	char *array[ARRAYS];             /* the first one is written */
	float *pattern[ARRAYS], *result; /* on the host */
	struct dev_kernel *kernel;
	struct train train;
};

static int admit(const struct bench_case *c)
{
	if (axis_u64(c, "footprint") > dev_props(c->dev)->memory_bytes / 2)
		return err_note(-ENOMEM, "footprint exceeds half of the device's free memory");
	return 0;
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	s->bytes = axis_u64(c, "footprint") / ARRAYS;
	s->bytes -= s->bytes % DEV_KERNEL_ALIGN;
	s->once_blocks = dev_pass_blocks(c->dev, s->bytes);
	s->reps = s->once_blocks ? 1 : roofline_reps(c->dev, s->bytes * ARRAYS, LAUNCH_BYTES);
	s->scale = 0.5f;
	s->kernel = bench_kernel(c, s->once_blocks ? "triad_once_nt" : "triad_nt");
	s->array[0] = bench_alloc(c, DEV_MEM_DEVICE, s->bytes * ARRAYS);
	for (unsigned i = 0; i < ARRAYS; i++) {
		s->array[i] = s->array[0] + i * s->bytes;
		s->pattern[i] = pattern_reals(c);
		pattern_fill(c, c->dev, s->array[i], s->bytes, s->pattern[i]);
	}
	s->result = bench_alloc_host(c, PATTERN_BYTES);
	for (size_t i = 0; c->status == 0 && i < PATTERN_WORDS; i++)
		s->result[i] = s->pattern[1][i] + s->scale * s->pattern[2][i];
	train_open(&s->train, c);
	return c->status;
}

static int run_triad(struct bench_case *c, long arg)
{
	struct state *s = c->state;
	const uint32_t reps = bench_single_pass(c) ? 1 : s->reps;
	const void *const with_reps[] = {&s->array[0], &s->array[1], &s->array[2],
					 &s->bytes,    &reps,        &s->scale};
	const void *const once[] = {&s->array[0], &s->array[1], &s->array[2], &s->bytes, &s->scale};
	const struct dev_launch launch = {
		.grid = s->once_blocks ? s->once_blocks : dev_wave_blocks(c->dev, s->kernel),
		.args = s->once_blocks ? once : with_reps,
		.prefer_cache = true};
	return dev_launch(c->dev, c->stream, s->kernel, &launch);
}

static double moved_bytes(const struct bench_case *c)
{
	const struct state *s = c->state;
	return (double)s->bytes * ARRAYS * s->reps;
}

static void model(const struct bench_case *c, long arg, struct bench_model *m)
{
	m->bytes = moved_bytes(c);
}

static int poison(struct bench_case *c, long arg)
{
	const struct state *s = c->state;
	return dev_fill(c->dev, c->stream, s->array[0], 0xa5, s->bytes);
}

/* The device may round triad once (fused multiply-add) or twice. */
static int check(struct bench_case *c, long arg)
{
	const struct state *s = c->state;
	return pattern_check(c, c->dev, s->array[0], s->bytes, s->result, 1e-6f);
}

static int verify_mechanism(struct bench_case *c)
{
	struct state *s = c->state;
	if (!train_is_wanted(&s->train, c))
		return 0;
	if (bench_checked(c))
		TRY(c->status, poison(c, 0));
	train_run(&s->train, c, TRIAD, run_triad, "passes_follow_each_other");
	if (bench_checked(c) && bench_has_results(c))
		TRY(c->status, check(c, 0));
	return c->status;
}

static int derive(struct bench_case *c)
{
	const struct state *s = c->state;
	const struct train_names names = {.work = moved_bytes(c),
					  .rate = "sustained_bandwidth",
					  .unit = "byte/s",
					  .nominal = dev_props(c->dev)->nominal.memory_bandwidth,
					  .is_bound = true,
					  .energy = "energy_per_byte",
					  .energy_unit = "J/byte"};
	bench_fact_number(c, "passes", s->reps);
	train_derive(&s->train, c, &names);
	return c->status;
}

static const struct bench bench = {
	.name = "micro/sustained",
	.question = "what memory bandwidth does the device sustain?",
	.formula = "sustained_bandwidth = bytes / time of a triad pass, in the second half of two "
		   "seconds, or of --minutes, back to back; sustained_share = that / the rate of "
		   "samples of a few milliseconds; per element two reads and a write",
	.timed = "kernel passes over touched buffers, between events on the device",
	.limits = "micro/memory has the bandwidth of samples, by footprint; two seconds do not "
		  "settle "
		  "the temperature: --minutes 10 does",
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.once = run_triad,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
