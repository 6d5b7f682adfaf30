/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/kernels.h"
#include "overlap/trigger/producer.h"

/* ------------------------------------------------------------------ GEMMs */

/* Makes later work of stream `to` wait for what stream `from` has now; they may be of two devices.
 */
static int order_streams(struct dev *from_dev, struct dev_stream *from, struct dev *to_dev,
			 struct dev_stream *to, struct dev_event *e)
{
	int status = dev_event_record(from_dev, from, e);
	return status ? status : dev_stream_wait(to_dev, to, e);
}

static struct dev_gemm gemm_of_bands(const struct producers *s, const struct producer *p,
				     uint32_t first, uint32_t end)
{
	return bench_gemm_piece(&p->gemm, SHAPE_CUT_M, first * s->band_rows,
				producers_rows(s, first, end));
}

static int enqueue_tiled(const struct producers *s, const struct producer *p, uint32_t first,
			 uint32_t end, bool counting)
{
	struct dev_gemm g = gemm_of_bands(s, p, first, end);
	g.tiled = true;
	g.blocks = end - first;
	g.done = counting ? p->counters + first : NULL;
	g.done_rows = s->band_rows;
	return dev_gemm(p->on.dev, p->gemm_stream, &g);
}

static int enqueue_pieces(const struct producers *s, const struct producer *p, uint32_t first,
			  uint32_t end)
{
	int status = 0;
	for (uint32_t band = first; status == 0 && band < end; band++) {
		struct dev_gemm g = gemm_of_bands(s, p, band, band + 1);
		status = dev_gemm(p->on.dev, p->gemm_stream, &g);
		if (status == 0)
			status = dev_event_record(p->on.dev, p->gemm_stream, p->band_done[band]);
	}
	return status;
}

static int enqueue_part(const struct producers *s, const struct producer *p,
			enum produce_mode produce, uint32_t first, uint32_t end)
{
	if (first == end)
		return 0;
	if (produce == PRODUCE_PIECES)
		return enqueue_pieces(s, p, first, end);
	return enqueue_tiled(s, p, first, end, produce == PRODUCE_COUNTING);
}

static int enqueue_gemm(const struct producers *s, const struct producer *p,
			const struct strategy *strategy)
{
	struct dev_gemm whole = bench_gemm_whole(&p->gemm);
	if (strategy->produce == PRODUCE_NONE)
		return 0;
	if (strategy->produce == PRODUCE_LIBRARY)
		return dev_gemm(p->on.dev, p->gemm_stream, &whole);
	bool late = strategy->staggered; /* the part from `start` on goes first */
	int status = enqueue_part(s, p, strategy->produce, late ? p->start : 0,
				  late ? s->bands : p->start);
	return status ? status
		      : enqueue_part(s, p, strategy->produce, late ? 0 : p->start,
				     late ? p->start : s->bands);
}

/* ------------------------------------------------------------------ sending */

static uint32_t counter_target(const struct producers *s, const struct producer *p, uint32_t band)
{
	return p->gemms_counted * producers_rows(s, band, band + 1) * p->gemm.shape.n;
}

static int enqueue_copy(const struct producers *s, const struct producer *p, char *to,
			const char *from, uint64_t bytes)
{
	uint32_t reps = 1;
	const void *const args[] = {&to, &from, &bytes, &reps};
	struct dev_launch launch = {.grid = dev_wave_blocks(p->on.dev, p->copy), .args = args};
	if (s->copies_by_kernel)
		return dev_launch(p->on.dev, p->send_stream, p->copy, &launch);
	return dev_copy(p->on.dev, p->send_stream, to, from, bytes);
}

static int record_first(const struct producers *s, const struct producer *p,
			const struct strategy *strategy, bool *recorded)
{
	if (!strategy->records_first || *recorded || p != &s->producer[0])
		return 0;
	*recorded = true;
	return dev_event_record(p->on.dev, p->send_stream, s->first);
}

static int add_band(const struct producers *s, const struct producer *p,
		    const struct strategy *strategy, uint32_t band)
{
	uint64_t at = band * s->band_bytes, bytes = producers_bytes(s, band, band + 1);
	char *sum = s->sum + at;
	const char *from =
		(strategy->add == ADD_FROM_COPY ? p->chunk[0].to : (const char *)p->gemm.c) + at;
	uint32_t reps = 1;
	const void *const args[] = {&sum, &from, &bytes, &reps};
	struct dev_launch launch = {.grid = dev_wave_blocks(s->adder.dev, s->add), .args = args};
	int status = order_streams(p->on.dev, p->send_stream, s->adder.dev, s->adder.stream,
				   p->band_done[band]);
	return status ? status : dev_launch(s->adder.dev, s->adder.stream, s->add, &launch);
}

static int send_band(const struct producers *s, const struct producer *p,
		     const struct strategy *strategy, uint32_t band, char *to)
{
	uint64_t at = band * s->band_bytes;
	int status = strategy->produce == PRODUCE_PIECES
			     ? dev_stream_wait(p->on.dev, p->send_stream, p->band_done[band])
			     : dev_wait_value(p->on.dev, p->send_stream, p->counters + band,
					      counter_target(s, p, band));
	if (status == 0 && strategy->add != ADD_FROM_SENDER)
		status = enqueue_copy(s, p, to, (const char *)p->gemm.c + at,
				      producers_bytes(s, band, band + 1));
	return status == 0 && strategy->add != ADD_NONE ? add_band(s, p, strategy, band) : status;
}

static int send_bands(const struct producers *s, const struct producer *p,
		      const struct strategy *strategy)
{
	uint32_t start = strategy->staggered ? p->start : 0;
	bool recorded = false;
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < s->bands; i++) {
		uint32_t band = (start + i) % s->bands, j = 0;
		while (band >= p->chunk[j].end)
			j++;
		const struct chunk *chunk = &p->chunk[j];
		if (!chunk->to)
			continue;
		status = send_band(s, p, strategy, band,
				   chunk->to + producers_bytes(s, chunk->first, band));
		if (status == 0)
			status = record_first(s, p, strategy, &recorded);
	}
	return status;
}

static int send_chunks(const struct producers *s, size_t i, const struct strategy *strategy)
{
	const struct producer *p = &s->producer[i];
	bool recorded = false;
	int status = strategy->produce == PRODUCE_NONE
			     ? 0
			     : order_streams(p->on.dev, p->gemm_stream, p->on.dev, p->send_stream,
					     p->gemm_done);
	for (uint32_t k = 0; status == 0 && k < s->chunks; k++) {
		const struct chunk *chunk = &p->chunk[s->chunks > 1 ? (i + 1 + k) % s->chunks : 0];
		const char *from = (const char *)p->gemm.c + chunk->first * s->band_bytes;
		if (!chunk->to)
			continue;
		status = enqueue_copy(s, p, chunk->to, from,
				      producers_bytes(s, chunk->first, chunk->end));
		if (status == 0)
			status = record_first(s, p, strategy, &recorded);
	}
	return status;
}

/* ------------------------------------------------------------------ rounds */

/* Counts one more GEMM; sets the counters to 0 before a target would exceed DEV_VALUE_MAX. */
static int next_count(const struct producers *s, struct producer *p)
{
	uint64_t band_elements = (uint64_t)s->band_rows * p->gemm.shape.n;
	int status = 0;
	if ((p->gemms_counted + 1) * band_elements > DEV_VALUE_MAX) {
		status = dev_fill(p->on.dev, p->gemm_stream, p->counters, 0,
				  s->bands * sizeof(*p->counters));
		p->gemms_counted = 0;
	}
	p->gemms_counted++;
	return status;
}

static int begin_round(struct producers *s, size_t i, const struct strategy *strategy)
{
	struct producer *p = &s->producer[i];
	int status = i == 0 ? 0 : dev_stream_wait(p->on.dev, p->gemm_stream, s->forked);
	if (status == 0 && strategy->produce == PRODUCE_COUNTING)
		status = next_count(s, p);
	return status || strategy->send == SEND_NONE
		       ? status
		       : order_streams(p->on.dev, p->gemm_stream, p->on.dev, p->send_stream,
				       p->forked);
}

/* Makes the case's stream wait for all work of the round. */
static int end_round(struct producers *s, struct bench_case *c, size_t i,
		     const struct strategy *strategy)
{
	struct producer *p = &s->producer[i];
	int status = 0;
	if (strategy->send != SEND_NONE)
		status = order_streams(p->on.dev, p->send_stream, c->dev, c->stream, p->sent);
	if (status == 0 && i > 0)
		status = order_streams(p->on.dev, p->gemm_stream, c->dev, c->stream, p->gemm_done);
	if (status == 0 && strategy->add != ADD_NONE)
		status = order_streams(s->adder.dev, s->adder.stream, c->dev, c->stream, s->added);
	return status;
}

int producers_round(struct producers *s, struct bench_case *c, const struct strategy *strategy)
{
	int status = s->count > 1 ? dev_event_record(c->dev, c->stream, s->forked) : 0;
	for (size_t i = 0; status == 0 && i < s->count; i++) {
		status = begin_round(s, i, strategy);
		if (status == 0)
			status = enqueue_gemm(s, &s->producer[i], strategy);
		if (status == 0 && strategy->send == SEND_WHOLE)
			status = send_chunks(s, i, strategy);
		else if (status == 0 && strategy->send == SEND_BANDS)
			status = send_bands(s, &s->producer[i], strategy);
	}
	for (size_t i = 0; status == 0 && i < s->count; i++)
		status = end_round(s, c, i, strategy);
	return status;
}
