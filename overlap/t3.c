/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much would T3's hardware speed up a GEMM and its allreduce? T3 (arXiv 2401.16677) proposes a
 * tracker at the memory that forwards a tile of a GEMM's result when it is complete, memory that
 * adds what arrives, and a memory controller that prioritizes computing (T3-MCA). No device has
 * them: this program needs a SIMULATED one that does (device/sim/model/machines/t3.model), and
 * nothing of it is a measurement.
 *
 * A tensor-parallel sub-layer on N devices in a ring: a GEMM, the reduce-scatter of its results and
 * the all-gather of the sums; one after the other by kernels, and with T3. N is the number of
 * devices given; T3 has Mega-GPT-2 and T-NLG on 8 and 16, the others on 32. With H hidden elements
 * one device's GEMM has tokens x H results, sums of partial products over all devices, and as its
 * inner side
 *
 *     op      H / N     forward output projection
 *     fc-2    4 H / N   forward second fully connected layer
 *     fc-1    4 H / N   backward first fully connected layer
 *     ip      3 H / N   backward input projection (query, key, value)
 *
 * Results are scattered by rows. Rows are tokens, or if the devices then have more rows each,
 * hidden elements: C transposed, which is the same GEMM with its operands exchanged.
 *
 * Timed: one run, from the release of all devices to the end of the last one. Caches are emptied
 * before.
 *
 *     bin/overlap/t3 --device sim:t3-8:0-7 --model t-nlg --layer op,fc-2
 */
#include "lib/err.h"
#include "overlap/t3/t3_run.h"

#include <errno.h>

/* Hidden elements, and tokens of a batch, sequences of 1024: RECALLED, not read in the paper, which
 * has no table of GEMMs that we know of. */
#define MODELS(MODEL)                                                                              \
	MODEL("mega-gpt-2", 3072, 16 * 1024)                                                       \
	MODEL("t-nlg", 4256, 8 * 1024)                                                             \
	MODEL("gpt-3", 12288, 2 * 1024)                                                            \
	MODEL("palm", 18432, 2 * 1024)                                                             \
	MODEL("mt-nlg", 20480, 2 * 1024)
#define LAYERS(LAYER) LAYER("op", 1) LAYER("fc-2", 4) LAYER("fc-1", 4) LAYER("ip", 3)

#define NAME(name, ...) name,
#define NUMBERS(name, ...) {__VA_ARGS__},
#define TIMES(name, times) times,
static const char *const models[] = {MODELS(NAME) NULL}, *const layers[] = {LAYERS(NAME) NULL};
static const struct {
	uint32_t hidden, tokens;
} model_sizes[] = {MODELS(NUMBERS)};
static const uint32_t hidden_times[] = {LAYERS(TIMES)};

static const struct axis axes[] = {
	{"model", "transformer model", AXIS_WORD, .words = models, .quick = "mega-gpt-2,t-nlg",
	 .full = "mega-gpt-2,t-nlg,gpt-3,palm,mt-nlg"},
	{"layer", "op and fc-2 forward, fc-1 and ip backward", AXIS_WORD, .words = layers,
	 .quick = "op,fc-2,fc-1,ip"},
	BENCH_PLAIN_TYPES(.quick = "f16"),
	{"threshold",
	 "percent of the memory's queue up to which T3-MCA admits communication; 0: from the "
	 "GEMM's memory intensity",
	 AXIS_COUNT, .quick = "0", .full = "0,5,10,20,40,60,80,100", .max = 100},
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"S", BENCH_SPEEDUP, "t3", "sequential", .modelled = true},
	{"S", BENCH_SPEEDUP, "t3_mca", "sequential", .modelled = true},
	{"S", BENCH_SPEEDUP, "t3_mca_unstaggered", "sequential", .modelled = true},
	{"stagger_gain", BENCH_RATIO, "t3_mca_unstaggered", "t3_mca", .modelled = true},
	{"adding_gain", BENCH_SPEEDUP, "reduce_scatter_adding", "reduce_scatter_alone",
	 .modelled = true},
	{"slowdown", BENCH_RATIO, "all_reduce_on_8", "all_reduce_alone", .modelled = true},
	{"slowdown", BENCH_RATIO, "gemm_without_8", "gemm_alone", .modelled = true},
	{"slowdown", BENCH_RATIO, "all_reduce_on_16", "all_reduce_alone", .modelled = true},
	{"slowdown", BENCH_RATIO, "gemm_without_16", "gemm_alone", .modelled = true},
	{0}};

static int case_shape(const struct bench_case *c, struct shape *shape_p)
{
	const unsigned model = axis_index(c, "model");
	const uint32_t hidden = model_sizes[model].hidden, tokens = model_sizes[model].tokens,
		       inner = hidden_times[axis_index(c, "layer")] * hidden,
		       devices = (uint32_t)c->devices->count,
		       rows = tokens > hidden ? tokens : hidden;
	if (rows < devices || inner < devices)
		return err_note(-ERANGE,
				"%s: %u devices are too many for %u rows and an inner side of %u",
				models[model], devices, rows, inner);
	*shape_p = (struct shape){.m = rows,
				  .n = tokens > hidden ? hidden : tokens,
				  .k = inner / devices,
				  .scale = 1};
	return 0;
}

static int admit(const struct bench_case *c)
{
	struct shape shape;
	const unsigned type = axis_index(c, "type");
	const int status = bench_gemm_admit_type(c);
	if (status)
		return status;
	if (!(dev_props(c->dev)->gemm_adding_types >> type & 1))
		return err_note(-ENOTSUP, "this device has no GEMM of %s that adds",
				dev_type_names[type]);
	return case_shape(c, &shape);
}

static int setup(struct bench_case *c)
{
	struct shape shape;
	TRY(c->status, case_shape(c, &shape));
	return TRY(c->status, t3_run_open(c, &shape, (enum dev_type)axis_index(c, "type"),
					  (uint32_t)axis_u64(c, "threshold")));
}

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
	.quantities = quantities,
	.state_bytes = sizeof(struct t3_run),
	.admit = admit,
	.setup = setup,
	.once = t3_run_once,
	.poison = t3_poison,
	.verify_mechanism = t3_verify_mechanism,
	.derive = t3_derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
