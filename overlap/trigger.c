/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is a part of a product sent when it is ready? A product counts its finished rows; behind each counter a copy waits in another
 * stream, and leaves when its band is done. Against that: sending all of it when all is made, and as many products of
 * a band each, every one followed by its copy. After T3 (arXiv 2401.16677), whose tracker and trigger are hardware: what is
 * measured here is a SOFTWARE trigger, with counters in memory and streams that wait for values; of T3's hardware the
 * traffic is a model (overlap/trigger/traffic.h).
 *
 * Timed: products and what is sent, one round after the other, in streams filled before they are released; setting counters
 * back to 0 now and then is in it. Targets: host memory (down), the same device (local), a second device (peer), or
 * among all devices each sends to every other its part (exchange), with and without stagger.
 *
 *     bin/overlap/trigger --device host --shape n1024 --direction down --bands 4,16
 */
#include "lib/bench_hold.h"
#include "lib/bench_own.h"
#include "overlap/trigger/gains.h"

#define QUEUED (SENDER_QUEUED_PER_BAND * SENDER_MOST_BANDS + SENDER_QUEUED)
#define ROW(label) {.name = (label), .timing = BENCH_DEVICE, .queued = QUEUED}

static const struct bench_variant variants[] = {
	[GEMM_ALONE] = ROW("gemm_alone"), [GEMM_TILED] = ROW("gemm_tiled"), [GEMM_COUNTING] = ROW("gemm_counting"),
	[SEND_ALONE] = ROW("send_alone"), [WHOLE] = ROW("whole_then_send"), [WHOLE_TILED] = ROW("whole_tiled_then_send"),
	[SPLIT] = ROW("split"), [TRIGGERED] = ROW("triggered"), [STAGGERED] = ROW("triggered_staggered"),
	[ARRIVE_ADD] = ROW("arrive_add"), [COPY_THEN_ADD] = ROW("copy_then_add"),
	[FIRST_WHOLE] = {.name = "first_of_whole", .timing = BENCH_SELF},
	[FIRST_SPLIT] = {.name = "first_of_split", .timing = BENCH_SELF},
	[FIRST_TRIGGERED] = {.name = "first_of_triggered", .timing = BENCH_SELF}, {0}};

static const char *const movers[] = {"engine", "kernel", NULL};

static const struct axis axes[] = {
	{.name = "type", .help = "element type", .kind = AXIS_WORD, .words = product_types, .types = true, .quick = "f32",
	 .full = "f32,f64"},
	{.name = "shape", .help = "nSIDE, MxNxK, or g1..g16 scaled", .kind = AXIS_WORD, .accept = shape_accept,
	 .quick = "g1,g5,n1024,2048x2048x128", .simulated = "g1,g5,n256,512x512x64",
	 .full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16,n1024,n2048,2048x2048x128",
	 .wide = "g1,g5,n4096,8192x8192x512",
	 .wide_full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16,n4096,n8192,8192x8192x512"},
	{.name = "mflop", .help = "g1..g16 are scaled to at most this many million flops", .kind = AXIS_COUNT, .min = 1,
	 .quick = "500", .full = "4000", .simulated = "60", .wide = "2000000", .wide_full = "8000000"},
	{.name = "direction", .help = "where the product is sent", .kind = AXIS_WORD, .words = sender_directions,
	 .peers = "peer,exchange", .quick = "down,local,peer,exchange"},
	{.name = "bands", .help = "parts of the product that are sent on their own", .kind = AXIS_COUNT, .min = 1,
	 .max = SENDER_MOST_BANDS, .quick = "4,16,64", .simulated = "4,16"},
	{.name = "mover", .help = "what copies", .kind = AXIS_WORD, .words = movers, .quick = "engine", .full = "engine,kernel"},
	{0}};

static const struct bench_metric primary[] = {
	{"trigger_speedup", "S_tiled", "triggered", "type=f32 direction=down mover=engine", "max", "", "higher"},
	{"trigger_tracker_cost", "tracker_cost", "gemm_counting", "type=f32 mover=engine", "median", "", "lower"},
	{0}};

#define PROOF_BYTES (64u << 10)

struct state {
	struct senders senders;
	struct dev_event *begin;
	struct gate *gate;
	uint32_t loaded; /* variants that have run once, bit mask */
};

static struct state *state(const struct bench_case *c) { return c->state; }

/* ------------------------------------------------------------------ measuring */

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	int status = senders_open(&s->senders, c, bench_variant_on(c, SPLIT) || bench_variant_on(c, FIRST_SPLIT));
	s->begin = own_event(c);
	s->gate = own_gate(c, GATE_LIMIT_NS);
	if (s->senders.count < 2)
		bench_variant_off(c, STAGGERED);
	if (!s->senders.adds) {
		bench_variant_off(c, ARRIVE_ADD);
		bench_variant_off(c, COPY_THEN_ADD);
	}
	return status ? status : own_status(c);
}

static int gated(struct bench_case *c, unsigned variant, double *seconds_p)
{
	struct state *s = state(c);
	double ns = 0.0;
	int status = gate_shut(s->gate, c->dev, c->stream);
	if (status == 0)
		status = dev_event_record(c->dev, c->stream, s->begin);
	if (status == 0)
		status = senders_round(&s->senders, c, &trigger_ways[variant]);
	int opened = gate_release(s->gate), drained = dev_stream_sync(c->dev, c->stream);
	status = status ? status : opened ? opened : drained;
	if (status == 0)
		status = dev_event_elapsed_ns(c->dev, s->begin, s->senders.first, &ns);
	*seconds_p = 1e-9 * ns;
	return status;
}

/* The first time without a gate, as for everything that may load code. */
static int first_arrival(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = state(c);
	double seconds = 0.0, sum = 0.0;
	int status = 0;
	if (!(s->loaded & 1u << variant)) {
		status = senders_round(&s->senders, c, &trigger_ways[variant]);
		int drained = dev_stream_sync(c->dev, c->stream);
		status = status ? status : drained;
		s->loaded |= 1u << variant;
	}
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = gated(c, variant, &seconds);
		sum += seconds;
	}
	c->self_seconds = sum;
	return status;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	int status = 0;
	if (trigger_ways[variant].notes_first)
		return first_arrival(c, variant, iterations);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = senders_round(&state(c)->senders, c, &trigger_ways[variant]);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct senders *s = &state(c)->senders;
	if (trigger_ways[variant].notes_first)
		return;
	m->flops = trigger_ways[variant].making == MAKE_NOTHING ? 0.0 : shape_flops(&s->sender[0].product.shape) * (double)s->count;
	m->bytes = trigger_ways[variant].sending == SEND_NOTHING ? 0.0 : (double)s->sent_bytes;
}

static int spoil(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return senders_spoil(&state(c)->senders, c);
}

static int check(struct bench_case *c, unsigned variant) { return senders_check(&state(c)->senders, &trigger_ways[variant]); }

static int prove(struct bench_case *c)
{
	const struct senders *s = &state(c)->senders;
	uint64_t beside = 1u << SPLIT | 1u << TRIGGERED | 1u << STAGGERED | 1u << COPY_THEN_ADD;
	uint64_t bytes = s->band_bytes < PROOF_BYTES ? s->band_bytes : PROOF_BYTES;
	const struct chunk *chunk = &s->sender[0].chunk[s->chunks > 1 ? 1 : 0];
	return s->by_kernel ? 0 : hold_prove_engine(c, beside, chunk->to, s->sender[0].product.c, bytes);
}

static int derive(struct bench_case *c)
{
	const struct senders *s = &state(c)->senders;
	product_facts(&s->sender[0].product, c);
	bench_fact_text(c, "trigger", "software: a product's counters and streams that wait for values; T3's is hardware");
	if (!dev_can(c->dev, DEV_CAP_VALUE_IN_QUEUE))
		bench_fact_text(c, "waits", "each stream that waits for a counter holds a slot that the product could use");
	bench_fact_number(c, "devices_that_send", (double)s->count);
	bench_fact_number(c, "bands_sent", s->bands);
	bench_fact_number(c, "band_rows", s->band_rows);
	bench_fact_number(c, "band_bytes", (double)s->band_bytes);
	return gains_derive(c, s);
}

static const struct bench bench = {
	.name = "overlap/trigger",
	.question = "is a part of a product sent when it is ready?",
	.formula = "S = time of whole_then_send / time; exposed_tail = time - time of its product alone; tracker_cost = time of a "
	           "product that counts / of the same one that does not",
	.timed = "products and what is sent, in streams filled beforehand, counters set back included; not filling or checking",
	.limits = "a software trigger: counters in memory and streams that wait for values. T3's tracker, trigger and adding memory "
	          "are hardware, here a model of traffic alone (t3_*), never measured. Tiles are the device's own product, which may "
	          "be slower than the library's (tiling_cost). Caches are warm",
	.needs = DEV_CAP_GEMM | DEV_CAP_GEMM_TILED | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = senders_admit,
	.setup = setup,
	.body = body,
	.model = model,
	.spoil = spoil,
	.check = check,
	.prove = prove,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
