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
#include "lib/text.h"
#include "overlap/trigger/trigger_metrics.h"

#include <errno.h>
#include <stdio.h>

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
	{.name = "direction",
	 .help = "where C is sent: down (D2H), local (D2D), peer (P2P), exchange, ring",
	 .kind = AXIS_WORD,
	 .words = producer_directions,
	 .peers = "peer,exchange,ring",
	 .quick = "down,local,peer,exchange,ring"},
	{.name = "bands",
	 .help = "parts of C that are sent separately",
	 .kind = AXIS_COUNT,
	 .min = 1,
	 .max = PRODUCER_MAX_BANDS,
	 .quick = "4,16,64",
	 .simulated = "4,16"},
	{.name = "copy-method",
	 .help = "what copies",
	 .kind = AXIS_WORD,
	 .words = copy_methods,
	 .quick = "engine",
	 .full = "engine,kernel"},
	BENCH_OPERANDS,
	{0}};

static const struct bench_metric primary[] = {
	{"trigger_speedup", "S_tiled", "triggered",
	 "type=main shape=n1024|n4096|n256 direction=down bands=16 copy-method=engine "
	 "operands=warm",
	 "", "higher"},
	{"tile_tracking_cost", "tracking_cost", "gemm_counting",
	 "type=main shape=n1024|n4096|n256 direction=down bands=16 copy-method=engine "
	 "operands=warm",
	 "", "lower"},
	{0}};

#define OVERLAPPED (1u << SPLIT | 1u << TRIGGERED | 1u << STAGGERED | 1u << COPY_THEN_ADD)

struct state {
	struct producers producers;
	struct producer_round rounds[VARIANTS];
	struct rotation *rotation;
};

static struct state *case_state(const struct bench_case *c) { return c->state; }

static bool adds_to_sums(unsigned variant) { return producers_add(&trigger_strategies[variant]); }

/* A link may have no atomic adds. */
static void choose_remote_add(struct producers *s, struct bench_case *c)
{
	char why[ERR_TEXT];
	int status = bench_variant_on(c, REMOTE_ADD) ? producers_try_adding(s, c) : 0;
	text_fit(why, sizeof(why), "%s", err_text());
	if (status == -ENOTSUP)
		bench_variants_skip(c, UINT64_C(1) << REMOTE_ADD, why);
	else
		bench_status_add(c, status);
}

static void choose_variants(struct producers *s, struct bench_case *c)
{
	const bool ring = s->direction == DIRECTION_RING;
	for (unsigned v = 0; v < VARIANTS; v++) {
		const struct strategy *strategy = &trigger_strategies[v];
		bool off = (v == STAGGERED && s->count < 2) || (v == REMOTE_ADD && !s->gemms_add) ||
			   (strategy->add != ADD_NONE && (ring || !s->kernels_add)) ||
			   (ring && (strategy->stamps_first || strategy->send == SEND_STORES));
		if (off)
			bench_variant_off(c, v);
	}
	choose_remote_add(s, c);
}

static void need_local_engine(const struct producers *s, struct bench_case *c)
{
	if (s->direction == DIRECTION_LOCAL && !s->copies_by_kernel)
		bench_status_add(c, blocking_kernel_need_local_engine(
					    c, OVERLAPPED, s->producer[0].inbox,
					    s->producer[0].gemm.c, producers_bytes(s, 0, 1)));
}

static struct work_graph *prepare_variant(struct state *s, struct bench_case *c, unsigned v)
{
	struct producers *p = &s->producers;
	/* Before a round, counters may be set to 0. */
	const unsigned restart = work_graph_max_queued(p->restart);
	struct work_graph *graph = NULL;
	if (producers_prepare(p, c, &trigger_strategies[v], &s->rounds[v]) == 0) {
		graph = s->rounds[v].graph;
		bench_queue_entries(c, v, restart + work_graph_max_queued(graph));
	}
	/* restore() sets sums to 0 when so many are left. */
	if (adds_to_sums(v))
		bench_max_iterations(c, v, producers_rounds_at_once(p));
	return graph;
}

static int setup(struct bench_case *c)
{
	struct state *s = case_state(c);
	struct work_graph *graphs[VARIANTS] = {NULL};
	if (producers_open(&s->producers, c))
		return bench_status(c);
	choose_variants(&s->producers, c);
	need_local_engine(&s->producers, c);
	for (unsigned v = 0; v < VARIANTS; v++)
		if (bench_variant_on(c, v))
			graphs[v] = prepare_variant(s, c, v);
	int status = bench_rotate_cold(c, graphs, VARIANTS, &s->rotation);
	s->producers.rotates = s->rotation != NULL;
	return status;
}

static int time_first_copy(struct state *s, const struct producer_round *r, double *seconds_p)
{
	double whole_s;
	int status = work_graph_hold(r->graph);
	if (status == 0)
		status = producers_round(&s->producers, r);
	status = work_graph_release(r->graph, status, &whole_s);
	return status ? status
		      : work_graph_seconds(r->graph, WORK_GRAPH_BEGIN, r->first_copy, seconds_p);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = case_state(c);
	const struct producer_round *r = &s->rounds[variant];
	double seconds = 0.0, sum = 0.0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = r->strategy->stamps_first ? time_first_copy(s, r, &seconds)
						   : producers_round(&s->producers, r);
		sum += seconds;
	}
	c->self_seconds = sum;
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct producers *s = &case_state(c)->producers;
	const struct strategy *strategy = &trigger_strategies[variant];
	if (strategy->stamps_first)
		return;
	if (strategy->produce != PRODUCE_NONE)
		m->flops = shape_flops(&s->shape) * s->count;
	if (strategy->send != SEND_NONE)
		m->bytes = (double)s->bytes * (s->count > 1 ? s->count - 1 : 1);
}

static int restore(struct bench_case *c, unsigned variant)
{
	struct state *s = case_state(c);
	struct producers *p = &s->producers;
	if (!adds_to_sums(variant) || (p->rotates && p->rounds_added < producers_rounds_at_once(p)))
		return 0;
	int status = producers_clear_sums(p, c);
	if (status == 0 && p->rotates)
		status = rotation_spread(s->rotation, UINT32_MAX);
	if (status == 0)
		p->rounds_added = 0;
	return status;
}

static int poison(struct bench_case *c, unsigned variant)
{
	int status = producers_poison(&case_state(c)->producers, c);
	(void)variant;
	return status ? status : rotation_spread(case_state(c)->rotation, 1);
}

static int check(struct bench_case *c, unsigned variant)
{
	int status = rotation_collect(case_state(c)->rotation);
	return status ? status
		      : producers_check(&case_state(c)->producers, c,
					&case_state(c)->rounds[variant]);
}

static int verify_mechanism(struct bench_case *c)
{
	const struct producers *s = &case_state(c)->producers;
	/* The last band is the shortest, and every inbox has a place for one. */
	uint64_t bytes = producers_bytes(s, s->bands - 1, s->bands);
	return s->copies_by_kernel
		       ? 0
		       : blocking_kernel_verify_engine(c, OVERLAPPED,
						       s->producer[s->count > 1 ? 1 : 0].inbox,
						       s->producer[0].gemm.c, bytes);
}

static int derive(struct bench_case *c)
{
	const struct producers *s = &case_state(c)->producers;
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
	rotation_facts(case_state(c)->rotation, c);
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
	.variants = trigger_variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = producers_admit,
	.setup = setup,
	.indexed.body = body,
	.indexed.restore = restore,
	.indexed.model = model,
	.indexed.poison = poison,
	.indexed.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
