/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A GEMM whose A and C are in host memory, as out-of-core libraries run it. `pipelined` moves and
 * computes pieces of rows at once; `transfers` is all of A in and C out at once, by copy engines.
 * With --operands cold each run uses other buffers, which are in no cache
 * (bench/graph/rotation.h).
 *
 *     bin/overlap/out_of_core --device host --shape n1024 --pieces 4,16
 */
#include "bench/bench_gemm.h"
#include "bench/bench_overlap.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

static const struct axis axes[] = {
	BENCH_PLAIN_TYPES(.quick = "f32", .gpu_class = "main", .gpu_class_full = "bf16,f32"),
	BENCH_GEMM_SHAPES(.quick = "65536x32x32,n1024",
			  .full = "65536x32x32,8192x512x512,n256,n1024", .simulated = "n256",
			  .gpu_class = "square", .gpu_class_full = "g5,65536x4096x4096,square"),
	BENCH_GEMM_MFLOP(.quick = "500", .simulated = "20", .gpu_class = "2000000"),
	{"pieces", "of rows", AXIS_COUNT, .min = 2, .quick = "4,16"},
	BENCH_OPERANDS,
	{0}};

static const struct bench_quantity_row quantities[] = {{"fraction_of_ideal", BENCH_FRACTION}, {0}};
static const struct bench_metric primary[] = {
	{"overlap_efficiency_out_of_core", "fraction_of_ideal", "pipelined",
	 "type=main shape=65536x32x32|square|n256 pieces=16 operands=warm"},
	{0}};

/* Also the argument of a variant: the run; and the runs that compute, and that copy. */
enum { GEMM, TRANSFERS, SERIAL, PIPELINED, RUNS };
#define MULTIPLY (1u << GEMM | 1u << SERIAL | 1u << PIPELINED)
#define MOVE (1u << TRANSFERS | 1u << SERIAL | 1u << PIPELINED)
static const struct bench_variant variants[] = {[GEMM] = {"gemm", BENCH_SELF, GEMM},
						[TRANSFERS] = {"transfers", BENCH_SELF, TRANSFERS},
						[SERIAL] = {"serial", BENCH_SELF, SERIAL},
						[PIPELINED] = {"pipelined", BENCH_SELF, PIPELINED},
						{0}};

struct state {
	struct bench_gemm gemm;
	char *a, *c; /* PINNED */
	struct work_graph *graph[RUNS];
	struct rotation *rotation;
};

/* Refuse what no queue holds before it is built: a piece's GEMM waits, runs and is waited for. */
static int admit(const struct bench_case *c)
{
	const unsigned long long pieces = axis_u64(c, "pieces"), entries = 3 * pieces,
				 holds = dev_props(c->dev)->max_queued;
	struct shape shape;
	int status = bench_gemm_admit(c);
	TRY(status, bench_gemm_shape(c, &shape));
	if (status == 0 && pieces > shape.m)
		return err_note(-EINVAL, "%llu pieces of %u rows", pieces, shape.m);
	if (status == 0 && entries > holds)
		return err_note(-ENOTSUP, "needs %llu queue entries; the stream holds %llu",
				entries, holds);
	return status;
}

/* Lanes: 0 for A, 1 for GEMMs, 2 for C. */
static void add_piece(const struct state *s, unsigned run, uint64_t i, uint64_t pieces)
{
	const struct bench_gemm *p = &s->gemm;
	struct work_graph *g = s->graph[run];
	const bool moves = MOVE >> run & 1, multiplies = MULTIPLY >> run & 1;
	uint64_t m = p->shape.m, a = p->a_bytes / m, c = p->c_bytes / m;
	uint32_t row = (uint32_t)(m * i / pieces), rows = (uint32_t)(m * (i + 1) / pieces) - row;
	const struct dev_gemm piece = bench_gemm_piece(p, SHAPE_CUT_M, row, rows);
	char *to = (char *)p->a + row * a;
	const uint32_t in = moves ? work_graph_copy(g, 0, to, s->a + row * a, rows * a, 0) : 0,
		       gemm = multiplies ? work_graph_gemm(g, 1, &piece) : 0;
	const uint32_t out =
		moves ? work_graph_copy(g, 2, s->c + row * c, piece.c, rows * c, 0) : 0;
	if (moves && multiplies) {
		work_graph_edge(g, in, gemm);
		work_graph_edge(g, gemm, out);
	}
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	struct work_lanes *lanes = bench_lanes(c);
	for (int lane = 0; lane < 3; lane++)
		work_lane_normal(lanes, 0);
	bench_gemm_open_axes(&s->gemm, c, c->dev);
	s->a = bench_alloc(c, DEV_MEM_PINNED, s->gemm.a_bytes);
	s->c = bench_alloc(c, DEV_MEM_PINNED, s->gemm.c_bytes);
	if (bench_has_results(c))
		TRY(c->status, dev_download(c->dev, s->a, s->gemm.a, s->gemm.a_bytes));
	for (unsigned run = 0; c->status == 0 && run < RUNS; run++) {
		const uint64_t pieces = run == PIPELINED ? axis_u64(c, "pieces") : 1;
		s->graph[run] = bench_graph(c, lanes);
		for (uint64_t i = 0; i < pieces; i++)
			add_piece(s, run, i, pieces);
		bench_graph_prepare(c, s->graph[run]);
	}
	return bench_rotate_cold(c, s->graph, RUNS, &s->rotation);
}

static int body(struct bench_case *c, long run, uint64_t iterations)
{
	return bench_graph_time(c, ((struct state *)c->state)->graph[run], iterations);
}

static void model(const struct bench_case *c, long run, struct bench_model *m)
{
	const struct bench_gemm *p = &((struct state *)c->state)->gemm;
	m->flops = MULTIPLY >> run & 1 ? shape_flops(&p->shape) : 0.0;
	m->bytes = MOVE >> run & 1 ? (double)(p->a_bytes + p->c_bytes) : 0.0;
}

/* Destroys A where it comes in again, so that a GEMM which does not wait for it is found. */
static int poison(struct bench_case *c, long run)
{
	const struct state *s = c->state;
	memset(s->c, 0x3c, s->gemm.c_bytes);
	if (MULTIPLY >> run & 1)
		TRY(c->status, bench_gemm_poison(&s->gemm, c));
	if (MOVE >> run & 1)
		TRY(c->status, dev_fill(c->dev, c->stream, s->gemm.a, 0x7f, s->gemm.a_bytes));
	return TRY(c->status, rotation_spread(s->rotation, 1));
}

static int check(struct bench_case *c, long run)
{
	const struct state *s = c->state;
	struct bench_gemm found = s->gemm;
	TRY(c->status, rotation_collect(s->rotation));
	found.c = MOVE >> run & 1 ? s->c : found.c;
	return TRY(c->status, bench_gemm_check(&found, c, 1));
}

static int verify_mechanism(struct bench_case *c)
{
	const struct state *s = c->state;
	TRY(c->status, bench_verify_independent(c, UINT64_MAX, "streams_are_independent",
						s->graph[GEMM], s->graph[TRANSFERS]));
	return TRY(c->status, bench_verify_engine(c, UINT64_MAX, s->graph, RUNS));
}

static int derive(struct bench_case *c)
{
	const struct bench_overlap o = {SERIAL, 1u << SERIAL, 1u << GEMM | 1u << TRANSFERS, NULL};
	bench_gemm_facts(&((struct state *)c->state)->gemm, c);
	rotation_facts(((struct state *)c->state)->rotation, c);
	return bench_derive_overlap(c, &o, 1u << PIPELINED);
}

static const struct bench bench = {
	.name = "overlap/out_of_core",
	.question = "does an out-of-core GEMM hide its copies?",
	.formula = "S = serial / pipelined; S_ideal = serial / max(gemm, transfers), all seconds",
	.timed = "one run, enqueued beforehand, by device events",
	.needs = DEV_CAP_GEMM | DEV_CAP_WAIT_VALUE | DEV_CAP_COPY_ENGINE,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
