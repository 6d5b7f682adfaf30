/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/pipeline.h"
#include "bench/pattern.h"

#include <errno.h>

struct dev_gemm pipeline_gemm(const struct pipeline *p, uint32_t device, unsigned iteration,
			      bool shaped)
{
	const struct bench_gemm *operands = &p->gemm[device][iteration % 2];
	struct dev_gemm gemm = bench_gemm_whole(operands);
	gemm.tiled = dev_can(operands->dev, DEV_CAP_GEMM_TILED);
	gemm.tile_k = p->tile_k;
	gemm.grid = p->grid;
	gemm.shared_bytes = shaped ? p->claim_bytes : 0;
	return gemm;
}

struct work_graph *pipeline_claiming_gemms(const struct pipeline *p, struct bench_case *c)
{
	struct work_graph *g = bench_graph(c, p->lanes);
	for (uint32_t d = 0; d < p->devices; d++) {
		const struct dev_gemm gemm = pipeline_gemm(p, d, 0, true);
		work_graph_gemm(g, p->lane[LANE_SAME][d], &gemm);
	}
	return g;
}

void pipeline_add_comm(const struct pipeline *p, struct work_graph *g, long what,
		       unsigned iteration, struct comm_call *call)
{
	call->by_library = what & BY_LIBRARY;
	call->lanes = p->lane[what & LANE_MASK];
	for (uint32_t d = 0; d < p->devices; d++)
		call->message[d] = p->gemm[d][iteration % 2].c;
	comm_load_add(&p->comm, g, call);
}

/* ------------------------------------------------------------------ rounds */

struct builder {
	struct pipeline *p;
	struct work_graph *g;
	struct pipeline_round *trace; /* NULL: timed */
	long what;
	/* By device: the node of the latest GEMM; of the two latest communications. The fork, node
	 * 0, stands for those that do not exist. */
	uint32_t gemm[DEV_MAX], comm[2][DEV_MAX];
};

static uint32_t add_stamp(struct builder *b, uint32_t device, unsigned which)
{
	const uint64_t *at = b->p->stamps[device] + which;
	const void *const args[] = {&at};
	return work_graph_kernel(b->g, b->p->lane[LANE_SAME][device], "stamp", 1, args);
}

/* Fixes the origin on every device. */
static void add_origins(struct builder *b)
{
	for (uint32_t d = 0; d < b->p->devices; d++) {
		add_stamp(b, d, STAMP_BEFORE_ORIGIN);
		b->trace->origin[d] = work_graph_mark(b->g, b->p->lane[LANE_SAME][d]);
		work_graph_stamp_end(b->g, b->trace->origin[d]);
		add_stamp(b, d, STAMP_AFTER_ORIGIN);
	}
}

static struct pipeline_part timed_part(struct work_graph *g, uint32_t begin, uint32_t end)
{
	work_graph_stamp_end(g, begin);
	work_graph_stamp_end(g, end);
	return (struct pipeline_part){.begin = begin, .end = end};
}

static void add_gemms(struct builder *b, unsigned i)
{
	const struct pipeline *p = b->p;
	for (uint32_t d = 0; d < p->devices; d++) {
		const struct dev_gemm gemm = pipeline_gemm(p, d, i, b->what & HAS_CLAIM);
		uint32_t lane = p->lane[LANE_SAME][d], wait = work_graph_mark(b->g, lane);
		work_graph_edge(b->g, b->comm[i % 2][d], wait);
		uint32_t begin = b->trace ? add_stamp(b, d, STAMP_GEMM + i) : 0;
		b->gemm[d] = work_graph_gemm(b->g, lane, &gemm);
		if (b->trace)
			b->trace->gemm[d * p->iterations + i] = timed_part(b->g, begin, b->gemm[d]);
	}
}

static void add_comms(struct builder *b, unsigned i)
{
	const struct pipeline *p = b->p;
	struct comm_call call = {0};
	for (uint32_t d = 0; d < p->devices; d++) {
		call.after[d] = b->gemm[d];
		if (b->trace)
			call.start_ns[d] = p->stamps[d] + STAMP_GEMM + p->iterations + i;
	}
	pipeline_add_comm(p, b->g, b->what, i, &call);
	for (uint32_t d = 0; d < p->devices; d++) {
		b->comm[i % 2][d] = call.end[d];
		if (b->trace)
			b->trace->comm[d * p->iterations + i] =
				timed_part(b->g, call.begin[d], call.end[d]);
	}
}

/* There is no first run here: the harness runs every variant once without a gate. Where the library
 * fails, its variants alone are missing. */
static struct work_graph *build_round(struct pipeline *p, struct bench_case *c, long what,
				      struct pipeline_round *trace)
{
	struct builder b = {.p = p, .g = bench_graph(c, p->lanes), .trace = trace, .what = what};
	work_graph_fork(b.g, p->lane[LANE_SAME][0]);
	if (trace)
		add_origins(&b);
	for (unsigned i = 0; i < p->iterations; i++) {
		if (i)
			work_graph_turn(b.g);
		if (what & HAS_GEMM)
			add_gemms(&b, i);
		if (what & HAS_COMM)
			add_comms(&b, i);
	}
	work_graph_join(b.g);
	int status = c->status ? 0 : work_graph_prepare(b.g);
	if (status == -ENOTSUP && what & BY_LIBRARY)
		comm_load_drop_library(&p->comm);
	else
		TRY(c->status, status);
	return b.g;
}

static void build_both(struct pipeline *p, struct bench_case *c, long what)
{
	struct pipeline_round *r = &p->round[what];
	const uint64_t bytes = (uint64_t)p->devices * p->iterations * sizeof(*r->gemm);
	r->timed = build_round(p, c, what, NULL);
	/* No rate and no loss is of a serial round. */
	if ((what & (HAS_BOTH | LANE_MASK)) == HAS_BOTH)
		return;
	r->gemm = bench_alloc_host(c, bytes);
	r->comm = bench_alloc_host(c, bytes);
	if (c->status == 0)
		r->traced = build_round(p, c, what, r);
}

/* A library that failed meanwhile takes all of its variants with it. */
static bool round_applies(const struct pipeline *p, long what)
{
	return (p->claim_bytes || !(what & HAS_CLAIM)) && (p->comm.library || !(what & BY_LIBRARY));
}

static void build_variants(struct pipeline *p, struct bench_case *c)
{
	for (unsigned v = 0; v < bench_variants(c); v++) {
		const long what = bench_row(c, v)->arg;
		if (!round_applies(p, what))
			bench_variant_off(c, v);
		else if (bench_variant_on(c, v) && c->status == 0)
			build_both(p, c, what);
	}
	for (unsigned v = 0; v < bench_variants(c) && c->status == 0; v++) {
		const long what = bench_row(c, v)->arg;
		if (!round_applies(p, what)) {
			bench_variant_off(c, v);
			p->round[what].timed = p->round[what].traced = NULL;
		} else if (bench_variant_on(c, v)) {
			bench_queue_entries(c, v, work_graph_max_queued(p->round[what].timed));
		}
	}
}

/* Each iteration is a turn: with cold operands GEMMs in a row use different sets. */
static int rotate_operands(struct pipeline *p, struct bench_case *c)
{
	struct work_graph *graphs[2 * ROUNDS] = {NULL};
	unsigned count = 0;
	for (unsigned v = 0; v < bench_variants(c); v++) {
		graphs[count++] = p->round[bench_row(c, v)->arg].timed;
		graphs[count++] = p->round[bench_row(c, v)->arg].traced;
	}
	return bench_rotate_cold(c, graphs, count, &p->rotation);
}

static void open_device(struct pipeline *p, struct bench_case *c, uint32_t d,
			const struct shape *gemm)
{
	struct dev *dev = c->devices->dev[d];
	const struct dev_props *props = dev_props(dev);
	const float *pattern = pattern_reals(c);
	bench_gemm_open(&p->gemm[d][0], c, dev, gemm, DEV_F32);
	p->gemm[d][1] = p->gemm[d][0];
	uint64_t result_bytes = p->gemm[d][0].c_bytes,
		 bytes = result_bytes > p->comm.bytes ? result_bytes : p->comm.bytes;
	for (int i = 0; i < 2; i++)
		p->gemm[d][i].c = pattern_alloc(c, dev, DEV_MEM_DEVICE, bytes, pattern);
	p->stamps[d] = bench_alloc_on(c, dev, DEV_MEM_PINNED,
				      (STAMP_GEMM + 2 * p->iterations) * sizeof(*p->stamps[d]));
	p->lane[LANE_SAME][d] =
		d ? work_lane_normal(p->lanes, d) : work_lane_of(p->lanes, 0, c->stream);
	p->lane[LANE_NORMAL][d] = work_lane(p->lanes, d, props->priority_normal);
	p->lane[LANE_URGENT][d] = work_lane(p->lanes, d, props->priority_high);
}

int pipeline_open(struct pipeline *p, struct bench_case *c, const struct shape *gemm)
{
	p->devices = (uint32_t)c->devices->count;
	p->lanes = bench_lanes(c);
	for (uint32_t d = 0; d < p->devices; d++)
		open_device(p, c, d, gemm);
	if (comm_load_open(&p->comm, c))
		return c->status;
	/* A device need not check a claim before a GEMM is enqueued. */
	struct work_graph *claiming = pipeline_claiming_gemms(p, c);
	if (bench_graph_prepare(c, claiming) == -EINVAL && (p->claim_bytes || p->tile_k))
		return -ENOTSUP;
	build_variants(p, c);
	return rotate_operands(p, c);
}
