/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is a grouped GEMM faster than one GEMM for each expert? In a mixture of experts every expert
 * multiplies the few rows (tokens) that were routed to it by weights of its own. One GEMM after the
 * other starts as many kernels, none of which fills the device; a grouped GEMM is one operation.
 *
 * Operands come from rotating buffers, so weights pass from memory. Kernel `read` reads those of as
 * many experts as have rows, from the same buffers. `whole` is one GEMM of all rows by the weights
 * of one expert, which stay where they are: the same flops without groups.
 *
 * Timed: GEMMs of the vendor's library, whose operands are in no cache; not routing.
 *
 *     bin/gemm/grouped --device cuda --type bf16 --experts 32 --rows 1:256:x4 --routing uneven
 */
#include "gemm/grouped/experts.h"
#include "lib/err.h"

#include <math.h>

static const struct axis axes[] = {
	BENCH_PLAIN_TYPES(.quick = "main", .full = "f32,f64,tf32,f16,bf16,f8"),
	{"experts", "groups of rows, each with its own weights", AXIS_COUNT, .quick = "8",
	 .full = "8,32", .min = 1, .max = DEV_GEMM_GROUPS},
	{"rows", "rows of an expert, on average", AXIS_COUNT, .quick = "4,64", .full = "1:256:x4",
	 .min = 1, .max = 1u << 14},
	{"routing", "even: as many rows for each expert; uneven: by seeded popularity", AXIS_WORD,
	 .words = experts_routings, .quick = "even,uneven"},
	BENCH_GEMM_WEIGHTS(.quick = "512x1024", .gpu_class = "14336x4096"),
	{0}};

static int run_graph(struct bench_case *c, long run)
{
	return work_graph_run(((const struct experts *)c->state)->graph[run]);
}

/* Weights of experts without rows are not counted. */
static void model(const struct bench_case *c, long run, struct bench_model *m)
{
	const struct bench_gemm *p = &((const struct experts *)c->state)->gemm;
	const struct dev_gemm gemm = bench_gemm_whole(p);
	bench_gemm_work(p, 1.0, m);
	m->bytes = (double)p->a_bytes + (double)p->c_bytes +
		   (double)p->b_bytes / p->groups * dev_gemm_groups(&gemm);
}

static void whole_model(const struct bench_case *c, long run, struct bench_model *m)
{
	bench_gemm_work(&((const struct experts *)c->state)->gemm, 1.0, m);
}

static void read_model(const struct bench_case *c, long run, struct bench_model *m)
{
	m->bytes = ((const struct experts *)c->state)->read_bytes;
}

static int poison(struct bench_case *c, long run)
{
	const struct experts *s = c->state;
	TRY(c->status, bench_gemm_poison(&s->gemm, c));
	return TRY(c->status, rotation_spread(s->cold, 1));
}

static int check(struct bench_case *c, long run)
{
	const struct experts *s = c->state;
	TRY(c->status, rotation_collect(s->cold));
	return TRY(c->status, bench_gemm_check(&s->gemm, c, 1));
}

enum { SERIAL, STREAMS, GROUPED, READ, WHOLE };
static const struct bench_variant variants[] = {
	[SERIAL] = {"serial", BENCH_DEVICE, EXPERTS_SERIAL},
	[STREAMS] = {"streams", BENCH_DEVICE, EXPERTS_STREAMS},
	[GROUPED] = {"grouped", BENCH_DEVICE, EXPERTS_GROUPED, .needs = DEV_CAP_GEMM_GROUPED},
	[READ] = {"read", BENCH_DEVICE, EXPERTS_READ, .model = read_model, .reference = true},
	[WHOLE] = {"whole", BENCH_DEVICE, EXPERTS_WHOLE, .model = whole_model, .reference = true},
	{0}};

static int admit(const struct bench_case *c)
{
	struct shape shape;
	const int status = experts_shape(c, 1, &shape);
	return status ? status : bench_gemm_admit_shape(c, &shape);
}

/* ------------------------------------------------------------------ results */

/* The larger lower bound over the time; `arg` is the bytes of a GEMM / those of `read`. */
static double share_of_bound(const struct bench_round *r)
{
	const double of_bytes = *(const double *)r->arg * r->seconds[READ];
	return fmax(of_bytes, r->seconds[WHOLE]) / r->seconds[r->variant];
}

static void derive_bounds(struct bench_case *c, unsigned variant)
{
	const struct bench_gemm *p = &((const struct experts *)c->state)->gemm;
	const struct bench_model work = bench_work(c, variant), read = bench_work(c, READ);
	const double bytes = work.bytes / read.bytes, reads = work.bytes - (double)p->c_bytes;
	const struct bench_quantity q = {.kind = BENCH_FORMULA,
					 .of = {BENCH_OF(variant), BENCH_OF(READ), BENCH_OF(WHOLE)},
					 .f = share_of_bound,
					 .arg = &bytes};
	bench_bound(c, "bandwidth", (int)variant,
		    read.bytes / bench_best(c, READ) * work.bytes / reads,
		    "measured rate of reading");
	bench_nominal(c, "bandwidth", (int)variant, dev_props(c->dev)->nominal.memory_bandwidth,
		      true);
	if (bench_variant_on(c, WHOLE))
		TRY(c->status,
		    bench_derive(c, "share_of_bound", (int)variant, &q,
				 "max(bytes / bandwidth(read), seconds(whole)) / seconds"));
}

static int derive(struct bench_case *c)
{
	const struct experts *s = c->state;
	const struct bench_gemm *p = &s->gemm;
	uint32_t least = UINT32_MAX, most = 0;
	for (uint32_t i = 0; i < p->groups; i++) {
		least = p->group_rows[i] < least ? p->group_rows[i] : least;
		most = p->group_rows[i] > most ? p->group_rows[i] : most;
	}
	bench_gemm_facts(p, c);
	bench_fact_number(c, "least_rows", least);
	bench_fact_number(c, "most_rows", most);
	bench_fact_number(c, "streams", EXPERTS_LANES);
	rotation_facts(s->cold, c);
	for (unsigned v = 0; variants[v].name; v++)
		if (!variants[v].reference && bench_variant_on(c, v) && bench_variant_on(c, READ))
			derive_bounds(c, v);
	return c->status;
}

static const struct bench_quantity_row quantities[] = {
	{"speedup", BENCH_SPEEDUP, "streams", "serial"},
	{"speedup", BENCH_SPEEDUP, "grouped", "serial"},
	{"share_of_read", BENCH_SHARE, "serial", "read"},
	{"share_of_read", BENCH_SHARE, "streams", "read"},
	{"share_of_read", BENCH_SHARE, "grouped", "read"},
	{"share_of_bound", BENCH_FORMULA},
	{0}};

#define AT(routing)                                                                                \
	"type=main experts=8 rows=4 routing=" routing " weights=512x1024|14336x4096|512x1024"
static const struct bench_metric primary[] = {
	{"grouped_gemm_speedup", "speedup", "grouped", AT("even")},
	{"grouped_gemm_uneven_speedup", "speedup", "grouped", AT("uneven")},
	{"grouped_gemm_bandwidth", "bandwidth", "grouped", AT("even")},
	{0}};

static const struct bench bench = {
	.name = "gemm/grouped",
	.question = "is a grouped GEMM faster than one GEMM for each expert?",
	.formula = "speedup = seconds(serial) / seconds; bandwidth = bytes of A, C and the weights "
		   "of experts with rows, each once / median time",
	.timed = "GEMMs of the vendor's library on random data in rotating buffers, which are in "
		 "no cache; not routing, allocation, filling or checking",
	.limits = "queues are full: what starting a GEMM takes of the host is in micro/launch; "
		  "whole, the bound of arithmetic, reads the weights of one expert, from a cache "
		  "where they fit",
	.needs = DEV_CAP_GEMM,
	.wants = DEV_CAP_GEMM_GROUPED,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct experts),
	.admit = admit,
	.setup = experts_open,
	.once = run_graph,
	.model = model,
	.poison = poison,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
