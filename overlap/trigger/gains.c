/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/gains.h"
#include "overlap/trigger/traffic.h"

#include <math.h>

#define LEAST_IDEAL 1.02
#define MODEL_GPUS 8u /* where there are not three devices */

const struct way trigger_ways[VARIANTS] = {
	[GEMM_ALONE] = {.making = MAKE_BY_LIBRARY},
	[GEMM_TILED] = {.making = MAKE_TILED},
	[GEMM_COUNTING] = {.making = MAKE_COUNTING},
	[SEND_ALONE] = {.sending = SEND_WHEN_ALL_IS_MADE},
	[WHOLE] = {.making = MAKE_BY_LIBRARY, .sending = SEND_WHEN_ALL_IS_MADE},
	[WHOLE_TILED] = {.making = MAKE_TILED, .sending = SEND_WHEN_ALL_IS_MADE},
	[SPLIT] = {.making = MAKE_PIECES, .sending = SEND_BANDS, .staggered = true},
	[TRIGGERED] = {.making = MAKE_COUNTING, .sending = SEND_BANDS},
	[STAGGERED] = {.making = MAKE_COUNTING, .sending = SEND_BANDS, .staggered = true},
	[ARRIVE_ADD] = {.making = MAKE_COUNTING, .sending = SEND_BANDS, .adding = ADD_FROM_SENDER},
	[COPY_THEN_ADD] = {.making = MAKE_COUNTING, .sending = SEND_BANDS, .adding = ADD_FROM_COPY},
	[FIRST_WHOLE] = {.making = MAKE_BY_LIBRARY, .sending = SEND_WHEN_ALL_IS_MADE, .notes_first = true},
	[FIRST_SPLIT] = {.making = MAKE_PIECES, .sending = SEND_BANDS, .staggered = true, .notes_first = true},
	[FIRST_TRIGGERED] = {.making = MAKE_COUNTING, .sending = SEND_BANDS, .notes_first = true},
};

/* bench_derive() does not tell its formula which variant it is about. */
static unsigned about;

static double speedup(const struct bench_case *c, const double *t)
{
	(void)c;
	return t[WHOLE] / t[about];
}

static double ideal_speedup(const struct bench_case *c, const double *t)
{
	(void)c;
	return (t[GEMM_ALONE] + t[SEND_ALONE]) / fmax(t[GEMM_ALONE], t[SEND_ALONE]);
}

/* Where next to nothing is to be gained a fraction of it is noise. */
static double fraction_of_ideal(const struct bench_case *c, const double *t)
{
	double ideal = ideal_speedup(c, t);
	return ideal < LEAST_IDEAL ? NAN : (speedup(c, t) - 1.0) / (ideal - 1.0);
}

static double bound(const struct bench_case *c, const double *t)
{
	(void)c;
	return fmax(t[GEMM_ALONE], t[SEND_ALONE]);
}

static double speedup_tiled(const struct bench_case *c, const double *t)
{
	(void)c;
	return t[WHOLE_TILED] / t[about];
}

/* The product of this variant, alone. */
static unsigned product_of(unsigned v)
{
	enum making making = trigger_ways[v].making;
	return making == MAKE_COUNTING ? GEMM_COUNTING : making == MAKE_TILED ? GEMM_TILED : GEMM_ALONE;
}

static double tail(const struct bench_case *c, const double *t)
{
	(void)c;
	return t[about] - t[product_of(about)];
}

static double itself(const struct bench_case *c, const double *t)
{
	(void)c;
	return t[about];
}

static int derive_sent(struct bench_case *c, unsigned v)
{
	uint64_t own = 1u << v, baselines = 1u << GEMM_ALONE | 1u << SEND_ALONE;
	int status = 0;
	about = v;
	if (v != WHOLE)
		status = bench_derive(c, "S", (int)v, "", own | 1u << WHOLE, speedup,
		                      "seconds(whole_then_send) / seconds; software trigger");
	if (status == 0 && v > WHOLE_TILED)
		status = bench_derive(c, "fraction_of_ideal", (int)v, "", own | 1u << WHOLE | baselines, fraction_of_ideal,
		                      "(S - 1) / (S_ideal - 1), unclamped; none where S_ideal < 1.02; software trigger");
	if (status == 0 && trigger_ways[v].making == MAKE_COUNTING)
		status = bench_derive(c, "S_tiled", (int)v, "", own | 1u << WHOLE_TILED, speedup_tiled,
		                      "seconds(whole_tiled_then_send) / seconds: the same product; software trigger");
	return status ? status : bench_derive(c, "exposed_tail", (int)v, "s", own | 1u << product_of(v), tail,
	                                      "seconds - seconds(its product alone: gemm_alone, gemm_tiled or gemm_counting)");
}

static int derive_times(struct bench_case *c)
{
	int status = 0;
	for (unsigned v = WHOLE; status == 0 && v <= STAGGERED; v++)
		status = bench_variant_on(c, v) ? derive_sent(c, v) : 0;
	for (about = FIRST_WHOLE; status == 0 && about < VARIANTS; about++)
		if (bench_variant_on(c, about))
			status = bench_derive(c, "time_to_first_byte", (int)about, "s", 1u << about, itself,
			                      "from the release to the end of the first device's first copy; of one round");
	if (status == 0)
		status = bench_derive(c, "S_ideal", -1, "", 1u << GEMM_ALONE | 1u << SEND_ALONE, ideal_speedup,
		                      "(t_g + t_c) / max(t_g, t_c) of gemm_alone and send_alone");
	return status ? status : bench_derive(c, "overlap_bound", -1, "s", 1u << GEMM_ALONE | 1u << SEND_ALONE, bound,
	                                      "max(t_g, t_c) of gemm_alone and send_alone");
}

/* Named traffic of what arrives, as in micro/reduce: it is read, the sum read and written; copied, it is written and read once
 * more. */
static int derive_adding(struct bench_case *c, const struct senders *s)
{
	if (!s->adds)
		return 0;
	bench_value(c, "moved_bytes", ARRIVE_ADD, 3.0 * (double)s->bytes, "byte",
	            "named traffic of n bytes added where they are: 3 n");
	bench_value(c, "moved_bytes", COPY_THEN_ADD, 5.0 * (double)s->bytes, "byte",
	            "named traffic of n bytes copied, then added: 5 n");
	return bench_ratio(c, "staging_cost", COPY_THEN_ADD, ARRIVE_ADD,
	                   "seconds(copy_then_add) / seconds(arrive_add), block by block");
}

/* Among how many GPUs: as many as sent to each other here, if the formulas hold for them. */
static int derive_model(struct bench_case *c, const struct senders *s)
{
	struct traffic sequential[TRAFFIC_MOST_GPUS], t3[TRAFFIC_MOST_GPUS];
	uint32_t gpus = s->count >= 3 && s->count <= TRAFFIC_MOST_GPUS ? (uint32_t)s->count : MODEL_GPUS;
	int status = traffic_count(TRAFFIC_SEQUENTIAL, gpus, &c->rng, sequential);
	if (status == 0)
		status = traffic_count(TRAFFIC_T3, gpus, &c->rng, t3);
	if (status)
		return status;
	bench_fact_number(c, "t3_model_gpus", gpus);
	bench_value(c, "t3_model_read_ratio", -1, (double)sequential[0].reads / t3[0].reads, "",
	            "MODEL of T3's hardware, counted: reads of a ring reduce-scatter, sequential / T3 = (2N-1)/(N-2)");
	bench_value(c, "t3_model_write_ratio", -1, (double)sequential[0].writes / t3[0].writes, "",
	            "MODEL of T3's hardware, counted: writes of product and reduce-scatter, sequential / T3 = N/(N-1)");
	return 0;
}

int gains_derive(struct bench_case *c, const struct senders *s)
{
	int status = bench_ratio(c, "tracker_cost", GEMM_COUNTING, GEMM_TILED, "seconds(gemm_counting) / seconds(gemm_tiled)");
	if (status == 0)
		status = bench_ratio(c, "tiling_cost", GEMM_TILED, GEMM_ALONE,
		                     "seconds(gemm_tiled) / seconds(gemm_alone), the library's");
	if (status == 0 && bench_variant_on(c, STAGGERED))
		status = bench_ratio(c, "stagger_gain", TRIGGERED, STAGGERED, "seconds(triggered) / seconds(triggered_staggered)");
	if (status == 0)
		status = derive_times(c);
	if (status == 0)
		status = derive_adding(c, s);
	return status ? status : derive_model(c, s);
}
