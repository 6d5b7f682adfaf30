/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/flow.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define NO_LANE UINT32_MAX

/* ------------------------------------------------------------------ lanes */

static uint32_t open_lane(struct flow_lanes *l, const struct dev_set *set, uint32_t device)
{
	return work_lane(l->all, device, dev_props(set->dev[device])->priority_normal);
}

int flow_lanes_open(struct flow_lanes *l, const struct dev_set *set, uint32_t ranks, bool adds)
{
	*l = (struct flow_lanes){.devices = (uint32_t)set->count};
	int status = work_lanes_open(set->dev, set->count, &l->all);
	if (status)
		return status;
	bool alone = set->count == 1;
	for (uint32_t d = 0; d < l->devices; d++) {
		l->compute[d] = open_lane(l, set, d);
		l->add[d] = adds ? open_lane(l, set, d) : NO_LANE;
		for (uint32_t link = 0; link + 1 < ranks; link++)
			l->out[d][link] = open_lane(l, set, d);
	}
	for (uint32_t link = 0; alone && link + 1 < ranks; link++)
		l->in[link] = open_lane(l, set, 0);
	return 0;
}

void flow_lanes_close(struct flow_lanes *l) { work_lanes_close(l->all); }

/* ------------------------------------------------------------------ admission */

static int admit_kernels(const struct ficco_plan *p, uint64_t element_bytes)
{
	for (size_t i = 0; i < p->transfer_count; i++) {
		const struct ficco_transfer *t = &p->transfers[i];
		if ((t->from_offset | t->to_offset | t->count) * element_bytes % DEV_KERNEL_ALIGN)
			return err_note(-ENOTSUP,
					"%s: a transfer has %llu bytes; kernels copy and add "
					"multiples of %u",
					ficco_schedules[p->schedule],
					(unsigned long long)(t->count * element_bytes),
					DEV_KERNEL_ALIGN);
	}
	return 0;
}

int flow_admit(const struct ficco_plan *p, enum dev_type type, uint32_t blocks)
{
	const uint32_t multiple = dev_types[type].multiple;
	for (size_t i = 0; i < p->piece_count; i++)
		if (p->pieces[i].rows % multiple || p->pieces[i].columns % multiple ||
		    p->problem.n % multiple)
			return err_note(
				-ENOTSUP,
				"%s: a GEMM is %ux%ux%u; %s needs sides that are multiples of %u",
				ficco_schedules[p->schedule], p->pieces[i].rows, p->problem.n,
				p->pieces[i].columns, dev_type_names[type], multiple);
	return blocks || p->reduction_count ? admit_kernels(p, dev_type_bytes(type)) : 0;
}

/* ------------------------------------------------------------------ nodes */

/* A graph while it is built, with the node of every piece and transfer. */
struct graph_builder {
	const struct flow_lanes *lanes;
	const struct operands *o;
	const struct ficco_plan *p;
	enum flow_part part;
	uint32_t blocks;
	struct work_graph *g;
	uint32_t *piece_node, *transfer_node, *order;
};

static bool is_reduce_scatter(const struct graph_builder *b)
{
	return b->p->problem.op == FICCO_GEMM_RS;
}
static bool has_dependencies(const struct graph_builder *b) { return b->part == FLOW_WHOLE; }
static bool has_pieces(const struct graph_builder *b) { return b->part != FLOW_TRANSFERS; }

/* Source and destination of a transfer. */
static void transfer_ends(const struct graph_builder *b, const struct ficco_transfer *t,
			  const char **from_p, char **to_p)
{
	const struct ficco_rank *from = &b->o->rank[t->from], *to = &b->o->rank[t->to];
	uint64_t each = is_reduce_scatter(b) ? b->o->result_bytes : b->o->element_bytes;
	uint64_t slot = (uint64_t)b->p->rows[t->to][t->to] * b->p->problem.n;
	if (!is_reduce_scatter(b)) {
		*from_p = (b->p->k_steps > 1 ? from->slabs : from->send) + t->from_offset * each;
		*to_p = to->dev ? (has_dependencies(b) ? to->a : to->scratch) + t->to_offset * each
				: to->received + (t->from_offset -
						  ficco_plan_send_offset(b->p, t->from, t->to)) *
							 each;
		return;
	}
	*from_p = from->dev
			  ? (has_dependencies(b) ? from->c : from->scratch) + t->from_offset * each
			  : from->partials + t->to_offset % slot * each;
	*to_p = to->dev ? to->staging + t->to_offset * each
			: to->received + t->to_offset % slot * each;
}

static uint32_t transfer_lane(const struct graph_builder *b, const struct ficco_transfer *t)
{
	return b->o->rank[t->from].dev ? b->lanes->out[t->from][t->link] : b->lanes->in[t->link];
}

/* Transfers between two peers in host memory are not carried out. */
static bool touches_device(const struct graph_builder *b, const struct ficco_transfer *t)
{
	return b->o->rank[t->from].dev || b->o->rank[t->to].dev;
}

/* A peer in host memory is assumed to be as fast as the device: its partial sums leave after the
 * device's piece of the same number. */
static uint32_t piece_before(const struct graph_builder *b, const struct ficco_transfer *t)
{
	uint32_t each = (uint32_t)(b->p->piece_count / b->p->problem.devices);
	assert(each > 0);
	return t->piece == FICCO_NONE || b->o->rank[t->from].dev ? t->piece : t->piece % each;
}

static void add_transfers(struct graph_builder *b)
{
	for (size_t n = 0; n < b->p->transfer_count; n++) {
		uint32_t i = b->order[n];
		const struct ficco_transfer *t = &b->p->transfers[i];
		const char *from;
		char *to;
		if (!touches_device(b, t))
			continue;
		transfer_ends(b, t, &from, &to);
		uint64_t bytes = t->count *
				 (is_reduce_scatter(b) ? b->o->result_bytes : b->o->element_bytes);
		b->transfer_node[i] =
			work_graph_copy(b->g, transfer_lane(b, t), to, from, bytes, b->blocks);
		if (has_dependencies(b) && t->piece != FICCO_NONE)
			work_graph_edge(b->g, b->piece_node[piece_before(b, t)],
					b->transfer_node[i]);
	}
}

static void add_pieces(struct graph_builder *b)
{
	for (size_t i = 0; has_pieces(b) && i < b->p->piece_count; i++) {
		const struct ficco_piece *piece = &b->p->pieces[i];
		if (!b->o->rank[piece->device].dev)
			continue;
		struct dev_gemm gemm = operands_gemm(b->o, piece);
		b->piece_node[i] = work_graph_gemm(b->g, b->lanes->compute[piece->device], &gemm);
		for (uint32_t t = 0; has_dependencies(b) && t < piece->transfers; t++)
			work_graph_edge(b->g, b->transfer_node[piece->first_transfer + t],
					b->piece_node[i]);
	}
}

static void add_reductions(struct graph_builder *b)
{
	for (size_t i = 0; i < b->p->reduction_count; i++) {
		const struct ficco_reduction *r = &b->p->reductions[i];
		const struct ficco_rank *m = &b->o->rank[r->device];
		if (!m->dev)
			continue;
		uint64_t each = b->o->result_bytes;
		char *to = r->to_staging ? m->staging : has_dependencies(b) ? m->c : m->scratch;
		uint32_t node = work_graph_pass(
			b->g, b->lanes->add[r->device], "reduce_add", to + r->to_offset * each,
			m->staging + r->from_offset * each, r->count * each, 0);
		for (int t = 0; t < 2; t++)
			if (r->transfer[t] != FICCO_NONE)
				work_graph_edge(b->g, b->transfer_node[r->transfer[t]], node);
		if (has_dependencies(b) && r->piece != FICCO_NONE)
			work_graph_edge(b->g, b->piece_node[r->piece], node);
	}
}

/* ------------------------------------------------------------------ the graph */

/* Orders transfers by step, so that lanes shared by several receivers follow the steps. */
static void order_by_step(struct graph_builder *b)
{
	uint32_t n = 0;
	for (uint32_t step = 0; step < b->p->steps; step++)
		for (uint32_t i = 0; i < b->p->transfer_count; i++)
			if (b->p->transfers[i].step == step)
				b->order[n++] = i;
}

/* Each device's time begins in one lane, and its other lanes start after that: the lane of GEMMs,
 * or of reductions, so that no link is ahead of the others. */
static void add_begins(struct graph_builder *b)
{
	for (uint32_t d = 0; d < b->lanes->devices; d++)
		work_graph_mark(b->g, has_pieces(b)          ? b->lanes->compute[d]
				      : is_reduce_scatter(b) ? b->lanes->add[d]
							     : b->lanes->out[d][0]);
}

static void add_nodes(struct graph_builder *b)
{
	order_by_step(b);
	add_begins(b);
	if (is_reduce_scatter(b)) {
		add_pieces(b);
		if (b->part != FLOW_GEMMS) {
			add_transfers(b);
			add_reductions(b);
		}
	} else {
		if (b->part != FLOW_GEMMS)
			add_transfers(b);
		add_pieces(b);
	}
}

/* A library may search for an algorithm once for every GEMM shape, on an idle device. */
static int prepare_gemms(const struct graph_builder *b)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < b->p->piece_count; i++) {
		const struct ficco_piece *p = &b->p->pieces[i];
		bool known = !b->o->rank[p->device].dev;
		for (size_t before = 0; !known && before < i; before++)
			known = b->p->pieces[before].device == p->device &&
				b->p->pieces[before].rows == p->rows &&
				b->p->pieces[before].columns == p->columns &&
				b->p->pieces[before].adds == p->adds;
		if (known)
			continue;
		struct dev_gemm gemm = operands_gemm(b->o, p);
		status = dev_gemm_prepare(b->o->rank[p->device].dev, &gemm);
	}
	return status;
}

int flow_open(const struct flow_lanes *l, const struct operands *o, const struct ficco_plan *plan,
	      enum flow_part part, uint32_t blocks, struct work_graph **g_p)
{
	struct graph_builder b = {.lanes = l, .o = o, .p = plan, .part = part, .blocks = blocks};
	int status = work_graph_open(l->all, &b.g);
	if (status)
		return status;
	b.piece_node = calloc(plan->piece_count + 2 * plan->transfer_count, sizeof(*b.piece_node));
	if (b.piece_node) {
		b.transfer_node = b.piece_node + plan->piece_count;
		b.order = b.transfer_node + plan->transfer_count;
		add_nodes(&b);
		status = part == FLOW_WHOLE ? prepare_gemms(&b) : 0;
		if (status == 0)
			status = work_graph_prepare(b.g);
		if (status == 0)
			status = work_graph_sync(b.g, work_graph_run(b.g));
	} else {
		status = err_note(-ENOMEM, "graph of %zu GEMMs: out of memory", plan->piece_count);
	}
	free(b.piece_node);
	if (status)
		work_graph_close(b.g);
	else
		*g_p = b.g;
	return status;
}

int flow_side_seconds(const struct flow_lanes *l, const struct work_graph *g, double *compute_s_p,
		      double *transfer_s_p)
{
	double compute_s = 0.0, transfer_s = 0.0, seconds;
	uint32_t lanes = work_graph_lanes(g);
	for (uint32_t i = 0; i < lanes; i++) {
		bool computes = false;
		int status = work_graph_lane_seconds(g, i, &seconds);
		if (status == -ENOENT)
			continue;
		if (status)
			return status;
		for (uint32_t d = 0; d < l->devices; d++)
			computes = computes || l->compute[d] == i;
		double *side = computes ? &compute_s : &transfer_s;
		*side = seconds > *side ? seconds : *side;
	}
	*compute_s_p = compute_s;
	*transfer_s_p = transfer_s;
	return 0;
}
