/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schedules as two queues of one device; all devices do the same at once. Where A arrives, products wait for what came;
 * where C leaves, transfers wait for what was made, and additions and what spreads the sum are part of them.
 */
#include "lib/advise_model.h"

#include <math.h>
#include <stddef.h>

/* ------------------------------------------------------------------ transfers */

/* Copies from different peers that one device has under way at once. */
static double lanes(const struct advise_view *v, enum advise_mover mover)
{
	double peers = v->question->devices - 1, engines = v->machine->engines;
	return mover == ADVISE_KERNEL ? peers : engines < 1 ? 1 : fmin(engines, peers);
}

static double copy_seconds(const struct advise_view *v, enum advise_mover mover, double bytes, bool *outside_p)
{
	return curve_at(&v->machine->copy[mover][v->link], bytes, true, outside_p);
}

/* Copies at once start beside each other's bytes, and share what comes in: as much as one copy, where no more was measured. Each
 * pays for what goes out at the same time. A first one has nothing to start beside. */
double exchange_seconds(const struct advise_view *v, enum advise_mover mover, double bytes, bool first, bool *outside_p)
{
	const struct advise_machine *m = v->machine;
	const struct advise_curve *against = &m->both_ways[mover][v->link];
	double peers = v->question->devices - 1, at_once = lanes(v, mover), loss = 1;
	if (m->exchange_devices[mover] == v->question->devices)
		return curve_at(&m->exchange[mover], bytes, true, outside_p);
	double one = copy_seconds(v, mover, bytes, outside_p);
	double start = fmin(m->copy[mover][v->link].y[0], one), moving = one - start;
	if (against->points > 0)
		loss = fmax(1, curve_at(against, bytes, false, outside_p));
	moving *= loss;
	double shared = peers * moving, each = peers / at_once * (start + moving);
	if (m->ingress > 0)
		shared = fmin(shared, loss * peers * bytes / m->ingress);
	return first ? fmax(start + shared, ceil(peers / at_once) * (start + moving)) : fmax(shared, each);
}

const struct advise_allreduce *allreduce_best(const struct advise_view *v, double bytes, double *seconds_p, bool *outside_p)
{
	const struct advise_allreduce *best = NULL;
	for (unsigned i = 0; i < v->machine->algorithms; i++) {
		const struct advise_allreduce *a = &v->machine->allreduce[i];
		bool outside = false;
		if (a->devices != v->question->devices)
			continue;
		double seconds = curve_at(&a->curve, bytes, true, &outside);
		if (best && seconds >= *seconds_p)
			continue;
		best = a;
		*seconds_p = seconds;
		*outside_p = outside;
	}
	return best;
}

static double reduce_seconds(const struct advise_view *v, double bytes, bool *outside_p)
{
	return v->machine->reduce.points > 0 ? curve_at(&v->machine->reduce, bytes, true, outside_p) : 0;
}

/* Where the sum goes to all: what was added is spread again. */
static double sum_seconds(const struct advise_view *v, enum advise_mover mover, double bytes, bool first, bool *outside_p)
{
	double peers = v->question->devices - 1, whole = 0;
	bool outside = false;
	if (allreduce_best(v, bytes * (peers + 1), &whole, &outside)) {
		*outside_p |= outside;
		return whole;
	}
	return 2 * exchange_seconds(v, mover, bytes, first, outside_p) + peers * reduce_seconds(v, bytes, outside_p);
}

/* Until every device has `bytes` from each other one. */
static double step_seconds(const struct advise_view *v, enum advise_mover mover, double bytes, bool first, bool *outside_p)
{
	return v->question->op == ADVISE_GEMM_AR ? sum_seconds(v, mover, bytes, first, outside_p)
	                                         : exchange_seconds(v, mover, bytes, first, outside_p);
}

/* The same with one peer. */
static double peer_seconds(const struct advise_view *v, enum advise_mover mover, double bytes, bool *outside_p)
{
	double seconds = copy_seconds(v, mover, bytes, outside_p);
	return v->question->op == ADVISE_GEMM_AR ? 2 * seconds + reduce_seconds(v, bytes, outside_p) : seconds;
}

/* What is left to add when the last transfer and the last product are done. A device that computes its own shard last has added
 * up those of the others meanwhile. */
static double tail_seconds(const struct advise_view *v, enum advise_schedule schedule, bool *outside_p)
{
	double g = v->question->devices, s = v->shard_bytes;
	if (v->question->op != ADVISE_GEMM_RS)
		return 0;
	if (schedule == ADVISE_SERIAL)
		return (g - 1) * reduce_seconds(v, s, outside_p);
	if (schedule == ADVISE_SHARD)
		return reduce_seconds(v, s, outside_p);
	return (schedule == ADVISE_UNIFORM_FUSED_1D ? g - 1 : g) * reduce_seconds(v, s / g, outside_p);
}

/* ------------------------------------------------------------------ queues */

struct plan {
	const struct advise_view *view;
	struct advise_candidate *candidate;
	struct pipeline *pipeline;
};

static void add_gemm(struct plan *s, enum advise_piece piece, unsigned count, int after)
{
	double seconds = count * s->view->seconds[piece];
	pipeline_add(&s->pipeline->gemm, seconds, after);
	s->candidate->gemms += count;
	s->candidate->gemm_s += seconds;
	s->candidate->extrapolated |= s->view->outside[piece];
}

static void add_comm(struct plan *s, double seconds, unsigned copies, int after)
{
	pipeline_add(&s->pipeline->comm, seconds, after);
	s->candidate->copies += copies;
	s->candidate->comm_s += seconds;
}

/* Parts of equal work, each a transfer and the products of one kind that belong to it; and the device's own shard, that needs
 * none: first where A arrives, last where C leaves. */
struct parts {
	unsigned count, copies, gemms;
	double first, each; /* seconds of the transfers */
	enum advise_piece piece;
	bool own;
};

static void add_parts(struct plan *s, const struct parts *parts)
{
	bool arriving = s->view->arriving;
	if (parts->own && arriving)
		add_gemm(s, PIECE_SHARD, 1, -1);
	for (unsigned i = 0; i < parts->count; i++) {
		int at = (int)i;
		add_comm(s, i == 0 ? parts->first : parts->each, parts->copies, arriving ? -1 : at);
		add_gemm(s, parts->piece, parts->gemms, arriving ? at : -1);
	}
	if (parts->own && !arriving)
		add_gemm(s, PIECE_SHARD, 1, -1);
}

/* Pieces arrive `lanes` at a time, and a product may start with each such group. */
static void split_steps(const struct plan *s, struct parts *parts)
{
	unsigned peers = parts->copies, groups = (unsigned)ceil(peers / lanes(s->view, s->candidate->mover));
	if (peers % groups || parts->count * groups + 1 > PIPELINE_ITEMS)
		groups = 1;
	*parts = (struct parts){.count = parts->count * groups, .copies = peers / groups, .gemms = peers / groups,
	                        .first = parts->first / groups, .each = parts->each / groups, .piece = PIECE_SMALL, .own = true};
}

static struct parts parts_of(const struct advise_view *v, struct advise_candidate *c)
{
	static const enum advise_piece piece[] = {PIECE_WHOLE, PIECE_SHARD, PIECE_SHARD, PIECE_REMOTE, PIECE_SMALL, PIECE_SLICE};
	unsigned devices = v->question->devices, peers = devices - 1;
	struct parts parts = {.count = devices, .copies = peers, .gemms = 1, .piece = piece[c->schedule],
	                      .own = c->schedule == ADVISE_SHARD || c->schedule == ADVISE_HETERO_FUSED_1D};
	if (c->schedule == ADVISE_SHARD) {
		parts.count = peers;
		parts.copies = 1;
		parts.first = parts.each = peer_seconds(v, c->mover, v->shard_bytes, &c->extrapolated);
		return parts;
	}
	if (c->schedule == ADVISE_SERIAL)
		parts.count = 1;
	double bytes = v->shard_bytes / parts.count;
	parts.first = step_seconds(v, c->mover, bytes, true, &c->extrapolated);
	parts.each = step_seconds(v, c->mover, bytes, false, &c->extrapolated);
	return parts;
}

void schedule_build(const struct advise_view *v, struct advise_candidate *c, struct pipeline *p)
{
	struct plan s = {v, c, p};
	const struct advise_machine *m = v->machine;
	p->gemm.items = p->comm.items = 0;
	p->hop_s = m->hop_s;
	p->gemm_loss = fmax(1, m->gemm_beside[c->mover]);
	p->comm_loss = fmax(1, m->copy_beside_gemm[c->mover]);
	c->gemm_s = c->comm_s = 0;
	c->gemms = c->copies = 0;
	c->extrapolated = false;
	struct parts parts = parts_of(v, c);
	if (c->schedule == ADVISE_HETERO_UNFUSED_1D)
		split_steps(&s, &parts);
	add_parts(&s, &parts);
	p->tail_s = tail_seconds(v, c->schedule, &c->extrapolated);
}

/* ------------------------------------------------------------------ the question */

static double element_bytes(enum advise_type type, bool result)
{
	static const double bytes[ADVISE_TYPES] = {4, 8, 4, 2, 2, 1};
	return type == ADVISE_F8 && result ? 2 : bytes[type];
}

void schedule_view(struct advise_view *v, const struct advise_machine *m, const struct advise_question *q)
{
	const double g = q->devices, rows = q->m, columns = q->n, depth = q->k;
	v->machine = m;
	v->question = q;
	v->arriving = q->op == ADVISE_AG_GEMM || q->op == ADVISE_A2A_GEMM;
	v->shard_bytes = rows / g * (v->arriving ? depth : columns) * element_bytes(q->type, !v->arriving);
	v->c_bytes = rows * columns * element_bytes(q->type, true);
	v->link = v->arriving ? ADVISE_UP : ADVISE_DOWN;
	if (m->copy[ADVISE_ENGINE][ADVISE_PEER].points > 0 || m->copy[ADVISE_KERNEL][ADVISE_PEER].points > 0)
		v->link = ADVISE_PEER;
	const struct advise_shape shape[PIECES] = {
		[PIECE_WHOLE] = {rows, columns, depth, 0},
		[PIECE_SHARD] = {rows / g, columns, depth, 0},
		[PIECE_REMOTE] = {rows * (g - 1) / (g * g), columns, depth, 0},
		[PIECE_SMALL] = {rows / (g * g), columns, depth, 0},
		[PIECE_SLICE] = {rows, columns, depth / g, (g - 1) / g},
	};
	for (unsigned i = 0; i < PIECES; i++) {
		v->outside[i] = false;
		v->seconds[i] = gemm_seconds(&m->gemm[q->type], shape[i], &v->outside[i]);
	}
}
