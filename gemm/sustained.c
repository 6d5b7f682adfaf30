/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What GEMM rate is sustained after a second of continuous load? The samples of gemm/efficiency
 * take at most some milliseconds, with pauses between them, in which a device cools down and saves
 * up power; its power controller takes 10 to 100 ms to settle. A training step lasts for seconds.
 *
 * After the samples, which are bursts as there, GEMMs follow each other for two seconds, in batches
 * of which the next is always queued before one ends. Batches that begin after the first second
 * give sustained_flop_rate. A clock that falls meanwhile, for power or for heat, is part of the
 * result.
 *
 * Timed: the vendor's GEMM, between events on the device.
 *
 *     bin/gemm/sustained --device cuda --type bf16 --shape n8192
 */
#include "bench/bench_gemm.h"
#include "lib/err.h"

#include <math.h>

#define TRAIN_NS 2e9
#define SETTLED_NS 1e9
/* A simulated device has no power controller; half of its GEMMs count. */
#define VIRTUAL_FACTOR 0.01
#define LEAST_GEMMS 4
#define BATCH_S 0.02
#define MAX_BATCHES 4096u
/* Least time of a case: with less there is no value, because two seconds would be most of the
 * run. */
#define LEAST_S 0.25

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "f32,bf16", .full = "f32,f64,tf32,f16,bf16,f8"),
	BENCH_GEMM_SHAPES(.quick = "n1024", .gpu_class = "square"),
	BENCH_GEMM_MFLOP(.quick = "500", .full = "4000", .simulated = "100", .gpu_class = "2000000",
			 .gpu_class_full = "8000000"),
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"sustained_flop_rate", BENCH_OBSERVED, .unit = "flop/s"}, {0}};

#define OF_TYPE(type) "type=" type " shape=n1024|square|n1024"
static const struct bench_metric primary[] = {
	{"gemm_sustained_f32_flop_rate", "sustained_flop_rate", "gemm", OF_TYPE("f32")},
	{"gemm_sustained_bf16_flop_rate", "sustained_flop_rate", "gemm", OF_TYPE("bf16")},
	{0}};

enum { GEMM };
static const struct bench_variant variants[] = {[GEMM] = {"gemm", BENCH_DEVICE}, {0}};

struct state {
	struct bench_gemm gemm;
	uint64_t batch;              /* GEMMs */
	double seconds[MAX_BATCHES]; /* of a GEMM, by batches that count */
	uint32_t batches, late, all; /* late: queued after the one before had ended */
	struct dev_event *ends[3];
};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	if (bench_gemm_open_axes(&s->gemm, c, c->dev))
		return c->status;
	const struct dev_gemm gemm = bench_gemm_whole(&s->gemm);
	for (unsigned i = 0; i < 3; i++)
		s->ends[i] = bench_event(c);
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

/* ------------------------------------------------------------------ the train */

static void queue_batch(struct bench_case *c, unsigned number)
{
	const struct state *s = c->state;
	for (uint64_t i = 0; i < s->batch; i++)
		TRY(c->status, run_gemm(c, 0));
	TRY(c->status, dev_event_record(c->dev, c->stream, s->ends[number % 3]));
}

/* Queues the batch after this one, waits for this one, and returns its time. */
static double follow_batch(struct bench_case *c, unsigned number)
{
	struct state *s = c->state;
	struct dev_event *before = s->ends[(number - 1) % 3], *end = s->ends[number % 3];
	double ns = 0.0;
	queue_batch(c, number + 1);
	s->late += c->status == 0 && dev_event_query(c->dev, end) == 0;
	TRY(c->status, dev_event_sync(c->dev, end));
	TRY(c->status, dev_event_elapsed_ns(c->dev, before, end, &ns));
	return ns;
}

static void run_train(struct bench_case *c)
{
	struct state *s = c->state;
	const double median_s = bench_median(c, GEMM),
		     least = LEAST_GEMMS * median_s * 1e9 / TRAIN_NS,
		     scale = dev_can(c->dev, DEV_CAP_VIRTUAL_TIME) ? fmax(VIRTUAL_FACTOR, least)
								   : 1.0;
	const uint32_t fit = dev_props(c->dev)->max_queued / 2 - 2;
	double sum_ns = 0.0;
	s->batch = (uint64_t)(scale * BATCH_S / median_s) + 1;
	s->batch = s->batch < fit ? s->batch : fit;
	TRY(c->status, poison(c, 0));
	TRY(c->status, dev_event_record(c->dev, c->stream, s->ends[0]));
	queue_batch(c, 1);
	for (s->all = 0; c->status == 0 && sum_ns < scale * TRAIN_NS; s->all++) {
		const double began_ns = sum_ns;
		sum_ns += follow_batch(c, s->all + 1);
		if (began_ns >= scale * SETTLED_NS && s->batches < MAX_BATCHES)
			s->seconds[s->batches++] = 1e-9 * (sum_ns - began_ns) / (double)s->batch;
	}
	const int drained = dev_stream_sync(c->dev, c->stream); /* after an error, too */
	TRY(c->status, drained);
}

static int verify_mechanism(struct bench_case *c)
{
	const struct state *s = c->state;
	if (c->seconds < LEAST_S)
		return 0;
	run_train(c);
	if (bench_checked(c))
		TRY(c->status, check(c, 0));
	if (c->status == 0)
		bench_mechanism(
			c, "gemms_follow_each_other", s->late == 0,
			"%u of %u batches of %llu were queued after the previous one had ended",
			s->late, s->all, (unsigned long long)s->batch);
	return c->status;
}

static int derive(struct bench_case *c)
{
	static const char formula[] = "2 M N K / time of a GEMM, of batches that begin in the last "
				      "of two seconds back to back",
			  of_burst[] =
				  "seconds(gemm), of samples / time of a GEMM, of the same batches";
	const struct dev_nominal *nominal = &dev_props(c->dev)->nominal;
	struct state *s = c->state;
	double rates[MAX_BATCHES], ratios[MAX_BATCHES];
	bench_gemm_facts(&s->gemm, c);
	for (uint32_t i = 0; i < s->batches; i++) {
		rates[i] = shape_flops(&s->gemm.shape) / s->seconds[i];
		ratios[i] = bench_median(c, GEMM) / s->seconds[i];
	}
	if (s->batches == 0) {
		const struct bench_quantity q = {
			BENCH_OBSERVED, {BENCH_OF(GEMM)}, .unit = "flop/s"};
		bench_no_value(
			c, "sustained_flop_rate", GEMM, &q, formula,
			s->all ? "a GEMM takes so long that none begins after the first second"
			       : "it needs two seconds; less is left: raise --budget");
		return 0;
	}
	TRY(c->status, bench_derive_samples(c, "sustained_flop_rate", GEMM, "flop/s", 1, rates,
					    s->batches, formula));
	bench_nominal(c, "sustained_flop_rate", GEMM, nominal->gemm_flops[s->gemm.type],
		      !nominal->clock_varies);
	return TRY(c->status, bench_derive_samples(c, "sustained_share", GEMM, "", 1, ratios,
						   s->batches, of_burst));
}

static const struct bench bench = {
	.name = "gemm/sustained",
	.question = "what GEMM rate does the device sustain?",
	.formula = "sustained_flop_rate = 2 M N K / time of a GEMM, of batches in the last of two "
		   "seconds back to back; sustained_share = that / the rate of samples of a few "
		   "milliseconds",
	.timed = "the vendor's GEMM on touched random data, between events on the device",
	.limits = "gemm/efficiency has the rates of samples, with pauses between them; two seconds "
		  "settle the power controller, not the temperature",
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
