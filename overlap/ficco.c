/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A product and the communication it depends on: which schedule hides most of it, for which shape? Serial and shard-level overlap
 * beside FiCCO's finer ones (arXiv 2512.10236), for all-gather, reduce-scatter and all-to-all next to a matrix product. Their
 * steps are our working definition (overlap/schedules/plan.h), and so are DIL = pieces alone / whole alone and CIL = beside each
 * other / alone.
 *
 * Every device of the list does its own part. One device alone has its peers in pinned host memory: what they send comes up from
 * it and what they get goes down to it over the device's real link, and nobody computes there.
 *
 * Timed: all of it enqueued, then one write of the host releases every device; each device's own stamps, and of them the longest.
 *
 *     bin/overlap/ficco --device host:0,1 --shape g5 --op ag-gemm --mover engine,kernel --schedule serial,shard,hetero-fused-1d
 */
#include "lib/bench_hold.h"
#include "lib/bench_product.h"
#include "lib/err.h"
#include "overlap/ficco/effects.h"

#include <errno.h>

#define WHOLE(label) {.name = (label), .timing = BENCH_SELF}
#define PART(label) {.name = (label), .timing = BENCH_SELF, .reference = true, .always = true}
#define PARTS(label) PART(label "-gemms"), PART(label "-transfers"), PART(label "-beside")

static const struct bench_variant variants[] = {
	WHOLE("serial"), WHOLE("shard"), WHOLE("uniform-fused-1d"), WHOLE("hetero-fused-1d"), WHOLE("hetero-unfused-1d"),
	WHOLE("uniform-fused-2d"), PART("gemm"), PART("communication"), PARTS("shard"), PARTS("uniform-fused-1d"),
	PARTS("hetero-fused-1d"), PARTS("hetero-unfused-1d"), PARTS("uniform-fused-2d"), {0}};

enum mover { ENGINE, KERNEL };
static const char *const movers[] = {"engine", "kernel", NULL};

static const struct axis axes[] = {
	{.name = "op", .help = "what is next to the product", .kind = AXIS_WORD, .words = overlap_ops, .quick = "ag-gemm,gemm-rs",
	 .full = "ag-gemm,gemm-rs,a2a-gemm,a2a-gemm-uneven"},
	{.name = "shape", .help = "nSIDE, MxNxK, or g1..g16 scaled: the product of each device", .kind = AXIS_WORD,
	 .accept = shape_accept, .quick = "g1,g2,g5,g6", .simulated = "g1,g5",
	 .full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16"},
	{.name = "mflop", .help = "g1..g16 are scaled to at most this many million flops", .kind = AXIS_COUNT, .min = 1,
	 .quick = "300", .full = "4000", .simulated = "20", .wide = "2000000", .wide_full = "8000000"},
	{.name = "type", .help = "element type", .kind = AXIS_WORD, .words = product_types, .types = true, .quick = "f32",
	 .full = "f32,bf16", .wide = "f32,bf16"},
	{.name = "mover", .help = "what copies", .kind = AXIS_WORD, .words = movers, .quick = "engine,kernel"},
	{.name = "blocks", .help = "of a kernel that copies; 0: an eighth of those that keep the device busy", .kind = AXIS_COUNT,
	 .quick = "0", .max = 65536},
	{.name = "peers", .help = "of one device, itself included; 0: 4, or the devices that there are", .kind = AXIS_COUNT,
	 .quick = "0", .max = OPERANDS_MOST},
	{0}};

static const struct bench_metric primary[] = {
	{"ficco_best_speedup", "best_speedup", NULL, "type=f32", "max", "", "higher"},
	{"ficco_median_best_speedup", "best_speedup", NULL, "type=f32", "median", "", "higher"},
	{0}};

#define PEERS_ALONE 4u
#define PROOF_BYTES (64u << 10)

static struct race *race(const struct bench_case *c) { return c->state; }

static uint32_t members_of(const struct bench_case *c)
{
	uint32_t peers = (uint32_t)bench_number(c, "peers"), devices = (uint32_t)c->devices->count;
	return peers ? peers : devices > 1 ? devices : PEERS_ALONE;
}

static uint32_t blocks_of(const struct bench_case *c)
{
	uint32_t blocks = (uint32_t)bench_number(c, "blocks"), busy = dev_props(c->dev)->busy_blocks;
	if (bench_choice(c, "mover") == ENGINE)
		return 0;
	return blocks ? blocks : busy > 8 ? busy / 8 : 1;
}

static int admit(const struct bench_case *c)
{
	uint32_t members = members_of(c);
	unsigned type = bench_choice(c, "type");
	if (members < 2 || members > OPERANDS_MOST)
		return err_note(-EINVAL, "%u devices: not within 2..%u", members, OPERANDS_MOST);
	if (c->devices->count > 1 && members != c->devices->count)
		return err_note(-EINVAL, "%u peers of %zu devices: peers are for one device alone", members, c->devices->count);
	for (size_t i = 0; c->devices->count > 1 && i < c->devices->count; i++)
		if (!dev_can(c->devices->dev[i], DEV_CAP_PEER))
			return err_note(-ENOTSUP, "device %zu of the list has no peers", i);
	if (bench_choice(c, "mover") == ENGINE && !dev_can(c->dev, DEV_CAP_COPY_ENGINE))
		return err_note(-ENOTSUP, "this device has no copy engines");
	if (bench_choice(c, "mover") == ENGINE && bench_number(c, "blocks") > 0)
		return err_note(-EINVAL, "engines have no blocks");
	if (bench_choice(c, "op") == OVERLAP_GEMM_RS && type != DEV_F32 && type != DEV_TF32)
		return err_note(-ENOTSUP, "gemm-rs of %s: the kernel that adds is for floats", product_types[type]);
	return product_admit(c);
}

static int setup(struct bench_case *c)
{
	struct shape shape;
	int status = shape_parse(bench_word(c, "shape"), 1e6 * (double)bench_number(c, "mflop"), &shape);
	struct overlap_problem problem = {.op = (enum overlap_op)bench_choice(c, "op"), .devices = members_of(c), .m = shape.m,
	                                  .n = shape.n, .k = shape.k, .seed = rng_u64(&c->rng)};
	return status ? status : race_open(race(c), c, &problem, (enum dev_type)bench_choice(c, "type"), blocks_of(c));
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	return race_run(race(c), variant, iterations, &c->self_seconds);
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m) { race_model(race(c), variant, m); }

static int spoil(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return race_spoil(race(c));
}

static int check(struct bench_case *c, unsigned variant) { return race_check(race(c), c, variant); }

/* Transfers by engines are those of engines: all variants but the products alone rely on it. */
static int prove(struct bench_case *c)
{
	uint64_t uses = 0;
	for (unsigned v = 0; v < RACE_VARIANTS; v++)
		uses |= (uint64_t)(race_part(v) != FLOW_PIECES) << v;
	if (race(c)->blocks)
		return 0;
	bool alone = c->devices->count == 1;
	void *from = own_memory(c, alone ? DEV_MEM_PINNED : DEV_MEM_DEVICE, PROOF_BYTES);
	void *to = own_memory_on(c, c->devices->dev[c->devices->count - 1], DEV_MEM_DEVICE, PROOF_BYTES);
	return own_status(c) ? own_status(c) : hold_prove_engine(c, uses, to, from, PROOF_BYTES);
}

/* Of a device's product; more than m only where experts are not equally popular. */
static uint32_t most_rows(const struct overlap_plan *p)
{
	uint32_t most = 0;
	for (uint32_t d = 0; d < p->problem.devices; d++)
		most = p->all_rows[d] > most ? p->all_rows[d] : most;
	return most;
}

static int derive(struct bench_case *c)
{
	const struct race *r = race(c);
	const struct overlap_problem *p = &r->serial->problem;
	bench_fact_number(c, "m", p->m);
	bench_fact_number(c, "n", p->n);
	bench_fact_number(c, "k", p->k);
	bench_fact_number(c, "members", p->devices);
	bench_fact_number(c, "most_rows", most_rows(r->serial));
	bench_fact_number(c, "copy_blocks", r->blocks);
	bench_fact_text(c, "peers_are", c->devices->count > 1 ? "devices" : "pinned host memory");
	bench_fact_text(c, "left_out", r->left_out);
	bench_fact_text(c, "left_out_why", r->why);
	return effects_derive(r, c);
}

static void teardown(struct bench_case *c) { race_close(race(c)); }

static const struct bench bench = {
	.name = "overlap/ficco",
	.question = "which schedule hides most of the communication that a product depends on?",
	.formula = "speedup = time of serial / time; fraction_of_ideal = (speedup - 1) / (ideal_speedup - 1), not clamped",
	.timed = "one run, enqueued beforehand, all devices released at once: the longest of the devices' own durations",
	.limits = "sources are kept so that every transfer is one range, and C's rows stand in the order of A's arrival; a peer "
	          "that is host memory computes nothing, and its terms leave as fast as the device's own",
	.needs = DEV_CAP_GEMM | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_PEER | DEV_CAP_COPY_ENGINE,
	.share = 4.0,
	.axes = axes,
	.variant_option = "schedule",
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct race),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.spoil = spoil,
	.check = check,
	.prove = prove,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
