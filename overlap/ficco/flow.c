/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/flow.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>

/* ------------------------------------------------------------------ admission */

static const char *const adding_kernels[DEV_ALL_TYPES] = {
	[DEV_F32] = "reduce_add", [DEV_BF16] = "reduce_add_bf16"};

const char *flow_adding_kernel(enum dev_type type)
{
	return dev_type_is_plain(type) ? adding_kernels[dev_types[type].result] : NULL;
}

int flow_admit(const struct ficco_plan *p, enum dev_type type, uint32_t blocks)
{
	const char *name = ficco_schedules[p->schedule];
	const uint32_t multiple = dev_types[type].multiple, n = p->problem.n;
	bool kernels = blocks || p->reduction_count; /* a return has the parts of a transfer */
	uint64_t each =
		ficco_sums(p->problem.op) ? dev_type_result_bytes(type) : dev_type_bytes(type);
	for (uint32_t i = 0; i < p->piece_count; i++) {
		const struct ficco_piece *g = &p->pieces[i];
		if (g->rows % multiple || g->columns % multiple || n % multiple)
			return err_note(
				-ENOTSUP,
				"%s: a GEMM is %ux%ux%u; %s needs sides that are multiples of %u",
				name, p->problem.exchanged ? n : g->rows,
				p->problem.exchanged ? g->rows : n, g->columns,
				dev_type_names[type], multiple);
	}
	for (uint32_t i = 0; kernels && i < p->transfer_count; i++) {
		const struct ficco_transfer *t = &p->transfers[i];
		if ((t->from_offset | t->to_offset | t->count) * each % DEV_KERNEL_ALIGN)
			return err_note(-ENOTSUP,
					"%s: a transfer has %llu bytes; kernels copy and add "
					"multiples of %u",
					name, (unsigned long long)(t->count * each),
					DEV_KERNEL_ALIGN);
	}
	return 0;
}

/* ------------------------------------------------------------------ nodes */

/* A graph while it is built, with the node of every piece and transfer. */
struct graph_builder {
	const struct operands *o;
	const struct ficco_plan *p;
	enum flow_part part;
	uint32_t blocks;
	struct work_graph *g;
	uint32_t *piece_node, *transfer_node, *reduction_node;
};

/* Memory of a device that GEMMs and transfers share, where they depend on each other. */
static char *shared_memory(const struct graph_builder *b, const struct ficco_rank *m)
{
	return b->part != FLOW_WHOLE ? m->scratch : b->o->sums ? m->c : m->arrivals;
}

/* A peer in host memory is assumed to be as fast as the device: its partial sums leave after the
 * device's piece of the same number. */
static uint32_t piece_before(const struct graph_builder *b, const struct ficco_transfer *t)
{
	uint32_t each = b->p->piece_count / b->p->problem.devices;
	return b->o->rank[t->from].dev ? t->piece : t->piece - t->from * each;
}

static uint32_t copy_node(const struct graph_builder *b, const struct ficco_transfer *t)
{
	const struct ficco_plan *p = b->p;
	const struct ficco_rank *from = &b->o->rank[t->from], *to = &b->o->rank[t->to];
	bool sums = b->o->sums;
	/* In what a peer in host memory receives, and in its partial sums. */
	uint64_t peer_offset =
		sums ? t->to_offset % ((uint64_t)p->rows[t->to][t->to] * p->problem.n)
		     : t->from_offset - ficco_plan_send_offset(p, t->from, t->to);
	const char *source =
		sums && from->dev ? shared_memory(b, from) : from->source[p->k_steps > 1];
	char *target = !to->dev ? to->received : sums ? to->arrivals : shared_memory(b, to);
	uint64_t from_offset = sums && !from->dev ? peer_offset : t->from_offset,
		 to_offset = to->dev ? t->to_offset : peer_offset, each = b->o->sent_bytes;
	return work_graph_copy(b->g, from->lane[LANE_LINK + t->link], target + to_offset * each,
			       source + from_offset * each, t->count * each, b->blocks);
}

/* In the order of the steps, which lanes shared by several receivers follow. */
static void add_transfers(struct graph_builder *b)
{
	for (uint32_t step = 0; b->part != FLOW_GEMMS && step < b->p->steps; step++)
		for (uint32_t i = 0; i < b->p->transfer_count; i++) {
			const struct ficco_transfer *t = &b->p->transfers[i];
			if (t->step != step || !flow_carries(b->o, t))
				continue;
			b->transfer_node[i] = copy_node(b, t);
			if (b->part == FLOW_WHOLE && t->piece != FICCO_NONE)
				work_graph_edge(b->g, b->piece_node[piece_before(b, t)],
						b->transfer_node[i]);
		}
}

static void add_pieces(struct graph_builder *b)
{
	for (uint32_t i = 0; b->part != FLOW_TRANSFERS && i < b->p->piece_count; i++) {
		const struct ficco_piece *piece = &b->p->pieces[i];
		const struct ficco_rank *m = &b->o->rank[piece->device];
		if (!m->dev)
			continue;
		struct dev_gemm gemm = operands_gemm(b->o, piece);
		b->piece_node[i] = work_graph_gemm(b->g, m->lane[LANE_COMPUTE], &gemm);
		for (uint32_t t = 0; b->part == FLOW_WHOLE && t < piece->transfers; t++)
			work_graph_edge(b->g, b->transfer_node[piece->first_transfer + t],
					b->piece_node[i]);
	}
}

static void add_reductions(struct graph_builder *b)
{
	uint64_t each = b->o->result_bytes;
	for (uint32_t i = 0; b->part != FLOW_GEMMS && i < b->p->reduction_count; i++) {
		const struct ficco_reduction *r = &b->p->reductions[i];
		const struct ficco_rank *m = &b->o->rank[r->device];
		if (!m->dev)
			continue;
		char *to = r->to_staging ? m->arrivals : shared_memory(b, m);
		uint32_t node =
			work_graph_pass(b->g, m->lane[LANE_ADD], flow_adding_kernel(b->o->type),
					to + r->to_offset * each,
					m->arrivals + r->from_offset * each, r->count * each, 0);
		b->reduction_node[i] = node;
		for (int t = 0; t < 2; t++)
			if (r->transfer[t] != FICCO_NONE)
				work_graph_edge(b->g, b->transfer_node[r->transfer[t]], node);
		if (b->part == FLOW_WHOLE && r->piece != FICCO_NONE)
			work_graph_edge(b->g, b->piece_node[r->piece], node);
	}
}

static void add_returns(struct graph_builder *b)
{
	uint64_t each = b->o->result_bytes;
	for (uint32_t i = 0; b->part != FLOW_GEMMS && i < b->p->return_count; i++) {
		const struct ficco_return *r = &b->p->returns[i];
		const struct ficco_rank *from = &b->o->rank[r->from], *to = &b->o->rank[r->to];
		uint32_t node = work_graph_copy(b->g, from->lane[LANE_RETURN + r->link],
						shared_memory(b, to) + r->to_offset * each,
						shared_memory(b, from) + r->from_offset * each,
						r->count * each, b->blocks);
		work_graph_edge(b->g, b->reduction_node[r->reduction], node);
	}
}

/* Each device's time begins in the lane of GEMMs, and its other lanes start after that: in every
 * part alike, so that transfers alone start as they do concurrently, and no link is ahead of the
 * others. */
static struct work_graph *open_graph(const struct operands *o, struct bench_case *c)
{
	struct work_graph *g = bench_graph(c, o->lanes);
	for (uint32_t d = 0; d < o->devices; d++)
		work_graph_mark(g, o->rank[d].lane[LANE_COMPUTE]);
	return g;
}

static int run_first(const struct bench_case *c, struct work_graph *g, struct work_graph **g_p)
{
	int status = c->status;
	TRY(status, work_graph_prepare(g));
	if (TRY(status, work_graph_complete(g)) == 0)
		*g_p = g;
	return status;
}

int flow_open(const struct operands *o, struct bench_case *c, const struct ficco_plan *plan,
	      enum flow_part part, uint32_t blocks, struct work_graph **g_p)
{
	struct graph_builder b = {.o = o, .p = plan, .part = part, .blocks = blocks};
	b.g = open_graph(o, c);
	b.piece_node = bench_alloc_host(c, plan->piece_count * sizeof(*b.piece_node));
	b.transfer_node = bench_alloc_host(c, plan->transfer_count * sizeof(*b.transfer_node));
	b.reduction_node = bench_alloc_host(c, plan->reduction_count * sizeof(*b.reduction_node));
	if (c->status)
		return c->status;
	if (o->sums)
		add_pieces(&b);
	add_transfers(&b);
	if (!o->sums)
		add_pieces(&b);
	add_reductions(&b);
	add_returns(&b);
	return run_first(c, b.g, g_p);
}

/* ------------------------------------------------------------------ the vendor's collective */

/* The first of the lanes for links. */
enum { LANE_COLLECTIVE = LANE_LINK };

static uint64_t part_bytes(const struct ficco_plan *p, enum dev_type type)
{
	const bool sums = ficco_sums(p->problem.op);
	return (uint64_t)p->rows[0][0] * (sums ? p->problem.n : p->problem.k) *
	       (sums ? dev_type_result_bytes(type) : dev_type_bytes(type));
}

int library_open(struct ficco_library *l, struct bench_case *c, const struct ficco_problem *problem,
		 enum dev_type type)
{
	int status = ficco_collective_plan_open(problem, &l->plan);
	if (status == 0 && part_bytes(l->plan, type) % sizeof(float))
		status = err_note(-ENOTSUP, "a group of %llu bytes is not a whole number of floats",
				  (unsigned long long)part_bytes(l->plan, type));
	if (status == 0 && ficco_sums(problem->op) && dev_types[type].result != DEV_F32)
		status = err_note(-ENOTSUP, "the library's collectives add f32 here, and no %s",
				  dev_types[dev_types[type].result].name);
	return TRY(status, dev_comm_find(c->devices, DEV_COMM_DEFAULT, &l->comm));
}

/* Returns the first node. */
static uint32_t add_collective(const struct ficco_library *l, const struct operands *o,
			       struct work_graph *g, bool with_gemm)
{
	static const enum dev_collective collectives[FICCO_OPS] = {
		[FICCO_AG_GEMM] = DEV_ALLGATHER,
		[FICCO_A2A_GEMM] = DEV_ALL_TO_ALL,
		[FICCO_GEMM_RS] = DEV_REDUCE_SCATTER,
		[FICCO_GEMM_AR] = DEV_ALLREDUCE};
	const enum dev_collective what = collectives[l->plan->problem.op];
	const uint64_t part = part_bytes(l->plan, o->type);
	uint32_t lanes[DEV_MAX];
	float *from[DEV_MAX], *to[DEV_MAX];
	for (uint32_t d = 0; d < o->devices; d++) {
		const struct ficco_rank *m = &o->rank[d];
		char *whole = !with_gemm ? m->scratch : o->sums ? m->c : m->arrivals;
		char *own = whole + d * part;
		from[d] = (float *)(void *)(what == DEV_ALLGATHER    ? own
					    : what == DEV_ALL_TO_ALL ? m->source[0]
								     : whole);
		to[d] = (float *)(void *)(what == DEV_REDUCE_SCATTER ? own : whole);
		lanes[d] = m->lane[LANE_COLLECTIVE];
	}
	const uint64_t bytes = what == DEV_ALLREDUCE ? part * o->devices : part;
	return work_graph_collective(g, l->comm, what, lanes, from, to, bytes / sizeof(float));
}

/* `first` of device 0 and the nodes that follow it, one a device, come before these lanes. */
static void join_lanes(const struct operands *o, struct work_graph *g, uint32_t first,
		       unsigned lane)
{
	for (uint32_t d = 0; d < o->devices; d++)
		work_graph_edge(g, first + d, work_graph_mark(g, o->rank[d].lane[lane]));
}

int library_graph(const struct ficco_library *l, const struct operands *o, struct bench_case *c,
		  bool with_gemm, struct work_graph **g_p)
{
	uint32_t gemm_node[DEV_MAX] = {0};
	struct graph_builder b = {.o = o,
				  .p = l->plan,
				  .part = FLOW_GEMMS,
				  .g = open_graph(o, c),
				  .piece_node = gemm_node};
	if (with_gemm && o->sums) {
		add_pieces(&b);
		join_lanes(o, b.g, gemm_node[0], LANE_COLLECTIVE);
	}
	uint32_t collective = add_collective(l, o, b.g, with_gemm);
	if (with_gemm && !o->sums) {
		join_lanes(o, b.g, collective, LANE_COMPUTE);
		add_pieces(&b);
	}
	return run_first(c, b.g, g_p);
}
