/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/trigger_metrics.h"
#include "overlap/trigger/t3_traffic.h"

#include <math.h>

#define MIN_IDEAL 1.02
#define MODEL_GPUS 8u /* where fewer than three devices send */

#define ROW(label)                                                                                 \
	{                                                                                          \
		.name = (label), .timing = BENCH_DEVICE                                            \
	}

const struct bench_variant trigger_variants[] = {
	[GEMM_ALONE] = ROW("gemm_alone"),
	[GEMM_TILED] = ROW("gemm_tiled"),
	[GEMM_COUNTING] = ROW("gemm_counting"),
	[SEND_ALONE] = ROW("send_alone"),
	[WHOLE] = ROW("whole_then_send"),
	[WHOLE_TILED] = ROW("whole_tiled_then_send"),
	[SPLIT] = ROW("split"),
	[TRIGGERED] = ROW("triggered"),
	[STAGGERED] = ROW("triggered_staggered"),
	[ARRIVE_ADD] = ROW("arrive_add"),
	[COPY_THEN_ADD] = ROW("copy_then_add"),
	[FIRST_WHOLE] = {.name = "first_of_whole", .timing = BENCH_SELF},
	[FIRST_SPLIT] = {.name = "first_of_split", .timing = BENCH_SELF},
	[FIRST_TRIGGERED] = {.name = "first_of_triggered", .timing = BENCH_SELF},
	{0}};

const struct strategy trigger_strategies[VARIANTS] = {
	[GEMM_ALONE] = {.produce = PRODUCE_LIBRARY},
	[GEMM_TILED] = {.produce = PRODUCE_TILED},
	[GEMM_COUNTING] = {.produce = PRODUCE_COUNTING},
	[SEND_ALONE] = {.send = SEND_WHOLE},
	[WHOLE] = {.produce = PRODUCE_LIBRARY, .send = SEND_WHOLE},
	[WHOLE_TILED] = {.produce = PRODUCE_TILED, .send = SEND_WHOLE},
	[SPLIT] = {.produce = PRODUCE_PIECES, .send = SEND_BANDS, .staggered = true},
	[TRIGGERED] = {.produce = PRODUCE_COUNTING, .send = SEND_BANDS},
	[STAGGERED] = {.produce = PRODUCE_COUNTING, .send = SEND_BANDS, .staggered = true},
	[ARRIVE_ADD] = {.produce = PRODUCE_COUNTING, .send = SEND_BANDS, .add = ADD_FROM_SENDER},
	[COPY_THEN_ADD] = {.produce = PRODUCE_COUNTING, .send = SEND_BANDS, .add = ADD_FROM_COPY},
	[FIRST_WHOLE] = {.produce = PRODUCE_LIBRARY, .send = SEND_WHOLE, .records_first = true},
	[FIRST_SPLIT] = {.produce = PRODUCE_PIECES,
			 .send = SEND_BANDS,
			 .staggered = true,
			 .records_first = true},
	[FIRST_TRIGGERED] = {.produce = PRODUCE_COUNTING,
			     .send = SEND_BANDS,
			     .records_first = true},
};

static double speedup_over_whole(const struct bench_round *r)
{
	return r->seconds[WHOLE] / r->seconds[r->variant];
}

static double longer_part(const struct bench_round *r)
{
	return fmax(r->seconds[GEMM_ALONE], r->seconds[SEND_ALONE]);
}

static double ideal_speedup(const struct bench_round *r)
{
	return (r->seconds[GEMM_ALONE] + r->seconds[SEND_ALONE]) / longer_part(r);
}

/* Where the ideal gain is almost nothing, a fraction of it is noise. */
static double fraction_of_ideal(const struct bench_round *r)
{
	double ideal = ideal_speedup(r);
	return ideal < MIN_IDEAL ? NAN : (speedup_over_whole(r) - 1.0) / (ideal - 1.0);
}

static double speedup_tiled(const struct bench_round *r)
{
	return r->seconds[WHOLE_TILED] / r->seconds[r->variant];
}

/* The variant that is the GEMM of this one, alone. */
static unsigned gemm_of_variant(unsigned v)
{
	enum produce_mode produce = trigger_strategies[v].produce;
	return produce == PRODUCE_COUNTING ? GEMM_COUNTING
	       : produce == PRODUCE_TILED  ? GEMM_TILED
					   : GEMM_ALONE;
}

static double exposed_tail(const struct bench_round *r)
{
	return r->seconds[r->variant] - r->seconds[gemm_of_variant((unsigned)r->variant)];
}

static double own_time(const struct bench_round *r) { return r->seconds[r->variant]; }

static int derive_sent(struct bench_case *c, unsigned v)
{
	uint64_t own = 1u << v, baselines = 1u << GEMM_ALONE | 1u << SEND_ALONE;
	int status = 0;
	if (v != WHOLE)
		status = bench_derive(c, "S", (int)v, "", own | 1u << WHOLE, speedup_over_whole,
				      NULL, "seconds(whole_then_send) / seconds; software trigger");
	if (status == 0 && v > WHOLE_TILED)
		status = bench_derive(c, "fraction_of_ideal", (int)v, "",
				      own | 1u << WHOLE | baselines, fraction_of_ideal, NULL,
				      "(S - 1) / (S_ideal - 1), unclamped; none where S_ideal < "
				      "1.02; software trigger");
	if (status == 0 && trigger_strategies[v].produce == PRODUCE_COUNTING)
		status = bench_derive(c, "S_tiled", (int)v, "", own | 1u << WHOLE_TILED,
				      speedup_tiled, NULL,
				      "seconds(whole_tiled_then_send) / seconds: the same GEMM; "
				      "software trigger");
	return status ? status
		      : bench_derive(c, "exposed_tail", (int)v, "s", own | 1u << gemm_of_variant(v),
				     exposed_tail, NULL,
				     "seconds - seconds(its GEMM alone: gemm_alone, gemm_tiled "
				     "or gemm_counting)");
}

static int derive_times(struct bench_case *c)
{
	int status = 0;
	for (unsigned v = WHOLE; status == 0 && v <= STAGGERED; v++)
		status = bench_variant_on(c, v) ? derive_sent(c, v) : 0;
	for (unsigned v = FIRST_WHOLE; status == 0 && v < VARIANTS; v++)
		if (bench_variant_on(c, v))
			status = bench_derive(c, "time_to_first_byte", (int)v, "s", 1u << v,
					      own_time, NULL,
					      "from the release to the end of the first device's "
					      "first copy; of one round");
	if (status == 0)
		status = bench_derive(c, "S_ideal", -1, "", 1u << GEMM_ALONE | 1u << SEND_ALONE,
				      ideal_speedup, NULL,
				      "(t_g + t_c) / max(t_g, t_c) of gemm_alone and send_alone");
	return status ? status
		      : bench_derive(c, "overlap_bound", -1, "s",
				     1u << GEMM_ALONE | 1u << SEND_ALONE, longer_part, NULL,
				     "max(t_g, t_c) of gemm_alone and send_alone");
}

/* Traffic of the data that arrives, as in micro/reduce: it is read, the sum is read and written; a
 * copy is written and read in addition. */
static int derive_adding(struct bench_case *c, const struct producers *s)
{
	if (!s->adds)
		return 0;
	bench_value(c, "moved_bytes", ARRIVE_ADD, 3.0 * (double)s->bytes, "byte",
		    "traffic of n bytes added at their source: 3 n");
	bench_value(c, "moved_bytes", COPY_THEN_ADD, 5.0 * (double)s->bytes, "byte",
		    "traffic of n bytes copied, then added: 5 n");
	return bench_ratio(c, "staging_cost", COPY_THEN_ADD, ARRIVE_ADD,
			   "seconds(copy_then_add) / seconds(arrive_add), round by round");
}

/* Of as many GPUs as devices send here, if the formulas hold for that number. */
static int derive_model(struct bench_case *c, const struct producers *s)
{
	struct t3_traffic sequential[T3_TRAFFIC_MAX_GPUS], t3[T3_TRAFFIC_MAX_GPUS];
	uint32_t gpus =
		s->count >= 3 && s->count <= T3_TRAFFIC_MAX_GPUS ? (uint32_t)s->count : MODEL_GPUS;
	int status = t3_traffic_count(T3_TRAFFIC_SEQUENTIAL, gpus, &c->rng, sequential);
	if (status == 0)
		status = t3_traffic_count(T3_TRAFFIC_T3, gpus, &c->rng, t3);
	if (status)
		return status;
	bench_fact_number(c, "t3_model_gpus", gpus);
	bench_value(c, "t3_model_read_ratio", -1, (double)sequential[0].reads / t3[0].reads, "",
		    "MODEL of T3's hardware, counted: reads of a ring reduce-scatter, sequential / "
		    "T3 = (2N-1)/(N-2)");
	bench_value(c, "t3_model_write_ratio", -1, (double)sequential[0].writes / t3[0].writes, "",
		    "MODEL of T3's hardware, counted: writes of GEMM and reduce-scatter, "
		    "sequential / T3 = N/(N-1)");
	return 0;
}

int trigger_derive(struct bench_case *c, const struct producers *s)
{
	int status = bench_ratio(c, "tracker_cost", GEMM_COUNTING, GEMM_TILED,
				 "seconds(gemm_counting) / seconds(gemm_tiled)");
	if (status == 0)
		status = bench_ratio(c, "tiling_cost", GEMM_TILED, GEMM_ALONE,
				     "seconds(gemm_tiled) / seconds(gemm_alone), the library's");
	if (status == 0 && bench_variant_on(c, STAGGERED))
		status = bench_ratio(c, "stagger_gain", TRIGGERED, STAGGERED,
				     "seconds(triggered) / seconds(triggered_staggered)");
	if (status == 0)
		status = derive_times(c);
	if (status == 0)
		status = derive_adding(c, s);
	return status ? status : derive_model(c, s);
}
