/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/ring.h"

struct ring {
	const struct producers *s;
	struct producer_round *r;
	const struct ring_gemms *gemms;
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
	uint32_t ready = round_ready(s, p->r, i, starts ? here->send_lane : here->add_lane, band,
				     end, p->gemms->of_band[i][end - 1]);
	if (!starts) {
		uint32_t add = round_add(p->r, here->add_lane, here->inbox + at, from, bytes);
		work_graph_edge(g, ready, add);
		work_graph_edge(g, p->arrival[band], add);
		from = here->inbox + at;
		ready = add;
	}
	if (ends)
		return;
	p->arrival[band] = round_copy(s, p->r, here->send_lane, next->inbox + at, from, bytes);
	work_graph_edge(g, ready, p->arrival[band]);
}

static void add_chunk(struct ring *p, uint32_t i, uint32_t j)
{
	const uint32_t first = producers_chunk(p->s, j), end = producers_chunk(p->s, j + 1),
		       step = p->r->strategy->send == SEND_WHOLE ? end - first : 1;
	for (uint32_t band = first; band < end; band += step)
		add_hop(p, i, j, band, band + step);
}

void ring_add_hops(const struct producers *s, struct producer_round *r,
		   const struct ring_gemms *gemms)
{
	struct ring p = {.s = s, .r = r, .gemms = gemms};
	const bool staggered = r->strategy->staggered || r->strategy->send == SEND_WHOLE;
	/* An edge leads to a later node: a hop is added after the one before it. */
	for (uint32_t step = 0; step < s->count; step++)
		for (uint32_t k = 0; k < s->count; k++)
			if (staggered)
				add_chunk(&p, k, (k + 1 + step) % s->count);
			else
				add_chunk(&p, (step + 2 * s->count - 1 - k) % s->count, step);
}
