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
	double peers = v->question->devices - 1, engines = v->machine->engines < 1 ? 1 : v->machine->engines;
	/* Where host memory stands for a peer, what it sends is copied by the same engines as what it gets. */
	if (v->link != ADVISE_PEER && !v->arriving)
		engines /= 2;
	return mover == ADVISE_KERNEL ? peers : fmin(engines, peers);
}

static double copy_seconds(const struct advise_view *v, enum advise_mover mover, double bytes, bool *outside_p)
{
	return curve_at(&v->machine->copy[mover][v->link], bytes, true, outside_p);
}

/* Copies of one size to or from peers: `lanes` at once, which share what comes in (as much as one copy, where no more was
 * measured) and start together; each pays for what goes the other way at the same time. */
struct transfers {
	double peers, lanes, start, moving, shared; /* shared: what one of many at once adds to the time of all */
	double exchange;    /* all of a step, where it was measured as one; else 0 */
	double times, more; /* where the sum goes to all, it is spread as it came, after additions */
};

static double copies_seconds(const struct transfers *t, double copies)
{
	return t->start + fmax(t->moving, copies * t->shared);
}

/* Until so many copies are done; `more`: others follow and fill the last lanes. */
static double until(const struct transfers *t, double copies, bool more)
{
	double waves = ceil(copies / t->lanes), last = more ? t->lanes : copies - t->lanes * (waves - 1);
	return (waves - 1) * copies_seconds(t, t->lanes) + copies_seconds(t, last);
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

/* Every device has `bytes` for every other one, or where the sum goes to all, as many of it. */
static struct transfers transfers_of(const struct advise_view *v, enum advise_mover mover, double bytes, bool *outside_p)
{
	const struct advise_machine *m = v->machine;
	const struct advise_curve *copy = &m->copy[mover][v->link], *against = &m->both_ways[mover][v->link];
	struct transfers t = {.peers = v->question->devices - 1, .lanes = lanes(v, mover), .times = 1};
	bool outside = false;
	if (v->question->op == ADVISE_GEMM_AR && allreduce_best(v, bytes * (t.peers + 1), &t.exchange, &outside)) {
		*outside_p |= outside;
		return t;
	}
	if (v->question->op == ADVISE_GEMM_AR) {
		t.times = 2;
		t.more = t.peers * reduce_seconds(v, bytes, outside_p);
	}
	if (m->exchange_devices[mover] == v->question->devices) {
		t.exchange = curve_at(&m->exchange[mover], bytes, true, outside_p);
		return t;
	}
	double one = copy_seconds(v, mover, bytes, outside_p);
	double loss = against->points > 0 ? fmax(1, curve_at(against, bytes, false, outside_p)) : 1;
	t.start = fmin(copy->y[0], one);
	t.moving = loss * (one - t.start);
	t.shared = m->ingress > 0 ? fmin(t.moving, loss * bytes / m->ingress) : t.moving;
	return t;
}

/* Step `at` of `count`. */
static double step_seconds(const struct transfers *t, unsigned at, unsigned count)
{
	double seconds = t->exchange;
	if (!(seconds > 0))
		seconds = until(t, (at + 1) * t->peers, at + 1 < count) - (at == 0 ? 0 : until(t, at * t->peers, true));
	return t->times * seconds + t->more;
}

/* From or to one peer. */
static double peer_seconds(const struct advise_view *v, enum advise_mover mover, double bytes, bool *outside_p)
{
	double seconds = copy_seconds(v, mover, bytes, outside_p);
	return v->question->op == ADVISE_GEMM_AR ? 2 * seconds + reduce_seconds(v, bytes, outside_p) : seconds;
}

/* What is left to add when the last transfer and the last product are done: what came in the last lanes. A device that computes
 * its own shard last has added up those of the others meanwhile. */
static double tail_seconds(const struct advise_view *v, const struct advise_candidate *c, bool *outside_p)
{
	double g = v->question->devices, s = v->shard_bytes, at_once = lanes(v, c->mover);
	if (v->question->op != ADVISE_GEMM_RS)
		return 0;
	if (c->schedule == ADVISE_SHARD)
		return reduce_seconds(v, s, outside_p);
	double last = c->copies - at_once * (ceil(c->copies / at_once) - 1);
	if (c->schedule == ADVISE_SERIAL)
		return last * reduce_seconds(v, s, outside_p);
	return (c->schedule == ADVISE_UNIFORM_FUSED_1D ? last : g) * reduce_seconds(v, s / g, outside_p);
}

/* All that a device adds up. What is not left to the end takes the units from the products. */
static double additions_seconds(const struct advise_view *v, bool *outside_p)
{
	if (v->question->op != ADVISE_GEMM_RS)
		return 0;
	return (v->question->devices - 1) * reduce_seconds(v, v->shard_bytes, outside_p);
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

/* A part is a transfer and the products that belong to it. */
static void add_part(struct plan *s, double seconds, unsigned copies, enum advise_piece piece, unsigned gemms)
{
	bool arriving = s->view->arriving;
	int at = (int)s->pipeline->comm.items;
	add_comm(s, seconds, copies, arriving ? -1 : at);
	add_gemm(s, piece, gemms, arriving ? at : -1);
}

/* More parts are taken in groups: a decision is to take microseconds. */
#define PARTS_MOST 24

static void add_parts(struct plan *s, unsigned count, const double *seconds, unsigned copies, enum advise_piece piece)
{
	unsigned each = (count + PARTS_MOST - 1) / PARTS_MOST;
	for (unsigned at = 0; at < count; at += each) {
		unsigned now = count - at < each ? count - at : each;
		double sum = 0;
		for (unsigned i = at; i < at + now; i++)
			sum += seconds[i];
		add_part(s, sum, now * copies, piece, now);
	}
}

/* One peer after the other. */
static void add_shards(struct plan *s)
{
	double one = peer_seconds(s->view, s->candidate->mover, s->view->shard_bytes, &s->candidate->extrapolated);
	double seconds[ADVISE_DEVICES];
	unsigned peers = s->view->question->devices - 1;
	for (unsigned peer = 0; peer < peers; peer++)
		seconds[peer] = one;
	add_parts(s, peers, seconds, 1, PIECE_SHARD);
}

/* So many steps, in each of which all exchange a part of what they have. */
static void add_steps(struct plan *s, unsigned count, enum advise_piece piece)
{
	const struct advise_view *v = s->view;
	struct transfers t = transfers_of(v, s->candidate->mover, v->shard_bytes / count, &s->candidate->extrapolated);
	double seconds[ADVISE_DEVICES];
	for (unsigned at = 0; at < count; at++)
		seconds[at] = step_seconds(&t, at, count);
	add_parts(s, count, seconds, v->question->devices - 1, piece);
}

/* Every piece that arrives, or leaves, is a product: as many at once as there are lanes, whatever their step. More than fit into
 * the queues go together. */
static void add_pieces(struct plan *s)
{
	const struct advise_view *v = s->view;
	unsigned devices = v->question->devices, all = devices * (devices - 1);
	unsigned each = (unsigned)ceil(lanes(v, s->candidate->mover));
	unsigned most = PIPELINE_ITEMS - 2; /* without its own shard, and additions */
	if (each * most < all)
		each = (all + most - 1) / most;
	struct transfers t = transfers_of(v, s->candidate->mover, v->shard_bytes / devices, &s->candidate->extrapolated);
	double steps = 0;
	for (unsigned at = 0; at < devices; at++)
		steps += step_seconds(&t, at, devices);
	for (unsigned done = 0; done < all; done += each) {
		unsigned now = all - done < each ? all - done : each;
		add_part(s, steps * now / all, now, PIECE_SMALL, now);
	}
}

void schedule_build(const struct advise_view *v, struct advise_candidate *c, struct pipeline *p)
{
	/* Of what a step makes one product; its device's own shard is one by itself where it comes first or last. */
	static const enum advise_piece fused[ADVISE_SCHEDULES] = {
		[ADVISE_SERIAL] = PIECE_WHOLE,
		[ADVISE_UNIFORM_FUSED_1D] = PIECE_SHARD,
		[ADVISE_HETERO_FUSED_1D] = PIECE_REMOTE,
		[ADVISE_UNIFORM_FUSED_2D] = PIECE_SLICE,
	};
	struct plan s = {v, c, p};
	const struct advise_machine *m = v->machine;
	p->gemm.items = p->comm.items = 0;
	p->hop_s = m->hop_s;
	p->gemm_loss = fmax(1, m->gemm_beside[c->mover]);
	p->comm_loss = fmax(1, m->copy_beside_gemm[c->mover]);
	c->gemm_s = c->comm_s = 0;
	c->gemms = c->copies = 0;
	c->extrapolated = false;
	bool own = c->schedule == ADVISE_SHARD || c->schedule == ADVISE_HETERO_FUSED_1D || c->schedule == ADVISE_HETERO_UNFUSED_1D;
	if (own && v->arriving)
		add_gemm(&s, PIECE_SHARD, 1, -1);
	if (c->schedule == ADVISE_SHARD)
		add_shards(&s);
	else if (c->schedule == ADVISE_HETERO_UNFUSED_1D)
		add_pieces(&s);
	else
		add_steps(&s, c->schedule == ADVISE_SERIAL ? 1 : v->question->devices, fused[c->schedule]);
	if (own && !v->arriving)
		add_gemm(&s, PIECE_SHARD, 1, -1);
	p->tail_s = tail_seconds(v, c, &c->extrapolated);
	double beside_s = additions_seconds(v, &c->extrapolated) - p->tail_s;
	if (c->schedule != ADVISE_SERIAL && beside_s > 0)
		pipeline_add(&p->gemm, beside_s, -1);
}

/* ------------------------------------------------------------------ the question */

static double element_bytes(enum advise_type type, bool result)
{
	static const double bytes[ADVISE_TYPES] = {4, 8, 4, 2, 2, 1};
	return type == ADVISE_F8 && result ? 2 : bytes[type];
}

static bool link_measured(const struct advise_machine *m, enum advise_link link)
{
	return m->copy[ADVISE_ENGINE][link].points > 0 || m->copy[ADVISE_KERNEL][link].points > 0;
}

/* Peers; else the host's memory stands for them, in the direction the bytes take or in the other. */
static enum advise_link link_of(const struct advise_machine *m, bool arriving)
{
	enum advise_link with = arriving ? ADVISE_UP : ADVISE_DOWN, against = arriving ? ADVISE_DOWN : ADVISE_UP;
	if (link_measured(m, ADVISE_PEER))
		return ADVISE_PEER;
	return link_measured(m, with) || !link_measured(m, against) ? with : against;
}

void schedule_view(struct advise_view *v, const struct advise_machine *m, const struct advise_question *q)
{
	const double g = q->devices, rows = q->m, columns = q->n, depth = q->k;
	v->machine = m;
	v->question = q;
	v->arriving = q->op == ADVISE_AG_GEMM || q->op == ADVISE_A2A_GEMM;
	v->shard_bytes = rows / g * (v->arriving ? depth : columns) * element_bytes(q->type, !v->arriving);
	v->c_bytes = rows * columns * element_bytes(q->type, true);
	v->link = link_of(m, v->arriving);
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
