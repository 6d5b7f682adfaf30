/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/round.h"
#include "lib/err.h"

#include <errno.h>

/* ------------------------------------------------------------------ GEMMs */

/* Sets the node that completes each band, and returns the last one. */
static uint32_t add_gemms(const struct producers *s, const struct producer_round *r, uint32_t i,
			  uint32_t *gemm_of_band)
{
	const struct producer *p = &s->producer[i];
	enum produce_mode mode = r->strategy->produce;
	uint32_t cut = mode == PRODUCE_LIBRARY ? 0 : producers_chunk(s, (i + 1) % s->count);
	uint32_t first = r->strategy->staggered ? cut : 0, node = 0;
	for (uint32_t done = 0, count; done < s->bands; done += count) {
		uint32_t band = (first + done) % s->bands;
		count = mode == PRODUCE_SPLIT ? 1 : (band < cut ? cut : s->bands) - band;
		struct dev_gemm gemm = bench_gemm_piece(&p->gemm, SHAPE_CUT_M, band * s->band_rows,
							producers_rows(s, band, band + count));
		if (mode == PRODUCE_TILED || mode == PRODUCE_COUNTING) {
			gemm.tiled = true;
			gemm.blocks = count;
			gemm.done = mode == PRODUCE_COUNTING ? p->counters + band : NULL;
			gemm.done_rows = s->band_rows;
		}
		node = work_graph_gemm(r->graph, p->gemm_lane, &gemm);
		for (uint32_t k = 0; k < count; k++)
			gemm_of_band[band + k] = node;
	}
	return node;
}

/* Bands [first, end) in one call; SEND_STORES and SEND_ADDS say where C is, SEND_NONE in C. */
static struct dev_gemm tiled_gemm(const struct producers *s, enum send_mode send, uint32_t i,
				  uint32_t j)
{
	const uint32_t first = producers_chunk(s, j), end = producers_chunk(s, j + 1);
	struct dev_gemm gemm =
		bench_gemm_piece(&s->producer[i].gemm, SHAPE_CUT_M, first * s->band_rows,
				 producers_rows(s, first, end));
	char *to = send == SEND_ADDS     ? s->producer[j].sum
		   : send == SEND_STORES ? producers_target(s, i, j)
					 : NULL;
	gemm.c = to ? to : gemm.c;
	gemm.tiled = true;
	gemm.adds = send == SEND_ADDS;
	gemm.blocks = end - first;
	return gemm;
}

/* ------------------------------------------------------------------ sending */

static uint32_t add_wave(struct work_graph *g, uint32_t lane, const char *kernel, void *to,
			 const void *from, uint64_t bytes)
{
	const uint32_t reps = 1;
	const void *const args[] = {&to, &from, &bytes, &reps};
	return work_graph_kernel(g, lane, kernel, 0, args);
}

/* As the case's axis copy-method says. */
static uint32_t add_copy(const struct producers *s, const struct producer_round *r, uint32_t lane,
			 char *to, const char *from, uint64_t bytes)
{
	return s->copies_by_kernel ? add_wave(r->graph, lane, "copy", to, from, bytes)
				   : work_graph_copy(r->graph, lane, to, from, bytes, 0);
}

/* The node after which bands [band, end) of producer i are finished, seen in a lane: that of their
 * GEMM, or in a counting round a wait for their counter. */
static uint32_t add_ready(const struct producers *s, struct producer_round *r, uint32_t i,
			  uint32_t lane, uint32_t band, uint32_t end, uint32_t gemm)
{
	if (r->strategy->produce != PRODUCE_COUNTING)
		return gemm;
	uint32_t wait = work_graph_wait_value(r->graph, lane, s->producer[i].counters + band, 0);
	r->waits[r->wait_count++] =
		(struct band_wait){wait, producers_rows(s, band, end) * s->shape.n};
	return wait;
}

/* Sends bands [band, end) of chunk j once they are finished. */
static void send_bands(const struct producers *s, struct producer_round *r, uint32_t i, uint32_t j,
		       uint32_t band, uint32_t end, uint32_t gemm)
{
	const struct producer *p = &s->producer[i];
	const struct strategy *strategy = r->strategy;
	uint64_t in_chunk = producers_bytes(s, producers_chunk(s, j), band),
		 bytes = producers_bytes(s, band, end);
	const char *from = (const char *)p->gemm.c + producers_bytes(s, 0, band);
	char *to = producers_target(s, i, j);
	uint32_t ready = add_ready(s, r, i, p->send_lane, band, end, gemm);
	if (to && strategy->add != ADD_FROM_SENDER) {
		uint32_t copy = add_copy(s, r, p->send_lane, to + in_chunk, from, bytes);
		work_graph_edge(r->graph, ready, copy);
		ready = copy;
		from = to + in_chunk;
	}
	if (strategy->stamps_first && r->first_copy == 0) {
		r->first_copy = ready;
		work_graph_stamp_end(r->graph, ready);
	}
	if (strategy->add != ADD_NONE)
		work_graph_edge(r->graph, ready,
				add_wave(r->graph, s->producer[j].add_lane, "reduce_add",
					 s->producer[j].sum + in_chunk, from, bytes));
}

static void add_producer(const struct producers *s, struct producer_round *r, uint32_t i)
{
	const struct strategy *strategy = r->strategy;
	bool whole = strategy->send == SEND_WHOLE;
	/* Without GEMMs, what is sent follows the fork, node 0. */
	uint32_t gemm_of_band[PRODUCER_MAX_BANDS] = {0}, last = 0;
	if (strategy->produce != PRODUCE_NONE)
		last = add_gemms(s, r, i, gemm_of_band);
	for (uint32_t k = 0; strategy->send != SEND_NONE && k < s->count; k++) {
		uint32_t j = (whole || strategy->staggered ? i + 1 + k : k) % s->count;
		uint32_t first = producers_chunk(s, j), end = producers_chunk(s, j + 1);
		uint32_t step = whole ? end - first : 1;
		bool stays = !producers_target(s, i, j) && strategy->add == ADD_NONE;
		for (uint32_t band = first; !stays && band < end; band += step)
			send_bands(s, r, i, j, band, band + step,
				   whole ? last : gemm_of_band[band]);
	}
}

/* ------------------------------------------------------------------ the ring */

/* While hops are added to a round's graph: chunk by chunk with SEND_WHOLE, else band by band. */
struct ring {
	const struct producers *s;
	struct producer_round *r;
	/* For each device, the node of the GEMM that finishes a band. */
	uint32_t gemm_of_band[DEV_MAX][PRODUCER_MAX_BANDS];
	/* The copy that brought a band to the device that has it. */
	uint32_t arrival[PRODUCER_MAX_BANDS];
};

/* Bands [band, end) of chunk j pass device i. */
static void add_hop(struct ring *p, uint32_t i, uint32_t j, uint32_t band, uint32_t end)
{
	const struct producers *s = p->s;
	const struct producer *here = &s->producer[i],
			      *next = &s->producer[(i + s->count - 1) % s->count];
	const uint64_t at = producers_bytes(s, 0, band), bytes = producers_bytes(s, band, end);
	const char *from = (const char *)here->gemm.c + at;
	const bool starts = j == (i + 1) % s->count, ends = j == i;
	struct work_graph *g = p->r->graph;
	uint32_t ready = add_ready(s, p->r, i, starts ? here->send_lane : here->add_lane, band, end,
				   p->gemm_of_band[i][end - 1]);
	if (!starts) {
		uint32_t add =
			add_wave(g, here->add_lane, "reduce_add", here->inbox + at, from, bytes);
		work_graph_edge(g, ready, add);
		work_graph_edge(g, p->arrival[band], add);
		from = here->inbox + at;
		ready = add;
	}
	if (ends)
		return;
	p->arrival[band] = add_copy(s, p->r, here->send_lane, next->inbox + at, from, bytes);
	work_graph_edge(g, ready, p->arrival[band]);
}

static void add_chunk(struct ring *p, uint32_t i, uint32_t j)
{
	const uint32_t first = producers_chunk(p->s, j), end = producers_chunk(p->s, j + 1),
		       step = p->r->strategy->send == SEND_WHOLE ? end - first : 1;
	for (uint32_t band = first; band < end; band += step)
		add_hop(p, i, j, band, band + step);
}

/* Without GEMMs, hops follow the fork, node 0. */
static void add_ring(const struct producers *s, struct producer_round *r)
{
	struct ring ring = {.s = s, .r = r};
	const struct strategy *x = r->strategy;
	for (uint32_t i = 0; x->produce != PRODUCE_NONE && i < s->count; i++) {
		uint32_t *of_band = ring.gemm_of_band[i], last = add_gemms(s, r, i, of_band);
		for (uint32_t band = 0; x->send == SEND_WHOLE && band < s->bands; band++)
			of_band[band] = last;
	}
	/* An edge leads to a later node: a hop is added after the one before it. */
	for (uint32_t step = 0; x->send != SEND_NONE && step < s->count; step++)
		for (uint32_t k = 0; k < s->count; k++)
			if (x->staggered || x->send == SEND_WHOLE)
				add_chunk(&ring, k, (k + 1 + step) % s->count);
			else
				add_chunk(&ring, (step + 2 * s->count - 1 - k) % s->count, step);
}

/* ------------------------------------------------------------------ rounds */

int producers_try_adding(struct producers *s, struct bench_case *c)
{
	int status = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct producer *p = &s->producer[i];
		struct dev_stream *stream = work_lane_stream(s->lanes, p->gemm_lane);
		for (uint32_t j = 0; j < s->count; j++) {
			const struct dev_gemm gemm = tiled_gemm(s, SEND_ADDS, i, j);
			TRY(status, dev_gemm(p->gemm.dev, stream, &gemm));
		}
	}
	TRY(c->status, work_lanes_sync(s->lanes));
	if (status == 0)
		producers_clear_sums(s, c);
	return c->status ? c->status : status;
}

/* A GEMM for each chunk of each producer, staggered. */
static struct work_graph *open_storing(const struct producers *s, struct bench_case *c,
				       enum send_mode send)
{
	struct work_graph *g = bench_graph(c, s->lanes);
	work_graph_fork(g, s->case_lane);
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t k = 0; k < s->count; k++) {
			struct dev_gemm gemm = tiled_gemm(s, send, i, (i + 1 + k) % s->count);
			work_graph_gemm(g, s->producer[i].gemm_lane, &gemm);
		}
	work_graph_join(g);
	return g;
}

static struct work_graph *open_sending(const struct producers *s, struct bench_case *c,
				       struct producer_round *r)
{
	r->graph = bench_graph(c, s->lanes);
	work_graph_fork(r->graph, s->case_lane);
	if (s->direction == DIRECTION_RING)
		add_ring(s, r);
	for (uint32_t i = 0; s->direction != DIRECTION_RING && i < s->count; i++)
		add_producer(s, r, i);
	work_graph_join(r->graph);
	return r->graph;
}

int producers_prepare(struct producers *s, struct bench_case *c, const struct strategy *strategy,
		      struct producer_round *r)
{
	const bool stores = strategy->send >= SEND_STORES;
	*r = (struct producer_round){.strategy = strategy};
	r->waits = bench_alloc_host(c, s->count * s->bands * sizeof(*r->waits));
	if (c->status)
		return c->status;
	r->graph = stores ? open_storing(s, c, strategy->send) : open_sending(s, c, r);
	if (stores && bench_checked(c)) {
		r->into_c = open_storing(s, c, SEND_NONE);
		bench_graph_prepare(c, r->into_c);
	}
	TRY(c->status, work_graph_prepare(r->graph));
	TRY(c->status, work_graph_sync(r->graph, producers_round(s, r)));
	if (producers_add(strategy))
		producers_clear_sums(s, c);
	return TRY(c->status, dev_stream_sync(c->dev, c->stream));
}

/* Counts one more GEMM of each producer; restarts before a target would exceed DEV_VALUE_MAX. */
static int count_gemms(struct producers *s, const struct producer_round *r)
{
	uint64_t band_elements = (uint64_t)s->band_rows * s->shape.n;
	bool full = (s->gemms_counted + 1) * band_elements > DEV_VALUE_MAX;
	int status = full ? work_graph_run(s->restart) : 0;
	s->gemms_counted = full ? 1 : s->gemms_counted + 1;
	for (size_t i = 0; i < r->wait_count; i++)
		work_graph_set_value(r->graph, r->waits[i].node,
				     s->gemms_counted * r->waits[i].elements);
	return status;
}

int producers_round(struct producers *s, const struct producer_round *r)
{
	const bool adds = producers_add(r->strategy);
	if (adds && s->rounds_added >= s->max_rounds)
		return err_note(-ERANGE, "after %u rounds a sum in f32 could round", s->max_rounds);
	int status = r->strategy->produce == PRODUCE_COUNTING ? count_gemms(s, r) : 0;
	s->rounds_added += adds;
	return status ? status : work_graph_run(r->graph);
}
