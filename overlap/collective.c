/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A GEMM beside a collective: what does each way to run the collective cost alone, and what does it
 * leave to the GEMM? By copy engines, which take no units, by a copy kernel, and by the vendor's
 * library. After ConCCL (arXiv 2412.14335), whose fraction of ideal and classes these are, and
 * which found what collectives by engines leave.
 *
 * Timed: one round at a time, enqueued before the host opens a gate, by the devices' own events;
 * the longest of the devices' times. The collective goes first (overlap/collective/methods.h). A
 * variant with the name of a method runs both sides, to the end of the later one; METHOD_serial the
 * collective after the GEMM. gemm_in_METHOD and collective_in_METHOD are the same round as METHOD,
 * to the end of one side.
 *
 *     bin/overlap/collective --device host:0,1 --shape n512 --collective all-gather \
 *         --method engine,kernel --size 1M:64M:x4
 */
#include "bench/bench_overlap.h"
#include "lib/err.h"
#include "lib/text.h"
#include "overlap/collective/methods.h"

#include <errno.h>
#include <math.h>

/* In the order of enum dev_collective. */
static const char *const collectives[] = {"allreduce", "all-gather", "reduce-scatter", "all-to-all",
					  NULL};

/* The second shape of each list is bound by memory: it reads a matrix once for a few rows. */
static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "main"),
	BENCH_GEMM_SHAPES(.quick = "n512,16x1024x1024", .simulated = "n256,16x512x512",
			  .full = "n256,n512,16x1024x1024,n1024,g1,g2,g5,g6,g8,g14",
			  .gpu_class = "n4096,16x16384x16384",
			  .gpu_class_full = "n4096,16x16384x16384,n2048,square,g1,g2,g3,g4,g5,g6,"
					    "g7,g8,g9,g10,g11,g12,g13,g14,g15,g16"),
	BENCH_GEMM_MFLOP(.quick = "500", .full = "4000", .simulated = "20", .gpu_class = "200000",
			 .gpu_class_full = "2000000"),
	{"collective", "collective that is concurrent with the GEMM", AXIS_WORD,
	 .words = collectives, .quick = "all-gather,all-to-all,reduce-scatter,allreduce"},
	{"size", "bytes of the whole vector of floats, rounded down to equal parts of whole 256",
	 AXIS_SIZE, .quick = "1M,4M", .simulated = "1M", .full = "1M:64M:x4", .gpu_class = "1M,64M",
	 .gpu_class_full = "1M:1G:x4,64M", .min = 4096},
	{"blocks",
	 "thread blocks of a device's copy kernels, in equal parts, at least one a message; 0: one "
	 "for every 8 units",
	 AXIS_COUNT, .quick = "0", .max = 65536},
	{0}};

static int admit(const struct bench_case *c)
{
	int status = bench_gemm_admit(c);
	if (status == 0 && !methods_bytes(c))
		status = err_note(-ENOTSUP, "%llu bytes are too few for %zu equal parts",
				  (unsigned long long)axis_u64(c, "size"), c->devices->count);
	if (status == 0 && axis_u64(c, "size") > dev_props(c->dev)->memory_bytes / 8)
		status = err_note(
			-ENOMEM,
			"vector, original and staging memory exceed the device's free memory");
	return status;
}

static void model_gemm(const struct bench_case *c, long variant, struct bench_model *m)
{
	bench_gemm_work(&((const struct methods *)c->state)->gemm[0], 1.0, m);
}

static void model_collective(const struct bench_case *c, long variant, struct bench_model *m)
{
	m->bytes = (double)((const struct methods *)c->state)->bytes;
}

static int poison(struct bench_case *c, long variant)
{
	const struct methods *s = c->state;
	TRY(c->status, work_graph_complete(s->of[variant]->poison));
	for (size_t d = 0; d < c->devices->count; d++)
		TRY(c->status, bench_gemm_poison(&s->gemm[d], c));
	return c->status;
}

static int check(struct bench_case *c, long variant)
{
	struct methods *s = c->state;
	TRY(c->status, vectors_check(s->of[variant], c, true));
	for (size_t d = 0; d < c->devices->count; d++)
		TRY(c->status, bench_gemm_check(&s->gemm[d], c, 1));
	return c->status;
}

#define PART(id) BENCH_SELF, .arg = (id), .reference = true, .always = true
#define METHOD_ROWS(id, label, lacks)                                                              \
	[id##_BOTH] = {(label), BENCH_SELF, .arg = id##_BOTH, .needs = (lacks)},                   \
	[id##_SERIAL] = {label "_serial", PART(id##_SERIAL), .needs = (lacks)},                    \
	[id##_ALONE] = {label "_alone", PART(id##_ALONE), .model = model_collective,               \
			.needs = (lacks)},                                                         \
	[GEMM_IN_##id] = {"gemm_in_" label, PART(GEMM_IN_##id), .once = methods_time_gemm,         \
			  .model = model_gemm, .needs = (lacks)},                                  \
	[SIDE_IN_##id] = {"collective_in_" label, PART(SIDE_IN_##id),                              \
			  .once = methods_time_collective, .model = model_collective,              \
			  .needs = (lacks)},
static const struct bench_variant variants[] = {
	[GEMM_ALONE] = {"gemm_alone", PART(GEMM_ALONE), .model = model_gemm},
	METHOD_TABLE(METHOD_ROWS){0}};

/* ------------------------------------------------------------------ metrics */

static const struct bench_quantity_row quantities[] = {
	{"fraction_of_ideal", BENCH_FRACTION},
	{"S_library", BENCH_SPEEDUP, NULL, "library_serial"},
	{"exposed_tail", BENCH_DIFFERENCE, NULL, "gemm_alone", "time - that of the GEMM alone"},
	{0}};

#define LARGE "type=main shape=n512|n4096|n256 collective=all-gather size=4M|64M|1M"
static const struct bench_metric primary[] = {
	{"collective_engine_overlap_efficiency", "fraction_of_ideal", "engine", LARGE},
	{"collective_kernel_overlap_efficiency", "fraction_of_ideal", "kernel", LARGE},
	{"collective_library_overlap_efficiency", "fraction_of_ideal", "library", LARGE},
	{"collective_library_zero_cta_overlap_efficiency", "fraction_of_ideal", "library-zero-cta",
	 LARGE},
	{0}};

static int verify_method(struct bench_case *c, const struct method *m)
{
	const struct methods *s = c->state;
	const uint64_t uses = method_variants(m);
	struct work_graph *alone = s->graph[m->alone];
	TRY(c->status, bench_verify_independent(c, uses, "streams_are_independent",
						s->graph[GEMM_ALONE], alone));
	if (m->policy == DEV_COMM_ZERO_CTA)
		TRY(c->status, bench_verify_no_units(c, uses, alone, s->bytes));
	return c->status;
}

static int verify_mechanism(struct bench_case *c)
{
	const struct methods *s = c->state;
	for (unsigned m = 0; m < METHODS; m++)
		if (method_is_on(c, &methods[m]))
			verify_method(c, &methods[m]);
	return TRY(c->status, bench_verify_engine(c, method_variants(&methods[METHOD_ENGINE]),
						  s->graph, METHOD_VARIANTS_ALL));
}

static void derive_ratio(struct bench_case *c, const char *name, const struct method *m,
			 unsigned concurrent, unsigned alone, const char *formula)
{
	const struct bench_quantity q = {BENCH_RATIO,
					 .of = {BENCH_OF(concurrent), BENCH_OF(alone)}};
	TRY(c->status, bench_derive(c, name, (int)m->both, &q, formula));
}

static void derive_method(struct bench_case *c, const struct method *m)
{
	const uint64_t parts = UINT64_C(1) << GEMM_ALONE | UINT64_C(1) << m->alone;
	const struct bench_overlap o = {m->serial, parts, parts, .own_ideal = true};
	TRY(c->status, bench_derive_overlap(c, &o, UINT64_C(1) << m->both));
	derive_ratio(c, "CIL_gemm", m, m->gemm_in, GEMM_ALONE,
		     "the GEMM concurrent with the collective / alone");
	derive_ratio(c, "CIL_comm", m, m->side_in, m->alone,
		     "the collective concurrent with the GEMM / alone");
}

#define EQUAL_WITHIN 1.15
/* ConCCL's: which side takes longer, by over 15 %. */
static void record_class(struct bench_case *c, const struct method *m)
{
	const double gemm = bench_median(c, GEMM_ALONE), other = bench_median(c, m->alone);
	char name[64];
	text_fit(name, sizeof(name), "class_%s", m->name);
	bench_fact_text(c, name,
			gemm > EQUAL_WITHIN * other   ? "G-long"
			: other > EQUAL_WITHIN * gemm ? "C-long"
						      : "GC-equal");
}

/* Methods that tie for the fastest; a single one is compared with nothing. */
static void record_best_methods(struct bench_case *c)
{
	uint64_t wholes = 0, best = 0;
	char names[128] = "";
	for (unsigned m = 0; m < METHODS; m++)
		wholes |= (uint64_t)method_is_on(c, &methods[m]) << methods[m].both;
	if (!(wholes & (wholes - 1)))
		return;
	TRY(c->status, bench_fastest(c, wholes, &best));
	for (unsigned m = 0; m < METHODS; m++)
		if (best >> methods[m].both & 1)
			text_fit_more(names, sizeof(names), "%s%s", names[0] ? ", " : "",
				      methods[m].name);
	bench_fact_text(c, "best_methods", best ? names : "none is valid");
}

/* Copies by engines take no units, but sums do, and what all-to-all copies within a device may. A
 * kernel's blocks are on as many units at most. How many the library takes is unknown, but where it
 * was proved to take none. */
static void record_units(struct bench_case *c)
{
	const struct methods *s = c->state;
	const uint32_t units = dev_props(c->dev)->units;
	bench_fact_number(c, "units", units);
	if (method_is_on(c, &methods[METHOD_ENGINE]) && s->what == DEV_ALLGATHER)
		bench_fact_number(c, "units_left_engine", units);
	if (method_is_on(c, &methods[METHOD_LIBRARY_ZERO_CTA]))
		bench_fact_number(c, "units_left_library-zero-cta", units);
	if (method_is_on(c, &methods[METHOD_KERNEL])) {
		bench_fact_number(c, "copy_blocks", s->copy_blocks);
		bench_fact_number(c, "units_left_kernel",
				  units > s->copy_blocks ? units - s->copy_blocks : 0);
	}
}

static int derive(struct bench_case *c)
{
	const struct methods *s = c->state;
	const struct dev_comm *library = NULL;
	bench_gemm_facts(&s->gemm[0], c);
	bench_fact_number(c, "devices", (double)c->devices->count);
	bench_fact_number(c, "vector_bytes", (double)s->bytes);
	for (unsigned m = METHODS; !library && m-- > 0;)
		if (methods[m].by_library && method_is_on(c, &methods[m]))
			library = s->comm[methods[m].policy];
	if (library)
		bench_fact_text(c, "library", library->library);
	record_units(c);
	for (unsigned m = 0; m < METHODS; m++) {
		if (!method_is_on(c, &methods[m]))
			continue;
		derive_method(c, &methods[m]);
		record_class(c, &methods[m]);
	}
	record_best_methods(c);
	return c->status;
}

static const struct bench bench = {
	.name = "overlap/collective",
	.question = "which way to run a collective leaves most to a GEMM?",
	.formula = "fraction_of_ideal = (S - 1) / (S_ideal - 1); S = METHOD_serial / METHOD; "
		   "S_library = library_serial / METHOD; S_ideal = (t_g + t_c) / max(t_g, t_c); "
		   "CIL = concurrent / alone; "
		   "bandwidth = bytes of the whole vector / time",
	.timed = "a round enqueued beforehand, by the devices' events, to the end of the later "
		 "side, or of the side in the variant's name; the longest of the devices' times; "
		 "not restoring the vectors before it",
	.limits = "one GEMM and one collective at a time, the collective first; each begins with "
		  "what restoring the vectors left in caches; part of the longer side runs alone; "
		  "S is relative to the same method after the GEMM, so compare methods by time",
	.needs = DEV_CAP_GEMM | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER | DEV_CAP_COLLECTIVES,
	.min_devices = 2,
	.share = 2.0,
	.axes = axes,
	.variant_option = "method",
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct methods),
	.admit = admit,
	.setup = methods_open,
	.once = methods_time,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv)
{
	struct methods_known known = {0};
	struct bench with_known = bench;
	with_known.arg = &known;
	return bench_main(&with_known, argc, argv);
}
