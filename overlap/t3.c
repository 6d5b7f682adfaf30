/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much would T3's hardware speed up a GEMM and its allreduce? T3 (arXiv 2401.16677) proposes a
 * tracker at the memory that forwards a tile of a GEMM's result when it is complete, memory that
 * adds what arrives, and a memory controller that prioritizes computing (T3-MCA). No device has
 * them: this program needs a SIMULATED one that does (device/sim/models/t3.model), and nothing of
 * it is a measurement.
 *
 * A tensor-parallel sub-layer on N devices in a ring: a GEMM, the reduce-scatter of its results and
 * the all-gather of the sums; one after the other by kernels, and with T3. N is the number of
 * devices given; T3 has Mega-GPT-2 and T-NLG on 8 and 16, the others on 32.
 *
 * Timed: one run, from the release of all devices to the end of the last one. Caches are emptied
 * before.
 *
 *     bin/overlap/t3 --device sim:t3-8:0-7 --model t-nlg --layer op,fc-2
 */
#include "lib/err.h"
#include "overlap/t3/t3_check.h"
#include "overlap/t3/t3_layer.h"
#include "overlap/t3/t3_metrics.h"

#include <errno.h>

static const struct axis axes[] = {
	{.name = "model",
	 .help = "transformer model",
	 .kind = AXIS_WORD,
	 .words = t3_models,
	 .quick = "mega-gpt-2,t-nlg",
	 .full = "mega-gpt-2,t-nlg,gpt-3,palm,mt-nlg"},
	{.name = "layer",
	 .help = "op and fc-2 forward, fc-1 and ip backward",
	 .kind = AXIS_WORD,
	 .words = t3_layers,
	 .quick = "op,fc-2,fc-1,ip"},
	BENCH_GEMM_TYPES(.quick = "f16"),
	{.name = "threshold",
	 .help = "percent of the memory's queue up to which T3-MCA admits communication; 0: from "
		 "the GEMM's memory intensity",
	 .kind = AXIS_COUNT,
	 .quick = "0",
	 .full = "0,5,10,20,40,60,80,100",
	 .max = 100},
	{0}};

static struct t3_run *case_run(const struct bench_case *c) { return c->state; }

static int case_shape(const struct bench_case *c, struct shape *shape_p)
{
	return t3_layer_shape(axis_index(c, "model"), axis_index(c, "layer"),
			      (uint32_t)c->devices->count, shape_p);
}

static int admit(const struct bench_case *c)
{
	struct shape shape;
	const unsigned type = axis_index(c, "type");
	if (!(dev_props(c->dev)->gemm_adding_types >> type & 1))
		return err_note(-ENOTSUP, "this device has no GEMM of %s that adds",
				dev_type_names[type]);
	return case_shape(c, &shape);
}

static int setup(struct bench_case *c)
{
	struct shape shape;
	int status = case_shape(c, &shape);
	return status ? status
		      : t3_run_open(case_run(c), c, &shape, (enum dev_type)axis_index(c, "type"),
				    (uint32_t)axis_u64(c, "threshold"));
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	double sum_s = 0.0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		double seconds = 0.0;
		status = t3_run_time(case_run(c), variant, &seconds);
		sum_s += seconds;
	}
	c->self_seconds = sum_s;
	return status;
}

static int poison(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return t3_poison(c, case_run(c));
}

static int check(struct bench_case *c, unsigned variant)
{
	return t3_check(c, case_run(c), variant);
}

static int derive(struct bench_case *c) { return t3_derive(c, case_run(c)); }

static const struct bench bench = {
	.name = "overlap/t3",
	.question = "what speedup would T3's hardware give?",
	.formula = "S = time of sequential / time; S_ideal = time of sequential / (max(GEMM, "
		   "reduce-scatter) + all-gather); bytes as the devices' memories count them, of "
		   "one device, without all-gather",
	.timed = "one run of GEMM, reduce-scatter and all-gather on all devices, released at once, "
		 "with empty caches",
	.limits = "a SIMULATION of hardware that no device has: nothing is a measurement. The "
		  "models' dimensions are recalled, not read in the paper. The rule for T3-MCA's "
		  "threshold is ours",
	.needs = DEV_CAP_GEMM | DEV_CAP_GEMM_TILED | DEV_CAP_WAIT_VALUE | DEV_CAP_PEER |
		 DEV_CAP_COPY_ENGINE | DEV_CAP_MEMORY_ADDS | DEV_CAP_TRACKER |
		 DEV_CAP_MEMORY_CONTROL | DEV_CAP_UNIT_MASK,
	.min_devices = 3,
	.axes = axes,
	.variants = t3_variants,
	.state_bytes = sizeof(struct t3_run),
	.admit = admit,
	.setup = setup,
	.indexed.body = body,
	.indexed.poison = poison,
	.indexed.check = check,
	.verify_mechanism = t3_verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
