/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Do residency and priority help a communication that runs with GEMMs? In the pipeline GEMM_i ->
 * comm_i, comm_i and GEMM_{i+1} run at once. The two controls of resource-aware overlap (arXiv
 * 2606.09200) are applied alone and together: blocks of the GEMMs claim shared memory, so fewer are
 * resident and slots stay free; communications use a stream of higher priority. The arithmetic is
 * always the same. Every case has its own baselines: plain overlap and the serial pipeline.
 *
 * Scenarios: cb, compute-bound, GEMMs of 8192^3; mb, memory-bound, of 8192 x 57344 x 8192; both
 * divided by the same power of two; with an allreduce (ar) or all-to-all (a2a) of one mb result.
 * overlap/shaping/comm_load.h describes the communication: on one device a stand-in, on several one
 * rank's share.
 *
 * Timed: rounds of the pipeline by the device's events. Overlap rate, losses and waits are from
 * additional rounds with stamps and events.
 *
 *     bin/overlap/shaping --device host --scenario mb-ar --shared 0,SHARED/4,SHARED/2 --blocks 2
 */
#include "lib/err.h"
#include "overlap/shaping/pipeline.h"

#include <errno.h>

static const char *const scenarios[] = {"cb-ar", "mb-ar", "cb-a2a", "mb-a2a", NULL};
enum { CB_AR, MB_AR, CB_A2A, MB_A2A };

static const struct axis axes[] = {
	{.name = "scenario",
	 .help = "GEMMs and communication",
	 .kind = AXIS_WORD,
	 .words = scenarios,
	 .quick = "cb-ar,mb-ar,cb-a2a,mb-a2a"},
	{.name = "shared",
	 .help = "shared memory claimed by each block of a GEMM",
	 .kind = AXIS_SIZE,
	 .quick = "0,SHARED/8,SHARED/4,SHARED/2",
	 .simulated = "0,SHARED/4,SHARED/2",
	 .full = "0,SHARED/16,SHARED/8,SHARED/6,SHARED/4,SHARED/3,SHARED/2,SHARED"},
	{.name = "blocks",
	 .help = "blocks of the communication's kernels",
	 .kind = AXIS_COUNT,
	 .min = 1,
	 .max = 65535,
	 .quick = "2",
	 .full = "1,2,4,8,16",
	 .simulated = "8",
	 .gpu_class = "16",
	 .gpu_class_full = "4,8,16,32,64"},
	{.name = "iterations",
	 .help = "iterations of the pipeline in a round",
	 .kind = AXIS_COUNT,
	 .min = 2,
	 .max = SHAPING_ITERATIONS_MAX,
	 .quick = "6"},
	{.name = "mflop",
	 .help = "GEMMs are divided until mb has at most this many million flops",
	 .kind = AXIS_COUNT,
	 .min = 1,
	 .quick = "100",
	 .full = "300",
	 .simulated = "300",
	 .gpu_class = "300000",
	 .gpu_class_full = "8000000"},
	{0}};

static const struct bench_metric primary[] = {
	{"shaping_normalised_time", "normalised_time", "shaped_priority",
	 "scenario=cb-ar shared=SHARED/4 blocks=2|16|8", "", "lower"},
	{"shaping_time_ratio", "time_ratio", "shaped_priority",
	 "scenario=cb-ar shared=SHARED/4 blocks=2|16|8", "", "lower"},
	{0}};

static struct pipeline *case_pipeline(const struct bench_case *c) { return c->state; }

static int admit(const struct bench_case *c)
{
	const struct dev_props *p = dev_props(c->dev);
	bool tiled = dev_can(c->dev, DEV_CAP_GEMM_TILED) && p->gemm_tiled_types >> DEV_F32 & 1;
	uint64_t claim = axis_u64(c, "shared");
	if (!tiled && !(p->gemm_types >> DEV_F32 & 1))
		return err_note(-ENOTSUP, "f32 GEMM is not supported on this device");
	if (!tiled && claim)
		return err_note(-ENOTSUP,
				"shared memory cannot be claimed: tiled GEMM is not supported "
				"on this device");
	if (c->devices->count > 1 && !dev_can(c->dev, DEV_CAP_PEER))
		return err_note(-ENOTSUP, "the devices lack peer access to each other's memory");
	if (claim > p->shared_per_block_bytes)
		return err_note(-ENOTSUP, "a block of this device may claim at most %llu bytes",
				(unsigned long long)p->shared_per_block_bytes);
	return 0;
}

static int setup(struct bench_case *c)
{
	struct pipeline *p = case_pipeline(c);
	unsigned scenario = axis_index(c, "scenario");
	double max_flops = 1e6 * (double)axis_u64(c, "mflop");
	struct shape memory_bound = shaping_gemm(true, max_flops),
		     gemm = shaping_gemm(scenario == MB_AR || scenario == MB_A2A, max_flops);
	p->iterations = (unsigned)axis_u64(c, "iterations");
	p->claim_bytes = axis_u64(c, "shared");
	p->comm.all_to_all = scenario == CB_A2A || scenario == MB_A2A;
	p->comm.bytes = (uint64_t)memory_bound.m * memory_bound.n * dev_type_bytes(DEV_F32);
	p->comm.blocks = (uint32_t)axis_u64(c, "blocks");
	return pipeline_open(p, c, &gemm);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = work_graph_run(case_pipeline(c)->timed[variant]);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct pipeline *p = case_pipeline(c);
	long what = pipeline_variants[variant].param;
	m->flops = what & HAS_GEMM ? shape_flops(&p->gemm[0].shape) * p->iterations : 0.0;
	m->bytes = what & HAS_COMM ? (double)p->comm.bytes * p->iterations : 0.0;
}

static int poison(struct bench_case *c, unsigned variant)
{
	const struct pipeline *p = case_pipeline(c);
	long what = pipeline_variants[variant].param;
	int status = 0;
	for (int i = 0; what & HAS_GEMM && status == 0 && i < 2; i++)
		status = bench_gemm_poison(&p->gemm[i], c);
	for (size_t d = 0; what & HAS_COMM && status == 0 && d < p->comm.devices; d++)
		status = dev_fill(c->dev, c->stream, p->comm.inbox[d], 0xa5, p->comm.bytes);
	return status;
}

static int check(struct bench_case *c, unsigned variant)
{
	const struct pipeline *p = case_pipeline(c);
	long what = pipeline_variants[variant].param;
	int status = 0;
	for (int i = 0; what & HAS_GEMM && status == 0 && i < 2; i++)
		status = bench_gemm_check(&p->gemm[i], c, 1);
	if (status == 0 && what & HAS_COMM)
		status = comm_load_check(&p->comm, c, p->gemm[(p->iterations - 1) % 2].c);
	return status;
}

static int verify_mechanism(struct bench_case *c) { return pipeline_verify(case_pipeline(c), c); }
static int derive(struct bench_case *c) { return pipeline_derive(case_pipeline(c), c); }

static const struct bench bench = {
	.name = "overlap/shaping",
	.question = "do residency and priority help a communication that runs with GEMMs?",
	.formula = "time_ratio = time / serial time; normalised_time = time / time of plain "
		   "overlap; both round by round",
	.timed =
		"rounds of the pipeline, enqueued before they are released; not allocation, checks "
		"or traced rounds",
	.limits =
		"f32 and the device's own tiles, which are slower than a library's GEMM; resident "
		"blocks of GEMMs are not counted but follow from the claim; without peers the "
		"communication is a stand-in that uses no link",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GEMM | DEV_CAP_GEMM_TILED | DEV_CAP_PRIORITY | DEV_CAP_OCCUPANCY |
		 DEV_CAP_PEER,
	.share = 2.0,
	.axes = axes,
	.variants = pipeline_variants,
	.primary = primary,
	.state_bytes = sizeof(struct pipeline),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
