/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A GEMM and the communication it depends on: which schedule hides most of it, for which shape?
 * Compares serial and shard-level overlap with FiCCO's finer schedules (arXiv 2512.10236), for a
 * GEMM with all-gather, reduce-scatter, all-reduce or all-to-all. The steps of the schedules are
 * our working definition (overlap/ficco/decomposition.h), and so are DIL = parts alone / whole
 * alone and CIL = concurrent / alone.
 *
 * Baselines. S is relative to serial, whose copies are those of the other schedules; S_library to
 * serial-library, whose communication is the vendor's collective, where there is one.
 *
 * Every device of the list is a rank. With one device, pinned host memory stands for its peers:
 * what they send and receive crosses the device's real link, and the host computes nothing.
 *
 * Timed: all work is enqueued, then one write of the host releases every device. Each device
 * measures its own duration with events; the longest counts.
 *
 * With --cut columns, of gemm-rs and gemm-ar, C^T = B^T A^T is cut instead, along N: for GEMMs of
 * few rows. B is stored as n x k, and C is column-major.
 *
 * With --operands cold each run uses other buffers, which are in no cache
 * (bench/graph/rotation.h).
 *
 *     bin/overlap/ficco --device host:0,1 --shape g5 --op ag-gemm --copy-method engine,kernel \
 *         --schedule serial,shard,hetero-fused-1d
 */
#include "bench/bench_gemm.h"
#include "lib/err.h"
#include "overlap/ficco/variants.h"

#include <errno.h>

enum { ENGINE, KERNEL };
static const char *const copy_methods[] = {"engine", "kernel", NULL};
enum { ROWS, COLUMNS };
static const char *const cuts[] = {"rows", "columns", NULL};

static const struct axis axes[] = {
	{"op", "communication of the GEMM", AXIS_WORD, .words = ficco_ops,
	 .quick = "ag-gemm,gemm-rs", .full = "ag-gemm,gemm-rs,a2a-gemm,a2a-gemm-uneven,gemm-ar"},
	BENCH_GEMM_SHAPES(
			.quick = "g1,g2,g5,g6,n512", .simulated = "g1,g5,n256",
			.full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16,n256,n512",
			.gpu_class = "g1,g2,g5,g6,square",
			.gpu_class_full =
				"g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16,square"),
	BENCH_GEMM_MFLOP(.quick = "300", .full = "4000", .simulated = "20", .gpu_class = "2000000",
			 .gpu_class_full = "8000000"),
	BENCH_PLAIN_TYPES(.quick = "f32", .full = "bf16,f32", .gpu_class = "bf16,f32"),
	{"copy-method", "copy engine or kernel", AXIS_WORD, .words = copy_methods,
	 .quick = "engine,kernel"},
	{"cut", "of C; columns, of gemm-rs and gemm-ar: each part reads its own of B", AXIS_WORD,
	 .words = cuts, .quick = "rows"},
	{"blocks",
	 "thread blocks of a copy kernel; 0: an eighth of those that keep the device busy",
	 AXIS_COUNT, .quick = "0", .max = 65536},
	{"peers", "ranks if one device is given, itself included; 0: 4, or the number of devices",
	 AXIS_COUNT, .quick = "0", .max = OPERANDS_MAX_RANKS},
	BENCH_OPERANDS,
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"S", BENCH_SPEEDUP},
	{"S_library", BENCH_SPEEDUP, NULL, "serial-library"},
	{"exposed", BENCH_DIFFERENCE, NULL, "gemm", "time - that of the whole GEMM alone"},
	{0}};

#define SQUARE "op=ag-gemm shape=n512|square|n256 type=main copy-method=engine operands=warm"
static const struct bench_metric primary[] = {
	{"ficco_shard_speedup", "S", "shard", SQUARE},
	{"ficco_hetero_fused_speedup", "S", "hetero-fused-1d", SQUARE},
	{0}};

#define DEFAULT_RANKS 4u
static uint32_t rank_count(const struct bench_case *c)
{
	uint32_t peers = (uint32_t)axis_u64(c, "peers"), devices = (uint32_t)c->devices->count;
	return peers ? peers : devices > 1 ? devices : DEFAULT_RANKS;
}

static uint32_t copy_blocks(const struct bench_case *c)
{
	uint32_t blocks = (uint32_t)axis_u64(c, "blocks"), busy = dev_props(c->dev)->busy_blocks;
	if (axis_index(c, "copy-method") == ENGINE)
		return 0;
	return blocks ? blocks : busy > 8 ? busy / 8 : 1;
}

static int admit(const struct bench_case *c)
{
	uint32_t ranks = rank_count(c);
	const enum dev_type type = (enum dev_type)axis_index(c, "type");
	const enum ficco_op op = (enum ficco_op)axis_index(c, "op");
	if (ranks < 2 || ranks > OPERANDS_MAX_RANKS)
		return err_note(-EINVAL, "%u peers: must be within 2..%u", ranks,
				OPERANDS_MAX_RANKS);
	if (c->devices->count > 1 && ranks != c->devices->count)
		return err_note(-EINVAL, "%u peers with %zu devices: --peers needs a single device",
				ranks, c->devices->count);
	for (size_t i = 0; c->devices->count > 1 && i < c->devices->count; i++)
		if (!dev_can(c->devices->dev[i], DEV_CAP_PEER))
			return err_note(-ENOTSUP, "device %zu of the list has no peer access", i);
	if (axis_index(c, "copy-method") == ENGINE && !dev_can(c->dev, DEV_CAP_COPY_ENGINE))
		return err_note(-ENOTSUP, "this device has no copy engine");
	if (axis_index(c, "copy-method") == ENGINE && axis_u64(c, "blocks") > 0)
		return err_note(-EINVAL, "--blocks needs --copy-method kernel");
	if (ficco_sums(op) && !flow_adding_kernel(type))
		return err_note(-ENOTSUP,
				"%s of %s is not supported: kernels add partial sums in f32 and "
				"bf16",
				ficco_ops[op], dev_type_names[type]);
	if (axis_index(c, "cut") == COLUMNS && !ficco_sums(op))
		return err_note(-EINVAL,
				"--cut columns of %s is impossible: its parts are the rows of A "
				"that arrive; gemm-rs and gemm-ar can be cut by columns",
				ficco_ops[op]);
	if (op == FICCO_GEMM_AR && c->devices->count < 2)
		return err_note(-ENOTSUP, "gemm-ar needs several devices: peers in host memory add "
					  "nothing, so they have no sums to return");
	return bench_gemm_admit(c);
}

static int setup(struct bench_case *c)
{
	struct shape shape = {0};
	const bool columns = axis_index(c, "cut") == COLUMNS;
	TRY(c->status, bench_gemm_shape(c, &shape));
	struct ficco_problem problem = {.op = (enum ficco_op)axis_index(c, "op"),
					.devices = rank_count(c),
					.m = columns ? shape.n : shape.m,
					.n = columns ? shape.m : shape.n,
					.k = shape.k,
					.exchanged = columns,
					.seed = rng_u64(&c->rng)};
	return TRY(c->status, variants_open(c, &problem, (enum dev_type)axis_index(c, "type"),
					    copy_blocks(c)));
}

/* All variants with copies depend on them needing no thread block. */
static int verify_mechanism(struct bench_case *c)
{
	return bench_verify_engine(c, UINT64_MAX, ((struct variants *)c->state)->graph,
				   VARIANTS_ALL);
}

static int derive(struct bench_case *c)
{
	const struct variants *all = c->state;
	const struct ficco_problem *p = &all->plan[FICCO_SERIAL]->problem;
	bench_fact_number(c, "m", p->exchanged ? p->n : p->m);
	bench_fact_number(c, "n", p->exchanged ? p->m : p->n);
	bench_fact_number(c, "k", p->k);
	bench_fact_number(c, "ranks", p->devices);
	bench_fact_number(c, p->exchanged ? "max_columns" : "max_rows",
			  all->plan[FICCO_SERIAL]->max_rows);
	bench_fact_number(c, "copy_blocks", all->blocks);
	rotation_facts(all->rotation, c);
	bench_fact_text(c, "peers_are", c->devices->count > 1 ? "devices" : "pinned host memory");
	if (all->library.comm)
		bench_fact_text(c, "library", all->library.comm->library);
	bench_fact_text(c, "skipped", all->skipped);
	bench_fact_text(c, "skipped_why", all->skipped_why);
	return variants_derive(c);
}

static const struct bench bench = {
	.name = "overlap/ficco",
	.question = "which schedule best hides communication?",
	.formula = "S = time of serial / time; S_library = time of serial-library / time; "
		   "fraction_of_ideal = (S - 1) / (S_ideal - 1), not "
		   "clamped; S_ideal = (t_g + t_c) / max(t_g, t_c)",
	.timed = "one run, enqueued beforehand, all devices released at once: the longest of the "
		 "devices' own durations",
	.limits = "sources are stored so that every transfer is one contiguous range, and C's rows "
		  "are in the order in which A arrives (with --cut columns C is column-major, and "
		  "its columns are in the order in which sums leave); a peer in host memory "
		  "computes nothing, and "
		  "its partial sums leave as early as the device's own",
	.needs = DEV_CAP_GEMM | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_PEER | DEV_CAP_COPY_ENGINE | DEV_CAP_COLLECTIVES,
	.share = 4.0,
	.axes = axes,
	.variant_option = "schedule",
	.variants = ficco_variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct variants),
	.admit = admit,
	.setup = setup,
	.body = variants_body,
	.poison = variants_poison,
	.check = variants_check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
	.teardown = variants_teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
