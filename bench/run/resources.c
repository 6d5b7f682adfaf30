/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/run/resources.h"
#include "bench/bench_alloc.h"
#include "bench/graph/bench_graph.h"
#include "lib/err.h"
#include "lib/vec.h"

#include <errno.h>
#include <stdlib.h>

enum resource_kind { MEMORY, PART, COMM_MEMORY, HOST, STREAM, EVENT, GATE, LANES, GRAPH, TRACKER };

struct resource {
	enum resource_kind kind;
	struct dev *dev;
	void *handle;
	enum dev_mem mem; /* MEMORY, PART */
	uint64_t bytes;
};

/* COMM_MEMORY; the PART of each device is listed too, for look-ups. */
struct comm_memory {
	struct dev_comm *comm;
	void *start[DEV_MAX];
};

static int free_comm_memory(struct comm_memory *m)
{
	int status = dev_comm_free(m->comm, m->start);
	free(m);
	return status;
}

static int close_resource(const struct resource *o)
{
	switch (o->kind) {
	case MEMORY:
		return dev_free(o->dev, o->handle);
	case COMM_MEMORY:
		return free_comm_memory(o->handle);
	case PART:
		return 0;
	case STREAM:
		dev_stream_close(o->dev, o->handle);
		return 0;
	case EVENT:
		dev_event_close(o->dev, o->handle);
		return 0;
	case GATE:
		gate_close(o->handle);
		return 0;
	case LANES:
		work_lanes_close(o->handle);
		return 0;
	case GRAPH:
		work_graph_close(o->handle);
		return 0;
	case TRACKER:
		dev_tracker_close(o->dev, o->handle);
		return 0;
	case HOST:
		break;
	}
	free(o->handle);
	return 0;
}

/* Space in the list comes first, so that every opened resource can be recorded. */
static bool reserve_entry(struct bench_case *c)
{
	struct resources *all = c->run->resources;
	if (c->status)
		return false;
	struct resource *grown = vec_grow(all->entries, all->count, &all->capacity, sizeof(*grown));
	if (grown)
		all->entries = grown;
	else
		TRY(c->status, err_note(-ENOMEM, "a list of %zu resources of a case: out of memory",
					all->count + 1));
	return c->status == 0;
}

static void *keep_resource(struct bench_case *c, enum resource_kind kind, struct dev *dev,
			   void *handle, int status)
{
	struct resources *all = c->run->resources;
	if (TRY(c->status, status))
		return NULL;
	all->entries[all->count++] = (struct resource){.kind = kind, .dev = dev, .handle = handle};
	return handle;
}

static void *keep_memory(struct bench_case *c, enum resource_kind kind,
			 const struct bench_memory *m, int status)
{
	if (!keep_resource(c, kind, m->dev, m->start, status))
		return NULL;
	struct resource *kept = &c->run->resources->entries[c->run->resources->count - 1];
	kept->mem = m->kind;
	kept->bytes = m->bytes;
	return m->start;
}

void *bench_alloc_on(struct bench_case *c, struct dev *dev, enum dev_mem kind, uint64_t bytes)
{
	void *memory = NULL;
	if (!reserve_entry(c))
		return NULL;
	int status = dev_alloc(dev, kind, bytes, &memory);
	return keep_memory(c, MEMORY, &(struct bench_memory){dev, kind, memory, bytes}, status);
}

void *bench_alloc_on_node(struct bench_case *c, struct dev *dev, uint32_t node, uint64_t bytes)
{
	void *memory = NULL;
	if (!reserve_entry(c))
		return NULL;
	int status = dev_alloc_on_node(dev, node, bytes, &memory);
	return keep_memory(c, MEMORY, &(struct bench_memory){dev, DEV_MEM_PINNED, memory, bytes},
			   status);
}

int bench_comm_alloc(struct bench_case *c, struct dev_comm *comm, uint64_t bytes, void **ptrs)
{
	if (!reserve_entry(c))
		return c->status;
	struct comm_memory *m = malloc(sizeof(*m));
	if (!m)
		return TRY(c->status, err_note(-ENOMEM, "memory of a communicator: out of memory"));
	m->comm = comm;
	int status = dev_comm_alloc(comm, bytes, m->start);
	if (status) {
		free(m);
		return status == -ENOTSUP || status == -ENOMEM ? status : TRY(c->status, status);
	}
	keep_resource(c, COMM_MEMORY, NULL, m, 0);
	for (size_t i = 0; i < comm->count && reserve_entry(c); i++) {
		struct dev *dev = c->devices->dev[i];
		ptrs[i] = m->start[i];
		keep_memory(c, PART, &(struct bench_memory){dev, DEV_MEM_DEVICE, ptrs[i], bytes},
			    0);
	}
	return c->status;
}

bool bench_memory_find(const struct bench_case *c, const void *at, struct bench_memory *m_p)
{
	const struct resources *all = c->run->resources;
	for (size_t i = 0; i < all->count; i++) {
		const struct resource *o = &all->entries[i];
		const char *start = o->handle, *byte = at;
		if ((o->kind != MEMORY && o->kind != PART) || byte < start ||
		    byte >= start + o->bytes)
			continue;
		*m_p = (struct bench_memory){o->dev, o->mem, o->handle, o->bytes};
		return true;
	}
	return false;
}

bool bench_same_memory(const struct bench_case *c, const void *a, const void *b)
{
	struct bench_memory x, y;
	return bench_memory_find(c, a, &x) && bench_memory_find(c, b, &y) && x.kind == y.kind &&
	       x.dev == y.dev;
}

void *bench_alloc(struct bench_case *c, enum dev_mem kind, uint64_t bytes)
{
	return bench_alloc_on(c, c->dev, kind, bytes);
}

void *bench_alloc_host(struct bench_case *c, uint64_t bytes)
{
	if (!reserve_entry(c))
		return NULL;
	void *memory = malloc(bytes);
	int status = memory ? 0
			    : err_note(-ENOMEM, "%llu bytes of host memory: out of memory",
				       (unsigned long long)bytes);
	return keep_resource(c, HOST, NULL, memory, status);
}

struct dev_stream *bench_stream_on(struct bench_case *c, struct dev *dev, int priority)
{
	struct dev_stream *stream = NULL;
	if (!reserve_entry(c))
		return NULL;
	int status = dev_stream_open(dev, priority, &stream);
	return keep_resource(c, STREAM, dev, stream, status);
}

struct dev_stream *bench_stream(struct bench_case *c, int priority)
{
	return bench_stream_on(c, c->dev, priority);
}

struct dev_event *bench_event_on(struct bench_case *c, struct dev *dev)
{
	struct dev_event *event = NULL;
	if (!reserve_entry(c))
		return NULL;
	int status = dev_event_open(dev, &event);
	return keep_resource(c, EVENT, dev, event, status);
}

struct dev_event *bench_event(struct bench_case *c) { return bench_event_on(c, c->dev); }

struct gate *bench_gate(struct bench_case *c, uint64_t limit_ns)
{
	struct gate *gate = NULL;
	if (!reserve_entry(c))
		return NULL;
	int status = gate_open(c->dev, limit_ns, &gate);
	return keep_resource(c, GATE, c->dev, gate, status);
}

struct work_lanes *bench_lanes_on(struct bench_case *c, struct dev *const *devices, size_t count)
{
	struct work_lanes *lanes = NULL;
	if (!reserve_entry(c))
		return NULL;
	int status = work_lanes_open(devices, count, &lanes);
	return keep_resource(c, LANES, NULL, lanes, status);
}

struct work_lanes *bench_lanes(struct bench_case *c)
{
	return bench_lanes_on(c, c->devices->dev, c->devices->count);
}

struct work_graph *bench_graph(struct bench_case *c, struct work_lanes *lanes)
{
	struct work_graph *graph = NULL;
	if (!reserve_entry(c))
		return NULL;
	int status = work_graph_open(lanes, &graph);
	return keep_resource(c, GRAPH, NULL, graph, status);
}

struct dev_tracker *bench_tracker_on(struct bench_case *c, struct dev *dev,
				     const struct dev_tracker_map *map)
{
	struct dev_tracker *tracker = NULL;
	if (!reserve_entry(c))
		return NULL;
	int status = dev_tracker_open(dev, map, &tracker);
	return keep_resource(c, TRACKER, dev, tracker, status);
}

struct dev_kernel *bench_kernel(struct bench_case *c, const char *name)
{
	struct dev_kernel *kernel = NULL;
	TRY(c->status, dev_kernel_find(c->dev, name, &kernel));
	return kernel;
}

bool bench_has_streams(const struct bench_run *r)
{
	bool has = false;
	for (size_t i = 0; i < r->resources->count; i++)
		has = has || r->resources->entries[i].kind == STREAM ||
		      r->resources->entries[i].kind == LANES;
	return has;
}

int bench_resources_sync(struct bench_run *r)
{
	int status = 0;
	for (size_t i = r->resources->count; i-- > 0;) {
		const struct resource *o = &r->resources->entries[i];
		int synced = o->kind == STREAM  ? dev_stream_sync(o->dev, o->handle)
			     : o->kind == LANES ? work_lanes_sync(o->handle)
						: 0;
		status = status ? status : synced;
	}
	return status;
}

int bench_resources_close(struct bench_run *r)
{
	int status = 0;
	while (r->resources->count) {
		int closed = close_resource(&r->resources->entries[--r->resources->count]);
		status = status ? status : closed;
	}
	r->c.status = 0;
	return status;
}

void bench_resources_free(struct bench_run *r)
{
	bench_resources_close(r);
	free(r->resources->entries);
	*r->resources = (struct resources){0};
}
