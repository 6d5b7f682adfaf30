/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/trigger_metrics.h"
#include "bench/bench_overlap.h"
#include "overlap/trigger/t3_traffic.h"

#include <math.h>

#define MODEL_GPUS 8u /* where fewer than three devices send */

#define VARIANT(id, label, how, ...) {.name = (label), .timing = BENCH_##how},
#define STRATEGY(id, label, how, produces, ...)                                                    \
	{.stamps_first = BENCH_##how == BENCH_SELF,                                                \
	 .produce = PRODUCE_##produces,                                                            \
	 .send = __VA_ARGS__},

const struct bench_variant trigger_variants[] = {TRIGGER_VARIANTS(VARIANT){0}};
const struct strategy trigger_strategies[VARIANTS] = {TRIGGER_VARIANTS(STRATEGY)};

/* ------------------------------------------------------------------ times */

/* From the times of a variant, of the one it is compared with (-1: none), and of those in `reads`,
 * for every variant in `of`, or (0) for the case. Sets are bit masks. Sent and added are the same
 * result in a ring alone. */
struct quantity {
	const char *name, *unit;
	uint64_t of, reads;
	int other;
	bench_formula f;
	const char *formula;
	enum { ANYWHERE, OUTSIDE_RING, IN_RING } where;
};

static double own_time(const struct bench_round *r) { return r->seconds[r->variant]; }

static double other_time(const struct bench_round *r)
{
	const struct quantity *q = r->arg;
	return r->seconds[q->other];
}

static double divide_by_other(const struct bench_round *r) { return own_time(r) / other_time(r); }

static double divide_other(const struct bench_round *r) { return other_time(r) / own_time(r); }

static double exposed_tail(const struct bench_round *r) { return own_time(r) - other_time(r); }

static double longer_part(const struct bench_round *r)
{
	return fmax(r->seconds[GEMM_ALONE], r->seconds[SEND_ALONE]);
}

#define ON(variant) (UINT64_C(1) << (variant))
#define TRIGGERS (ON(TRIGGERED) | ON(STAGGERED))
#define FIRSTS (ON(FIRST_WHOLE) | ON(FIRST_SPLIT) | ON(FIRST_TRIGGERED))
#define PARTS (ON(GEMM_ALONE) | ON(SEND_ALONE))
#define TILED_PARTS (ON(GEMM_TILED) | ON(SEND_ALONE))
#define REMOTES (ON(REMOTE_STORE) | ON(REMOTE_ADD))
#define OTHER_GEMM (ON(WHOLE_TILED) | TRIGGERS)
#define TAIL "seconds - seconds(its GEMM alone: gemm_alone, gemm_tiled or gemm_counting)"

#define TILED_S "seconds(whole_tiled_then_send) / seconds: the same tiles, without a copy"
#define LIBRARY_S "seconds(whole_then_send) / seconds: another GEMM, without a copy"

static const struct quantity quantities[] = {
	{"tracker_cost", "", ON(GEMM_COUNTING), 0, GEMM_TILED, divide_by_other,
	 "seconds(gemm_counting) / seconds(gemm_tiled)", ANYWHERE},
	{"tiling_cost", "", ON(GEMM_TILED), 0, GEMM_ALONE, divide_by_other,
	 "seconds(gemm_tiled) / seconds(gemm_alone), the library's", ANYWHERE},
	{"stagger_gain", "", ON(TRIGGERED), 0, STAGGERED, divide_by_other,
	 "seconds(triggered) / seconds(triggered_staggered)", ANYWHERE},
	{"exposed_tail", "s", ON(WHOLE) | ON(SPLIT), 0, GEMM_ALONE, exposed_tail, TAIL, ANYWHERE},
	{"exposed_tail", "s", ON(WHOLE_TILED), 0, GEMM_TILED, exposed_tail, TAIL, ANYWHERE},
	{"exposed_tail", "s", TRIGGERS, 0, GEMM_COUNTING, exposed_tail, TAIL, ANYWHERE},
	{"S", "", OTHER_GEMM, 0, WHOLE, divide_other,
	 "seconds(whole_then_send) / seconds: against the library's GEMM, another one", ANYWHERE},
	{"exposed_tail", "s", REMOTES, 0, GEMM_TILED, exposed_tail, TAIL, ANYWHERE},
	{"S_tiled", "", ON(REMOTE_STORE), 0, WHOLE_TILED, divide_other, TILED_S, ANYWHERE},
	{"S_tiled", "", ON(REMOTE_ADD), 0, WHOLE_TILED, divide_other, TILED_S, IN_RING},
	{"S", "", ON(REMOTE_STORE), 0, WHOLE, divide_other, LIBRARY_S, ANYWHERE},
	{"S", "", ON(REMOTE_ADD), 0, WHOLE, divide_other, LIBRARY_S, IN_RING},
	{"add_gain", "", ON(REMOTE_ADD), 0, ARRIVE_ADD, divide_other,
	 "seconds(arrive_add) / seconds(remote_add)", OUTSIDE_RING},
	{"add_gain", "", ON(REMOTE_ADD), 0, TRIGGERED, divide_other,
	 "seconds(triggered) / seconds(remote_add): over the ring, and without it", IN_RING},
	{"remote_gain", "", ON(REMOTE_STORE), 0, TRIGGERED, divide_other,
	 "seconds(triggered) / seconds(remote_store)", ANYWHERE},
	{"time_to_first_byte", "s", FIRSTS, 0, -1, own_time,
	 "from the release to the end of the first device's first copy; of one round", ANYWHERE},
	{"overlap_bound", "s", 0, PARTS, -1, longer_part,
	 "max(t_g, t_c) of gemm_alone and send_alone", ANYWHERE},
};

static int derive_quantity(struct bench_case *c, const struct producers *s,
			   const struct quantity *q)
{
	const bool ring = s->direction == DIRECTION_RING;
	if (q->where == (ring ? OUTSIDE_RING : IN_RING))
		return 0;
	uint64_t reads = q->reads | (q->other < 0 ? 0 : ON(q->other));
	int status = q->of ? 0 : bench_derive(c, q->name, -1, q->unit, reads, q->f, q, q->formula);
	for (int v = 0; status == 0 && v < VARIANTS; v++)
		if (q->of & ON(v))
			status = bench_derive(c, q->name, v, q->unit, reads | ON(v), q->f, q,
					      q->formula);
	return status;
}

/* ------------------------------------------------------------------ traffic */

/* Traffic of the data that arrives, as in micro/reduce: it is read, the sum is read and written; a
 * copy is written and read in addition. */
static int derive_adding(struct bench_case *c, const struct producers *s)
{
	if (bench_variant_on(c, REMOTE_ADD) && !dev_can(c->dev, DEV_CAP_MEMORY_ADDS))
		bench_model_value(c, "moved_bytes", REMOTE_ADD, 2.0 * (double)s->bytes, "byte",
				  "traffic of n bytes that a GEMM adds: 2 n; its C is not written");
	if (!s->kernels_add || s->direction == DIRECTION_RING)
		return 0;
	/* In an exchange each device adds so much, and a part of it, its own, is not copied. */
	const double bytes = (double)s->bytes,
		     copied = s->count > 1 ? bytes * (s->count - 1) / s->count : bytes;
	bench_model_value(c, "moved_bytes", ARRIVE_ADD, 3.0 * bytes, "byte",
			  "traffic of n bytes added at their source: 3 n");
	bench_model_value(
		c, "moved_bytes", COPY_THEN_ADD, 3.0 * bytes + 2.0 * copied, "byte",
		"traffic of n bytes copied, then added: 5 n; in an exchange of N devices, "
		"for each, 3 n + 2 n (N-1)/N");
	return bench_ratio(c, "staging_cost", COPY_THEN_ADD, ARRIVE_ADD,
			   "seconds(copy_then_add) / seconds(arrive_add), round by round");
}

/* Of as many GPUs as devices send here, if the formulas hold for that number. */
static int derive_model(struct bench_case *c, const struct producers *s)
{
	struct t3_traffic sequential[T3_TRAFFIC_MAX_GPUS], t3[T3_TRAFFIC_MAX_GPUS];
	uint32_t gpus = s->count >= 3 && s->count <= T3_TRAFFIC_MAX_GPUS ? s->count : MODEL_GPUS;
	int status = t3_traffic_count(T3_TRAFFIC_SEQUENTIAL, gpus, &c->rng, sequential);
	if (status == 0)
		status = t3_traffic_count(T3_TRAFFIC_T3, gpus, &c->rng, t3);
	if (status)
		return status;
	bench_fact_number(c, "t3_model_gpus", gpus);
	bench_model_value(
		c, "t3_model_read_ratio", -1, (double)sequential[0].reads / t3[0].reads, "",
		"MODEL of T3's hardware, counted: reads of a ring reduce-scatter, sequential / "
		"T3 = (2N-1)/(N-2)");
	bench_model_value(c, "t3_model_write_ratio", -1,
			  (double)sequential[0].writes / t3[0].writes, "",
			  "MODEL of T3's hardware, counted: writes of GEMM and reduce-scatter, "
			  "sequential / T3 = N/(N-1)");
	return 0;
}

/* Each strategy is compared with its own GEMM, one after the other; those of tiles also with the
 * library's. */
static int derive_gains(struct bench_case *c)
{
	const struct bench_overlap library = {WHOLE, PARTS, PARTS, NULL},
				   tiled = {WHOLE_TILED, TILED_PARTS, TILED_PARTS, "_tiled"};
	int status = bench_derive_overlap(c, &library, ON(SPLIT));
	for (int v = 0; v < VARIANTS; v++)
		if (OTHER_GEMM & ON(v))
			bench_overlap_limit(c, &library, "S", (unsigned)v);
	return status ? status : bench_derive_overlap(c, &tiled, TRIGGERS);
}

int trigger_derive(struct bench_case *c, const struct producers *s)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < sizeof(quantities) / sizeof(quantities[0]); i++)
		status = derive_quantity(c, s, &quantities[i]);
	if (status == 0)
		status = derive_gains(c);
	if (status == 0)
		status = derive_adding(c, s);
	return status ? status : derive_model(c, s);
}
