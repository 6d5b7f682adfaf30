/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does sending a GEMM's tiles as they complete beat sending at the end? A GEMM counts its finished
 * rows; in another stream a copy waits for each counter and starts when its band is done. The
 * alternatives: send all of C after the GEMM, or compute every band by a GEMM of its own, followed
 * by its copy. After T3 (arXiv 2401.16677), whose tracker and trigger are hardware. This program
 * measures a SOFTWARE trigger, with counters in memory and streams that wait for values; the
 * traffic of T3's hardware is a model (overlap/trigger/t3_traffic.h).
 *
 * Timed: GEMMs and copies, one round after the other, in streams filled before they are released,
 * including the resets of the counters. Targets: host memory (down), the same device (local), a
 * second device (peer), or every device sends to every other its part (exchange), with and without
 * stagger; or the sums of all C are made on the way round a ring (ring). Without a copy, the GEMM
 * itself stores its tiles at the target, or adds them to a sum there.
 *
 * With --operands cold each round uses other buffers, which are in no cache
 * (bench/graph/rotation.h); counters stay where they are.
 *
 *     bin/overlap/trigger --device host --shape n1024 --direction down --bands 4,16
 */
#include "bench/blocking_kernel.h"
#include "bench/graph/rotation.h"
#include "lib/err.h"
#include "overlap/trigger/trigger_metrics.h"

#include <errno.h>

static const char *const copy_methods[] = {"engine", "kernel", NULL};

static const struct axis axes[] = {
	BENCH_TILED_TYPES(.quick = "f32", .full = "f32,f64", .gpu_class = "bf16,f32",
			  .gpu_class_full = "bf16,f32,f64"),
	BENCH_GEMM_SHAPES(.quick = "g1,g5,n1024,2048x2048x128",
			  .simulated = "g1,g5,n256,512x512x64",
			  .full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16,n256,"
				  "n1024,n2048,2048x2048x128",
			  .gpu_class = "g1,g5,n4096,8192x8192x512",
			  .gpu_class_full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,"
					    "g16,n4096,square,"
					    "8192x8192x512"),
	BENCH_GEMM_MFLOP(.quick = "500", .full = "4000", .simulated = "60", .gpu_class = "2000000",
			 .gpu_class_full = "8000000"),
	{"direction", "where C is sent: down (D2H), local (D2D), peer (P2P), exchange, ring",
	 AXIS_WORD, .words = producer_directions, .peers = "peer,exchange,ring",
	 .quick = "down,local,peer,exchange,ring"},
	{"bands", "parts of C that are sent separately", AXIS_COUNT, .min = 1,
	 .max = PRODUCER_MAX_BANDS, .quick = "4,16,64", .simulated = "4,16"},
	{"copy-method", "what copies", AXIS_WORD, .words = copy_methods, .quick = "engine",
	 .full = "engine,kernel"},
	BENCH_OPERANDS,
	{0}};

#define TAIL "seconds - seconds(its GEMM alone: gemm_alone, gemm_tiled or gemm_counting)"
#define OTHER_GEMM "seconds(whole_then_send) / seconds: against the library's GEMM, another one"

static const struct bench_quantity_row quantities[] = {
	{"tracking_cost", BENCH_RATIO, "gemm_counting", "gemm_tiled"},
	{"tiling_cost", BENCH_RATIO, "gemm_tiled", "gemm_alone",
	 "seconds(gemm_tiled) / seconds(gemm_alone), the library's"},
	{"stagger_gain", BENCH_RATIO, "triggered", "triggered_staggered"},
	{"exposed_tail", BENCH_DIFFERENCE, "whole_then_send", "gemm_alone", TAIL},
	{"exposed_tail", BENCH_DIFFERENCE, "split", "gemm_alone", TAIL},
	{"exposed_tail", BENCH_DIFFERENCE, "whole_tiled_then_send", "gemm_tiled", TAIL},
	{"exposed_tail", BENCH_DIFFERENCE, "triggered", "gemm_counting", TAIL},
	{"exposed_tail", BENCH_DIFFERENCE, "triggered_staggered", "gemm_counting", TAIL},
	{"exposed_tail", BENCH_DIFFERENCE, "remote_store", "gemm_tiled", TAIL},
	{"exposed_tail", BENCH_DIFFERENCE, "remote_add", "gemm_tiled", TAIL},
	{"S", BENCH_SPEEDUP, "whole_tiled_then_send", "whole_then_send", OTHER_GEMM},
	{"S", BENCH_SPEEDUP, "triggered", "whole_then_send", OTHER_GEMM},
	{"S", BENCH_SPEEDUP, "triggered_staggered", "whole_then_send", OTHER_GEMM},
	{"S", BENCH_SPEEDUP, "remote_store", "whole_then_send", TRIGGER_LIBRARY_S},
	{"S_tiled", BENCH_SPEEDUP, "remote_store", "whole_tiled_then_send", TRIGGER_TILED_S},
	{"add_gain", BENCH_SPEEDUP, "remote_add", "arrive_add"},
	{"remote_gain", BENCH_SPEEDUP, "remote_store", "triggered"},
	{"staging_cost", BENCH_RATIO, "copy_then_add", "arrive_add"},
	{0}};

#define IN_16_BANDS                                                                                \
	"type=main shape=n1024|n4096|n256 direction=down bands=16 copy-method=engine "             \
	"operands=warm"
static const struct bench_metric primary[] = {
	{"trigger_speedup", "S_tiled", "triggered", IN_16_BANDS},
	{"tile_tracking_cost", "tracking_cost", "gemm_counting", IN_16_BANDS},
	{0}};

#define OVERLAPPED (1u << SPLIT | 1u << TRIGGERED | 1u << STAGGERED | 1u << COPY_THEN_ADD)

struct state {
	struct producers producers;
	struct producer_round rounds[VARIANTS];
	struct rotation *rotation;
};

static void choose_variants(struct producers *s, struct bench_case *c)
{
	const bool ring = s->direction == DIRECTION_RING;
	for (unsigned v = 0; v < VARIANTS; v++) {
		const struct strategy *x = &trigger_strategies[v];
		const bool counts_staggered = x->staggered && x->produce == PRODUCE_COUNTING;
		if ((counts_staggered && s->count < 2) || (x->send == SEND_ADDS && !s->gemms_add) ||
		    (x->add != ADD_NONE && (ring || !s->kernels_add)) ||
		    (ring && (x->stamps_first || x->send == SEND_STORES)))
			bench_variant_off(c, v);
	}
	/* A link may have no atomic adds. */
	const int status = bench_variant_on(c, REMOTE_ADD) ? producers_try_adding(s, c) : 0;
	if (status == -ENOTSUP)
		bench_variants_skip(c, UINT64_C(1) << REMOTE_ADD, err_text());
	else
		TRY(c->status, status);
}

static struct work_graph *prepare_variant(struct state *s, struct bench_case *c, unsigned v)
{
	struct producers *p = &s->producers;
	struct producer_round *r = &s->rounds[v];
	if (producers_prepare(p, c, &trigger_strategies[v], r))
		return NULL;
	/* Before a round, counters may be set to 0. */
	bench_queue_entries(c, v,
			    work_graph_max_queued(p->restart) + work_graph_max_queued(r->graph));
	/* restore() sets sums to 0 when so many are left. */
	if (producers_add(r->strategy))
		bench_max_iterations(c, v, producers_rounds_at_once(p));
	return r->graph;
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	struct producers *p = &s->producers;
	struct work_graph *graphs[VARIANTS] = {NULL};
	if (producers_open(p, c))
		return c->status;
	choose_variants(p, c);
	if (p->direction == DIRECTION_LOCAL && !p->copies_by_kernel)
		TRY(c->status, blocking_kernel_need_local_engine(
				       c, OVERLAPPED, p->producer[0].inbox, p->producer[0].gemm.c,
				       producers_bytes(p, 0, 1)));
	for (unsigned v = 0; v < VARIANTS; v++)
		if (bench_variant_on(c, v))
			graphs[v] = prepare_variant(s, c, v);
	int status = bench_rotate_cold(c, graphs, VARIANTS, &s->rotation);
	p->rotates = s->rotation != NULL;
	return status;
}

static int run_round(struct bench_case *c, long variant)
{
	struct state *s = c->state;
	return producers_round(&s->producers, &s->rounds[variant]);
}

static int time_first_copy(struct bench_case *c, long variant)
{
	struct state *s = c->state;
	const struct producer_round *r = &s->rounds[variant];
	double whole_s, seconds = 0.0;
	int status = work_graph_hold(r->graph);
	TRY(status, producers_round(&s->producers, r));
	status = work_graph_release(r->graph, status, &whole_s);
	TRY(status, work_graph_seconds(r->graph, WORK_GRAPH_BEGIN, r->first_copy, &seconds));
	c->self_seconds += seconds;
	return status;
}

#define ONCE_DEVICE run_round
#define ONCE_SELF time_first_copy
#define ROW(id, label, how, ...) {label, BENCH_##how, .arg = id, .once = ONCE_##how},
static const struct bench_variant variants[] = {TRIGGER_VARIANTS(ROW){0}};

static void model(const struct bench_case *c, long variant, struct bench_model *m)
{
	const struct producers *s = &((struct state *)c->state)->producers;
	const struct strategy *strategy = &trigger_strategies[variant];
	if (strategy->stamps_first)
		return;
	if (strategy->produce != PRODUCE_NONE)
		m->flops = shape_flops(&s->shape) * s->count;
	if (strategy->send != SEND_NONE)
		m->bytes = (double)s->bytes * (s->count > 1 ? s->count - 1 : 1);
}

static int restore(struct bench_case *c, long variant)
{
	struct state *s = c->state;
	struct producers *p = &s->producers;
	if (!producers_add(&trigger_strategies[variant]) ||
	    (p->rotates && p->rounds_added < producers_rounds_at_once(p)))
		return 0;
	TRY(c->status, producers_clear_sums(p, c));
	if (p->rotates)
		TRY(c->status, rotation_spread(s->rotation, UINT32_MAX));
	if (c->status == 0)
		p->rounds_added = 0;
	return c->status;
}

static int poison(struct bench_case *c, long variant)
{
	struct state *s = c->state;
	TRY(c->status, producers_poison(&s->producers, c));
	return TRY(c->status, rotation_spread(s->rotation, 1));
}

static int check(struct bench_case *c, long variant)
{
	struct state *s = c->state;
	TRY(c->status, rotation_collect(s->rotation));
	return TRY(c->status, producers_check(&s->producers, c, &s->rounds[variant]));
}

static int verify_mechanism(struct bench_case *c)
{
	const struct producers *s = &((struct state *)c->state)->producers;
	/* The last band is the shortest, and every inbox has a place for one. */
	return s->copies_by_kernel
		       ? 0
		       : blocking_kernel_verify_engine(
				 c, OVERLAPPED, s->producer[s->count > 1 ? 1 : 0].inbox,
				 s->producer[0].gemm.c, producers_bytes(s, s->bands - 1, s->bands));
}

static int derive(struct bench_case *c)
{
	const struct producers *s = &((struct state *)c->state)->producers;
	bench_gemm_facts(&s->producer[0].gemm, c);
	bench_fact_text(c, "trigger",
			"software: a GEMM's counters and streams that wait for values; T3's is "
			"hardware");
	if (!dev_can(c->dev, DEV_CAP_VALUE_IN_QUEUE))
		bench_fact_text(c, "waits",
				"each stream that waits for a counter holds a slot that the "
				"GEMM could use");
	bench_fact_number(c, "devices_that_send", (double)s->count);
	bench_fact_number(c, "bands_sent", s->bands);
	/* Per device: in the order of stagger the GEMM is cut once, else for each chunk. */
	bench_fact_number(c, "tiled_gemm_calls", s->count > 1 ? 2 : 1);
	bench_fact_number(c, "remote_gemm_calls", s->count);
	bench_fact_number(c, "band_rows", s->band_rows);
	rotation_facts(((struct state *)c->state)->rotation, c);
	bench_fact_number(c, "band_bytes", (double)(s->band_rows * s->row_bytes));
	return trigger_derive(c, s);
}

static const struct bench bench = {
	.name = "overlap/trigger",
	.question = "does sending tiles as they complete pay off?",
	.formula =
		"S_tiled = time of whole_tiled_then_send / time, the same GEMM; S = time of "
		"whole_then_send / time, against the library's; exposed_tail = time - time of its "
		"GEMM alone; tracking_cost = time of a GEMM with counters / of the same one "
		"without",
	.timed =
		"GEMMs and copies, in streams filled beforehand, including resets of the counters; "
		"not filling or checking",
	.limits = "a software trigger: counters in memory and streams that wait for values. T3's "
		  "tracker, trigger and adding memory are hardware; here only their traffic is "
		  "modelled (t3_*), nothing of it is measured. The tiled GEMM is the device's own "
		  "and may be slower than the library's (tiling_cost)",
	.needs = DEV_CAP_GEMM | DEV_CAP_GEMM_TILED | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = producers_admit,
	.setup = setup,
	.restore = restore,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
