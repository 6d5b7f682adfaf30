/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/trigger_metrics.h"
#include "bench/bench_overlap.h"
#include "lib/err.h"
#include "overlap/trigger/t3_traffic.h"

#define MODEL_GPUS 8u /* where fewer than three devices send */

#define STRATEGY(id, label, how, produces, ...)                                                    \
	{.stamps_first = BENCH_##how == BENCH_SELF,                                                \
	 .produce = PRODUCE_##produces,                                                            \
	 .send = __VA_ARGS__},
const struct strategy trigger_strategies[VARIANTS] = {TRIGGER_VARIANTS(STRATEGY)};

/* ------------------------------------------------------------------ times */

#define ON(variant) (UINT64_C(1) << (variant))
#define TRIGGERS (ON(TRIGGERED) | ON(STAGGERED))
#define PARTS (ON(GEMM_ALONE) | ON(SEND_ALONE))
#define TILED_PARTS (ON(GEMM_TILED) | ON(SEND_ALONE))

/* Only in a ring are the sent and the added data the same. */
static void derive_ring(struct bench_case *c)
{
	TRY(c->status, bench_speedup(c, "S_tiled", REMOTE_ADD, WHOLE_TILED, TRIGGER_TILED_S));
	TRY(c->status, bench_speedup(c, "S", REMOTE_ADD, WHOLE, TRIGGER_LIBRARY_S));
	TRY(c->status,
	    bench_speedup(
		    c, "add_gain", REMOTE_ADD, TRIGGERED,
		    "seconds(triggered) / seconds(remote_add): over the ring, and without it"));
}

static void derive_times(struct bench_case *c)
{
	static const unsigned firsts[] = {FIRST_WHOLE, FIRST_SPLIT, FIRST_TRIGGERED};
	const struct bench_quantity longer = {BENCH_TIME, .of = {{.longest = PARTS}}};
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++)
		bench_alias(c, "time", (int)firsts[i], "time_to_first_byte",
			    "from the release to the end of the first device's first copy; "
			    "of one round");
	TRY(c->status, bench_derive(c, "overlap_bound", -1, &longer,
				    "max(t_g, t_c) of gemm_alone and send_alone"));
}

/* Each strategy is compared with its own GEMM, one after the other; those of tiles also with the
 * library's. */
static void derive_gains(struct bench_case *c)
{
	static const unsigned of_tiles[] = {WHOLE_TILED, TRIGGERED, STAGGERED};
	const struct bench_overlap library = {WHOLE, PARTS, PARTS, NULL},
				   tiled = {WHOLE_TILED, TILED_PARTS, TILED_PARTS, "_tiled"};
	TRY(c->status, bench_derive_overlap(c, &library, ON(SPLIT)));
	for (size_t i = 0; i < sizeof(of_tiles) / sizeof(of_tiles[0]); i++)
		bench_overlap_limit(c, &library, "S", of_tiles[i]);
	TRY(c->status, bench_derive_overlap(c, &tiled, TRIGGERS));
}

/* ------------------------------------------------------------------ traffic */

/* Traffic of the data that arrives, as in micro/reduce: it is read, the sum is read and written; a
 * copy is written and read in addition. */
static void derive_adding(struct bench_case *c, const struct producers *s)
{
	if (bench_variant_on(c, REMOTE_ADD) && !dev_can(c->dev, DEV_CAP_MEMORY_ADDS))
		bench_model_value(c, "moved_bytes", REMOTE_ADD, 2.0 * (double)s->bytes, "byte",
				  "traffic of n bytes that a GEMM adds: 2 n; its C is not written");
	if (!s->kernels_add || s->direction == DIRECTION_RING)
		return;
	/* In an exchange each device adds so much, and a part of it, its own, is not copied. */
	const double bytes = (double)s->bytes,
		     copied = s->count > 1 ? bytes * (s->count - 1) / s->count : bytes;
	bench_model_value(c, "moved_bytes", ARRIVE_ADD, 3.0 * bytes, "byte",
			  "traffic of n bytes added at their source: 3 n");
	bench_model_value(
		c, "moved_bytes", COPY_THEN_ADD, 3.0 * bytes + 2.0 * copied, "byte",
		"traffic of n bytes copied, then added: 5 n; in an exchange of N devices, "
		"for each, 3 n + 2 n (N-1)/N");
}

/* Model for as many GPUs as devices send here, if the formulas hold for that number. */
static void derive_model(struct bench_case *c, const struct producers *s)
{
	struct t3_traffic sequential[T3_TRAFFIC_MAX_GPUS], t3[T3_TRAFFIC_MAX_GPUS];
	uint32_t gpus = s->count >= 3 && s->count <= T3_TRAFFIC_MAX_GPUS ? s->count : MODEL_GPUS;
	TRY(c->status, t3_traffic_count(T3_TRAFFIC_SEQUENTIAL, gpus, &c->rng, sequential));
	if (TRY(c->status, t3_traffic_count(T3_TRAFFIC_T3, gpus, &c->rng, t3)))
		return;
	bench_fact_number(c, "t3_model_gpus", gpus);
	bench_model_value(
		c, "t3_model_read_ratio", -1, (double)sequential[0].reads / t3[0].reads, "",
		"MODEL of T3's hardware, counted: reads of a ring reduce-scatter, sequential / "
		"T3 = (2N-1)/(N-2)");
	bench_model_value(c, "t3_model_write_ratio", -1,
			  (double)sequential[0].writes / t3[0].writes, "",
			  "MODEL of T3's hardware, counted: writes of GEMM and reduce-scatter, "
			  "sequential / T3 = N/(N-1)");
}

int trigger_derive(struct bench_case *c, const struct producers *s)
{
	if (s->direction == DIRECTION_RING)
		derive_ring(c);
	derive_times(c);
	derive_gains(c);
	derive_adding(c, s);
	derive_model(c, s);
	return c->status;
}
