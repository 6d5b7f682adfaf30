/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Do residency and priority help a communication beside products? The loop GEMM_i -> comm_i runs with comm_i beside
 * GEMM_{i+1}, and the two controls of resource-aware overlap (arXiv 2606.09200) are tried alone and together: blocks of the
 * products claim shared memory, so that fewer are resident and slots stay free; communications are in a more urgent stream.
 * The arithmetic is the same throughout. Every case has its own baseline overlap and serial loop beside it.
 *
 * Scenarios: cb, compute-bound, products of 8192^3; mb, memory-bound, of 8192 x 57344 x 8192; both divided by the same power
 * of two; with an allreduce (ar) or all-to-all (a2a) of one mb result. overlap/shaping/message.h says what these are here: on one
 * device a stand-in, on several one rank's share.
 *
 * Timed: rounds of the loop by the device's events. Overlap rate, losses and waits are of further rounds with stamps and events.
 *
 *     bin/overlap/shaping --device host --scenario mb-ar --shared 0,SHARED/4,SHARED/2 --blocks 2
 */
#include "lib/bench_own.h"
#include "lib/err.h"
#include "overlap/shaping/watch.h"

#include <errno.h>
#include <math.h>

enum { GEMM_ALONE, GEMM_SHAPED, COMM_ALONE, SERIAL, OVERLAP, SHAPED, PRIORITY, SHAPED_PRIORITY, VARIANTS };

/* A sample enqueues a round in one stream: iterations x (a product, its event and waits, a communication). */
#define QUEUED (SHAPING_ITERATIONS_MOST * (MESSAGE_OPERATIONS + 6u))

static const struct bench_variant variants[] = {
	[GEMM_ALONE] = {.name = "gemm_alone", .timing = BENCH_DEVICE, .queued = QUEUED},
	[GEMM_SHAPED] = {.name = "gemm_shaped", .timing = BENCH_DEVICE, .queued = QUEUED},
	[COMM_ALONE] = {.name = "comm_alone", .timing = BENCH_DEVICE, .queued = QUEUED},
	[SERIAL] = {.name = "serial", .timing = BENCH_DEVICE, .queued = QUEUED},
	[OVERLAP] = {.name = "overlap", .timing = BENCH_DEVICE, .queued = QUEUED},
	[SHAPED] = {.name = "shaped", .timing = BENCH_DEVICE, .queued = QUEUED},
	[PRIORITY] = {.name = "priority", .timing = BENCH_DEVICE, .queued = QUEUED},
	[SHAPED_PRIORITY] = {.name = "shaped_priority", .timing = BENCH_DEVICE, .queued = QUEUED},
	{0}};

static const struct loop_round rounds[] = {
	[GEMM_ALONE] = {.gemm = true},
	[GEMM_SHAPED] = {.gemm = true, .claim = true},
	[COMM_ALONE] = {.comm = true},
	[SERIAL] = {.gemm = true, .comm = true},
	[OVERLAP] = {.gemm = true, .comm = true, .queue = LOOP_NORMAL},
	[SHAPED] = {.gemm = true, .comm = true, .claim = true, .queue = LOOP_NORMAL},
	[PRIORITY] = {.gemm = true, .comm = true, .queue = LOOP_URGENT},
	[SHAPED_PRIORITY] = {.gemm = true, .comm = true, .claim = true, .queue = LOOP_URGENT}};

static const char *const scenarios[] = {"cb-ar", "mb-ar", "cb-a2a", "mb-a2a", NULL};
enum { CB_AR, MB_AR, CB_A2A, MB_A2A };

static const struct axis axes[] = {
	{.name = "scenario", .help = "products and communication", .kind = AXIS_WORD, .words = scenarios,
	 .quick = "cb-ar,mb-ar,cb-a2a,mb-a2a"},
	{.name = "shared", .help = "shared memory claimed by each block of a product", .kind = AXIS_SIZE,
	 .quick = "0,SHARED/8,SHARED/4,SHARED/2", .simulated = "0,SHARED/4,SHARED/2",
	 .full = "0,SHARED/16,SHARED/8,SHARED/6,SHARED/4,SHARED/3,SHARED/2,SHARED"},
	{.name = "blocks", .help = "blocks of the communication's kernels", .kind = AXIS_COUNT, .min = 1, .max = 65535,
	 .quick = "2", .full = "1,2,4,8,16", .simulated = "8", .wide = "16", .wide_full = "4,8,16,32,64"},
	{.name = "iterations", .help = "of the loop in a round", .kind = AXIS_COUNT, .min = 2, .max = SHAPING_ITERATIONS_MOST,
	 .quick = "6"},
	{.name = "mflop", .help = "products are divided until mb has at most this many million flops", .kind = AXIS_COUNT,
	 .min = 1, .quick = "100", .full = "300", .simulated = "300", .wide = "300000", .wide_full = "8000000"},
	{0}};

static const struct bench_metric primary[] = {
	{"shaping_best_normalised_time", "normalised_time", NULL, NULL, "min", "", "lower"},
	{"shaping_best_time_ratio", "time_ratio", NULL, NULL, "min", "", "lower"},
	{0}};

struct state {
	struct loop loop;
	struct watch watched[VARIANTS];
};

static struct state *state(const struct bench_case *c) { return c->state; }

static double flops(const struct bench_case *c) { return 1e6 * (double)bench_number(c, "mflop"); }

static int admit(const struct bench_case *c)
{
	const struct dev_props *p = dev_props(c->dev);
	bool tiled = dev_can(c->dev, DEV_CAP_GEMM_TILED) && p->gemm_tiled_types >> DEV_F32 & 1;
	uint64_t claim = bench_number(c, "shared");
	if (!tiled && !(p->gemm_types >> DEV_F32 & 1))
		return err_note(-ENOTSUP, "this device has no products of f32 here");
	if (!tiled && claim)
		return err_note(-ENOTSUP, "a library's blocks can't be shaped, and this device has no tiled products");
	if (claim > p->shared_per_block_bytes)
		return err_note(-ENOTSUP, "a block may claim at most %llu bytes here", (unsigned long long)p->shared_per_block_bytes);
	return 0;
}

static int setup(struct bench_case *c)
{
	unsigned scenario = bench_choice(c, "scenario");
	bool claims = bench_number(c, "shared") > 0, urgent = dev_can(c->dev, DEV_CAP_PRIORITY);
	struct loop_plan plan = {
		.gemm = scenario == CB_AR || scenario == CB_A2A ? shaping_compute_bound(flops(c)) : shaping_memory_bound(flops(c)),
		.kind = scenario == CB_AR || scenario == MB_AR ? MESSAGE_ALLREDUCE : MESSAGE_ALL_TO_ALL,
		.message_bytes = shaping_message_bytes(flops(c), dev_type_bytes(DEV_F32)), .claim_bytes = bench_number(c, "shared"),
		.blocks = (uint32_t)bench_number(c, "blocks"), .iterations = (unsigned)bench_number(c, "iterations")};
	for (unsigned v = 0; v < VARIANTS; v++)
		if ((rounds[v].claim && !claims) || (rounds[v].queue == LOOP_URGENT && !urgent))
			bench_variant_off(c, v);
	return loop_open(&state(c)->loop, c, &plan);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = loop_enqueue(&state(c)->loop, &rounds[variant]);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct loop *l = &state(c)->loop;
	m->flops = rounds[variant].gemm ? shape_flops(&l->product.shape) * l->iterations : 0.0;
	m->bytes = rounds[variant].comm ? (double)l->comm.bytes * l->iterations : 0.0;
}

static int spoil(struct bench_case *c, unsigned variant) { return loop_spoil(&state(c)->loop, c, &rounds[variant]); }
static int check(struct bench_case *c, unsigned variant) { return loop_check(&state(c)->loop, c, &rounds[variant]); }

static int prove_queues(struct bench_case *c, enum loop_queue queue)
{
	uint64_t uses = 0;
	bool apart = false;
	for (unsigned v = 0; v < VARIANTS; v++)
		uses |= (uint64_t)(rounds[v].queue == queue && bench_variant_on(c, v)) << v;
	int status = uses ? watch_queues(&state(c)->loop, queue, &apart) : 0;
	if (status == 0 && uses)
		bench_mechanism_of(c, uses, queue == LOOP_URGENT ? "urgent_stream_is_independent" : "stream_is_independent", apart,
		                   "communications got through while the products' stream was held");
	return status;
}

static int prove(struct bench_case *c)
{
	struct state *s = state(c);
	int status = prove_queues(c, LOOP_NORMAL);
	if (status == 0)
		status = prove_queues(c, LOOP_URGENT);
	for (unsigned v = OVERLAP; status == 0 && v < VARIANTS; v++) {
		struct watch *w = &s->watched[v];
		if (!bench_variant_on(c, v))
			continue;
		status = watch_rounds(&s->loop, &rounds[v], w);
		if (status == 0)
			bench_mechanism_of(c, UINT64_C(1) << v, "order_is_kept", w->in_order,
			                   "%s: every communication starts after its product ends, by stamps, to %.2g us",
			                   variants[v].name, 1e-3 * w->resolution_ns);
	}
	return status;
}

static double ratio_least(const struct bench_case *c, const double *seconds)
{
	(void)c;
	return shaping_ratio_least(seconds[GEMM_ALONE], seconds[COMM_ALONE]);
}

static double ratio_pipelined(const struct bench_case *c, const double *seconds)
{
	return shaping_ratio_pipelined(state(c)->loop.iterations, seconds[GEMM_ALONE], seconds[COMM_ALONE]);
}

static void derive_watched(struct bench_case *c, unsigned v)
{
	const struct state *s = state(c);
	const struct watch *w = &s->watched[v];
	double alone = 1e9 / s->loop.iterations;
	bench_value(c, "overlap_rate", (int)v, w->overlap_rate, "",
	            "time in which a product and a communication both ran / time of the round; watched rounds");
	bench_value(c, "first_comm_block", (int)v, 1e-9 * w->wait_ns, "s",
	            "start of a communication's first block - end of its product and of the communication before; watched rounds");
	bench_value(c, "gemm_CIL", (int)v, w->gemm_ns / (alone * bench_median(c, GEMM_ALONE)), "",
	            "time of a product beside a communication / in a loop of products alone");
	bench_value(c, "comm_CIL", (int)v, w->comm_ns / (alone * bench_median(c, COMM_ALONE)), "",
	            "time of a communication, from its first block, beside a product / in a loop of its own");
}

static void facts(struct bench_case *c)
{
	const struct loop *l = &state(c)->loop;
	const struct dev_props *p = dev_props(c->dev);
	uint64_t most = shaping_residents(p->shared_per_unit_bytes, p->shared_reserved_bytes, p->shared_granularity_bytes,
	                                  l->claim_bytes);
	product_facts(&l->product, c);
	bench_fact_text(c, "exchange", message_label(&l->comm));
	bench_fact_text(c, "products", l->tiled ? "the device's tiles" : "the library's");
	bench_fact_number(c, "message_bytes", (double)l->comm.bytes);
	bench_fact_number(c, "overlap_rate_most", shaping_rate_most(l->iterations));
	if (l->claim_bytes)
		bench_fact_number(c, "residents_at_most", (double)(most < p->slots_per_unit ? most : p->slots_per_unit));
}

static int derive(struct bench_case *c)
{
	const uint64_t alone = 1u << GEMM_ALONE | 1u << COMM_ALONE;
	facts(c);
	int status = bench_derive(c, "time_ratio_least", -1, "", alone, ratio_least, "max(g, c) / (g + c); g, c alone");
	if (status == 0)
		status = bench_derive(c, "time_ratio_pipelined", -1, "", alone, ratio_pipelined,
		                      "(g + (i - 1) max(g, c) + c) / (i (g + c)); g, c alone, i iterations");
	if (status == 0)
		status = bench_ratio(c, "claim_cost", GEMM_SHAPED, GEMM_ALONE, "seconds of products that claim / that don't");
	for (unsigned v = OVERLAP; status == 0 && v < VARIANTS; v++) {
		if (!bench_variant_on(c, v))
			continue;
		status = bench_ratio(c, "time_ratio", v, SERIAL, "seconds / seconds(serial)");
		if (status == 0 && v != OVERLAP)
			status = bench_ratio(c, "normalised_time", v, OVERLAP, "seconds / seconds(overlap)");
		derive_watched(c, v);
	}
	return status;
}

static const struct bench bench = {
	.name = "overlap/shaping",
	.question = "do residency and priority help a communication beside products?",
	.formula = "time_ratio = time / serial time; normalised_time = time / time of plain overlap; both block by block",
	.timed = "rounds of the loop, enqueued before they are released; not allocation, checks or watched rounds",
	.limits = "f32 and the device's own tiles, which a library's products outrun; residents of products are not counted, they "
	          "follow from the claim; without peers the communication is a stand-in that uses no link",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GEMM | DEV_CAP_GEMM_TILED | DEV_CAP_PRIORITY | DEV_CAP_OCCUPANCY | DEV_CAP_PEER,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.spoil = spoil,
	.check = check,
	.prove = prove,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
