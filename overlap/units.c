/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does it pay to give units to a copy? ConCCL (arXiv 2412.14335) finds that a GEMM that arithmetic
 * limits takes 17 % longer on 32 fewer of 304 units, and that one that memory limits may gain from
 * 8 fewer, for it then thrashes the cache less.
 *
 * A GEMM and a copy by a kernel, each on all units and on its own: `units` of them for the copy,
 * the first ones, and the rest for the GEMM. `reserved` runs both at once so, `concurrent` with the
 * same blocks and no units of their own. In both the copy is enqueued first and starts first
 * (overlap/pair/pair_run.h has the rule of two stamps behind).
 *
 *     bin/overlap/units --device host --gemm compute,memory --units 1
 */
#include "bench/bench_overlap.h"
#include "bench/pattern.h"
#include "lib/err.h"
#include "overlap/units/units_run.h"

#include <errno.h>
#include <string.h>

static int accept_gemm(const char *word)
{
	if (strcmp(word, "compute") == 0 || strcmp(word, "memory") == 0 || shape_accept(word) == 0)
		return 0;
	return err_note(-EINVAL, "unknown GEMM '%s'; values: compute, memory, MxNxK", word);
}

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "f32", .gpu_class = "main", .gpu_class_full = "bf16,f32"),
	{"gemm", "compute or memory: what limits it; or MxNxK", AXIS_WORD, .accept = accept_gemm,
	 .quick = "compute", .full = "compute,memory", .simulated = "compute,memory",
	 .gpu_class = "compute,memory"},
	{"units", "units of the copy; the GEMM has the others", AXIS_COUNT, .min = 1,
	 .quick = "1,2,4,8", .simulated = "1,2,4", .gpu_class = "8,16,32,64",
	 .gpu_class_full = "8,16,24,32,48,64,96,128"},
	{"size", "bytes of the copy", AXIS_SIZE, .min = 1 << 20, .multiple = 4096, .quick = "16M",
	 .simulated = "1M", .gpu_class = "64M"},
	{0}};

static int admit(const struct bench_case *c)
{
	const unsigned long long units = axis_u64(c, "units");
	const struct dev_props *p = dev_props(c->dev);
	const int status = bench_gemm_admit_type(c);
	if (status)
		return status;
	return units < p->units ? 0
				: err_note(-ENOTSUP, "%llu of %u units leave none for the GEMM",
					   units, p->units);
}

static void model_gemm(const struct bench_case *c, long run, struct bench_model *m)
{
	bench_gemm_work(&((const struct units_state *)c->state)->gemm, 1.0, m);
}

static void model_copy(const struct bench_case *c, long run, struct bench_model *m)
{
	m->bytes = (double)((const struct units_state *)c->state)->bytes;
}

static int poison(struct bench_case *c, long run)
{
	const struct units_state *s = c->state;
	if (units_run_has_gemm(run))
		TRY(c->status, bench_gemm_poison(&s->gemm, c));
	if (units_run_has_copy(run))
		TRY(c->status, dev_fill(c->dev, c->stream, s->to, 0xa5, s->bytes));
	return c->status;
}

static int check(struct bench_case *c, long run)
{
	const struct units_state *s = c->state;
	if (units_run_has_gemm(run))
		TRY(c->status, bench_gemm_check(&s->gemm, c, 1));
	if (units_run_has_copy(run))
		TRY(c->status, pattern_check(c, c->dev, s->to, s->bytes, s->pattern, 0.0f));
	return c->status;
}

#define RUN_OF_GEMM(run) BENCH_SELF, .arg = (run), .once = units_time, .model = model_gemm
#define RUN_OF_COPY(run) BENCH_SELF, .arg = (run), .once = units_time, .model = model_copy
#define END_OF_GEMM(run) BENCH_SELF, .arg = (run), .once = units_time_gemm, .model = model_gemm
#define END_OF_COPY(run) BENCH_SELF, .arg = (run), .once = units_time_copy, .model = model_copy

/* The runs, to their ends; then to the end of each side of those that run both at once. */
enum { G_IN_CONCURRENT = UNITS_RUNS, C_IN_CONCURRENT, G_IN_RESERVED, C_IN_RESERVED };
static const struct bench_variant variants[] = {
	[GEMM] = {"gemm", RUN_OF_GEMM(GEMM)},
	[ON_REST] = {"gemm_on_rest", RUN_OF_GEMM(ON_REST)},
	[COPY] = {"copy", RUN_OF_COPY(COPY)},
	[ON_GIVEN] = {"copy_on_given", RUN_OF_COPY(ON_GIVEN)},
	[SERIAL] = {"serial", BENCH_SELF, SERIAL},
	[CONCURRENT] = {"concurrent", BENCH_SELF, CONCURRENT},
	[RESERVED] = {"reserved", BENCH_SELF, RESERVED},
	[G_IN_CONCURRENT] = {"gemm_in_concurrent", END_OF_GEMM(CONCURRENT)},
	[C_IN_CONCURRENT] = {"copy_in_concurrent", END_OF_COPY(CONCURRENT)},
	[G_IN_RESERVED] = {"gemm_in_reserved", END_OF_GEMM(RESERVED)},
	[C_IN_RESERVED] = {"copy_in_reserved", END_OF_COPY(RESERVED)},
	{0}};

#define BIT(variant) (UINT64_C(1) << (variant))
#define OWN_UNITS                                                                                  \
	(BIT(ON_REST) | BIT(ON_GIVEN) | BIT(RESERVED) | BIT(G_IN_RESERVED) | BIT(C_IN_RESERVED))

static int verify_mechanism(struct bench_case *c)
{
	const struct units_state *s = c->state;
	TRY(c->status, bench_verify_independent(c, UINT64_MAX, "streams_are_independent",
						s->graph[ON_REST], s->graph[ON_GIVEN]));
	return TRY(c->status, units_verify(c, OWN_UNITS));
}

/* ------------------------------------------------------------------ metrics */

#define SLOWDOWN(of, to)                                                                           \
	{                                                                                          \
		"slowdown", BENCH_RATIO, of, to, "seconds / seconds alone on all units"            \
	}
static const struct bench_quantity_row quantities[] = {
	{"fraction_of_ideal", BENCH_FRACTION},
	SLOWDOWN("gemm_on_rest", "gemm"),
	SLOWDOWN("copy_on_given", "copy"),
	SLOWDOWN("gemm_in_concurrent", "gemm"),
	SLOWDOWN("copy_in_concurrent", "copy"),
	SLOWDOWN("gemm_in_reserved", "gemm"),
	SLOWDOWN("copy_in_reserved", "copy"),
	{"reservation_speedup", BENCH_SPEEDUP, "reserved", "concurrent"},
	{0}};

#define GIVING(gemm) "type=main gemm=" gemm " units=1|16|1 size=16M|64M|1M"
static const struct bench_metric primary[] = {
	{"gemm_slowdown_fewer_units", "slowdown", "gemm_on_rest", GIVING("compute")},
	{"copy_bandwidth_few_units", "bandwidth", "copy_on_given", GIVING("compute")},
	{"reservation_speedup", "reservation_speedup", "reserved", GIVING("compute|memory|memory")},
	{0}};

static int derive(struct bench_case *c)
{
	static const struct bench_overlap overlap = {SERIAL, BIT(GEMM) | BIT(COPY),
						     BIT(GEMM) | BIT(COPY), NULL};
	const struct units_state *s = c->state;
	const struct bench_gemm *p = &s->gemm;
	bench_gemm_facts(p, c);
	bench_fact_number(c, "units_of_device", s->units);
	bench_fact_number(c, "copy_blocks", s->blocks);
	bench_fact_number(c, "copy_blocks_on_all_units", s->wave);
	TRY(c->status,
	    bench_rate(c, "operand_rate", GEMM, (double)(p->a_bytes + p->b_bytes + p->c_bytes),
		       "byte/s", "bytes of A, B and C / seconds"));
	return bench_derive_overlap(c, &overlap, BIT(CONCURRENT) | BIT(RESERVED));
}

static const struct bench bench = {
	.name = "overlap/units",
	.question = "does it pay to give units to a copy?",
	.formula = "slowdown = seconds / seconds alone on all units; S = serial / overlapped; "
		   "S_ideal = (gemm + copy) / max(gemm, copy); reservation_speedup = concurrent / "
		   "reserved",
	.timed = "a run enqueued beforehand, by device events: from its start to the end of the "
		 "later side, or of the side in the variant's name",
	.limits = "a library cuts its GEMM as for all units; the copy is within the device's "
		  "memory, so it takes more of it than a transfer over a link would",
	.needs = DEV_CAP_GEMM | DEV_CAP_WAIT_VALUE | DEV_CAP_UNIT_MASK,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct units_state),
	.admit = admit,
	.setup = units_open,
	.once = units_time,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
