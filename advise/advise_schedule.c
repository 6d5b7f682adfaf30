/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schedules as two queues of one device; all devices do the same at once. Where A arrives,
 * GEMMs wait for transfers. Where C leaves, transfers wait for GEMMs, and they include the
 * additions and the distribution of the sum.
 */
#include "advise/advise_model.h"

#include <math.h>
#include <stddef.h>

/* ------------------------------------------------------------------ transfers */

/* Copies from different peers that run at once on one device. */
static double concurrent_copies(const struct advise_view *v, enum advise_copy_method copy_method)
{
	double peers = v->question->devices - 1,
	       engines = v->machine->engines < 1 ? 1 : v->machine->engines;
	/* If host memory stands in for a peer, the same engines copy in both directions. */
	if (v->link != ADVISE_PEER && !v->arriving)
		engines /= 2;
	return copy_method == ADVISE_KERNEL ? peers : fmin(engines, peers);
}

static double copy_seconds(const struct advise_view *v, enum advise_copy_method copy_method,
			   double bytes, bool *outside_p)
{
	return curve_at(&v->machine->copy[copy_method][v->link], bytes, true, outside_p);
}

/* Copies of one size to or from peers. `lanes` copies run and start at once and share the
 * incoming bandwidth (that of one copy, where no more was measured); opposite copies slow each
 * other down. */
struct transfers {
	double peers, lanes, start, moving;
	double shared;   /* what each of many concurrent copies adds to the time of all */
	double exchange; /* a whole step, where an exchange was measured; else 0 */
	/* gemm-ar: passes over the data, and the time of the additions */
	double passes, additions_s;
};

static bool is_supposed(const struct advise_view *v, unsigned input)
{
	return v->hypothesis.input == (enum advise_input)input;
}

static double copies_seconds(const struct transfers *t, double copies)
{
	return t->start + fmax(t->moving, copies * t->shared);
}

/* Seconds until so many copies are done. `more_follow`: later copies fill the last lanes. */
static double seconds_until(const struct transfers *t, double copies, bool more_follow)
{
	double waves = ceil(copies / t->lanes),
	       last = more_follow ? t->lanes : copies - t->lanes * (waves - 1);
	return (waves - 1) * copies_seconds(t, t->lanes) + copies_seconds(t, last);
}

const struct advise_allreduce *allreduce_best(const struct advise_view *v, double bytes,
					      double *seconds_p, bool *outside_p)
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

static enum advise_copy_method fastest_method(const struct advise_view *v, double bytes)
{
	bool outside;
	const struct advise_curve *engine = &v->machine->copy[ADVISE_ENGINE][v->link],
				  *kernel = &v->machine->copy[ADVISE_KERNEL][v->link];
	if (engine->points == 0 || kernel->points == 0)
		return engine->points > 0 ? ADVISE_ENGINE : ADVISE_KERNEL;
	return curve_at(engine, bytes, true, &outside) <= curve_at(kernel, bytes, true, &outside)
		       ? ADVISE_ENGINE
		       : ADVISE_KERNEL;
}

/* An addition reads two operands and writes one; the start-up is that of the smallest measured one.
 * It is an upper limit, so shorter ones are not outside. A curve has few points, and between the
 * last one in the cache and the first one beyond it there is a step: there the rate on the own side
 * of the step counts. */
static double reduce_seconds(const struct advise_view *v, double bytes, bool *outside_p)
{
	const struct advise_curve *c = &v->machine->reduce;
	const double most = v->machine->cache_bytes / 3;
	unsigned i = 1;
	if (is_supposed(v, ADVISE_ADDITIONS))
		return copy_seconds(v, fastest_method(v, bytes), bytes, outside_p);
	if (c->points == 0)
		return 0;
	while (i < c->points && c->x[i] <= most)
		i++;
	if (i == c->points || bytes <= c->x[i - 1] || bytes >= c->x[i])
		return curve_at(c, fmax(bytes, c->x[0]), true, outside_p);
	if (bytes > most)
		i++;
	double at = c->x[i - 1], rate = i > 1 ? (c->y[i - 1] - c->y[0]) / (at - c->x[0]) : 0;
	return c->y[0] + fmax(0, rate) * (bytes - c->x[0]);
}

/* Every device has `bytes` for every other one; for gemm-ar, the sum of as many goes to all. */
static struct transfers transfers_of(const struct advise_view *v,
				     enum advise_copy_method copy_method, double bytes,
				     bool *outside_p)
{
	const struct advise_machine *m = v->machine;
	const struct advise_curve *copy = &m->copy[copy_method][v->link],
				  *against = &m->both_ways[copy_method][v->link];
	struct transfers t = {.peers = v->question->devices - 1,
			      .lanes = concurrent_copies(v, copy_method),
			      .passes = 1};
	bool outside = false;
	if (v->question->op == ADVISE_GEMM_AR &&
	    allreduce_best(v, bytes * (t.peers + 1), &t.exchange, &outside)) {
		*outside_p |= outside;
		return t;
	}
	if (v->question->op == ADVISE_GEMM_AR) {
		t.passes = 2;
		t.additions_s = t.peers * reduce_seconds(v, bytes, outside_p);
	}
	if (m->exchange_devices[copy_method] == v->question->devices) {
		t.exchange = curve_at(&m->exchange[copy_method], bytes, true, outside_p);
		return t;
	}
	double one = copy_seconds(v, copy_method, bytes, outside_p);
	double loss = 1;
	if (is_supposed(v, ADVISE_BOTH_WAYS_ENGINE + copy_method))
		loss = v->hypothesis.free ? 1 : 2;
	else if (against->points > 0) /* a ratio, which hardly changes with the size */
		loss = fmax(1, curve_at(against, bytes, false, &(bool){false}));
	t.start = fmin(copy->y[0], one);
	t.moving = loss * (one - t.start);
	t.shared = m->ingress > 0 ? fmin(t.moving, loss * bytes / m->ingress) : t.moving;
	if (is_supposed(v, ADVISE_INGRESS))
		t.shared = 0;
	return t;
}

/* Step `at` of `count`. */
static double step_seconds(const struct transfers *t, unsigned at, unsigned count)
{
	double seconds = t->exchange;
	if (!(seconds > 0))
		seconds = seconds_until(t, (at + 1) * t->peers, at + 1 < count) -
			  (at == 0 ? 0 : seconds_until(t, at * t->peers, true));
	return t->passes * seconds + t->additions_s;
}

/* A copy from or to one peer. */
static double peer_seconds(const struct advise_view *v, enum advise_copy_method copy_method,
			   double bytes, bool *outside_p)
{
	double seconds = copy_seconds(v, copy_method, bytes, outside_p);
	return v->question->op == ADVISE_GEMM_AR ? 2 * seconds + reduce_seconds(v, bytes, outside_p)
						 : seconds;
}

/* Bytes of one addition: a shard, or the part of it that a step brings. */
static double addition_bytes(const struct advise_view *v, const struct advise_candidate *c)
{
	bool whole = c->schedule == ADVISE_SERIAL || c->schedule == ADVISE_SHARD;
	return whole ? v->shard_bytes : v->shard_bytes / v->question->devices;
}

/* Additions left after the last transfer and the last GEMM: those of the last lanes. A device that
 * computes its own shard last has added the others meanwhile. */
static double tail_additions(const struct advise_view *v, const struct advise_candidate *c)
{
	double at_once = concurrent_copies(v, c->copy_method);
	if (c->schedule == ADVISE_SHARD)
		return 1;
	if (c->schedule == ADVISE_SERIAL || c->schedule == ADVISE_UNIFORM_FUSED_1D)
		return c->copies - at_once * (ceil(c->copies / at_once) - 1);
	return v->question->devices;
}

struct additions {
	double tail_s;   /* after transfers and GEMMs */
	double hidden_s; /* of the others, without their start-up: they take units from the GEMMs */
};

static struct additions additions_of(const struct advise_view *v, const struct advise_candidate *c,
				     bool *outside_p)
{
	double each = addition_bytes(v, c), tail = tail_additions(v, c),
	       count = (v->question->devices - 1) * v->shard_bytes / each;
	if (v->question->op != ADVISE_GEMM_RS)
		return (struct additions){0, 0};
	double one = reduce_seconds(v, each, outside_p),
	       start = v->machine->reduce.points > 0 ? v->machine->reduce.y[0] : 0;
	return (struct additions){tail * one, fmax(0, count - tail) * fmax(0, one - start)};
}

/* Additions only move memory, unless what one reads and writes fits in the cache. */
static double additions_traffic(const struct advise_view *v, const struct advise_candidate *c)
{
	return 3 * addition_bytes(v, c) > v->machine->cache_bytes ? INFINITY : 0;
}

/* ------------------------------------------------------------------ queues */

struct builder {
	const struct advise_view *view;
	struct advise_candidate *candidate;
	struct pipeline *pipeline;
};

/* Blocks that copy at the same time; of engines 1. */
static double concurrent_blocks(const struct builder *b)
{
	const struct advise_machine *m = b->view->machine;
	double lanes = b->candidate->schedule == ADVISE_SHARD
			       ? 1
			       : concurrent_copies(b->view, b->candidate->copy_method);
	return b->candidate->copy_method == ADVISE_KERNEL
		       ? lanes * fmax(1, m->copy_blocks[b->view->link])
		       : 1;
}

static struct concurrent_loss loss_of(const struct advise_view *v, enum advise_copy_method method,
				      double blocks, double traffic)
{
	if (is_supposed(v, ADVISE_CONTENTION_ENGINE + method)) {
		double each = v->hypothesis.free ? 1 : 2;
		return (struct concurrent_loss){each, each};
	}
	return contention_loss(&v->machine->contention[method][v->link][v->question->type], blocks,
			       traffic);
}

/* Appends work of the units that moves memory at `traffic` byte/s and leaves so many tiles free. A
 * copy kernel whose blocks fit there shares memory alone with it, as an engine does. */
static void add_unit_work(struct builder *b, double seconds, double traffic, double free_tiles,
			  int after)
{
	const struct advise_view *v = b->view;
	struct advise_candidate *c = b->candidate;
	const struct advise_contention *engine =
		&v->machine->contention[ADVISE_ENGINE][v->link][v->question->type];
	double blocks = concurrent_blocks(b);
	struct concurrent_loss loss = loss_of(v, c->copy_method, blocks, traffic);
	if (c->copy_method == ADVISE_KERNEL && engine->counts > 0 && blocks <= free_tiles &&
	    !v->hypothesis.crowded) {
		struct concurrent_loss memory = loss_of(v, ADVISE_ENGINE, 1, traffic);
		loss.gemm = fmin(loss.gemm, memory.gemm);
		loss.copy = fmin(loss.copy, memory.copy);
	}
	b->pipeline->loss[b->pipeline->gemm.items] = loss;
	c->gemm_cil = fmax(c->gemm_cil, loss.gemm);
	c->copy_cil = fmax(c->copy_cil, loss.copy);
	pipeline_add(&b->pipeline->gemm, seconds, after);
}

static void add_gemm(struct builder *b, enum advise_piece piece, unsigned count, int after)
{
	double seconds = count * b->view->seconds[piece];
	if (b->view->hypothesis.crowded && b->candidate->copy_method == ADVISE_KERNEL)
		b->pipeline->until_slots_s[b->pipeline->gemm.items] =
			b->view->seconds[piece] * b->view->waves_before_last[piece];
	add_unit_work(b, seconds, b->view->traffic[piece], b->view->free_tiles[piece], after);
	b->candidate->gemms += count;
	b->candidate->gemm_s += seconds;
	b->candidate->error += seconds * b->view->error[piece];
	b->candidate->extrapolated |= b->view->outside[piece];
}

static void add_comm(struct builder *b, double seconds, unsigned copies, int after)
{
	pipeline_add(&b->pipeline->comm, seconds, after);
	b->candidate->copies += copies;
	b->candidate->comm_s += seconds;
}

/* A part is a transfer and the GEMMs that belong to it. */
static void add_part(struct builder *b, double seconds, unsigned copies, enum advise_piece piece,
		     unsigned gemms)
{
	bool arriving = b->view->arriving;
	int at = (int)b->pipeline->comm.items;
	add_comm(b, seconds, copies, arriving ? -1 : at);
	add_gemm(b, piece, gemms, arriving ? at : -1);
}

/* More parts are merged into groups, so that a decision takes microseconds. */
#define MAX_PARTS 24

static void add_parts(struct builder *b, unsigned count, const double *seconds, unsigned copies,
		      enum advise_piece piece)
{
	unsigned each = (count + MAX_PARTS - 1) / MAX_PARTS;
	for (unsigned at = 0; at < count; at += each) {
		unsigned now = count - at < each ? count - at : each;
		double sum = 0;
		for (unsigned i = at; i < at + now; i++)
			sum += seconds[i];
		add_part(b, sum, now * copies, piece, now);
	}
}

/* One peer after the other. */
static void add_shards(struct builder *b)
{
	double one = peer_seconds(b->view, b->candidate->copy_method, b->view->shard_bytes,
				  &b->candidate->extrapolated);
	double seconds[ADVISE_DEVICES];
	unsigned peers = b->view->question->devices - 1;
	for (unsigned peer = 0; peer < peers; peer++)
		seconds[peer] = one;
	add_parts(b, peers, seconds, 1, PIECE_SHARD);
}

/* So many steps; in each of them all devices exchange a part. */
static void add_steps(struct builder *b, unsigned count, enum advise_piece piece)
{
	const struct advise_view *v = b->view;
	struct transfers t = transfers_of(v, b->candidate->copy_method, v->shard_bytes / count,
					  &b->candidate->extrapolated);
	double seconds[ADVISE_DEVICES];
	for (unsigned at = 0; at < count; at++)
		seconds[at] = step_seconds(&t, at, count);
	add_parts(b, count, seconds, v->question->devices - 1, piece);
}

/* Every piece that arrives, or leaves, is a GEMM: as many at once as there are lanes, from any
 * step. Pieces are merged when the queues can't hold them. */
static void add_pieces(struct builder *b)
{
	const struct advise_view *v = b->view;
	unsigned devices = v->question->devices, all = devices * (devices - 1);
	unsigned each = (unsigned)ceil(concurrent_copies(v, b->candidate->copy_method));
	unsigned max_items =
		PIPELINE_ITEMS - 2; /* two are left for the own shard and the additions */
	if (each * max_items < all)
		each = (all + max_items - 1) / max_items;
	struct transfers t = transfers_of(v, b->candidate->copy_method, v->shard_bytes / devices,
					  &b->candidate->extrapolated);
	double steps = 0;
	for (unsigned at = 0; at < devices; at++)
		steps += step_seconds(&t, at, devices);
	for (unsigned done = 0; done < all; done += each) {
		unsigned now = all - done < each ? all - done : each;
		add_part(b, steps * now / all, now, PIECE_SMALL, now);
	}
}

double schedule_predict(const struct advise_view *v, struct advise_candidate *c)
{
	/* The GEMM of one step. The device's own shard is a GEMM of its own where it comes first
	 * or last. */
	static const enum advise_piece fused[ADVISE_SCHEDULES] = {
		[ADVISE_SERIAL] = PIECE_WHOLE,
		[ADVISE_UNIFORM_FUSED_1D] = PIECE_SHARD,
		[ADVISE_HETERO_FUSED_1D] = PIECE_REMOTE,
		[ADVISE_UNIFORM_FUSED_2D] = PIECE_SLICE,
	};
	struct pipeline pipeline = {.hop_s = v->machine->hop_s,
				    .gemm_first = v->hypothesis.crowded};
	struct builder b = {v, c, &pipeline};
	c->gemm_s = c->comm_s = c->error = 0;
	c->gemm_cil = c->copy_cil = 1;
	c->gemms = c->copies = 0;
	c->extrapolated = false;
	bool own = c->schedule == ADVISE_SHARD || c->schedule == ADVISE_HETERO_FUSED_1D ||
		   c->schedule == ADVISE_HETERO_UNFUSED_1D;
	if (own && v->arriving)
		add_gemm(&b, PIECE_SHARD, 1, -1);
	if (c->schedule == ADVISE_SHARD)
		add_shards(&b);
	else if (c->schedule == ADVISE_HETERO_UNFUSED_1D)
		add_pieces(&b);
	else
		add_steps(&b, c->schedule == ADVISE_SERIAL ? 1 : v->question->devices,
			  fused[c->schedule]);
	if (own && !v->arriving)
		add_gemm(&b, PIECE_SHARD, 1, -1);
	struct additions additions = additions_of(v, c, &c->extrapolated);
	pipeline.tail_s = additions.tail_s;
	if (additions.hidden_s > 0)
		add_unit_work(&b, additions.hidden_s, additions_traffic(v, c), 0, -1);
	c->seconds = pipeline_run(&pipeline);
	c->error /= c->seconds;
	return additions.tail_s;
}

/* ------------------------------------------------------------------ the question */

static double element_bytes(enum advise_type type, bool result)
{
#define BYTES_OF_TYPE(type, name, bytes, result_bytes) [type] = {bytes, result_bytes},
	static const double bytes[ADVISE_TYPES][2] = {ADVISE_TYPE_LIST(BYTES_OF_TYPE)};
	return bytes[type][result];
}

static bool link_measured(const struct advise_machine *m, enum advise_link link)
{
	return m->copy[ADVISE_ENGINE][link].points > 0 || m->copy[ADVISE_KERNEL][link].points > 0;
}

/* The link between peers; else host memory in the direction of the bytes, or in the other one. */
static enum advise_link link_of(const struct advise_machine *m, bool arriving)
{
	enum advise_link with = arriving ? ADVISE_UP : ADVISE_DOWN,
			 against = arriving ? ADVISE_DOWN : ADVISE_UP;
	if (link_measured(m, ADVISE_PEER))
		return ADVISE_PEER;
	return link_measured(m, with) || !link_measured(m, against) ? with : against;
}

void schedule_view(struct advise_view *v, const struct advise_machine *m,
		   const struct advise_question *q)
{
	const double g = q->devices, rows = q->m, columns = q->n, depth = q->k;
	v->machine = m;
	v->question = q;
	v->hypothesis = (struct hypothesis){.input = ADVISE_INPUTS};
	v->arriving = q->op == ADVISE_AG_GEMM || q->op == ADVISE_A2A_GEMM;
	v->shard_bytes =
		rows / g * (v->arriving ? depth : columns) * element_bytes(q->type, !v->arriving);
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
		v->error[i] = gemm_error_near(&m->gemm[q->type], shape[i]);
		v->waves_before_last[i] = gemm_share_until_last_wave(&m->gemm[q->type], shape[i]);
		v->free_tiles[i] = gemm_free_tiles(&m->gemm[q->type], shape[i]);
		v->traffic[i] = gemm_memory_bytes(&m->gemm[q->type], shape[i]) / v->seconds[i];
	}
}
