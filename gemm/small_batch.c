/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much of the memory bandwidth does a GEMM of few rows reach? Decoding multiplies 1 to 64 rows,
 * a token each, by weights that pass from memory once: C (rows x N) = A (rows x K) B (K x N). It
 * takes at least as long as the weights take to read, and at least as long as its flops take.
 *
 * Every GEMM takes its operands from rotating buffers (bench/graph/rotation.h), so weights of any
 * size come from memory. Both lower bounds are measured in the same rounds: kernel `read` reads
 * weights from the same buffers, and the library multiplies squares that arithmetic limits.
 * fewest_rows is the GEMM of a single row (f8: of 16), so rows_time_ratio is the price of the other
 * rows.
 *
 * Timed: the vendor's GEMM on operands that are in no cache.
 *
 *     bin/gemm/small_batch --device cuda --type bf16 --rows 1:256:x2 --weights 28672x8192
 */
#include "bench/bench_alloc.h"
#include "bench/bench_gemm.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <math.h>

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "main,f8", .full = "f32,f64,tf32,f16,bf16,f8"),
	{"rows", "rows of A and C: tokens that are decoded at once", AXIS_COUNT, .quick = "1,8,64",
	 .full = "1:256:x2", .min = 1, .max = 1u << 16},
	BENCH_GEMM_WEIGHTS(.quick = "2048x3072", .full = "2048x3072,3072x2048",
			   .gpu_class = "28672x8192",
			   .gpu_class_full = "28672x8192,8192x28672,4096x4096"),
	{0}};

/* `arg` of a variant. */
enum { ALL_ROWS, FEWEST_ROWS, ROW_COUNTS };

struct state {
	struct bench_gemm gemm, square;
	struct rotation *cold;
	struct dev_kernel *read;
	uint64_t read_bytes;
	uint32_t rows[ROW_COUNTS], *sink;
};

/* The first rows of it. */
static struct bench_gemm first_rows(const struct bench_gemm *p, uint32_t rows)
{
	struct bench_gemm some = *p;
	some.shape.m = some.host_a.rows = rows;
	some.a_bytes = p->a_bytes / p->shape.m * rows;
	some.c_bytes = p->c_bytes / p->shape.m * rows;
	return some;
}

static struct bench_gemm rows_of(const struct bench_case *c, long rows)
{
	const struct state *s = c->state;
	return first_rows(&s->gemm, s->rows[rows]);
}

static int run_gemm(struct bench_case *c, long rows)
{
	const struct bench_gemm all = rows_of(c, rows),
				operands = bench_gemm_next(&all,
							   ((const struct state *)c->state)->cold);
	const struct dev_gemm gemm = bench_gemm_whole(&operands);
	return dev_gemm(c->dev, c->stream, &gemm);
}

static void model(const struct bench_case *c, long rows, struct bench_model *m)
{
	const struct bench_gemm p = rows_of(c, rows);
	bench_gemm_work(&p, 1.0, m);
	m->bytes = (double)(p.a_bytes + p.b_bytes + p.c_bytes);
}

static int poison(struct bench_case *c, long rows)
{
	const struct state *s = c->state;
	TRY(c->status, bench_gemm_poison(&s->gemm, c));
	return TRY(c->status, rotation_spread(s->cold, 1));
}

static int check(struct bench_case *c, long rows)
{
	const struct bench_gemm p = rows_of(c, rows);
	TRY(c->status, rotation_collect(((const struct state *)c->state)->cold));
	return TRY(c->status, bench_gemm_check(&p, c, 1));
}

static int read_weights(struct bench_case *c, long arg)
{
	struct state *s = c->state;
	const struct bench_gemm next = bench_gemm_next(&s->gemm, s->cold);
	const uint32_t reps = 1;
	const void *const args[] = {&next.b, &s->read_bytes, &reps, &s->sink};
	const struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, s->read), .args = args};
	return dev_launch(c->dev, c->stream, s->read, &launch);
}

static void read_model(const struct bench_case *c, long arg, struct bench_model *m)
{
	m->bytes = (double)((const struct state *)c->state)->read_bytes;
}

static int run_square(struct bench_case *c, long arg)
{
	const struct dev_gemm gemm = bench_gemm_whole(&((const struct state *)c->state)->square);
	return dev_gemm(c->dev, c->stream, &gemm);
}

static void square_model(const struct bench_case *c, long arg, struct bench_model *m)
{
	bench_gemm_work(&((const struct state *)c->state)->square, 1.0, m);
}

enum { GEMM, FEWEST, READ, SQUARE };
static const struct bench_variant variants[] = {
	[GEMM] = {"gemm", BENCH_DEVICE, .arg = ALL_ROWS},
	[FEWEST] = {"fewest_rows", BENCH_DEVICE, .arg = FEWEST_ROWS},
	[READ] = {"read", BENCH_DEVICE, .once = read_weights, .model = read_model,
		  .reference = true},
	[SQUARE] = {"square", BENCH_DEVICE, .once = run_square, .model = square_model,
		    .reference = true},
	{0}};

static int find_shape(const struct bench_case *c, struct shape *shape_p)
{
	return bench_gemm_weights(axis_str(c, "weights"), (uint32_t)axis_u64(c, "rows"), shape_p);
}

static int admit(const struct bench_case *c)
{
	struct shape shape;
	const int status = find_shape(c, &shape);
	return status ? status : bench_gemm_admit_shape(c, &shape);
}

static void prepare_gemm(struct bench_case *c, unsigned variant, const struct bench_gemm *p)
{
	const struct dev_gemm gemm = bench_gemm_whole(p);
	if (c->status == 0 && bench_variant_on(c, variant))
		TRY(c->status, dev_gemm_prepare(c->dev, &gemm));
}

/* A run of whichever variant brings at least the weights into the cache. */
static int rotate_operands(struct bench_case *c)
{
	struct state *s = c->state;
	const struct bench_gemm *p = &s->gemm;
	const struct rotation_range operands[] = {
		{p->b, s->read_bytes, false}, {p->a, p->a_bytes, false}, {p->c, p->c_bytes, false}};
	const struct rotation_run runs[] = {{operands, 1}, {operands, 3}};
	return c->status ? c->status : rotation_open(c, runs, 2, &s->cold);
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	const struct shape square = bench_gemm_arithmetic_bound(dev_props(c->dev));
	struct shape shape = {0};
	TRY(c->status, find_shape(c, &shape));
	const enum dev_type type = (enum dev_type)axis_index(c, "type");
	s->rows[ALL_ROWS] = shape.m;
	s->rows[FEWEST_ROWS] = dev_types[type].multiple;
	if (shape.m == s->rows[FEWEST_ROWS])
		bench_variant_off(c, FEWEST);
	s->read = bench_kernel(c, "read");
	s->sink = bench_alloc(c, DEV_MEM_DEVICE, 256);
	if (bench_gemm_open(&s->gemm, c, c->dev, &shape, type) ||
	    bench_gemm_open(&s->square, c, c->dev, &square, type))
		return c->status;
	s->read_bytes = s->gemm.b_bytes / DEV_KERNEL_ALIGN * DEV_KERNEL_ALIGN;
	const struct bench_gemm fewest = rows_of(c, FEWEST_ROWS);
	prepare_gemm(c, GEMM, &s->gemm);
	prepare_gemm(c, FEWEST, &fewest);
	prepare_gemm(c, SQUARE, &s->square);
	return rotate_operands(c);
}

/* ------------------------------------------------------------------ bounds */

/* Operations on floats or on integers. */
static double count_operations(const struct bench_model *work) { return work->flops + work->ops; }

/* The larger lower bound of a GEMM's time over that time; `arg` is the case's work. */
static double share_of_bound(const struct bench_round *r)
{
	const struct bench_model *work = r->arg;
	const double of_bytes = work[GEMM].bytes / work[READ].bytes * r->seconds[READ],
		     of_flops = count_operations(&work[GEMM]) / count_operations(&work[SQUARE]) *
				r->seconds[SQUARE];
	return fmax(of_bytes, of_flops) / r->seconds[GEMM];
}

static void derive_share(struct bench_case *c)
{
	const struct bench_model work[] = {[GEMM] = bench_work(c, GEMM),
					   [READ] = bench_work(c, READ),
					   [SQUARE] = bench_work(c, SQUARE)};
	const struct bench_quantity q = {.kind = BENCH_FORMULA,
					 .of = {BENCH_OF(GEMM), BENCH_OF(READ), BENCH_OF(SQUARE)},
					 .f = share_of_bound,
					 .arg = work};
	TRY(c->status, bench_derive(c, "share_of_bound", GEMM, &q,
				    "max(bytes / bandwidth(read), flops / flop_rate(square)) / "
				    "seconds(gemm), round by round"));
	const bool memory = bench_median(c, READ) * work[GEMM].bytes / work[READ].bytes >
			    bench_median(c, SQUARE) * count_operations(&work[GEMM]) /
				    count_operations(&work[SQUARE]);
	bench_fact_text(c, "limited_by", memory ? "memory" : "arithmetic");
}

/* A and B at least are read, at the rate of the weights alone. */
static void bound_bandwidth(struct bench_case *c, unsigned variant)
{
	const struct bench_gemm p = rows_of(c, variants[variant].arg);
	const double reads = (double)(p.a_bytes + p.b_bytes),
		     rate = bench_work(c, READ).bytes / bench_best(c, READ);
	bench_bound(c, "bandwidth", (int)variant, rate * bench_work(c, variant).bytes / reads,
		    "measured rate of reading");
	bench_nominal(c, "bandwidth", (int)variant, dev_props(c->dev)->nominal.memory_bandwidth,
		      true);
}

static int derive(struct bench_case *c)
{
	const struct state *s = c->state;
	bench_gemm_facts(&s->gemm, c);
	rotation_facts(s->cold, c);
	bench_fact_number(c, "fewest_rows", s->rows[FEWEST_ROWS]);
	bench_fact_number(c, "square_side", s->square.shape.m);
	for (unsigned v = 0; variants[v].name; v++)
		if (!variants[v].reference && bench_variant_on(c, v) && bench_variant_on(c, READ))
			bound_bandwidth(c, v);
	if (bench_variant_on(c, GEMM) && bench_variant_on(c, READ) && bench_variant_on(c, SQUARE))
		derive_share(c);
	return c->status;
}

static const struct bench_quantity_row quantities[] = {
	{"share_of_read", BENCH_SHARE, "gemm", "read"},
	{"share_of_read", BENCH_SHARE, "fewest_rows", "read"},
	{"rows_time_ratio", BENCH_RATIO, "gemm", "fewest_rows"},
	{"share_of_bound", BENCH_FORMULA},
	{0}};

#define OF_ROWS(rows) "type=main rows=" #rows " weights=2048x3072|28672x8192|2048x3072"
static const struct bench_metric primary[] = {
	{"gemm_1_row_bandwidth", "bandwidth", "gemm", OF_ROWS(1)},
	{"gemm_8_rows_bandwidth", "bandwidth", "gemm", OF_ROWS(8)},
	{"gemm_64_rows_bandwidth", "bandwidth", "gemm", OF_ROWS(64)},
	{0}};

static const struct bench bench = {
	.name = "gemm/small_batch",
	.question = "how much of the memory bandwidth does a GEMM of few rows reach?",
	.formula = "bandwidth = bytes of A, B and C, each once / median time; share_of_read = that "
		   "/ bandwidth of kernel read on B; rows_time_ratio = seconds(gemm) / "
		   "seconds(fewest_rows)",
	.timed = "the vendor's GEMM on random data in rotating buffers, which are in no cache; not "
		 "allocation, filling or checking",
	.limits = "with many rows arithmetic limits the rate: fact limited_by; a square GEMM's "
		  "rate, which stands for that of the units, is no bound",
	.needs = DEV_CAP_GEMM,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.once = run_gemm,
	.model = model,
	.poison = poison,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
