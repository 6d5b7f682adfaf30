/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/producer.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

const char *const producer_directions[] = {"down", "local", "peer", "exchange", NULL};

/* ------------------------------------------------------------------ bands */

static uint32_t rows_of(const struct producers *s, uint32_t first, uint32_t end)
{
	uint32_t m = s->shape.m, to = end * s->band_rows;
	return (to < m ? to : m) - first * s->band_rows;
}

uint64_t producers_bytes(const struct producers *s, uint32_t first, uint32_t end)
{
	return rows_of(s, first, end) * s->row_bytes;
}

static uint32_t chunk_begin(const struct producers *s, uint32_t chunk)
{
	return s->bands * chunk / s->count;
}

static uint64_t chunk_bytes(const struct producers *s, uint32_t chunk)
{
	return producers_bytes(s, chunk_begin(s, chunk), chunk_begin(s, chunk + 1));
}

/* Where chunk j of producer i arrives; NULL: the producer keeps it. */
static char *chunk_target(const struct producers *s, uint32_t i, uint32_t j)
{
	bool stays = i == j && s->count > 1;
	return stays ? NULL : s->producer[j].inbox + i * chunk_bytes(s, j);
}

static bool kernels_take_bands(const struct producers *s)
{
	return (producers_bytes(s, 0, 1) | s->bytes) % DEV_KERNEL_ALIGN == 0;
}

static int cut_into_bands(struct producers *s, const struct bench_case *c)
{
	uint32_t bands = (uint32_t)axis_u64(c, "bands"), tile = dev_props(c->dev)->gemm_tile_rows;
	enum dev_type type = (enum dev_type)axis_index(c, "type");
	double max_flops = 1e6 * (double)axis_u64(c, "mflop");
	int status = shape_parse(axis_str(c, "shape"), max_flops, &s->shape);
	if (status)
		return status;
	const uint32_t m = s->shape.m, n = s->shape.n;
	if ((uint64_t)bands * tile > m)
		return err_note(-ENOTSUP,
				"%u rows are too few for %u bands of whole tiles of %u rows", m,
				bands, tile);
	s->band_rows = ((m + bands - 1) / bands + tile - 1) / tile * tile;
	s->bands = (m + s->band_rows - 1) / s->band_rows;
	if (s->band_rows % dev_types[type].multiple)
		return err_note(-ENOTSUP, "a band of %u rows; a GEMM of %s needs multiples of %u",
				s->band_rows, dev_type_names[type], dev_types[type].multiple);
	s->row_bytes = n * dev_type_result_bytes(type);
	s->bytes = m * s->row_bytes;
	if ((uint64_t)s->band_rows * n > DEV_VALUE_MAX)
		return err_note(-ENOTSUP, "a band of %ux%u exceeds the range of a counter",
				s->band_rows, n);
	if (s->bands < s->count)
		return err_note(-ENOTSUP, "%u bands for %u devices: each needs at least one",
				s->bands, s->count);
	if (s->copies_by_kernel && !kernels_take_bands(s))
		return err_note(-ENOTSUP, "kernels copy multiples of %u bytes; a band has %llu",
				DEV_KERNEL_ALIGN, (unsigned long long)producers_bytes(s, 0, 1));
	s->adds = (s->direction == DIRECTION_LOCAL || s->direction == DIRECTION_PEER) &&
		  type == DEV_F32 && kernels_take_bands(s);
	return 0;
}

static int plan_producers(struct producers *s, const struct bench_case *c)
{
	enum producer_direction d = (enum producer_direction)axis_index(c, "direction");
	unsigned type = axis_index(c, "type");
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
	if (axis_index(c, "copy-method") == 0 && !dev_can(c->dev, DEV_CAP_COPY_ENGINE))
		return err_note(-ENOTSUP, "this device has no copy engine");
	*s = (struct producers){.direction = d,
				.count = d == DIRECTION_EXCHANGE ? (uint32_t)c->devices->count : 1,
				.copies_by_kernel = axis_index(c, "copy-method") == 1};
	return cut_into_bands(s, c);
}

int producers_admit(const struct bench_case *c)
{
	struct producers planned;
	return plan_producers(&planned, c);
}

/* ------------------------------------------------------------------ opening */

static void open_producer(struct producers *s, struct bench_case *c, uint32_t i)
{
	struct producer *p = &s->producer[i];
	struct dev *dev = c->devices->dev[i];
	bool down = s->direction == DIRECTION_DOWN;
	bench_gemm_open_axes(&p->gemm, c, dev);
	p->gemm_lane = i ? work_lane_normal(s->lanes, i) : s->case_lane;
	p->send_lane = work_lane(s->lanes, i, dev_props(dev)->priority_high);
	p->counters = bench_alloc_on(c, dev, DEV_MEM_DEVICE, s->bands * sizeof(*p->counters));
	work_graph_fill(s->restart, p->gemm_lane, p->counters, 0, s->bands * sizeof(*p->counters));
	p->receiver = s->direction == DIRECTION_PEER ? c->devices->dev[1] : dev;
	p->inbox = bench_alloc_on(c, p->receiver, down ? DEV_MEM_PINNED : DEV_MEM_DEVICE,
				  s->count * chunk_bytes(s, i));
}

static void open_adder(struct producers *s, struct bench_case *c)
{
	uint32_t at = s->direction == DIRECTION_PEER ? 1 : 0;
	struct dev *dev = c->devices->dev[at];
	s->add_lane = work_lane(s->lanes, at, dev_props(dev)->priority_high);
	s->sum = bench_alloc_on(c, dev, DEV_MEM_DEVICE, s->bytes);
}

int producers_open(struct producers *s, struct bench_case *c)
{
	if (bench_status_add(c, plan_producers(s, c)))
		return bench_status(c);
	if (s->direction >= DIRECTION_PEER)
		bench_enable_peers(c);
	s->lanes = bench_lanes(c);
	s->restart = bench_graph(c, s->lanes);
	s->case_lane = work_lane_of(s->lanes, 0, c->stream);
	work_graph_fork(s->restart, s->case_lane);
	for (uint32_t i = 0; i < s->count; i++)
		open_producer(s, c, i);
	work_graph_join(s->restart);
	if (s->adds)
		open_adder(s, c);
	s->made = bench_checked(c) ? bench_alloc_host(c, s->bytes) : NULL;
	s->arrived = bench_checked(c) ? bench_alloc_host(c, s->bytes) : NULL;
	return bench_graph_prepare(c, s->restart);
}

/* ------------------------------------------------------------------ rounds */

/* Sets the node that completes each band, and returns the last one. */
static uint32_t add_gemms(const struct producers *s, const struct producer_round *r, uint32_t i,
			  uint32_t *gemm_of_band)
{
	const struct producer *p = &s->producer[i];
	enum produce_mode mode = r->strategy->produce;
	uint32_t cut = mode == PRODUCE_LIBRARY ? 0 : chunk_begin(s, (i + 1) % s->count);
	uint32_t first = r->strategy->staggered ? cut : 0, node = 0;
	for (uint32_t done = 0, count; done < s->bands; done += count) {
		uint32_t band = (first + done) % s->bands;
		count = mode == PRODUCE_SPLIT ? 1 : (band < cut ? cut : s->bands) - band;
		struct dev_gemm gemm = bench_gemm_piece(&p->gemm, SHAPE_CUT_M, band * s->band_rows,
							rows_of(s, band, band + count));
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

static uint32_t add_wave(struct work_graph *g, uint32_t lane, const char *kernel, void *to,
			 const void *from, uint64_t bytes)
{
	const uint32_t reps = 1;
	const void *const args[] = {&to, &from, &bytes, &reps};
	return work_graph_kernel(g, lane, kernel, 0, args);
}

/* Sends bands [band, end) after node `ready`, or when counters say so. */
static void send_bands(const struct producers *s, struct producer_round *r, uint32_t i,
		       uint32_t band, uint32_t end, uint32_t ready, char *to)
{
	const struct producer *p = &s->producer[i];
	const struct strategy *strategy = r->strategy;
	uint64_t at = producers_bytes(s, 0, band), bytes = producers_bytes(s, band, end);
	char *from = (char *)p->gemm.c + at;
	if (strategy->produce == PRODUCE_COUNTING) {
		ready = work_graph_wait_value(r->graph, p->send_lane, p->counters + band, 0);
		r->waits[r->wait_count++] =
			(struct band_wait){ready, rows_of(s, band, end) * s->shape.n};
	}
	if (strategy->add != ADD_FROM_SENDER) {
		uint32_t copy =
			s->copies_by_kernel
				? add_wave(r->graph, p->send_lane, "copy", to, from, bytes)
				: work_graph_copy(r->graph, p->send_lane, to, from, bytes, 0);
		work_graph_edge(r->graph, ready, copy);
		ready = copy;
	}
	if (strategy->stamps_first && r->first_copy == 0) {
		r->first_copy = ready;
		work_graph_stamp_end(r->graph, ready);
	}
	if (strategy->add != ADD_NONE)
		work_graph_edge(r->graph, ready,
				add_wave(r->graph, s->add_lane, "reduce_add", s->sum + at,
					 strategy->add == ADD_FROM_COPY ? to : from, bytes));
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
		uint32_t first = chunk_begin(s, j), end = chunk_begin(s, j + 1);
		uint32_t step = whole ? end - first : 1;
		char *to = chunk_target(s, i, j);
		for (uint32_t band = first; to && band < end; band += step)
			send_bands(s, r, i, band, band + step, whole ? last : gemm_of_band[band],
				   to + producers_bytes(s, first, band));
	}
}

int producers_prepare(struct producers *s, struct bench_case *c, const struct strategy *strategy,
		      struct producer_round *r)
{
	*r = (struct producer_round){.strategy = strategy, .graph = bench_graph(c, s->lanes)};
	r->waits = bench_alloc_host(c, s->count * s->bands * sizeof(*r->waits));
	if (bench_status(c))
		return bench_status(c);
	work_graph_fork(r->graph, s->case_lane);
	for (uint32_t i = 0; i < s->count; i++)
		add_producer(s, r, i);
	work_graph_join(r->graph);
	int status = work_graph_prepare(r->graph);
	return bench_status_add(c,
				status ? status : work_graph_sync(r->graph, producers_round(s, r)));
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
	int status = r->strategy->produce == PRODUCE_COUNTING ? count_gemms(s, r) : 0;
	s->rounds_added += r->strategy->add != ADD_NONE;
	return status ? status : work_graph_run(r->graph);
}

/* ------------------------------------------------------------------ checking */

static int clear_sum(struct producers *s, struct bench_case *c)
{
	s->rounds_added = 0;
	return dev_fill(c->dev, c->stream, s->sum, 0, s->bytes);
}

int producers_clear_sum(struct producers *s, struct bench_case *c, const struct strategy *strategy)
{
	return strategy->add != ADD_NONE ? clear_sum(s, c) : 0;
}

int producers_poison(struct producers *s, struct bench_case *c)
{
	int status = s->adds ? clear_sum(s, c) : 0;
	for (uint32_t i = 0; status == 0 && i < s->count; i++) {
		status = bench_gemm_poison(&s->producer[i].gemm, c);
		if (status == 0)
			status = dev_fill(c->dev, c->stream, s->producer[i].inbox, 0x3c,
					  s->count * chunk_bytes(s, i));
	}
	return status;
}

static int compare_chunk(const struct producers *s, uint32_t i, uint32_t j)
{
	uint64_t at = producers_bytes(s, 0, chunk_begin(s, j)), bytes = chunk_bytes(s, j);
	const char *to = chunk_target(s, i, j), *made = s->made + at;
	int status = to ? dev_download(s->producer[j].receiver, s->arrived, to, bytes) : 0;
	if (!to || status || memcmp(s->arrived, made, bytes) == 0)
		return status;
	uint64_t wrong = 0;
	while (s->arrived[wrong] == made[wrong])
		wrong++;
	return bench_wrong("device %u, row %llu: what arrived differs from the GEMM's result", i,
			   (unsigned long long)((at + wrong) / s->row_bytes));
}

/* Rounds as the device does, once for each time it was added. */
static float add_repeatedly(float x, uint32_t times)
{
	float sum = 0.0f;
	for (uint32_t i = 0; i < times; i++)
		sum += x;
	return sum;
}

/* How often a result was added to the sum: in every round, or in those that took this set, which
 * the first element tells. */
static uint32_t count_additions(const struct producers *s, float made, float sum)
{
	uint32_t times = s->rotates ? 1 : s->rounds_added;
	float expected = add_repeatedly(made, times);
	for (; times < s->rounds_added && !(sum >= expected && sum <= expected); times++)
		expected += made;
	return times;
}

static int compare_sum(const struct producers *s)
{
	const float *made = (const float *)(const void *)s->made,
		    *sum = (const float *)(const void *)s->arrived;
	int status = dev_download(s->producer[0].receiver, s->arrived, s->sum, s->bytes);
	uint32_t times = status ? 0 : count_additions(s, made[0], sum[0]);
	for (uint64_t i = 0; status == 0 && i < s->bytes / sizeof(float); i++) {
		float expected = add_repeatedly(made[i], times);
		if (!(sum[i] >= expected && sum[i] <= expected))
			return bench_wrong("element %llu of the sum is %.9g, expected %.9g",
					   (unsigned long long)i, (double)sum[i], (double)expected);
	}
	return status;
}

int producers_check(const struct producers *s, struct bench_case *c,
		    const struct strategy *strategy)
{
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < s->count; i++) {
		const struct bench_gemm *gemm = &s->producer[i].gemm;
		if (strategy->produce != PRODUCE_NONE)
			status = bench_gemm_check(gemm, c, 1);
		if (status || strategy->send == SEND_NONE)
			continue;
		status = dev_download(gemm->dev, s->made, gemm->c, s->bytes);
		for (uint32_t j = 0; status == 0 && j < s->count; j++)
			if (strategy->add != ADD_FROM_SENDER)
				status = compare_chunk(s, i, j);
		if (status == 0 && strategy->add != ADD_NONE)
			status = compare_sum(s);
	}
	return status;
}
