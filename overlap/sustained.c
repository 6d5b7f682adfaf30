/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What GEMM rate do several devices sustain while they also allreduce, and at what power? A
 * training step does both at once, for weeks: links, memory and units then share one power limit
 * and one cooler.
 *
 * After the samples, in which a GEMM on every device takes turns with the same GEMM concurrent with
 * an allreduce, the latter follows itself for two seconds, or for --minutes (bench/train.h).
 * Numbers are those of the first device; the rate is that of its GEMM, in time that ends with the
 * later of the two.
 *
 * Timed: rounds of all devices, one behind the other in a stream of the first, by its events.
 *
 *     bin/overlap/sustained --device cuda:0-7 --type bf16 --shape n8192 --size 64M --minutes 10
 */
#include "bench/train.h"
#include "lib/err.h"
#include "overlap/sustained/load.h"

#include <errno.h>

static const struct axis axes[] = {
	BENCH_PLAIN_TYPES(.quick = "main"),
	BENCH_GEMM_SHAPES(.quick = "n512", .simulated = "n256", .gpu_class = "n8192"),
	BENCH_GEMM_MFLOP(.quick = "500", .full = "4000", .simulated = "100", .gpu_class = "2000000",
			 .gpu_class_full = "8000000"),
	{"method", "how to allreduce", AXIS_WORD, .words = load_methods, .quick = "engine,library"},
	{"size", "bytes of the vector of floats that is reduced", AXIS_SIZE, .quick = "1M",
	 .gpu_class = "64M", .min = 4096, .multiple = 4096},
	TRAIN_MINUTES,
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"sustained_flop_rate", BENCH_OBSERVED, .unit = "flop/s"},
	{"time_ratio", BENCH_RATIO, NULL, "gemms", "time / that of the GEMMs alone"},
	{0}};

static const struct bench_metric primary[] = {
	{"allreduce_sustained_engine_flop_rate", "sustained_flop_rate", "both",
	 "method=engine minutes=0"},
	{"allreduce_sustained_library_flop_rate", "sustained_flop_rate", "both",
	 "method=library minutes=0"},
	{0}};

static const struct bench_variant variants[] = {
	[LOAD_GEMMS] = {"gemms", BENCH_DEVICE, .arg = LOAD_GEMMS, .reference = true},
	[LOAD_BOTH] = {"both", BENCH_DEVICE, .arg = LOAD_BOTH},
	{0}};

struct state {
	struct load load;
	struct train train;
};

static int admit(const struct bench_case *c)
{
	int status = bench_gemm_admit(c);
	return status ? status : load_admit(c);
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	load_open(&s->load, c);
	train_open(&s->train, c);
	return c->status;
}

static int run_load(struct bench_case *c, long which)
{
	return work_graph_run(((struct state *)c->state)->load.graph[which]);
}

/* Work of the first device. */
static void model(const struct bench_case *c, long which, struct bench_model *m)
{
	m->flops = shape_flops(&((const struct state *)c->state)->load.gemm[0].shape);
}

static int poison(struct bench_case *c, long which)
{
	return load_poison(&((const struct state *)c->state)->load, c);
}

static int check(struct bench_case *c, long which)
{
	return load_check(&((struct state *)c->state)->load, c, (unsigned)which);
}

static int verify_mechanism(struct bench_case *c)
{
	struct state *s = c->state;
	if (!bench_variant_on(c, LOAD_BOTH) || !train_is_wanted(&s->train, c))
		return 0;
	if (!s->load.comm)
		TRY(c->status,
		    bench_verify_engine(c, UINT64_C(1) << LOAD_BOTH, s->load.graph, LOADS));
	s->train.entries = work_graph_max_queued(s->load.graph[LOAD_BOTH]);
	train_run(&s->train, c, LOAD_BOTH, run_load, "rounds_follow_each_other");
	if (bench_checked(c) && bench_has_results(c))
		TRY(c->status, check(c, LOAD_BOTH));
	return c->status;
}

static int derive(struct bench_case *c)
{
	const struct dev_nominal *nominal = &dev_props(c->dev)->nominal;
	const struct state *s = c->state;
	const struct train_names names = {.work = shape_flops(&s->load.gemm[0].shape),
					  .rate = "sustained_flop_rate",
					  .unit = "flop/s",
					  .nominal = nominal->gemm_flops[s->load.gemm[0].type],
					  .is_bound = !nominal->clock_varies,
					  .follows_clock = true,
					  .energy = "energy_per_flop",
					  .energy_unit = "J/flop"};
	bench_gemm_facts(&s->load.gemm[0], c);
	bench_fact_number(c, "devices", (double)c->devices->count);
	if (s->load.comm)
		bench_fact_text(c, "library", s->load.comm->library);
	if (bench_variant_on(c, LOAD_BOTH))
		train_derive(&s->train, c, &names);
	return c->status;
}

static const struct bench bench = {
	.name = "overlap/sustained",
	.question = "what GEMM rate do devices sustain while they allreduce?",
	.formula =
		"sustained_flop_rate = 2 M N K / time of a round, in the second half of two "
		"seconds, or of --minutes, back to back, of the first device; time_ratio = a round "
		"/ one of the GEMMs alone",
	.timed = "rounds of a GEMM on every device concurrent with an allreduce, to the end of the "
		 "later one, with a copy of the vector before it; between events on the first "
		 "device",
	.limits = "a round ends with the slowest device; sensors are those of the first device",
	.needs = DEV_CAP_GEMM | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER | DEV_CAP_COLLECTIVES,
	.min_devices = 2,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.once = run_load,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
