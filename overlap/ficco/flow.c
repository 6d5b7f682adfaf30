/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/flow.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define F8_MULTIPLE 16u
/* What one thread block adds: more of them than there is work for start for nothing. */
#define BLOCK_BYTES 4096u
#define NO_LANE UINT32_MAX

/* ------------------------------------------------------------------ lanes */

static uint32_t lane(struct flow_lanes *l, const struct dev_set *set, uint32_t device)
{
	return work_lane(l->all, device, dev_props(set->dev[device])->priority_normal);
}

int flow_lanes_open(struct flow_lanes *l, const struct dev_set *set, uint32_t members, bool adds)
{
	*l = (struct flow_lanes){.devices = (uint32_t)set->count};
	int status = work_lanes_open(set->dev, set->count, &l->all);
	if (status)
		return status;
	bool alone = set->count == 1;
	for (uint32_t d = 0; d < l->devices; d++) {
		l->compute[d] = lane(l, set, d);
		l->add[d] = adds ? lane(l, set, d) : NO_LANE;
		for (uint32_t link = 0; link + 1 < members; link++)
			l->out[d][link] = lane(l, set, d);
	}
	for (uint32_t link = 0; alone && link + 1 < members; link++)
		l->in[link] = lane(l, set, 0);
	return 0;
}

void flow_lanes_close(struct flow_lanes *l) { work_lanes_close(l->all); }

/* ------------------------------------------------------------------ what can be done */

static int admit_kernels(const struct overlap_plan *p, uint64_t element_bytes)
{
	for (size_t i = 0; i < p->transfer_count; i++) {
		const struct overlap_transfer *t = &p->transfers[i];
		if ((t->from_at | t->to_at | t->count) * element_bytes % DEV_KERNEL_ALIGN)
			return err_note(-ENOTSUP, "%s: a transfer of %llu bytes; kernels copy and add multiples of %u",
			                overlap_schedules[p->schedule], (unsigned long long)(t->count * element_bytes),
			                DEV_KERNEL_ALIGN);
	}
	return 0;
}

int flow_admit(const struct overlap_plan *p, enum dev_type type, uint32_t blocks)
{
	for (size_t i = 0; type == DEV_F8 && i < p->piece_count; i++)
		if (p->pieces[i].rows % F8_MULTIPLE || p->pieces[i].columns % F8_MULTIPLE || p->problem.n % F8_MULTIPLE)
			return err_note(-ENOTSUP, "%s: a piece of %ux%ux%u; the sides of f8 are multiples of 16",
			                overlap_schedules[p->schedule], p->pieces[i].rows, p->problem.n, p->pieces[i].columns);
	return blocks || p->reduction_count ? admit_kernels(p, dev_type_bytes(type)) : 0;
}

/* ------------------------------------------------------------------ nodes */

/* A graph in the making, with the node of every piece and transfer. */
struct builder {
	const struct flow_lanes *lanes;
	const struct operands *o;
	const struct overlap_plan *p;
	enum flow_part part;
	uint32_t blocks;
	struct work_graph *g;
	uint32_t *piece_node, *transfer_node, *order;
};

static bool sums(const struct builder *b) { return b->p->problem.op == OVERLAP_GEMM_RS; }
static bool depends(const struct builder *b) { return b->part == FLOW_WHOLE; }
static bool has_pieces(const struct builder *b) { return b->part != FLOW_TRANSFERS; }

/* Where a transfer comes from and goes to. */
static void ends(const struct builder *b, const struct overlap_transfer *t, const char **from_p, char **to_p)
{
	const struct member *from = &b->o->member[t->from], *to = &b->o->member[t->to];
	uint64_t each = sums(b) ? b->o->result_bytes : b->o->element_bytes;
	uint64_t slot = (uint64_t)b->p->rows[t->to][t->to] * b->p->problem.n;
	if (!sums(b)) {
		*from_p = (b->p->k_steps > 1 ? from->slabs : from->send) + t->from_at * each;
		*to_p = to->dev ? (depends(b) ? to->a : to->spare) + t->to_at * each
		                : to->landed + (t->from_at - overlap_plan_send_at(b->p, t->from, t->to)) * each;
		return;
	}
	*from_p = from->dev ? (depends(b) ? from->c : from->spare) + t->from_at * each : from->terms + t->to_at % slot * each;
	*to_p = to->dev ? to->staging + t->to_at * each : to->landed + t->to_at % slot * each;
}

static uint32_t lane_of(const struct builder *b, const struct overlap_transfer *t)
{
	return b->o->member[t->from].dev ? b->lanes->out[t->from][t->link] : b->lanes->in[t->link];
}

/* What peers that are host memory send each other concerns nobody. */
static bool concerns(const struct builder *b, const struct overlap_transfer *t)
{
	return b->o->member[t->from].dev || b->o->member[t->to].dev;
}

/* A peer that is host memory is taken to be as far as the device: its terms leave with the device's piece of the same number. */
static uint32_t piece_before(const struct builder *b, const struct overlap_transfer *t)
{
	uint32_t each = (uint32_t)(b->p->piece_count / b->p->problem.devices);
	assert(each > 0);
	return t->piece == OVERLAP_NONE || b->o->member[t->from].dev ? t->piece : t->piece % each;
}

static void add_transfers(struct builder *b)
{
	for (size_t n = 0; n < b->p->transfer_count; n++) {
		uint32_t i = b->order[n];
		const struct overlap_transfer *t = &b->p->transfers[i];
		const char *from;
		char *to;
		if (!concerns(b, t))
			continue;
		ends(b, t, &from, &to);
		uint64_t bytes = t->count * (sums(b) ? b->o->result_bytes : b->o->element_bytes);
		b->transfer_node[i] = work_graph_copy(b->g, lane_of(b, t), to, from, bytes, b->blocks);
		if (depends(b) && t->piece != OVERLAP_NONE)
			work_graph_edge(b->g, b->piece_node[piece_before(b, t)], b->transfer_node[i]);
	}
}

static void add_pieces(struct builder *b)
{
	for (size_t i = 0; has_pieces(b) && i < b->p->piece_count; i++) {
		const struct overlap_piece *piece = &b->p->pieces[i];
		if (!b->o->member[piece->device].dev)
			continue;
		struct dev_gemm gemm = operands_gemm(b->o, piece);
		b->piece_node[i] = work_graph_gemm(b->g, b->lanes->compute[piece->device], &gemm);
		for (uint32_t t = 0; depends(b) && t < piece->transfers; t++)
			work_graph_edge(b->g, b->transfer_node[piece->first_transfer + t], b->piece_node[i]);
	}
}

static void add_reductions(struct builder *b)
{
	for (size_t i = 0; i < b->p->reduction_count; i++) {
		const struct overlap_reduction *r = &b->p->reductions[i];
		const struct member *m = &b->o->member[r->device];
		if (!m->dev)
			continue;
		uint64_t each = b->o->result_bytes, bytes = r->count * each, blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
		/* A device without it is found when the graph looks for its kernels. */
		struct dev_kernel *add = NULL;
		uint32_t most = dev_kernel_find(m->dev, "reduce_add", &add) ? 0 : dev_wave_blocks(m->dev, add);
		char *to = r->to_staging ? m->staging : depends(b) ? m->c : m->spare;
		uint32_t node = work_graph_add(b->g, b->lanes->add[r->device], (void *)(to + r->to_at * each),
		                               (const void *)(m->staging + r->from_at * each), bytes,
		                               blocks < most ? (uint32_t)blocks : most);
		for (int t = 0; t < 2; t++)
			if (r->transfer[t] != OVERLAP_NONE)
				work_graph_edge(b->g, b->transfer_node[r->transfer[t]], node);
		if (depends(b) && r->piece != OVERLAP_NONE)
			work_graph_edge(b->g, b->piece_node[r->piece], node);
	}
}

/* ------------------------------------------------------------------ the graph */

/* Transfers step by step, so that lanes shared by receivers keep the steps' order. */
static void put_in_order(struct builder *b)
{
	uint32_t n = 0;
	for (uint32_t step = 0; step < b->p->steps; step++)
		for (uint32_t i = 0; i < b->p->transfer_count; i++)
			if (b->p->transfers[i].step == step)
				b->order[n++] = i;
}

static void lay_down(struct builder *b)
{
	put_in_order(b);
	if (sums(b)) {
		add_pieces(b);
		if (b->part != FLOW_PIECES) {
			add_transfers(b);
			add_reductions(b);
		}
	} else {
		if (b->part != FLOW_PIECES)
			add_transfers(b);
		add_pieces(b);
	}
}

/* A library may want to look for a way for every kind of product once, on an idle device. */
static int prepare_products(const struct builder *b)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < b->p->piece_count; i++) {
		const struct overlap_piece *p = &b->p->pieces[i];
		bool known = !b->o->member[p->device].dev;
		for (size_t before = 0; !known && before < i; before++)
			known = b->p->pieces[before].device == p->device && b->p->pieces[before].rows == p->rows &&
			        b->p->pieces[before].columns == p->columns && b->p->pieces[before].adds == p->adds;
		if (known)
			continue;
		struct dev_gemm gemm = operands_gemm(b->o, p);
		status = dev_gemm_prepare(b->o->member[p->device].dev, &gemm);
	}
	return status;
}

int flow_open(const struct flow_lanes *l, const struct operands *o, const struct overlap_plan *plan, enum flow_part part,
              uint32_t blocks, struct work_graph **g_p)
{
	struct builder b = {.lanes = l, .o = o, .p = plan, .part = part, .blocks = blocks};
	int status = work_graph_open(l->all, &b.g);
	if (status)
		return status;
	b.piece_node = calloc(plan->piece_count + 2 * plan->transfer_count, sizeof(*b.piece_node));
	if (b.piece_node) {
		b.transfer_node = b.piece_node + plan->piece_count;
		b.order = b.transfer_node + plan->transfer_count;
		lay_down(&b);
		status = part == FLOW_WHOLE ? prepare_products(&b) : 0;
		if (status == 0)
			status = work_graph_prepare(b.g);
		if (status == 0)
			status = work_graph_sync(b.g, work_graph_run(b.g));
	} else {
		status = err_note(-ENOMEM, "a graph of %zu pieces: out of memory", plan->piece_count);
	}
	free(b.piece_node);
	if (status)
		work_graph_close(b.g);
	else
		*g_p = b.g;
	return status;
}

int flow_sides(const struct flow_lanes *l, const struct work_graph *g, double *compute_s_p, double *transfer_s_p)
{
	double compute = 0.0, all_others = 0.0, seconds;
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
		double *side = computes ? &compute : &all_others;
		*side = seconds > *side ? seconds : *side;
	}
	*compute_s_p = compute;
	*transfer_s_p = all_others;
	return 0;
}
