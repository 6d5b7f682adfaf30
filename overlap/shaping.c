/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Do residency and priority help a communication that runs with GEMMs? In the pipeline GEMM_i ->
 * comm_i, comm_i and GEMM_{i+1} run at once. The controls of resource-aware overlap (arXiv
 * 2606.09200) are applied alone and together: blocks of the GEMMs claim shared memory, by their
 * tiles or in addition to them, so fewer are resident and slots stay free; fewer blocks share the
 * tiles; communications use a stream of higher priority. The arithmetic is always the same. Every
 * case has its own baselines: plain overlap and the serial pipeline.
 *
 * Scenarios: cb, compute-bound, GEMMs of 8192^3; mb, memory-bound, of 8192 x 57344 x 8192; both
 * divided by the same power of two; with an allreduce (ar) or all-to-all (a2a) of one mb result, or
 * of --message bytes. Every device runs the pipeline. overlap/shaping/comm_load.h describes the
 * communication: on one device a stand-in, on several the collective; variants library_* use the
 * vendor's.
 *
 * Timed: rounds of the pipeline by the device's events. Overlap rate, losses and waits are from
 * additional rounds with stamps and events (overlap/shaping/trace.h).
 *
 * With --operands cold each iteration of the pipeline uses other buffers, which are in no cache
 * (bench/graph/rotation.h).
 *
 *     bin/overlap/shaping --device host --scenario mb-ar --tile 64x64x32 --grid 2:64:x2
 */
#include "lib/err.h"
#include "overlap/shaping/pipeline.h"

#include <errno.h>

static const char *const scenarios[] = {"cb-ar", "mb-ar", "cb-a2a", "mb-a2a", NULL};
enum { CB_AR, MB_AR, CB_A2A, MB_A2A };

static const char *const tiles[] = {"own", "64x64x32", "64x64x64", NULL};
static const uint32_t tile_k[] = {0, 32, 64};

static const struct axis axes[] = {
	{"scenario", "GEMMs and communication", AXIS_WORD, .words = scenarios,
	 .quick = "cb-ar,mb-ar,cb-a2a,mb-a2a"},
	{"tile",
	 "tiles of the GEMMs: the device's own, or textbook tiles (opt1 and opt2 of the paper)",
	 AXIS_WORD, .words = tiles, .quick = "64x64x32", .full = "64x64x32,64x64x64,own"},
	{"grid", "blocks of a GEMM with textbook tiles; 0: one for each tile", AXIS_COUNT,
	 .max = 65535, .quick = "0", .full = "0,16,128,1024"},
	{"shared", "shared memory claimed by each block of a GEMM, in addition to its tiles",
	 AXIS_SIZE, .quick = "0,SHARED/4", .full = "0,SHARED/4,SHARED/2"},
	{"blocks", "blocks of each kernel of the communication", AXIS_COUNT, .min = 1, .max = 65535,
	 .quick = "2", .full = "2,8", .simulated = "8", .gpu_class = "16",
	 .gpu_class_full = "2,8,16"},
	{"iterations", "iterations of the pipeline in a round; an overlap rate of 90 % needs 19",
	 AXIS_COUNT, .min = 2, .max = SHAPING_ITERATIONS_MAX, .quick = "8", .full = "8,20,48"},
	{"mflop",
	 "GEMMs are scaled down until mb has at most this many million flops; 0: the paper's size",
	 AXIS_COUNT, .quick = "100", .simulated = "300", .gpu_class = "300000"},
	{"message",
	 "bytes that a device communicates; 0: those of one mb result. 896M: the paper's, "
	 "whose elements have two bytes",
	 AXIS_SIZE, .quick = "0"},
	BENCH_OPERANDS,
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"time_ratio", BENCH_RATIO},
	{"normalised_time", BENCH_RATIO},
	{"claim_cost", BENCH_RATIO, "gemm_shaped", "gemm_alone",
	 "seconds of GEMMs that claim shared memory / of those that do not"},
	{0}};

#define HEADLINE                                                                                   \
	"scenario=mb-ar tile=64x64x32 grid=0 shared=SHARED/4 blocks=2|16|8 iterations=8 "          \
	"operands=warm"
static const struct bench_metric primary[] = {
	{"overlap_time_ratio", "time_ratio", "overlap", HEADLINE},
	{"priority_normalised_time", "normalised_time", "priority", HEADLINE},
	{"shaping_normalised_time", "normalised_time", "shaped_priority", HEADLINE},
	{0}};

/* In those named after overlap, shaped and priority, communications have a stream of their own. The
 * library's are as the others, with the vendor's collective. */
static const struct bench_variant variants[] = {
	{"gemm_alone", BENCH_DEVICE, HAS_GEMM},
	{"gemm_shaped", BENCH_DEVICE, HAS_GEMM | HAS_CLAIM},
	{"comm_alone", BENCH_DEVICE, HAS_COMM},
	{"serial", BENCH_DEVICE, HAS_BOTH},
	{"overlap", BENCH_DEVICE, HAS_BOTH | LANE_NORMAL},
	{"shaped", BENCH_DEVICE, HAS_BOTH | HAS_CLAIM | LANE_NORMAL},
	{"priority", BENCH_DEVICE, HAS_BOTH | LANE_URGENT, .needs = DEV_CAP_PRIORITY},
	{"shaped_priority", BENCH_DEVICE, HAS_BOTH | HAS_CLAIM | LANE_URGENT,
	 .needs = DEV_CAP_PRIORITY},
	{"library_comm_alone", BENCH_DEVICE, HAS_COMM | BY_LIBRARY},
	{"library_serial", BENCH_DEVICE, HAS_BOTH | BY_LIBRARY},
	{"library_overlap", BENCH_DEVICE, HAS_BOTH | BY_LIBRARY | LANE_NORMAL},
	{"library_shaped", BENCH_DEVICE, HAS_BOTH | BY_LIBRARY | HAS_CLAIM | LANE_NORMAL},
	{"library_priority", BENCH_DEVICE, HAS_BOTH | BY_LIBRARY | LANE_URGENT,
	 .needs = DEV_CAP_PRIORITY},
	{"library_shaped_priority", BENCH_DEVICE, HAS_BOTH | BY_LIBRARY | HAS_CLAIM | LANE_URGENT,
	 .needs = DEV_CAP_PRIORITY},
	{0}};

static int admit(const struct bench_case *c)
{
	const struct dev_props *p = dev_props(c->dev);
	bool tiled = dev_can(c->dev, DEV_CAP_GEMM_TILED) && p->gemm_tiled_types >> DEV_F32 & 1;
	bool textbook = tile_k[axis_index(c, "tile")] > 0;
	uint64_t claim = axis_u64(c, "shared");
	if (!tiled && !(p->gemm_types >> DEV_F32 & 1))
		return err_note(-ENOTSUP, "f32 GEMM is not supported on this device");
	if (!tiled && claim)
		return err_note(-ENOTSUP,
				"shared memory cannot be claimed: tiled GEMM is not supported "
				"on this device");
	if (!tiled && textbook)
		return err_note(-ENOTSUP, "tiled GEMM is not supported on this device");
	if (!textbook && axis_u64(c, "grid"))
		return err_note(-EINVAL, "a grid needs textbook tiles: --tile 64x64x32");
	if (claim > p->shared_per_block_bytes)
		return err_note(-ENOTSUP, "a block of this device may claim at most %llu bytes",
				(unsigned long long)p->shared_per_block_bytes);
	if (c->devices->count > 1 && !dev_can(c->dev, DEV_CAP_PEER))
		return err_note(-ENOTSUP, "the devices lack peer access to each other's memory");
	return 0;
}

static int setup(struct bench_case *c)
{
	struct pipeline *p = c->state;
	unsigned scenario = axis_index(c, "scenario");
	double max_flops = 1e6 * (double)axis_u64(c, "mflop");
	struct shape memory_bound = shaping_gemm(true, max_flops),
		     gemm = shaping_gemm(scenario == MB_AR || scenario == MB_A2A, max_flops);
	uint64_t result = (uint64_t)memory_bound.m * memory_bound.n * dev_type_bytes(DEV_F32),
		 given = axis_u64(c, "message"), bytes = given ? given : result,
		 grain = comm_load_grain(c->devices->count);
	p->iterations = (unsigned)axis_u64(c, "iterations");
	p->claim_bytes = axis_u64(c, "shared");
	p->tile_k = tile_k[axis_index(c, "tile")];
	p->grid = (uint32_t)axis_u64(c, "grid");
	p->comm.all_to_all = scenario == CB_A2A || scenario == MB_A2A;
	p->comm.bytes = bytes / grain * grain;
	p->comm.blocks = (uint32_t)axis_u64(c, "blocks");
	if (p->comm.bytes == 0)
		return err_note(-ENOTSUP, "a message of %llu bytes is too short for %zu devices",
				(unsigned long long)bytes, c->devices->count);
	return pipeline_open(p, c, &gemm);
}

static int run_round(struct bench_case *c, long what)
{
	return work_graph_run(((struct pipeline *)c->state)->round[what].timed);
}

/* The work of all devices. */
static void model(const struct bench_case *c, long what, struct bench_model *m)
{
	const struct pipeline *p = c->state;
	const double parts = (double)p->iterations * p->devices;
	m->flops = what & HAS_GEMM ? shape_flops(&p->gemm[0][0].shape) * parts : 0.0;
	m->bytes = what & HAS_COMM ? (double)p->comm.bytes * parts : 0.0;
}

static int poison(struct bench_case *c, long what)
{
	const struct pipeline *p = c->state;
	for (uint32_t d = 0; what & HAS_GEMM && d < p->devices; d++)
		for (int i = 0; i < 2; i++)
			TRY(c->status, bench_gemm_poison(&p->gemm[d][i], c));
	if (what & HAS_COMM)
		TRY(c->status, comm_load_poison(&p->comm, c));
	return TRY(c->status, rotation_spread(p->rotation, p->iterations));
}

/* With cold operands the other buffer of the last iteration's set has no result of this round. */
static int check(struct bench_case *c, long what)
{
	const struct pipeline *p = c->state;
	const unsigned last = (p->iterations - 1) % 2;
	char *message[DEV_MAX];
	TRY(c->status, rotation_collect(p->rotation));
	for (uint32_t d = 0; d < p->devices; d++) {
		message[d] = p->gemm[d][last].c;
		for (unsigned i = 0; what & HAS_GEMM && i < 2; i++)
			if (i == last || !p->rotation)
				TRY(c->status, bench_gemm_check(&p->gemm[d][i], c, 1));
	}
	if (what & HAS_COMM)
		TRY(c->status, comm_load_check(&p->comm, c, message, what & BY_LIBRARY));
	return c->status;
}

static const struct bench bench = {
	.name = "overlap/shaping",
	.question = "do occupancy and priority speed up overlap?",
	.formula = "time_ratio = time / serial time; normalised_time = time / time of plain "
		   "overlap; both round by round",
	.timed =
		"rounds of the pipeline, enqueued before they are released; not allocation, checks "
		"or traced rounds",
	.limits =
		"f32 and our own GEMM kernels, which are slower than a library's; resident blocks "
		"of GEMMs are the device's claim, not observed; on one device the communication is "
		"a stand-in that uses no link; a device's own exchange sends to one peer at a time",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GEMM | DEV_CAP_GEMM_TILED | DEV_CAP_PRIORITY | DEV_CAP_OCCUPANCY |
		 DEV_CAP_PEER | DEV_CAP_COLLECTIVES,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct pipeline),
	.admit = admit,
	.setup = setup,
	.once = run_round,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = pipeline_verify,
	.derive = pipeline_derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
