/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/producer.h"
#include "bench/bench_alloc.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const producer_directions[] = {"down", "local", "peer", "exchange", NULL};

/* ------------------------------------------------------------------ bands */

static uint32_t band_rows_of(const struct dev *d, uint32_t m, uint32_t bands)
{
	uint32_t tile = dev_props(d)->gemm_tile_rows, rows = (m + bands - 1) / bands;
	return (rows + tile - 1) / tile * tile;
}

uint32_t producers_rows(const struct producers *s, uint32_t first, uint32_t end)
{
	uint32_t m = s->producer[0].gemm.shape.m, to = end * s->band_rows;
	return (to < m ? to : m) - first * s->band_rows;
}

uint64_t producers_bytes(const struct producers *s, uint32_t first, uint32_t end)
{
	return producers_rows(s, first, end) * (s->bytes / s->producer[0].gemm.shape.m);
}

/* With several chunks, chunk j of C is what device j receives. */
static uint32_t chunk_begin(const struct producers *s, uint32_t chunk)
{
	return s->bands * chunk / s->chunks;
}

static int admit_shape(const struct bench_case *c, uint32_t bands)
{
	uint32_t tile = dev_props(c->dev)->gemm_tile_rows;
	struct shape shape;
	int status = shape_parse(axis_str(c, "shape"), 1e6 * (double)axis_u64(c, "mflop"), &shape);
	if (status)
		return status;
	if ((uint64_t)bands * tile > shape.m)
		return err_note(-ENOTSUP,
				"%u rows are too few for %u bands of whole tiles of %u rows",
				shape.m, bands, tile);
	if ((uint64_t)band_rows_of(c->dev, shape.m, bands) * shape.n > DEV_VALUE_MAX)
		return err_note(-ENOTSUP, "a band of %ux%u exceeds the range of a counter",
				band_rows_of(c->dev, shape.m, bands), shape.n);
	return 0;
}

uint32_t producers_max_queued(const struct bench_case *c)
{
	return PRODUCER_QUEUED_PER_BAND * (uint32_t)axis_u64(c, "bands") + PRODUCER_QUEUED;
}

int producers_admit(const struct bench_case *c)
{
	enum producer_direction d = (enum producer_direction)axis_index(c, "direction");
	unsigned type = axis_index(c, "type");
	uint32_t bands = (uint32_t)axis_u64(c, "bands"), queued = producers_max_queued(c);
	int status = bench_gemm_admit(c);
	if (status)
		return status;
	if (!(dev_props(c->dev)->gemm_tiled_types >> type & 1))
		return err_note(-ENOTSUP, "%s GEMM cannot count finished rows on this device",
				dev_type_names[type]);
	if (d >= DIRECTION_PEER && c->devices->count < 2)
		return err_note(-ENODEV, "%s needs two devices, for example --device host:0,1",
				producer_directions[d]);
	if (d >= DIRECTION_PEER && !dev_can(c->dev, DEV_CAP_PEER))
		return err_note(-ENOTSUP, "the devices lack peer access to each other's memory");
	if (d == DIRECTION_EXCHANGE && bands < c->devices->count)
		return err_note(-ENOTSUP, "%u bands for %zu devices: each needs at least one",
				bands, c->devices->count);
	if (queued > dev_props(c->dev)->max_queued)
		return err_note(-ENOTSUP, "%u bands need %u queue entries; the stream holds %u",
				bands, queued, dev_props(c->dev)->max_queued);
	return admit_shape(c, bands);
}

/* ------------------------------------------------------------------ opening */

static void open_gemm(struct producers *s, struct bench_case *c, size_t i)
{
	struct producer *p = &s->producer[i];
	p->on = *c;
	p->on.dev = c->devices->dev[i];
	for (size_t k = 0; k < i; k++)
		bench_status_add(c, dev_peer_enable(p->on.dev, c->devices->dev[k]));
	bench_gemm_open_axes(&p->gemm, &p->on, p->on.dev);
	c->rng = p->on.rng; /* so that the next producer gets other numbers */
}

static void open_sender(struct producers *s, struct bench_case *c, size_t i)
{
	struct producer *p = &s->producer[i];
	struct bench_case *on = &p->on;
	const struct dev_props *props = dev_props(on->dev);
	uint64_t counters = s->bands * sizeof(*p->counters);
	p->gemm_stream = i == 0 ? c->stream : bench_stream(on, props->priority_normal);
	p->send_stream = bench_stream(on, props->priority_high);
	p->forked = bench_event(on);
	p->gemm_done = bench_event(on);
	p->sent = bench_event(on);
	for (uint32_t band = 0; band < s->bands; band++)
		p->band_done[band] = bench_event(on);
	p->copy = bench_kernel(on, "copy");
	p->counters = bench_alloc(on, DEV_MEM_DEVICE, counters);
	void *zeroes = bench_alloc_host(on, counters);
	if (bench_status(c) == 0) {
		memset(zeroes, 0, counters);
		bench_status_add(c, dev_upload(on->dev, p->counters, zeroes, counters));
	}
	p->start = s->chunks > 1 ? chunk_begin(s, (uint32_t)(i + 1) % s->chunks) : 0;
}

static void open_receiver(struct producers *s, struct bench_case *c, size_t i)
{
	struct receiver *r = &s->receiver[i];
	uint32_t own = (uint32_t)i;
	r->dev = s->direction == DIRECTION_PEER ? c->devices->dev[1] : c->devices->dev[i];
	r->bytes = s->bytes;
	if (s->direction == DIRECTION_EXCHANGE)
		r->bytes = s->chunks *
			   producers_bytes(s, chunk_begin(s, own), chunk_begin(s, own + 1));
	r->inbox = bench_alloc_on(c, r->dev,
				  s->direction == DIRECTION_DOWN ? DEV_MEM_PINNED : DEV_MEM_DEVICE,
				  r->bytes);
}

/* An inbox has the chunks of all producers one after the other. */
static void address_chunks(struct producers *s)
{
	for (size_t i = 0; i < s->count; i++) {
		for (uint32_t j = 0; j < s->chunks; j++) {
			struct chunk *chunk = &s->producer[i].chunk[j];
			*chunk = (struct chunk){.first = chunk_begin(s, j),
						.end = chunk_begin(s, j + 1)};
			uint64_t bytes = producers_bytes(s, chunk->first, chunk->end);
			bool stays = s->chunks > 1 && i == j;
			chunk->to = stays ? NULL : s->receiver[j].inbox + i * bytes;
			s->sent_bytes += stays ? 0 : bytes;
		}
	}
}

static void open_adder(struct producers *s, struct bench_case *c)
{
	s->adds = (s->direction == DIRECTION_LOCAL || s->direction == DIRECTION_PEER) &&
		  s->producer[0].gemm.type == DEV_F32 && s->band_bytes % DEV_KERNEL_ALIGN == 0 &&
		  s->bytes % DEV_KERNEL_ALIGN == 0;
	if (!s->adds)
		return;
	s->adder = *c;
	s->adder.dev = s->receiver[0].dev;
	s->adder.stream = bench_stream(&s->adder, dev_props(s->adder.dev)->priority_high);
	s->added = bench_event(&s->adder);
	s->add = bench_kernel(&s->adder, "reduce_add");
	s->sum = bench_alloc(&s->adder, DEV_MEM_DEVICE, s->bytes);
}

/* A library may choose another algorithm for another number of rows. */
static void prepare_gemms(struct producers *s, struct bench_case *c, struct producer *p,
			  bool by_pieces)
{
	struct dev_gemm whole = bench_gemm_whole(&p->gemm);
	uint32_t rows = p->gemm.shape.m, last = producers_rows(s, s->bands - 1, s->bands);
	struct dev_gemm piece = bench_gemm_piece(&p->gemm, SHAPE_CUT_M, 0, s->band_rows);
	struct dev_gemm rest = bench_gemm_piece(&p->gemm, SHAPE_CUT_M, rows - last, last);
	bench_status_add(c, dev_gemm_prepare(p->on.dev, &whole));
	if (by_pieces)
		bench_status_add(c, dev_gemm_prepare(p->on.dev, &piece));
	if (by_pieces && last != s->band_rows)
		bench_status_add(c, dev_gemm_prepare(p->on.dev, &rest));
}

static int open_gemms(struct producers *s, struct bench_case *c)
{
	s->direction = (enum producer_direction)axis_index(c, "direction");
	s->count = s->direction == DIRECTION_EXCHANGE ? c->devices->count : 1;
	s->chunks = s->direction == DIRECTION_EXCHANGE ? (uint32_t)s->count : 1;
	s->copies_by_kernel = axis_index(c, "copy-method") == 1;
	if (s->direction == DIRECTION_PEER)
		bench_status_add(c, dev_peer_enable(c->devices->dev[1], c->dev));
	for (size_t i = 0; i < s->count; i++)
		open_gemm(s, c, i);
	if (bench_status(c))
		return bench_status(c);
	const struct bench_gemm *gemm = &s->producer[0].gemm;
	uint64_t row_bytes = gemm->shape.n * gemm->result_bytes;
	s->band_rows = band_rows_of(c->dev, gemm->shape.m, (uint32_t)axis_u64(c, "bands"));
	s->bands = (gemm->shape.m + s->band_rows - 1) / s->band_rows;
	s->bytes = gemm->shape.m * row_bytes;
	s->band_bytes = s->band_rows * row_bytes;
	if (s->bands < s->chunks)
		return bench_status_add(
			c, err_note(-ENOTSUP, "%u bands of whole tiles are too few for %u devices",
				    s->bands, s->chunks));
	if (s->copies_by_kernel &&
	    (s->band_bytes % DEV_KERNEL_ALIGN || s->bytes % DEV_KERNEL_ALIGN))
		return bench_status_add(
			c, err_note(-ENOTSUP, "kernels copy multiples of %u bytes; a band has %llu",
				    DEV_KERNEL_ALIGN, (unsigned long long)s->band_bytes));
	return 0;
}

int producers_open(struct producers *s, struct bench_case *c, bool by_pieces)
{
	*s = (struct producers){0};
	if (open_gemms(s, c))
		return bench_status(c);
	for (size_t i = 0; i < s->count; i++) {
		open_sender(s, c, i);
		open_receiver(s, c, i);
	}
	s->forked = bench_event(c);
	s->first = bench_event(&s->producer[0].on);
	open_adder(s, c);
	if (bench_status(c))
		return bench_status(c);
	address_chunks(s);
	for (size_t i = 0; i < s->count; i++)
		prepare_gemms(s, c, &s->producer[i], by_pieces);
	return bench_status(c);
}

/* ------------------------------------------------------------------ checking */

int producers_poison(struct producers *s, struct bench_case *c)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < s->count; i++) {
		status = bench_gemm_poison(&s->producer[i].gemm, c);
		if (status == 0)
			status = dev_fill(c->dev, c->stream, s->receiver[i].inbox, 0x3c,
					  s->receiver[i].bytes);
	}
	return status == 0 && s->adds ? dev_fill(c->dev, c->stream, s->sum, 0, s->bytes) : status;
}

static int compare_chunk(const struct producers *s, size_t i, uint32_t j, const char *made,
			 char *arrived)
{
	const struct chunk *chunk = &s->producer[i].chunk[j];
	uint64_t at = chunk->first * s->band_bytes,
		 bytes = producers_bytes(s, chunk->first, chunk->end), wrong = 0;
	int status = dev_download(s->receiver[j].dev, arrived, chunk->to, bytes);
	if (status || memcmp(arrived, made + at, bytes) == 0)
		return status;
	while (arrived[wrong] == made[at + wrong])
		wrong++;
	return bench_wrong(
		"device %zu, row %llu: what arrived differs from the GEMM's result", i,
		(unsigned long long)((at + wrong) / (s->bytes / s->producer[0].gemm.shape.m)));
}

static int compare_sum(const struct producers *s, const char *made, char *arrived)
{
	const float *expected = (const float *)(const void *)made,
		    *sum = (const float *)(void *)arrived;
	int status = dev_download(s->adder.dev, arrived, s->sum, s->bytes);
	for (uint64_t i = 0; status == 0 && i < s->bytes / sizeof(float); i++)
		if (!(sum[i] >= expected[i] && sum[i] <= expected[i]))
			return bench_wrong("element %llu of the sum is %.9g, expected %.9g",
					   (unsigned long long)i, (double)sum[i],
					   (double)expected[i]);
	return status;
}

static int check_producer(struct producers *s, size_t i, const struct strategy *strategy,
			  char *made, char *arrived)
{
	struct producer *p = &s->producer[i];
	int status = strategy->produce == PRODUCE_NONE ? 0 : bench_gemm_check(&p->gemm, &p->on, 1);
	if (status || strategy->send == SEND_NONE)
		return status;
	status = dev_download(p->on.dev, made, p->gemm.c, s->bytes);
	for (uint32_t j = 0; status == 0 && strategy->add != ADD_FROM_SENDER && j < s->chunks; j++)
		if (p->chunk[j].to)
			status = compare_chunk(s, i, j, made, arrived);
	return status == 0 && strategy->add != ADD_NONE ? compare_sum(s, made, arrived) : status;
}

int producers_check(struct producers *s, const struct strategy *strategy)
{
	char *made = malloc(s->bytes), *arrived = malloc(s->bytes);
	int status =
		made && arrived ? 0 : err_note(-ENOMEM, "check of what arrived: out of memory");
	for (size_t i = 0; status == 0 && i < s->count; i++)
		status = check_producer(s, i, strategy, made, arrived);
	free(made);
	free(arrived);
	return status;
}
