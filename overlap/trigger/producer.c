/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/producer.h"
#include "bench/bench_alloc.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>

const char *const producer_directions[] = {"down", "local", "peer", "exchange", "ring", NULL};

/* ------------------------------------------------------------------ bands */

uint32_t producers_rows(const struct producers *s, uint32_t first, uint32_t end)
{
	uint32_t m = s->shape.m, to = end * s->band_rows;
	return (to < m ? to : m) - first * s->band_rows;
}

uint64_t producers_bytes(const struct producers *s, uint32_t first, uint32_t end)
{
	return producers_rows(s, first, end) * s->row_bytes;
}

uint32_t producers_chunk(const struct producers *s, uint32_t chunk)
{
	return s->bands * chunk / s->count;
}

uint64_t producers_chunk_bytes(const struct producers *s, uint32_t chunk)
{
	return producers_bytes(s, producers_chunk(s, chunk), producers_chunk(s, chunk + 1));
}

char *producers_target(const struct producers *s, uint32_t i, uint32_t j)
{
	bool stays = i == j && s->count > 1;
	return stays ? NULL : s->producer[j].inbox + i * producers_chunk_bytes(s, j);
}

static bool kernels_take_bands(const struct producers *s)
{
	return (producers_bytes(s, 0, 1) | s->bytes) % DEV_KERNEL_ALIGN == 0;
}

static int cut_into_bands(struct producers *s, const struct bench_case *c)
{
	uint32_t bands = (uint32_t)axis_u64(c, "bands"), tile = dev_props(c->dev)->gemm_tile_rows;
	enum dev_type type = (enum dev_type)axis_index(c, "type");
	const int status = bench_gemm_shape(c, &s->shape);
	if (status)
		return status;
	const uint32_t m = s->shape.m, n = s->shape.n;
	if ((uint64_t)bands * tile > m)
		return err_note(-ENOTSUP,
				"M = %u cannot be cut into %u bands: each is one or more "
				"tiles, here of %u row%s",
				m, bands, tile, tile > 1 ? "s" : "");
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
	return 0;
}

/* Decide which sums can be added, and how often before a sum could round. */
static int plan_sums(struct producers *s, const struct bench_case *c)
{
	const bool f32 = axis_index(c, "type") == DEV_F32, whole = kernels_take_bands(s);
	const uint64_t terms = (uint64_t)s->shape.k * s->count;
	s->max_rounds = (uint32_t)(GEMM_EXACT_TERMS / terms);
	s->kernels_add = s->direction != DIRECTION_DOWN && f32 && whole && s->max_rounds > 0;
	s->gemms_add = s->direction != DIRECTION_DOWN && f32 && s->max_rounds > 0;
	for (size_t i = 0; i < c->devices->count; i++)
		if (!(dev_props(c->devices->dev[i])->gemm_adding_types >> DEV_F32 & 1))
			s->gemms_add = false;
	if (s->direction != DIRECTION_RING || s->kernels_add)
		return 0;
	if (!f32)
		return err_note(-ENOTSUP, "the sums of a ring are of f32");
	return whole ? err_note(-ENOTSUP, "sums of %llu terms of f32 may round",
				(unsigned long long)terms)
		     : err_note(-ENOTSUP, "kernels add multiples of %u bytes; a band has %llu",
				DEV_KERNEL_ALIGN, (unsigned long long)producers_bytes(s, 0, 1));
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
				.count = d >= DIRECTION_EXCHANGE ? (uint32_t)c->devices->count : 1,
				.copies_by_kernel = axis_index(c, "copy-method") == 1};
	TRY(status, cut_into_bands(s, c));
	return TRY(status, plan_sums(s, c));
}

int producers_admit(const struct bench_case *c)
{
	struct producers planned;
	return plan_producers(&planned, c);
}

/* ------------------------------------------------------------------ opening */

/* Open the place where producer i's data arrives, and is added. */
static void open_receiver(struct producers *s, struct bench_case *c, uint32_t i)
{
	struct producer *p = &s->producer[i];
	const uint32_t at = s->direction == DIRECTION_PEER ? 1 : i;
	const enum dev_mem kind = s->direction == DIRECTION_DOWN ? DEV_MEM_PINNED : DEV_MEM_DEVICE;
	p->receiver = c->devices->dev[at];
	p->inbox_bytes =
		s->direction == DIRECTION_RING ? s->bytes : s->count * producers_chunk_bytes(s, i);
	p->inbox = bench_alloc_on(c, p->receiver, kind, p->inbox_bytes);
	if (s->kernels_add)
		p->add_lane = work_lane(s->lanes, at, dev_props(p->receiver)->priority_high);
	if (s->gemms_add || (s->kernels_add && s->direction != DIRECTION_RING))
		p->sum =
			bench_alloc_on(c, p->receiver, DEV_MEM_DEVICE, producers_chunk_bytes(s, i));
}

static void open_producer(struct producers *s, struct bench_case *c, uint32_t i)
{
	struct producer *p = &s->producer[i];
	struct dev *dev = c->devices->dev[i];
	bench_gemm_open_exact(&p->gemm, c, dev, &s->shape, (enum dev_type)axis_index(c, "type"));
	p->gemm_lane = i ? work_lane_normal(s->lanes, i) : s->case_lane;
	p->send_lane = work_lane(s->lanes, i, dev_props(dev)->priority_high);
	p->counters = bench_alloc_on(c, dev, DEV_MEM_DEVICE, s->bands * sizeof(*p->counters));
	work_graph_fill(s->restart, p->gemm_lane, p->counters, 0, s->bands * sizeof(*p->counters));
	open_receiver(s, c, i);
}

int producers_open(struct producers *s, struct bench_case *c)
{
	if (TRY(c->status, plan_producers(s, c)))
		return c->status;
	if (s->direction >= DIRECTION_PEER)
		bench_enable_peers(c);
	s->lanes = bench_lanes(c);
	s->restart = bench_graph(c, s->lanes);
	s->case_lane = work_lane_of(s->lanes, 0, c->stream);
	work_graph_fork(s->restart, s->case_lane);
	for (uint32_t i = 0; i < s->count; i++)
		open_producer(s, c, i);
	work_graph_join(s->restart);
	if (bench_checked(c)) {
		s->made = bench_alloc_host(c, s->bytes);
		s->arrived = bench_alloc_host(c, s->bytes);
		if (s->kernels_add || s->gemms_add)
			s->total = bench_alloc_host(c, s->bytes);
	}
	return bench_graph_prepare(c, s->restart);
}

/* ------------------------------------------------------------------ before a round */

uint32_t producers_rounds_at_once(const struct producers *s)
{
	return s->max_rounds > 1 ? s->max_rounds / 2 : 1;
}

int producers_clear_sums(struct producers *s, struct bench_case *c)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->producer[i].sum)
			TRY(c->status, dev_fill(c->dev, c->stream, s->producer[i].sum, 0,
						producers_chunk_bytes(s, i)));
	s->rounds_added = s->rotates ? s->rounds_added : 0;
	return c->status;
}

int producers_poison(struct producers *s, struct bench_case *c)
{
	producers_clear_sums(s, c);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct producer *p = &s->producer[i];
		TRY(c->status, bench_gemm_poison(&p->gemm, c));
		TRY(c->status, dev_fill(c->dev, c->stream, p->inbox, 0x3c, p->inbox_bytes));
	}
	return c->status;
}
