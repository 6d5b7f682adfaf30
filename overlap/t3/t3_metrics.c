/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/err.h"
#include "overlap/t3/t3_run.h"
#include "overlap/trigger/t3_traffic.h"

#include <math.h>

/* ------------------------------------------------------------------ times */

#define ON(variant) (UINT64_C(1) << (variant))

static void derive_ratio(struct bench_case *c, const char *name, int variant,
			 struct bench_seconds over, struct bench_seconds under, const char *formula)
{
	const struct bench_quantity q = {BENCH_RATIO, .of = {over, under}, .modelled = true};
	TRY(c->status, bench_derive(c, name, variant, &q, formula));
}

/* Figure 6 of the paper: both sides alone on their part of the units, as if neither slowed the
 * other. */
static void derive_split(struct bench_case *c, unsigned all_reduce, unsigned gemm)
{
	derive_ratio(
		c, "S_potential", (int)gemm,
		(struct bench_seconds){.sum = ON(GEMM_ALONE) | ON(AR_ALONE)},
		(struct bench_seconds){.longest = ON(gemm) | ON(all_reduce)},
		"(gemm_alone + all_reduce_alone) / the longer of both on their parts of the units");
}

/* ------------------------------------------------------------------ bytes */

/* Bytes of all devices without the all-gather, which reads and writes N - 1 chunks on each device
 * as communication. */
static struct dev_memory_bytes without_all_gather(const struct t3_run *r, unsigned variant)
{
	const struct dev_memory_bytes *gather = &r->moved[AG_ALONE].memory;
	struct dev_memory_bytes b = r->moved[variant].memory;
	for (int of = 0; t3_plans[variant].work & T3_GATHER && of < DEV_TRAFFIC_CLASSES; of++) {
		b.read[of] -= gather->read[of];
		b.written[of] -= gather->written[of];
	}
	return b;
}

static void derive_bytes(struct bench_case *c, const struct t3_run *r, unsigned variant)
{
	static const char formula[] =
		"as the devices' memories counted them, of one device; without all-gather";
	const struct dev_memory_bytes b = without_all_gather(r, variant);
	static const char *const names[DEV_TRAFFIC_CLASSES][2] = {
		{"computing_read_bytes", "computing_written_bytes"},
		{"communication_read_bytes", "communication_written_bytes"}};
	if (!bench_variant_on(c, variant) || !bench_variant_on(c, AG_ALONE))
		return;
	for (int of = 0; of < DEV_TRAFFIC_CLASSES; of++) {
		bench_model_value(c, names[of][0], (int)variant, b.read[of] / r->ring.count, "byte",
				  formula);
		bench_model_value(c, names[of][1], (int)variant, b.written[of] / r->ring.count,
				  "byte", formula);
	}
}

static void derive_tracker(struct bench_case *c, const struct t3_run *r, unsigned variant)
{
	const struct dev_tracker_counts *t = &r->moved[variant].tracker;
	if (!bench_variant_on(c, variant))
		return;
	bench_model_value(c, "tiles_overflowed", (int)variant,
			  (double)t->overflowed / (double)(t->tiles ? t->tiles : 1), "",
			  "tiles without a free tracker entry / tiles");
	bench_model_value(c, "tracker_most_used", (int)variant, t->most_used, "",
			  "peak number of a tracker's entries in use since it was opened");
}

int t3_derive(struct bench_case *c)
{
	const struct t3_run *r = c->state;
	static const unsigned counted[] = {GEMM_ALONE, RS_ALONE,  RS_ADDING,  SEQUENTIAL,
					   FUSED,      FUSED_MCA, UNSTAGGERED};
	bench_fact_text(c, "hardware", "simulated: no device has it");
	bench_fact_number(c, "devices", r->ring.count);
	bench_fact_number(c, "m", r->ring.shape.m);
	bench_fact_number(c, "n", r->ring.shape.n);
	bench_fact_number(c, "k", r->ring.shape.k);
	bench_fact_number(c, "threshold_used", r->threshold);
	bench_fact_number(c, "memory_intensity", r->intensity);
	derive_ratio(
		c, "S_ideal", -1, BENCH_OF(SEQUENTIAL),
		(struct bench_seconds){ON(AG_ALONE), .longest = ON(GEMM_ALONE) | ON(RS_ALONE)},
		"seconds(sequential) / (max(gemm_alone, reduce_scatter_alone) + all_gather_alone)");
	derive_ratio(
		c, "S_ideal_adding", -1, BENCH_OF(SEQUENTIAL),
		(struct bench_seconds){ON(AG_ALONE), .longest = ON(GEMM_ALONE) | ON(RS_ADDING)},
		"the same with reduce_scatter_adding");
	derive_split(c, AR_ON_8, GEMM_WITHOUT_8);
	derive_split(c, AR_ON_16, GEMM_WITHOUT_16);
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		derive_bytes(c, r, counted[i]);
	derive_tracker(c, r, FUSED);
	derive_tracker(c, r, FUSED_MCA);
	return c->status;
}

/* ------------------------------------------------------------------ bytes, counted twice */

/* Chunks of the counting model as bytes, of all devices: every device has every chunk's part once,
 * so that uneven chunks even out. */
static double chunks_bytes(const struct t3_ring *r, uint32_t chunks)
{
	return (double)chunks * (double)r->shape.m * (double)r->row_bytes;
}

static bool is_equal(double a, double b) { return !(a < b || a > b); }

static void verify_bytes(struct bench_case *c, const struct t3_run *r, unsigned variant,
			 const char *name, const struct t3_traffic *expected)
{
	const struct dev_memory_bytes b = without_all_gather(r, variant);
	const double read = b.read[DEV_COMMUNICATION],
		     written = b.written[DEV_COMPUTING] + b.written[DEV_COMMUNICATION];
	if (!bench_variant_on(c, variant) || !bench_variant_on(c, AG_ALONE))
		return;
	bench_mechanism_of(c, UINT64_C(1) << variant, name,
			   is_equal(read, chunks_bytes(&r->ring, expected->reads)) &&
				   is_equal(written, chunks_bytes(&r->ring, expected->writes)),
			   "all devices read %.0f bytes and wrote %.0f with GEMM and "
			   "reduce-scatter; counted %.0f and %.0f",
			   read, written, chunks_bytes(&r->ring, expected->reads),
			   chunks_bytes(&r->ring, expected->writes));
}

int t3_verify_mechanism(struct bench_case *c)
{
	const struct t3_run *r = c->state;
	struct t3_traffic sequential[T3_TRAFFIC_MAX_GPUS], t3[T3_TRAFFIC_MAX_GPUS];
	TRY(c->status, t3_traffic_count(T3_TRAFFIC_SEQUENTIAL, r->ring.count, &c->rng, sequential));
	if (TRY(c->status, t3_traffic_count(T3_TRAFFIC_T3, r->ring.count, &c->rng, t3)))
		return c->status;
	verify_bytes(c, r, SEQUENTIAL, "sequential_bytes_as_counted", sequential);
	verify_bytes(c, r, FUSED, "t3_bytes_as_counted", t3);
	verify_bytes(c, r, FUSED_MCA, "t3_mca_bytes_as_counted", t3);
	verify_bytes(c, r, UNSTAGGERED, "t3_mca_unstaggered_bytes_as_counted", t3);
	return 0;
}
