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

/* A quantity of every variant in `of`, a bit mask, and of the one it is compared with. Only in a
 * ring are the sent and the added data the same. */
struct quantity {
	const char *name;
	int (*derive)(struct bench_case *c, const char *name, unsigned variant, unsigned other,
		      const char *formula);
	uint64_t of;
	unsigned other;
	const char *formula;
	enum { ANYWHERE, OUTSIDE_RING, IN_RING } where;
};

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
	{"tracking_cost", bench_ratio, ON(GEMM_COUNTING), GEMM_TILED, NULL, ANYWHERE},
	{"tiling_cost", bench_ratio, ON(GEMM_TILED), GEMM_ALONE,
	 "seconds(gemm_tiled) / seconds(gemm_alone), the library's", ANYWHERE},
	{"stagger_gain", bench_ratio, ON(TRIGGERED), STAGGERED, NULL, ANYWHERE},
	{"exposed_tail", bench_difference, ON(WHOLE) | ON(SPLIT), GEMM_ALONE, TAIL, ANYWHERE},
	{"exposed_tail", bench_difference, ON(WHOLE_TILED), GEMM_TILED, TAIL, ANYWHERE},
	{"exposed_tail", bench_difference, TRIGGERS, GEMM_COUNTING, TAIL, ANYWHERE},
	{"S", bench_speedup, OTHER_GEMM, WHOLE,
	 "seconds(whole_then_send) / seconds: against the library's GEMM, another one", ANYWHERE},
	{"exposed_tail", bench_difference, REMOTES, GEMM_TILED, TAIL, ANYWHERE},
	{"S_tiled", bench_speedup, ON(REMOTE_STORE), WHOLE_TILED, TILED_S, ANYWHERE},
	{"S_tiled", bench_speedup, ON(REMOTE_ADD), WHOLE_TILED, TILED_S, IN_RING},
	{"S", bench_speedup, ON(REMOTE_STORE), WHOLE, LIBRARY_S, ANYWHERE},
	{"S", bench_speedup, ON(REMOTE_ADD), WHOLE, LIBRARY_S, IN_RING},
	{"add_gain", bench_speedup, ON(REMOTE_ADD), ARRIVE_ADD, NULL, OUTSIDE_RING},
	{"add_gain", bench_speedup, ON(REMOTE_ADD), TRIGGERED,
	 "seconds(triggered) / seconds(remote_add): over the ring, and without it", IN_RING},
	{"remote_gain", bench_speedup, ON(REMOTE_STORE), TRIGGERED, NULL, ANYWHERE},
};

static int derive_quantity(struct bench_case *c, const struct producers *s,
			   const struct quantity *q)
{
	const bool ring = s->direction == DIRECTION_RING;
	int status = 0;
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++)
		if (q->of & ON(v) && q->where != (ring ? OUTSIDE_RING : IN_RING))
			status = q->derive(c, q->name, v, q->other, q->formula);
	return status;
}

static int derive_times(struct bench_case *c)
{
	const struct bench_quantity longer = {BENCH_TIME, .of = {{.longest = PARTS}}};
	for (int v = 0; v < VARIANTS; v++)
		if (FIRSTS & ON(v))
			bench_alias(c, "time", v, "time_to_first_byte",
				    "from the release to the end of the first device's first copy; "
				    "of one round");
	return bench_derive(c, "overlap_bound", -1, &longer,
			    "max(t_g, t_c) of gemm_alone and send_alone");
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
	return bench_ratio(c, "staging_cost", COPY_THEN_ADD, ARRIVE_ADD, NULL);
}

/* Model for as many GPUs as devices send here, if the formulas hold for that number. */
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
		status = derive_times(c);
	if (status == 0)
		status = derive_gains(c);
	if (status == 0)
		status = derive_adding(c, s);
	return status ? status : derive_model(c, s);
}
