/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/sender.h"
#include "device/kernels.h"
#include "lib/bench_own.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const sender_directions[] = {"down", "local", "peer", "exchange", NULL};

/* ------------------------------------------------------------------ bands */

static uint32_t band_rows_of(const struct dev *d, uint32_t m, uint32_t bands)
{
	uint32_t tile = dev_props(d)->gemm_tile_rows, rows = (m + bands - 1) / bands;
	return (rows + tile - 1) / tile * tile;
}

static uint32_t rows_in(const struct senders *s, uint32_t first, uint32_t end)
{
	uint32_t m = s->sender[0].product.shape.m, to = end * s->band_rows;
	return (to < m ? to : m) - first * s->band_rows;
}

static uint64_t bytes_in(const struct senders *s, uint32_t first, uint32_t end)
{
	return rows_in(s, first, end) * (s->bytes / s->sender[0].product.shape.m);
}

/* Chunk j of C is what device j receives, where there are several. */
static uint32_t chunk_begin(const struct senders *s, uint32_t chunk) { return s->bands * chunk / s->chunks; }

static int admit_shape(const struct bench_case *c, uint32_t bands)
{
	uint32_t tile = dev_props(c->dev)->gemm_tile_rows;
	struct shape shape;
	int status = shape_parse(bench_word(c, "shape"), 1e6 * (double)bench_number(c, "mflop"), &shape);
	if (status)
		return status;
	if ((uint64_t)bands * tile > shape.m)
		return err_note(-ENOTSUP, "%u rows are less than %u bands of whole tiles of %u rows", shape.m, bands, tile);
	if ((uint64_t)band_rows_of(c->dev, shape.m, bands) * shape.n > DEV_VALUE_MAX)
		return err_note(-ENOTSUP, "a band of %ux%u is more than a counter may hold", band_rows_of(c->dev, shape.m, bands),
		                shape.n);
	return 0;
}

int senders_admit(const struct bench_case *c)
{
	enum direction d = (enum direction)bench_choice(c, "direction");
	unsigned type = bench_choice(c, "type");
	uint32_t bands = (uint32_t)bench_number(c, "bands"), queued = SENDER_QUEUED_PER_BAND * bands + SENDER_QUEUED;
	int status = product_admit(c);
	if (status)
		return status;
	if (!(dev_props(c->dev)->gemm_tiled_types >> type & 1))
		return err_note(-ENOTSUP, "products of %s don't count their rows on this device", product_types[type]);
	if (d >= PEER && c->devices->count < 2)
		return err_note(-ENODEV, "%s needs two devices, such as --device host:0,1", sender_directions[d]);
	if (d >= PEER && !dev_can(c->dev, DEV_CAP_PEER))
		return err_note(-ENOTSUP, "the devices can't use each other's memory");
	if (d == EXCHANGE && bands < c->devices->count)
		return err_note(-ENOTSUP, "%u bands for %zu devices: one at least for each", bands, c->devices->count);
	if (queued > dev_props(c->dev)->max_queued)
		return err_note(-ENOTSUP, "%u bands: %u operations in a stream that takes %u", bands, queued,
		                dev_props(c->dev)->max_queued);
	return admit_shape(c, bands);
}

/* ------------------------------------------------------------------ opening */

static void open_product(struct senders *s, struct bench_case *c, size_t i)
{
	struct sender *one = &s->sender[i];
	one->on = *c;
	one->on.dev = c->devices->dev[i];
	for (size_t k = 0; k < i; k++)
		own_result(c, dev_peer_enable(one->on.dev, c->devices->dev[k]));
	product_open_axes(&one->product, &one->on);
	c->rng = one->on.rng; /* the next one has other numbers */
}

static void open_sender(struct senders *s, struct bench_case *c, size_t i)
{
	struct sender *one = &s->sender[i];
	struct bench_case *on = &one->on;
	const struct dev_props *props = dev_props(on->dev);
	uint64_t counters = s->bands * sizeof(*one->done);
	one->makes = i == 0 ? c->stream : own_stream(on, props->priority_normal);
	one->sends = own_stream(on, props->priority_high);
	one->forked = own_event(on);
	one->made = own_event(on);
	one->sent = own_event(on);
	for (uint32_t band = 0; band < s->bands; band++)
		one->piece[band] = own_event(on);
	one->copy = own_kernel(on, "copy");
	one->done = own_memory(on, DEV_MEM_DEVICE, counters);
	void *zeroes = own_host(on, counters);
	if (own_status(c) == 0) {
		memset(zeroes, 0, counters);
		own_result(c, dev_upload(on->dev, one->done, zeroes, counters));
	}
	one->start = s->chunks > 1 ? chunk_begin(s, (uint32_t)(i + 1) % s->chunks) : 0;
}

static void open_receiver(struct senders *s, struct bench_case *c, size_t i)
{
	struct receiver *r = &s->receiver[i];
	uint32_t own = (uint32_t)i;
	r->dev = s->direction == PEER ? c->devices->dev[1] : c->devices->dev[i];
	r->bytes = s->bytes;
	if (s->direction == EXCHANGE)
		r->bytes = s->chunks * bytes_in(s, chunk_begin(s, own), chunk_begin(s, own + 1));
	r->inbox = own_memory_on(c, r->dev, s->direction == DOWN ? DEV_MEM_PINNED : DEV_MEM_DEVICE, r->bytes);
}

/* In an inbox the chunks of all senders lie one after the other. */
static void address_chunks(struct senders *s)
{
	for (size_t i = 0; i < s->count; i++) {
		for (uint32_t j = 0; j < s->chunks; j++) {
			struct chunk *chunk = &s->sender[i].chunk[j];
			*chunk = (struct chunk){.first = chunk_begin(s, j), .end = chunk_begin(s, j + 1)};
			uint64_t bytes = bytes_in(s, chunk->first, chunk->end);
			bool stays = s->chunks > 1 && i == j;
			chunk->to = stays ? NULL : s->receiver[j].inbox + i * bytes;
			s->sent_bytes += stays ? 0 : bytes;
		}
	}
}

static void open_adder(struct senders *s, struct bench_case *c)
{
	s->adds = (s->direction == LOCAL || s->direction == PEER) && s->sender[0].product.type == DEV_F32 &&
	          s->band_bytes % DEV_KERNEL_ALIGN == 0 && s->bytes % DEV_KERNEL_ALIGN == 0;
	if (!s->adds)
		return;
	s->adder = *c;
	s->adder.dev = s->receiver[0].dev;
	s->adder.stream = own_stream(&s->adder, dev_props(s->adder.dev)->priority_high);
	s->added = own_event(&s->adder);
	s->add = own_kernel(&s->adder, "reduce_add");
	s->sum = own_memory(&s->adder, DEV_MEM_DEVICE, s->bytes);
}

/* A library may choose differently for another number of rows. */
static void prepare(struct senders *s, struct bench_case *c, struct sender *one, bool by_pieces)
{
	struct dev_gemm whole = product_whole(&one->product);
	uint32_t rows = one->product.shape.m, last = rows_in(s, s->bands - 1, s->bands);
	struct dev_gemm piece = product_piece(&one->product, SHAPE_CUT_M, 0, s->band_rows);
	struct dev_gemm rest = product_piece(&one->product, SHAPE_CUT_M, rows - last, last);
	own_result(c, dev_gemm_prepare(one->on.dev, &whole));
	if (by_pieces)
		own_result(c, dev_gemm_prepare(one->on.dev, &piece));
	if (by_pieces && last != s->band_rows)
		own_result(c, dev_gemm_prepare(one->on.dev, &rest));
}

static int open_products(struct senders *s, struct bench_case *c)
{
	s->direction = (enum direction)bench_choice(c, "direction");
	s->count = s->direction == EXCHANGE ? c->devices->count : 1;
	s->chunks = s->direction == EXCHANGE ? (uint32_t)s->count : 1;
	s->by_kernel = bench_choice(c, "mover") == 1;
	if (s->direction == PEER)
		own_result(c, dev_peer_enable(c->devices->dev[1], c->dev));
	for (size_t i = 0; i < s->count; i++)
		open_product(s, c, i);
	if (own_status(c))
		return own_status(c);
	const struct product *p = &s->sender[0].product;
	uint64_t row_bytes = p->shape.n * p->result_bytes;
	s->band_rows = band_rows_of(c->dev, p->shape.m, (uint32_t)bench_number(c, "bands"));
	s->bands = (p->shape.m + s->band_rows - 1) / s->band_rows;
	s->bytes = p->shape.m * row_bytes;
	s->band_bytes = s->band_rows * row_bytes;
	if (s->bands < s->chunks)
		return own_result(c, err_note(-ENOTSUP, "%u bands of whole tiles for %u devices", s->bands, s->chunks));
	if (s->by_kernel && (s->band_bytes % DEV_KERNEL_ALIGN || s->bytes % DEV_KERNEL_ALIGN))
		return own_result(c, err_note(-ENOTSUP, "kernels copy multiples of %u bytes, a band here has %llu", DEV_KERNEL_ALIGN,
		                              (unsigned long long)s->band_bytes));
	return 0;
}

int senders_open(struct senders *s, struct bench_case *c, bool by_pieces)
{
	*s = (struct senders){0};
	if (open_products(s, c))
		return own_status(c);
	for (size_t i = 0; i < s->count; i++) {
		open_sender(s, c, i);
		open_receiver(s, c, i);
	}
	s->forked = own_event(c);
	s->first = own_event(&s->sender[0].on);
	open_adder(s, c);
	if (own_status(c))
		return own_status(c);
	address_chunks(s);
	for (size_t i = 0; i < s->count; i++)
		prepare(s, c, &s->sender[i], by_pieces);
	return own_status(c);
}

/* ------------------------------------------------------------------ making */

/* What `from` holds now comes before what `to` gets later; they may be of two devices. */
static int order(struct dev *from_dev, struct dev_stream *from, struct dev *to_dev, struct dev_stream *to, struct dev_event *e)
{
	int status = dev_event_record(from_dev, from, e);
	return status ? status : dev_stream_wait(to_dev, to, e);
}

static struct dev_gemm rows_of(const struct senders *s, const struct sender *one, uint32_t first, uint32_t end)
{
	return product_piece(&one->product, SHAPE_CUT_M, first * s->band_rows, rows_in(s, first, end));
}

static int make_tiled(const struct senders *s, const struct sender *one, uint32_t first, uint32_t end, bool counting)
{
	struct dev_gemm g = rows_of(s, one, first, end);
	g.tiled = true;
	g.blocks = end - first;
	g.done = counting ? one->done + first : NULL;
	g.done_rows = s->band_rows;
	return dev_gemm(one->on.dev, one->makes, &g);
}

static int make_pieces(const struct senders *s, const struct sender *one, uint32_t first, uint32_t end)
{
	int status = 0;
	for (uint32_t band = first; status == 0 && band < end; band++) {
		struct dev_gemm g = rows_of(s, one, band, band + 1);
		status = dev_gemm(one->on.dev, one->makes, &g);
		if (status == 0)
			status = dev_event_record(one->on.dev, one->makes, one->piece[band]);
	}
	return status;
}

static int make_part(const struct senders *s, const struct sender *one, enum making making, uint32_t first, uint32_t end)
{
	if (first == end)
		return 0;
	if (making == MAKE_PIECES)
		return make_pieces(s, one, first, end);
	return make_tiled(s, one, first, end, making == MAKE_COUNTING);
}

static int make(const struct senders *s, const struct sender *one, const struct way *way)
{
	struct dev_gemm whole = product_whole(&one->product);
	if (way->making == MAKE_NOTHING)
		return 0;
	if (way->making == MAKE_BY_LIBRARY)
		return dev_gemm(one->on.dev, one->makes, &whole);
	bool late = way->staggered; /* the later part first */
	int status = make_part(s, one, way->making, late ? one->start : 0, late ? s->bands : one->start);
	return status ? status : make_part(s, one, way->making, late ? 0 : one->start, late ? one->start : s->bands);
}

/* ------------------------------------------------------------------ sending */

static uint32_t target(const struct senders *s, const struct sender *one, uint32_t band)
{
	return one->turns * rows_in(s, band, band + 1) * one->product.shape.n;
}

static int move(const struct senders *s, const struct sender *one, char *to, const char *from, uint64_t bytes)
{
	uint32_t reps = 1;
	const void *const args[] = {&to, &from, &bytes, &reps};
	struct dev_launch launch = {.grid = dev_wave_blocks(one->on.dev, one->copy), .args = args};
	if (s->by_kernel)
		return dev_launch(one->on.dev, one->sends, one->copy, &launch);
	return dev_copy(one->on.dev, one->sends, to, from, bytes);
}

static int note_first(const struct senders *s, const struct sender *one, const struct way *way, bool *noted)
{
	if (!way->notes_first || *noted || one != &s->sender[0])
		return 0;
	*noted = true;
	return dev_event_record(one->on.dev, one->sends, s->first);
}

static int add_band(const struct senders *s, const struct sender *one, const struct way *way, uint32_t band)
{
	uint64_t at = band * s->band_bytes, bytes = bytes_in(s, band, band + 1);
	char *sum = s->sum + at;
	const char *from = (way->adding == ADD_FROM_COPY ? one->chunk[0].to : (const char *)one->product.c) + at;
	uint32_t reps = 1;
	const void *const args[] = {&sum, &from, &bytes, &reps};
	struct dev_launch launch = {.grid = dev_wave_blocks(s->adder.dev, s->add), .args = args};
	int status = order(one->on.dev, one->sends, s->adder.dev, s->adder.stream, one->piece[band]);
	return status ? status : dev_launch(s->adder.dev, s->adder.stream, s->add, &launch);
}

static int send_band(const struct senders *s, const struct sender *one, const struct way *way, uint32_t band, char *to)
{
	uint64_t at = band * s->band_bytes;
	int status = way->making == MAKE_PIECES ? dev_stream_wait(one->on.dev, one->sends, one->piece[band])
	                                        : dev_wait_value(one->on.dev, one->sends, one->done + band, target(s, one, band));
	if (status == 0 && way->adding != ADD_FROM_SENDER)
		status = move(s, one, to, (const char *)one->product.c + at, bytes_in(s, band, band + 1));
	return status == 0 && way->adding != ADD_NOTHING ? add_band(s, one, way, band) : status;
}

static int send_bands(const struct senders *s, const struct sender *one, const struct way *way)
{
	uint32_t start = way->staggered ? one->start : 0;
	bool noted = false;
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < s->bands; i++) {
		uint32_t band = (start + i) % s->bands, j = 0;
		while (band >= one->chunk[j].end)
			j++;
		const struct chunk *chunk = &one->chunk[j];
		if (!chunk->to)
			continue;
		status = send_band(s, one, way, band, chunk->to + bytes_in(s, chunk->first, band));
		if (status == 0)
			status = note_first(s, one, way, &noted);
	}
	return status;
}

static int send_chunks(const struct senders *s, size_t i, const struct way *way)
{
	const struct sender *one = &s->sender[i];
	bool noted = false;
	int status = way->making == MAKE_NOTHING ? 0 : order(one->on.dev, one->makes, one->on.dev, one->sends, one->made);
	for (uint32_t k = 0; status == 0 && k < s->chunks; k++) {
		const struct chunk *chunk = &one->chunk[s->chunks > 1 ? (i + 1 + k) % s->chunks : 0];
		const char *from = (const char *)one->product.c + chunk->first * s->band_bytes;
		if (!chunk->to)
			continue;
		status = move(s, one, chunk->to, from, bytes_in(s, chunk->first, chunk->end));
		if (status == 0)
			status = note_first(s, one, way, &noted);
	}
	return status;
}

/* ------------------------------------------------------------------ rounds */

/* No target passes DEV_VALUE_MAX. */
static int next_turn(const struct senders *s, struct sender *one)
{
	uint64_t most = (uint64_t)s->band_rows * one->product.shape.n;
	int status = 0;
	if ((one->turns + 1) * most > DEV_VALUE_MAX) {
		status = dev_fill(one->on.dev, one->makes, one->done, 0, s->bands * sizeof(*one->done));
		one->turns = 0;
	}
	one->turns++;
	return status;
}

static int begin(struct senders *s, size_t i, const struct way *way)
{
	struct sender *one = &s->sender[i];
	int status = i == 0 ? 0 : dev_stream_wait(one->on.dev, one->makes, s->forked);
	if (status == 0 && way->making == MAKE_COUNTING)
		status = next_turn(s, one);
	return status || way->sending == SEND_NOTHING ? status
	                                              : order(one->on.dev, one->makes, one->on.dev, one->sends, one->forked);
}

/* The case's stream goes on when all of it is over. */
static int end(struct senders *s, struct bench_case *c, size_t i, const struct way *way)
{
	struct sender *one = &s->sender[i];
	int status = 0;
	if (way->sending != SEND_NOTHING)
		status = order(one->on.dev, one->sends, c->dev, c->stream, one->sent);
	if (status == 0 && i > 0)
		status = order(one->on.dev, one->makes, c->dev, c->stream, one->made);
	if (status == 0 && way->adding != ADD_NOTHING)
		status = order(s->adder.dev, s->adder.stream, c->dev, c->stream, s->added);
	return status;
}

int senders_round(struct senders *s, struct bench_case *c, const struct way *way)
{
	int status = s->count > 1 ? dev_event_record(c->dev, c->stream, s->forked) : 0;
	for (size_t i = 0; status == 0 && i < s->count; i++) {
		status = begin(s, i, way);
		if (status == 0)
			status = make(s, &s->sender[i], way);
		if (status == 0 && way->sending == SEND_WHEN_ALL_IS_MADE)
			status = send_chunks(s, i, way);
		else if (status == 0 && way->sending == SEND_BANDS)
			status = send_bands(s, &s->sender[i], way);
	}
	for (size_t i = 0; status == 0 && i < s->count; i++)
		status = end(s, c, i, way);
	return status;
}

/* ------------------------------------------------------------------ checking */

int senders_spoil(struct senders *s, struct bench_case *c)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < s->count; i++) {
		status = product_spoil(&s->sender[i].product, c);
		if (status == 0)
			status = dev_fill(c->dev, c->stream, s->receiver[i].inbox, 0x3c, s->receiver[i].bytes);
	}
	return status == 0 && s->adds ? dev_fill(c->dev, c->stream, s->sum, 0, s->bytes) : status;
}

static int compare_chunk(const struct senders *s, size_t i, uint32_t j, const char *made, char *arrived)
{
	const struct chunk *chunk = &s->sender[i].chunk[j];
	uint64_t at = chunk->first * s->band_bytes, bytes = bytes_in(s, chunk->first, chunk->end), wrong = 0;
	int status = dev_download(s->receiver[j].dev, arrived, chunk->to, bytes);
	if (status || memcmp(arrived, made + at, bytes) == 0)
		return status;
	while (arrived[wrong] == made[at + wrong])
		wrong++;
	return bench_wrong("device %zu, row %llu: what arrived is not the product's", i,
	                   (unsigned long long)((at + wrong) / (s->bytes / s->sender[0].product.shape.m)));
}

static int compare_sum(const struct senders *s, const char *made, char *arrived)
{
	const float *product = (const float *)(const void *)made, *sum = (const float *)(void *)arrived;
	int status = dev_download(s->adder.dev, arrived, s->sum, s->bytes);
	for (uint64_t i = 0; status == 0 && i < s->bytes / sizeof(float); i++)
		if (!(sum[i] >= product[i] && sum[i] <= product[i]))
			return bench_wrong("element %llu of the sum is %.9g, not %.9g", (unsigned long long)i, (double)sum[i],
			                   (double)product[i]);
	return status;
}

static int check_one(struct senders *s, size_t i, const struct way *way, char *made, char *arrived)
{
	struct sender *one = &s->sender[i];
	int status = way->making == MAKE_NOTHING ? 0 : product_check(&one->product, &one->on, 1);
	if (status || way->sending == SEND_NOTHING)
		return status;
	status = dev_download(one->on.dev, made, one->product.c, s->bytes);
	for (uint32_t j = 0; status == 0 && way->adding != ADD_FROM_SENDER && j < s->chunks; j++)
		if (one->chunk[j].to)
			status = compare_chunk(s, i, j, made, arrived);
	return status == 0 && way->adding != ADD_NOTHING ? compare_sum(s, made, arrived) : status;
}

int senders_check(struct senders *s, const struct way *way)
{
	char *made = malloc(s->bytes), *arrived = malloc(s->bytes);
	int status = made && arrived ? 0 : err_note(-ENOMEM, "check of what arrived: out of memory");
	for (size_t i = 0; status == 0 && i < s->count; i++)
		status = check_one(s, i, way, made, arrived);
	free(made);
	free(arrived);
	return status;
}
