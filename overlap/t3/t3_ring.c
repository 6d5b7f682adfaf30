/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/t3/t3_ring.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

uint32_t t3_chunk_row(const struct t3_ring *r, uint32_t j)
{
	return (uint32_t)((uint64_t)r->shape.m * j / r->count);
}

uint64_t t3_chunk_bytes(const struct t3_ring *r, uint32_t j)
{
	return (t3_chunk_row(r, j + 1) - t3_chunk_row(r, j)) * r->row_bytes;
}

static uint64_t chunk_offset(const struct t3_ring *r, uint32_t j)
{
	return t3_chunk_row(r, j) * r->row_bytes;
}

static char *chunk_of_c(const struct t3_ring *r, uint32_t i, uint32_t j)
{
	return (char *)r->device[i].gemm.c + chunk_offset(r, j);
}

/* Every buffer of a step has the place of the largest chunk. */
static char *inbox_of_step(const struct t3_ring *r, uint32_t i, uint32_t step)
{
	const uint64_t rows = (r->shape.m + r->count - 1) / r->count;
	return r->device[i].inbox + step * rows * r->row_bytes;
}

static uint32_t previous_device(const struct t3_ring *r, uint32_t i)
{
	return (i + r->count - 1) % r->count;
}
static uint32_t next_device(const struct t3_ring *r, uint32_t i) { return (i + 1) % r->count; }

/* ------------------------------------------------------------------ opening */

static void open_device(struct t3_ring *r, struct bench_case *c, uint32_t i)
{
	struct t3_device *d = &r->device[i];
	const uint64_t chunk_bytes = (r->shape.m + r->count - 1) / r->count * r->row_bytes;
	d->dev = c->devices->dev[i];
	bench_gemm_open(&d->gemm, c, d->dev, &r->shape, r->type);
	d->inbox = bench_alloc_on(c, d->dev, DEV_MEM_DEVICE, (r->count - 1) * chunk_bytes);
	d->sum = bench_alloc_on(c, d->dev, DEV_MEM_DEVICE, chunk_bytes);
	d->gathered = bench_alloc_on(c, d->dev, DEV_MEM_DEVICE, d->gemm.c_bytes);
}

/* Map each chunk of device i. The stores of chunk i + 1 go away whenever it is computed, so one
 * tracker serves every order. */
static void open_tracker(struct t3_ring *r, struct bench_case *c, uint32_t i)
{
	struct dev_tracked_rows ranges[DEV_MAX];
	void *to = r->device[previous_device(r, i)].gemm.c;
	for (uint32_t j = 0; j < r->count; j++) {
		const uint32_t first = t3_chunk_row(r, j);
		ranges[j] = (struct dev_tracked_rows){.first_row = first,
						      .rows = t3_chunk_row(r, j + 1) - first,
						      .what = DEV_TRACKED_FORWARD,
						      .updates = 2,
						      .to = to};
	}
	ranges[next_device(r, i)].what = DEV_TRACKED_AWAY;
	ranges[i].what = DEV_TRACKED_KEPT;
	ranges[i].to = NULL;
	const struct dev_tracker_map map = {.at = r->device[i].gemm.c,
					    .type = dev_types[r->type].result,
					    .rows = r->shape.m,
					    .columns = r->shape.n,
					    .tile_rows = T3_TILE,
					    .tile_columns = T3_TILE,
					    .ranges = ranges,
					    .count = r->count};
	r->device[i].tracker = bench_tracker_on(c, r->device[i].dev, &map);
}

/* The devices of a list may be some of a larger ring. */
static int check_ring(const struct bench_case *c)
{
	const struct dev_set *set = c->devices;
	for (size_t i = 0; i < set->count; i++) {
		struct dev *to = set->dev[(i + set->count - 1) % set->count];
		struct dev_path path;
		int status = dev_path_read(set->dev[i], to, &path);
		if (status)
			return status;
		if (path.hops > 1)
			return err_note(
				-ENOTSUP,
				"the devices do not form a ring: from device %u to %u there are "
				"%u links",
				set->dev[i]->index, to->index, path.hops);
	}
	return 0;
}

int t3_ring_open(struct t3_ring *r, struct bench_case *c, const struct shape *shape,
		 enum dev_type type)
{
	if (bench_enable_peers(c) || TRY(c->status, check_ring(c)))
		return c->status;
	*r = (struct t3_ring){.count = (uint32_t)c->devices->count,
			      .shape = *shape,
			      .type = type,
			      .row_bytes = (uint64_t)shape->n * dev_type_result_bytes(type)};
	for (uint32_t j = 0; j < r->count; j++)
		if (t3_chunk_bytes(r, j) == 0 || t3_chunk_bytes(r, j) % DEV_KERNEL_ALIGN)
			return TRY(c->status,
				   err_note(-ENOTSUP,
					    "chunk %u of %u has %llu bytes; kernels take multiples "
					    "of %u",
					    j, r->count, (unsigned long long)t3_chunk_bytes(r, j),
					    DEV_KERNEL_ALIGN));
	r->lanes = bench_lanes(c);
	for (uint32_t i = 0; i < r->count; i++)
		open_device(r, c, i);
	for (uint32_t i = 0; i < r->count; i++)
		open_tracker(r, c, i);
	return c->status;
}

void t3_lanes_open(const struct t3_ring *r, struct bench_case *c, uint32_t units,
		   struct t3_lanes *lanes)
{
	lanes->units = units;
	for (uint32_t i = 0; i < r->count; i++) {
		struct dev *dev = r->device[i].dev;
		lanes->gemm[i] = work_lane_normal(r->lanes, i);
		lanes->communication[i] = work_lane_normal(r->lanes, i);
		struct dev_stream *gemm = work_lane_stream(r->lanes, lanes->gemm[i]),
				  *other = work_lane_stream(r->lanes, lanes->communication[i]);
		if (c->status || !gemm || !other)
			return;
		TRY(c->status, dev_stream_class(dev, other, DEV_COMMUNICATION));
		if (units == 0)
			continue;
		TRY(c->status, dev_stream_units(dev, other, 0, units));
		TRY(c->status, dev_stream_units(dev, gemm, units, dev_props(dev)->units - units));
	}
}

/* ------------------------------------------------------------------ graphs */

/* A graph that is built, and of every device the node after which its communication may start. */
struct building {
	const struct t3_ring *ring;
	const struct t3_lanes *lanes;
	struct work_graph *g;
	uint32_t ready[DEV_MAX];
	bool has_ready, fused;
	uint32_t blocks; /* of a kernel; 0: a wave of all units */
};

static uint32_t add_copy(struct building *b, uint32_t i, void *to, const void *from, uint64_t bytes)
{
	const uint32_t reps = 1;
	const void *const args[] = {&to, &from, &bytes, &reps};
	return work_graph_kernel(b->g, b->lanes->communication[i], "copy_nt", b->blocks, args);
}

static uint32_t add_sum(struct building *b, uint32_t i, void *to, const void *own,
			const void *received, uint64_t bytes)
{
	const uint32_t reps = 1;
	const float scale = 1.0f;
	const void *const args[] = {&to, &own, &received, &bytes, &reps, &scale};
	return work_graph_kernel(b->g, b->lanes->communication[i], "triad_nt", b->blocks, args);
}

static void add_gemms(struct building *b)
{
	for (uint32_t i = 0; i < b->ring->count; i++) {
		const struct dev_gemm gemm = bench_gemm_whole(&b->ring->device[i].gemm);
		b->ready[i] = work_graph_gemm(b->g, b->lanes->gemm[i], &gemm);
	}
	b->has_ready = true;
}

/* In each step every device sends once, after its neighbour in the step before, or after what has
 * made its communication ready. Nodes of one device's lane are in order, so one that waits for its
 * neighbour waits for all that the neighbour sent before. */
static void add_steps(struct building *b, uint32_t steps,
		      uint32_t (*send)(struct building *b, uint32_t i, uint32_t step))
{
	const struct t3_ring *r = b->ring;
	uint32_t sent[DEV_MAX] = {0};
	for (uint32_t step = 0; step < steps; step++) {
		for (uint32_t i = 0; i < r->count; i++) {
			sent[i] = send(b, i, step);
			if (b->has_ready)
				work_graph_edge(b->g, b->ready[step ? next_device(r, i) : i],
						sent[i]);
		}
		memcpy(b->ready, sent, sizeof(sent));
		b->has_ready = true;
	}
}

/* In the last step the owner adds. */
static uint32_t reduce_chunk(struct building *b, uint32_t i, uint32_t step)
{
	const struct t3_ring *r = b->ring;
	const uint32_t j = (i + 1 + step) % r->count;
	char *own = chunk_of_c(r, i, j),
	     *to = i == j ? r->device[i].sum : inbox_of_step(r, previous_device(r, i), step);
	return step ? add_sum(b, i, to, own, inbox_of_step(r, i, step - 1), t3_chunk_bytes(r, j))
		    : add_copy(b, i, to, own, t3_chunk_bytes(r, j));
}

static uint32_t add_to_next(struct building *b, uint32_t i, uint32_t step)
{
	const struct t3_ring *r = b->ring;
	const uint32_t j = (i + 1 + step) % r->count;
	return work_graph_copy_add(b->g, b->lanes->communication[i],
				   chunk_of_c(r, previous_device(r, i), j), chunk_of_c(r, i, j),
				   t3_chunk_bytes(r, j), dev_types[r->type].result);
}

/* The sum of chunk i is in device i's `sum`, or in its C. */
static uint32_t gather_chunk(struct building *b, uint32_t i, uint32_t step)
{
	const struct t3_ring *r = b->ring;
	const uint32_t j = (i + step) % r->count;
	const char *own = b->fused ? chunk_of_c(r, i, j) : r->device[i].sum;
	return add_copy(b, i, r->device[previous_device(r, i)].gathered + chunk_offset(r, j),
			step ? r->device[i].gathered + chunk_offset(r, j) : own,
			t3_chunk_bytes(r, j));
}

static void add_fused(struct building *b, bool staggered)
{
	const struct t3_ring *r = b->ring;
	uint32_t armed[DEV_MAX];
	for (uint32_t i = 0; i < r->count; i++)
		armed[i] = work_graph_arm(b->g, b->lanes->communication[i], r->device[i].tracker);
	for (uint32_t i = 0; i < r->count; i++) {
		struct dev_gemm gemm = bench_gemm_whole(&r->device[i].gemm);
		gemm.tiled = gemm.adds = true;
		gemm.first_row = staggered ? t3_chunk_row(r, next_device(r, i)) : 0;
		const uint32_t node = work_graph_gemm(b->g, b->lanes->gemm[i], &gemm);
		work_graph_edge(b->g, armed[i], node);
		work_graph_edge(b->g, armed[previous_device(r, i)], node);
	}
	for (uint32_t i = 0; i < r->count; i++)
		b->ready[i] =
			work_graph_tracked(b->g, b->lanes->communication[i], r->device[i].tracker);
	b->has_ready = b->fused = true;
}

struct work_graph *t3_graph(const struct t3_ring *r, struct bench_case *c,
			    const struct t3_lanes *lanes, unsigned work)
{
	const struct dev_props *p = dev_props(c->dev);
	struct building b = {.ring = r,
			     .lanes = lanes,
			     .g = bench_graph(c, r->lanes),
			     .blocks = p->busy_blocks / p->units * lanes->units};
	if (work & T3_GEMMS)
		add_gemms(&b);
	if (work & T3_REDUCE)
		add_steps(&b, r->count, reduce_chunk);
	if (work & T3_ADD)
		add_steps(&b, r->count - 1, add_to_next);
	if (work & T3_FUSE)
		add_fused(&b, !(work & T3_FROM_0));
	if (work & T3_GATHER)
		add_steps(&b, r->count - 1, gather_chunk);
	return bench_graph_prepare(c, b.g) ? NULL : b.g;
}
