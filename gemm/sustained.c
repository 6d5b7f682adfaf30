/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What GEMM rate is sustained under continuous load, and at what power? The samples of
 * gemm/efficiency take at most some milliseconds, with pauses between them, in which a device cools
 * down and saves up power; its power controller takes 10 to 100 ms to settle, and its cooler
 * minutes. A training step lasts for seconds, and a training run for weeks.
 *
 * After the samples, which are bursts as there, GEMMs follow each other for two seconds, or for
 * --minutes, in batches of which the next is always queued before one ends (bench/train.h). The
 * second half gives sustained_flop_rate. A clock that falls meanwhile, for power or for heat, is
 * part of the result.
 *
 * Timed: the vendor's GEMM, between events on the device.
 *
 *     bin/gemm/sustained --device cuda --type bf16 --shape n8192 --minutes 10
 */
#include "bench/bench_gemm.h"
#include "bench/train.h"
#include "lib/err.h"

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "f32,bf16", .full = "f32,f64,tf32,f16,bf16,f8,i8,mxf8,mxf4,nvf4"),
	BENCH_GEMM_SHAPES(.quick = "n1024", .gpu_class = "square"),
	BENCH_GEMM_MFLOP(.quick = "500", .full = "4000", .simulated = "100", .gpu_class = "2000000",
			 .gpu_class_full = "8000000"),
	TRAIN_MINUTES,
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"sustained_flop_rate", BENCH_OBSERVED, .unit = "flop/s"},
	{"sustained_op_rate", BENCH_OBSERVED, .unit = "op/s"},
	{0}};

#define OF_TYPE(type) "type=" type " shape=n1024|square|n1024 minutes=0"
static const struct bench_metric primary[] = {
	{"gemm_sustained_f32_flop_rate", "sustained_flop_rate", "gemm", OF_TYPE("f32")},
	{"gemm_sustained_bf16_flop_rate", "sustained_flop_rate", "gemm", OF_TYPE("bf16")},
	{0}};

enum { GEMM };
static const struct bench_variant variants[] = {[GEMM] = {"gemm", BENCH_DEVICE}, {0}};

struct state {
	struct bench_gemm gemm;
	struct train train;
};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	if (bench_gemm_open_axes(&s->gemm, c, c->dev))
		return c->status;
	const struct dev_gemm gemm = bench_gemm_whole(&s->gemm);
	train_open(&s->train, c);
	return TRY(c->status, dev_gemm_prepare(c->dev, &gemm));
}

static int run_gemm(struct bench_case *c, long arg)
{
	const struct dev_gemm gemm = bench_gemm_whole(&((const struct state *)c->state)->gemm);
	return dev_gemm(c->dev, c->stream, &gemm);
}

static void model(const struct bench_case *c, long arg, struct bench_model *m)
{
	bench_gemm_work(&((const struct state *)c->state)->gemm, 1.0, m);
}

static int poison(struct bench_case *c, long arg)
{
	return bench_gemm_poison(&((const struct state *)c->state)->gemm, c);
}

static int check(struct bench_case *c, long arg)
{
	return bench_gemm_check(&((const struct state *)c->state)->gemm, c, 1);
}

static int verify_mechanism(struct bench_case *c)
{
	struct state *s = c->state;
	if (!train_is_wanted(&s->train, c))
		return 0;
	TRY(c->status, poison(c, 0));
	train_run(&s->train, c, GEMM, run_gemm, "gemms_follow_each_other");
	if (bench_checked(c))
		TRY(c->status, check(c, 0));
	return c->status;
}

static int derive(struct bench_case *c)
{
	const struct dev_nominal *nominal = &dev_props(c->dev)->nominal;
	const struct state *s = c->state;
	const bool integers = dev_type_is_integer(s->gemm.type);
	const struct train_names names = {.work = shape_flops(&s->gemm.shape),
					  .rate = integers ? "sustained_op_rate"
							   : "sustained_flop_rate",
					  .unit = integers ? "op/s" : "flop/s",
					  .nominal = nominal->gemm_flops[s->gemm.type],
					  .is_bound = !nominal->clock_varies,
					  .follows_clock = true,
					  .energy = integers ? "energy_per_op" : "energy_per_flop",
					  .energy_unit = integers ? "J/op" : "J/flop"};
	bench_gemm_facts(&s->gemm, c);
	train_derive(&s->train, c, &names);
	return c->status;
}

static const struct bench bench = {
	.name = "gemm/sustained",
	.question = "what GEMM rate does the device sustain?",
	.formula = "sustained_flop_rate (of i8: sustained_op_rate) = 2 M N K / time of a GEMM, in "
		   "the second half of two "
		   "seconds, or of --minutes, back to back; sustained_share = that / the rate of "
		   "samples of a few milliseconds",
	.timed = "the vendor's GEMM on touched random data, between events on the device",
	.limits = "gemm/efficiency has the rates of samples, with pauses between them; two seconds "
		  "settle the power controller, not the temperature: --minutes 10 does",
	.needs = DEV_CAP_GEMM,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = bench_gemm_admit,
	.setup = setup,
	.once = run_gemm,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
