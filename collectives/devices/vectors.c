/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/vectors.h"
#include "bench/bench_check.h"

#include <string.h>

#define BUFFER_FLOATS (1u << 20)

static int fill_device(struct vectors *v, struct rng *rng, size_t device)
{
	int status = 0;
	for (uint64_t at = 0, n, bits = 0; status == 0 && at < v->count; at += n) {
		n = v->count - at < BUFFER_FLOATS ? v->count - at : BUFFER_FLOATS;
		for (uint64_t i = 0; i < n; i++) {
			bits = i % 6 ? bits >> 10 : rng_u64(rng);
			v->host_buffer[i] = (float)(bits & 1023) - 512.0f;
			v->sum[at + i] += v->host_buffer[i];
		}
		status = dev_upload(v->set->dev[device], (float *)v->original[device] + at,
				    v->host_buffer, n * sizeof(float));
	}
	return status;
}

static void fill_devices(struct vectors *v, struct bench_case *c)
{
	v->host_buffer = bench_alloc_host(c, 2 * BUFFER_FLOATS * sizeof(float));
	v->sum = bench_alloc_host(c, v->count * sizeof(float));
	if (c->status == 0)
		memset(v->sum, 0, v->count * sizeof(float));
	for (size_t i = 0; i < v->set->count; i++)
		TRY(c->status, fill_device(v, &c->rng, i));
}

uint64_t vectors_stride(enum dev_collective what, uint64_t part)
{
	return what == DEV_REDUCE_SCATTER ? schedule_graph_bytes(part) / sizeof(float) : part;
}

static void open_device(struct vectors *v, struct bench_case *c, uint32_t i, uint64_t staging_bytes)
{
	struct schedule_graph_places *p = &v->places;
	struct dev *dev = v->set->dev[i];
	for (uint32_t k = 0; k < p->devices; k++)
		p->lane[k][i] = work_lane_normal(v->lanes, i);
	v->original[i] = bench_alloc_on(c, dev, DEV_MEM_DEVICE, v->bytes);
	p->vector[i] = bench_alloc_on(c, dev, DEV_MEM_DEVICE, v->bytes);
	p->staging[i] = bench_alloc_on(c, dev, DEV_MEM_DEVICE, staging_bytes);
	work_graph_copy(v->restore, p->lane[0][i], p->vector[i], v->original[i], v->bytes, 0);
	for (uint32_t k = 0; v->spread != v->restore && k < p->devices; k++)
		work_graph_copy(v->spread, p->lane[0][i], p->vector[i] + k * v->stride,
				(float *)v->original[i] + k * v->part, v->part * sizeof(float), 0);
	work_graph_fill(v->poison, p->lane[0][i], p->vector[i], 0xff, v->bytes);
	work_graph_fill(v->poison, p->lane[0][i], p->staging[i], 0xff, staging_bytes);
}

int vectors_open(struct vectors *v, struct bench_case *c, enum dev_collective what, uint64_t count,
		 uint64_t staging_bytes)
{
	v->what = what;
	v->count = count;
	v->part = what == DEV_ALLREDUCE ? count : count / c->devices->count;
	v->stride = vectors_stride(what, v->part);
	v->set = c->devices;
	v->bytes = schedule_graph_bytes(what == DEV_REDUCE_SCATTER ? v->set->count * v->stride
								   : count);
	v->places.devices = (uint32_t)v->set->count;
	v->lanes = bench_lanes(c);
	v->restore = bench_graph(c, v->lanes);
	v->spread = v->stride == v->part ? v->restore : bench_graph(c, v->lanes);
	v->poison = bench_graph(c, v->lanes);
	for (uint32_t i = 0; i < v->places.devices; i++)
		open_device(v, c, i, staging_bytes);
	if (bench_has_results(c))
		fill_devices(v, c);
	bench_graph_prepare(c, v->poison);
	if (v->spread != v->restore)
		bench_graph_prepare(c, v->spread);
	return bench_graph_prepare(c, v->restore);
}

int vectors_open_registered(struct vectors *registered, const struct vectors *v,
			    struct bench_case *c, struct dev_comm *comm, uint64_t staging_bytes)
{
	struct schedule_graph_places *p = &registered->places;
	void *vector[DEV_MAX], *staging[DEV_MAX];
	*registered = *v;
	int status = bench_comm_alloc(c, comm, v->bytes, vector);
	if (status == 0)
		status = bench_comm_alloc(c, comm, staging_bytes, staging);
	if (status)
		return status;
	registered->restore = registered->spread = bench_graph(c, v->lanes);
	registered->poison = bench_graph(c, v->lanes);
	for (uint32_t i = 0; i < p->devices; i++) {
		const uint32_t lane = p->lane[0][i];
		p->vector[i] = vector[i];
		p->staging[i] = staging[i];
		work_graph_copy(registered->restore, lane, vector[i], v->original[i], v->bytes, 0);
		work_graph_fill(registered->poison, lane, vector[i], 0xff, v->bytes);
		work_graph_fill(registered->poison, lane, staging[i], 0xff, staging_bytes);
	}
	bench_graph_prepare(c, registered->restore);
	return bench_graph_prepare(c, registered->poison);
}

/* Loads what a device must have from float `at` on, of one part: the other devices' originals are
 * still theirs, and the sum is the host's. */
static int load_expected(struct vectors *v, uint32_t device, uint64_t at, uint64_t n,
			 const float **wanted_p)
{
	float *buffer = v->host_buffer + BUFFER_FLOATS;
	const uint64_t from = at / v->part, within = at % v->part;
	if (v->what == DEV_ALLREDUCE || v->what == DEV_REDUCE_SCATTER) {
		*wanted_p = v->sum + at;
		return 0;
	}
	*wanted_p = buffer;
	return dev_download(v->set->dev[from], buffer,
			    (float *)v->original[from] +
				    (v->what == DEV_ALLGATHER ? at : device * v->part + within),
			    n * sizeof(float));
}

/* `result` is where float `at` of the vector is. */
static int check_floats(struct vectors *v, uint32_t device, uint64_t at, const float *result,
			uint64_t n)
{
	const float *wanted = NULL;
	int status = load_expected(v, device, at, n, &wanted);
	TRY(status, dev_download(v->set->dev[device], v->host_buffer, result, n * sizeof(float)));
	for (uint64_t i = 0; status == 0 && i < n; i++) {
		const unsigned long long place = at + i;
		if (!(v->host_buffer[i] == wanted[i]))
			status = bench_wrong("device %u: element %llu is %g, not %g", device, place,
					     (double)v->host_buffer[i], (double)wanted[i]);
	}
	return status;
}

static int check_device(struct vectors *v, struct bench_case *c, uint32_t device, bool spread)
{
	struct dev *dev = v->set->dev[device];
	const bool own_part = v->what == DEV_REDUCE_SCATTER;
	const uint64_t first = own_part ? device * v->part : 0,
		       end = own_part ? first + v->part : v->count;
	const float *result = (v->what == DEV_ALL_TO_ALL ? (float *)v->places.staging[device]
							 : v->places.vector[device]) +
			      (own_part && spread ? device * v->stride : first);
	const uint64_t bytes = (end - first) * sizeof(float);
	int status = 0;
	if (bench_known_right(c, dev, result, bytes))
		return 0;
	for (uint64_t at = first, n; status == 0 && at < end; at += n) {
		uint64_t left = v->part - at % v->part;
		n = left < BUFFER_FLOATS ? left : BUFFER_FLOATS;
		status = check_floats(v, device, at, result + (at - first), n);
	}
	if (status == 0)
		bench_note_right(c, dev, result, bytes);
	return status;
}

int vectors_check(struct vectors *v, struct bench_case *c, bool spread)
{
	for (uint32_t i = 0; i < v->places.devices; i++)
		TRY(c->status, check_device(v, c, i, spread));
	return c->status;
}
