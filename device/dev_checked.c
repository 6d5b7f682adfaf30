/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev_checked.h"
#include "device/dev_registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Stands for the backend's communicator towards the caller. */
struct checked_comm {
	struct dev_comm base; /* must be first: struct dev_comm * is cast to it */
	struct dev_comm *inner;
	struct dev *devices[DEV_MAX];
};

static const struct dev_ops *inner_of(const struct dev *d) { return d->checks->inner; }

static void checked_close(struct dev *d)
{
	struct dev_checks *c = d->checks;
	registry_remove_device(c);
	c->inner->close(d);
	free(c);
}

/* ------------------------------------------------------------------ memory */

/* Gives new memory to the caller, or back to the device if it cannot be registered. */
static int keep_memory(struct dev *d, enum dev_mem kind, void *ptr, uint64_t bytes, void **ptr_p)
{
	int status = registry_add_memory(d, kind, ptr, bytes);
	if (status)
		inner_of(d)->free(d, ptr);
	else
		*ptr_p = ptr;
	return status;
}

static int checked_alloc(struct dev *d, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	void *ptr;
	int status = inner_of(d)->alloc(d, kind, bytes, &ptr);
	return status ? status : keep_memory(d, kind, ptr, bytes, ptr_p);
}

static int checked_alloc_on_node(struct dev *d, uint32_t node, uint64_t bytes, void **ptr_p)
{
	void *ptr;
	int status = inner_of(d)->alloc_on_node(d, node, bytes, &ptr);
	return status ? status : keep_memory(d, DEV_MEM_PINNED, ptr, bytes, ptr_p);
}

static int checked_free(struct dev *d, void *ptr)
{
	struct registered_memory *m;
	if (!ptr)
		return inner_of(d)->free(d, ptr);
	int status = registry_take_memory(d, ptr, &m);
	if (status)
		return status;
	status = inner_of(d)->free(d, ptr);
	registry_end_free(m, status == 0);
	return status;
}

static int checked_ipc_import(struct dev *d, const struct dev_ipc *handle, uint64_t bytes,
			      void **ptr_p)
{
	void *ptr;
	int status = inner_of(d)->ipc_import(d, handle, bytes, &ptr);
	return status ? status : keep_memory(d, DEV_MEM_DEVICE, ptr, bytes, ptr_p);
}

static int checked_peer_enable(struct dev *d, struct dev *other)
{
	int status = inner_of(d)->peer_enable(d, other);
	return status ? status : registry_add_peers(d, other);
}

static int checked_copy(struct dev *d, struct dev_stream *s, void *dst, const void *src,
			uint64_t bytes)
{
	const uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;
	const struct dev_range ends[] = {{.ptr = dst, .bytes = bytes, .pageable = true},
					 {.ptr = src, .bytes = bytes, .pageable = true}};
	int status = 0;
	if ((to < from ? from - to : to - from) < bytes) {
		for (unsigned i = 0; i < 2 && !status; i++)
			status = registry_check_range(d, &ends[i]);
		return status ? status
			      : err_note(-EINVAL, "copy %llu bytes: source and destination overlap",
					 (unsigned long long)bytes);
	}
	status = registry_enqueue(d, s, ends, 2, NULL);
	return status ? status : inner_of(d)->copy(d, s, dst, src, bytes);
}

static int checked_copy_batch(struct dev *d, struct dev_stream *s, size_t count, void *const *dsts,
			      const void *const *srcs, const uint64_t *bytes)
{
	struct dev_range ends[2 * DEV_BATCH_MAX];
	int status = dev_check_batch(count, dsts, srcs, bytes);
	for (size_t i = 0; i < count; i++) {
		ends[2 * i] = (struct dev_range){.ptr = dsts[i], .bytes = bytes[i]};
		ends[2 * i + 1] = (struct dev_range){.ptr = srcs[i], .bytes = bytes[i]};
	}
	if (!status)
		status = registry_enqueue(d, s, ends, 2 * count, NULL);
	return status ? status : inner_of(d)->copy_batch(d, s, count, dsts, srcs, bytes);
}

static int checked_fill(struct dev *d, struct dev_stream *s, void *dst, uint8_t byte,
			uint64_t bytes)
{
	const struct dev_range range = {.ptr = dst, .bytes = bytes};
	int status = registry_enqueue(d, s, &range, 1, NULL);
	return status ? status : inner_of(d)->fill(d, s, dst, byte, bytes);
}

static int checked_file_read(struct dev *d, struct dev_stream *s, const struct dev_file *f,
			     uint64_t offset, void *dst, uint64_t bytes)
{
	const struct dev_range range = {.ptr = dst, .bytes = bytes};
	int status = registry_enqueue(d, s, &range, 1, NULL);
	return status ? status : inner_of(d)->file_read(d, s, f, offset, dst, bytes);
}

/* ------------------------------------------------------------------ streams */

static int checked_stream_open(struct dev *d, int priority, struct dev_stream **s_p)
{
	struct dev_stream *s;
	int status = inner_of(d)->stream_open(d, priority, &s);
	if (status)
		return status;
	status = registry_add_handle(d, HANDLE_STREAM, s);
	if (status)
		inner_of(d)->stream_close(d, s);
	else
		*s_p = s;
	return status;
}

static void checked_stream_close(struct dev *d, struct dev_stream *s)
{
	if (registry_remove_handle(d, HANDLE_STREAM, s))
		inner_of(d)->stream_close(d, s);
}

static int checked_stream_sync(struct dev *d, struct dev_stream *s)
{
	struct stream_position position;
	int status = registry_stream_position(d, s, &position);
	if (!status)
		status = inner_of(d)->stream_sync(d, s);
	if (!status)
		registry_mark_done(position);
	return status;
}

static int checked_stream_wait(struct dev *d, struct dev_stream *s, struct dev_event *e)
{
	int status = registry_check_handle(NULL, HANDLE_EVENT, e);
	if (!status)
		status = registry_enqueue(d, s, NULL, 0, NULL);
	return status ? status : inner_of(d)->stream_wait(d, s, e);
}

static int checked_stream_query(struct dev *d, struct dev_stream *s)
{
	int status = registry_check_handle(d, HANDLE_STREAM, s);
	return status ? status : inner_of(d)->stream_query(d, s);
}

static int checked_stream_units(struct dev *d, struct dev_stream *s, uint32_t first, uint32_t count)
{
	int status = registry_check_handle(d, HANDLE_STREAM, s);
	return status ? status : inner_of(d)->stream_units(d, s, first, count);
}

/* ------------------------------------------------------------------ events */

static int checked_event_open(struct dev *d, struct dev_event **e_p)
{
	struct dev_event *e;
	int status = inner_of(d)->event_open(d, &e);
	if (status)
		return status;
	status = registry_add_handle(d, HANDLE_EVENT, e);
	if (status)
		inner_of(d)->event_close(d, e);
	else
		*e_p = e;
	return status;
}

static void checked_event_close(struct dev *d, struct dev_event *e)
{
	if (registry_remove_handle(d, HANDLE_EVENT, e))
		inner_of(d)->event_close(d, e);
}

static int checked_event_record(struct dev *d, struct dev_stream *s, struct dev_event *e)
{
	struct stream_position position;
	int status = registry_check_handle(d, HANDLE_EVENT, e);
	if (!status)
		status = registry_enqueue(d, s, NULL, 0, &position);
	if (!status)
		status = inner_of(d)->event_record(d, s, e);
	if (!status)
		registry_mark_recorded(e, position);
	return status;
}

static int checked_event_query(struct dev *d, struct dev_event *e)
{
	struct stream_position position;
	int status = registry_event_position(e, &position);
	if (!status)
		status = inner_of(d)->event_query(d, e);
	if (!status)
		registry_mark_done(position);
	return status;
}

static int checked_event_sync(struct dev *d, struct dev_event *e)
{
	struct stream_position position;
	int status = registry_event_position(e, &position);
	if (!status)
		status = inner_of(d)->event_sync(d, e);
	if (!status)
		registry_mark_done(position);
	return status;
}

static int checked_event_elapsed_ns(struct dev *d, struct dev_event *from, struct dev_event *to,
				    double *ns_p)
{
	struct stream_position first, last;
	int status = registry_event_position(from, &first);
	if (!status)
		status = registry_event_position(to, &last);
	if (!status)
		status = inner_of(d)->event_elapsed_ns(d, from, to, ns_p);
	if (status)
		return status;
	registry_mark_done(first);
	registry_mark_done(last);
	return 0;
}

/* ------------------------------------------------------------------ values */

static int check_aligned(const uint32_t *at)
{
	return (uintptr_t)at % sizeof(*at)
		       ? err_note(-EINVAL, "value at %p: not aligned to 4 bytes", (const void *)at)
		       : 0;
}

static int enqueue_value(struct dev *d, struct dev_stream *s, const uint32_t *at)
{
	const struct dev_range range = {.ptr = at, .bytes = sizeof(*at)};
	int status = check_aligned(at);
	return status ? status : registry_enqueue(d, s, &range, 1, NULL);
}

static int checked_wait_value(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	int status = enqueue_value(d, s, at);
	return status ? status : inner_of(d)->wait_value(d, s, at, value);
}

static int checked_write_value(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	int status = enqueue_value(d, s, at);
	return status ? status : inner_of(d)->write_value(d, s, at, value);
}

static int checked_post_value(struct dev *d, uint32_t *at, uint32_t value)
{
	const struct dev_range range = {.ptr = at, .bytes = sizeof(*at)};
	int status = check_aligned(at);
	if (!status)
		status = registry_check_range(d, &range);
	return status ? status : inner_of(d)->post_value(d, at, value);
}

/* ------------------------------------------------------------------ kernels and GEMM */

static int checked_kernel_find(struct dev *d, const char *name, struct dev_kernel **k_p)
{
	int status = inner_of(d)->kernel_find(d, name, k_p);
	if (!status)
		registry_add_kernel(d, name, *k_p);
	return status;
}

static int checked_occupancy(struct dev *d, struct dev_kernel *k, uint32_t block,
			     uint64_t shared_bytes, uint32_t *blocks_p)
{
	return registry_signature(d, k)
		       ? inner_of(d)->occupancy(d, k, block, shared_bytes, blocks_p)
		       : -EINVAL;
}

static int checked_launch(struct dev *d, struct dev_stream *s, struct dev_kernel *k,
			  const struct dev_launch *l)
{
	union kernel_arg args[DEV_KERNEL_MAX_ARGS];
	struct dev_range ranges[DEV_KERNEL_MAX_ARGS];
	size_t count = 0;
	const struct kernel_signature *signature = registry_signature(d, k);
	if (!signature)
		return -EINVAL;
	int status = kernel_args_check(signature, l->args);
	if (status)
		return status;
	kernel_args_copy(signature, l->args, args);
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS; i++)
		if (signature->parameters[i].extent)
			ranges[count++] = (struct dev_range){
				.ptr = args[i].pointer,
				.bytes = kernel_args_extent(signature, args, i, l->grid)};
	status = registry_enqueue(d, s, ranges, count, NULL);
	return status ? status : inner_of(d)->launch(d, s, k, l);
}

static int checked_gemm(struct dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	struct dev_range ranges[DEV_GEMM_RANGES];
	if ((uintptr_t)g->done % sizeof(*g->done))
		return err_note(-EINVAL, "gemm: counters at %p: not aligned to 4 bytes",
				(void *)g->done);
	int status = registry_enqueue(d, s, ranges, dev_gemm_ranges(d, g, ranges), NULL);
	return status ? status : inner_of(d)->gemm(d, s, g);
}

/* ------------------------------------------------------------------ graphs */

static int checked_graph_begin(struct dev *d, struct dev_stream *s)
{
	int status = registry_check_handle(d, HANDLE_STREAM, s);
	if (!status)
		status = inner_of(d)->graph_begin(d, s);
	if (status)
		return status;
	status = registry_begin_capture(d, s);
	if (status) {
		struct dev_graph *g;
		if (inner_of(d)->graph_end(d, s, &g) == 0)
			inner_of(d)->graph_close(d, g);
	}
	return status;
}

static int checked_graph_end(struct dev *d, struct dev_stream *s, struct dev_graph **g_p)
{
	struct dev_graph *g = NULL;
	int status = registry_check_handle(d, HANDLE_STREAM, s);
	if (status)
		return status;
	struct err_first first = {0};
	err_keep(&first, inner_of(d)->graph_end(d, s, &g));
	status = err_keep(&first, registry_end_capture(d, s, first.status ? NULL : g));
	if (!status)
		*g_p = g;
	else if (g)
		inner_of(d)->graph_close(d, g);
	return err_kept(&first);
}

static int checked_graph_launch(struct dev *d, struct dev_stream *s, struct dev_graph *g)
{
	int status = registry_check_handle(d, HANDLE_GRAPH, g);
	if (!status)
		status = registry_enqueue(d, s, NULL, 0, NULL);
	return status ? status : inner_of(d)->graph_launch(d, s, g);
}

static void checked_graph_close(struct dev *d, struct dev_graph *g)
{
	if (registry_remove_handle(d, HANDLE_GRAPH, g))
		inner_of(d)->graph_close(d, g);
}

/* ------------------------------------------------------------------ collectives */

static int checked_comm_open(struct dev *const *devs, size_t count, enum dev_comm_policy policy,
			     struct dev_comm **comm_p)
{
	const struct dev_ops *inner = inner_of(devs[0]);
	struct checked_comm *comm = calloc(1, sizeof(*comm));
	if (!comm)
		return err_note(-ENOMEM, "check a communicator: out of memory");
	int status = inner->comm_open(devs, count, policy, &comm->inner);
	if (status) {
		free(comm);
		return status;
	}
	comm->base = *comm->inner;
	comm->base.ops = devs[0]->ops;
	for (size_t i = 0; i < count; i++)
		comm->devices[i] = devs[i];
	*comm_p = &comm->base;
	return 0;
}

static void checked_comm_close(struct dev_comm *comm)
{
	struct checked_comm *c = (struct checked_comm *)comm;
	inner_of(c->devices[0])->comm_close(c->inner);
	free(c);
}

static int checked_comm_alloc(struct dev_comm *comm, uint64_t bytes, void **ptrs)
{
	struct checked_comm *c = (struct checked_comm *)comm;
	const struct dev_ops *inner = inner_of(c->devices[0]);
	struct registered_memory *m;
	void *given[DEV_MAX];
	size_t added = 0;
	int status = inner->comm_alloc(c->inner, bytes, given);
	if (status)
		return status;
	while (added < comm->count && !status) {
		status =
			registry_add_memory(c->devices[added], DEV_MEM_DEVICE, given[added], bytes);
		added += status == 0;
	}
	if (!status) {
		memcpy(ptrs, given, comm->count * sizeof(*ptrs));
		return 0;
	}
	while (added-- > 0)
		if (registry_take_memory(c->devices[added], given[added], &m) == 0)
			registry_end_free(m, true);
	inner->comm_free(c->inner, given);
	return status;
}

static int checked_comm_free(struct dev_comm *comm, void *const *ptrs)
{
	struct checked_comm *c = (struct checked_comm *)comm;
	struct registered_memory *taken[DEV_MAX];
	struct err_first first = {0};
	size_t count = 0;
	while (count < comm->count && !first.status) {
		err_keep(&first,
			 registry_take_memory(c->devices[count], ptrs[count], &taken[count]));
		count += first.status == 0;
	}
	if (!first.status)
		err_keep(&first, inner_of(c->devices[0])->comm_free(c->inner, ptrs));
	while (count-- > 0)
		registry_end_free(taken[count], first.status == 0);
	return err_kept(&first);
}

static int check_in_place(enum dev_collective what, const struct dev_range *from,
			  const struct dev_range *to, uint64_t offset)
{
	const uintptr_t first = (uintptr_t)from->ptr, second = (uintptr_t)to->ptr;
	const bool apart =
		first < second ? second - first >= from->bytes : first - second >= to->bytes;
	const bool in_place = what == DEV_ALLGATHER        ? first == second + offset
			      : what == DEV_REDUCE_SCATTER ? second == first + offset
							   : first == second;
	if (apart || (in_place && what != DEV_ALL_TO_ALL))
		return 0;
	return err_note(-EINVAL, "%s: send and receive buffers overlap", dev_collective_name(what));
}

static int checked_collective(struct dev_comm *comm, enum dev_collective what,
			      struct dev_stream *const *streams, float *const *from,
			      float *const *to, uint64_t count)
{
	struct checked_comm *c = (struct checked_comm *)comm;
	int status = 0;
	for (size_t i = 0; !status && i < comm->count; i++) {
		const uint64_t most = UINT64_MAX / sizeof(float) / comm->count;
		const uint64_t part = sizeof(float) * (count < most ? count : most);
		const struct dev_range ranges[] = {
			{.ptr = from[i], .bytes = part * dev_collective_sends(what, comm->count)},
			{.ptr = to[i], .bytes = part * dev_collective_receives(what, comm->count)}};
		status = check_in_place(what, &ranges[0], &ranges[1], i * part);
		if (!status)
			status = registry_enqueue(c->devices[i], streams[i], ranges, 2, NULL);
	}
	return status ? status
		      : inner_of(c->devices[0])
				->collective(c->inner, what, streams, from, to, count);
}

/* ------------------------------------------------------------------ the table */

/* Operations that the backend lacks stay NULL. */
#define CHECK_SLOT(slot) c->ops.slot = c->inner->slot ? checked_##slot : NULL;

int dev_check_operations(struct dev *d)
{
	struct dev_checks *c = calloc(1, sizeof(*c));
	if (!c)
		return err_note(-ENOMEM, "open %s:%u: out of memory", d->ops->name, d->index);
	c->dev = d;
	c->inner = d->ops;
	c->ops = *c->inner;
	CHECKED_SLOTS(CHECK_SLOT)
	d->ops = &c->ops;
	d->checks = c;
	registry_add_device(c);
	return 0;
}
