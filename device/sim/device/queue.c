/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/backends.h"
#include "device/sim/device/calls.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/model/reading.h"
#include "device/sim/t3/tracker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ streams */

static int sim_stream_open(struct dev *dev, int priority, struct dev_stream **s_p)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (status)
		return sim_call_end(status);
	if (priority < dev->props.priority_low || priority > dev->props.priority_high)
		return sim_call_end(err_note(
			-EINVAL, "sim:%u: open a stream: priority %d is outside %d to %d",
			dev->index, priority, dev->props.priority_low, dev->props.priority_high));
	struct dev_stream *s = calloc(1, sizeof(*s));
	if (!s || sim_handle_add(d, s) || sim_streams_reserve(1)) {
		sim_handle_remove(s);
		free(s);
		return sim_call_end(
			err_note(-ENOMEM, "sim:%u: open a stream: out of memory", dev->index));
	}
	s->dev = d;
	s->number = sim_opened(d)->streams_opened++;
	s->priority = priority;
	sim_stream_number(s);
	struct dev_stream **end = &d->streams;
	while (*end)
		end = &(*end)->next;
	*end = s;
	*s_p = s;
	return sim_call_end(0);
}

/* Closed handles are kept for a while, so that using one is an error instead of a use after free.
 */
static void keep_closed_stream(struct sim_dev *d, struct dev_stream *s)
{
	struct dev_stream **at = &d->streams;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->next = NULL;
	for (at = &sim_opened(d)->closed; *at;)
		at = &(*at)->next;
	*at = s;
	if (++sim_opened(d)->closed_streams <= SIM_QUARANTINE)
		return;
	s = sim_opened(d)->closed;
	sim_opened(d)->closed = s->next;
	sim_opened(d)->closed_streams--;
	free(s);
}

static void sim_stream_close(struct dev *dev, struct dev_stream *s)
{
	struct sim_dev *d = sim_of(dev);
	sim_lock_and_pass_time(d);
	int status = sim_check_stream(d, s);
	if (!status) {
		if (s->head) {
			status = -EBUSY;
			err_note(status,
				 "sim:%u: close a stream: dropped %u operations that were still "
				 "queued",
				 dev->index, s->queued);
		}
		sim_stream_cancel(s);
		sim_handle_remove(s);
		keep_closed_stream(d, s);
		sim_streams_unreserve(1);
	}
	sim_call_end_later(d, status);
}

static int sim_stream_sync(struct dev *dev, struct dev_stream *s)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin_on_stream(d, s);
	if (status)
		return sim_call_end(status);
	while (s->head)
		if (!sim_engine_step() && s->head)
			return sim_call_end(sim_note_deadlock(d, "synchronise a stream", s));
	sim_engine_run(sim_clock.now_ns + d->model.host_sync_ns);
	status = s->failed;
	s->failed = 0;
	return sim_call_end(status ? err_note(status, "%s", s->failure) : 0);
}

static int sim_stream_query(struct dev *dev, struct dev_stream *s)
{
	int status = sim_call_begin_on_stream(sim_of(dev), s);
	return sim_call_end(status ? status : s->head ? -EAGAIN : 0);
}

static int sim_stream_units(struct dev *dev, struct dev_stream *s, uint32_t first, uint32_t count)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin_on_stream(d, s);
	if (!status && s->head)
		status = err_note(-EBUSY, "sim:%u: stream_units: the stream has work", dev->index);
	if (status)
		return sim_call_end(status);
	s->units = sim_units_row(first, count);
	s->is_masked = count < d->model.units;
	return sim_call_end(0);
}

/* ------------------------------------------------------------------ events */

static int sim_event_open(struct dev *dev, struct dev_event **e_p)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (status)
		return sim_call_end(status);
	struct dev_event *e = calloc(1, sizeof(*e));
	if (!e || sim_handle_add(d, e)) {
		free(e);
		return sim_call_end(
			err_note(-ENOMEM, "sim:%u: open an event: out of memory", dev->index));
	}
	e->dev = d;
	e->next = sim_opened(d)->events;
	if (e->next)
		e->next->previous = e;
	sim_opened(d)->events = e;
	*e_p = e;
	return sim_call_end(0);
}

static void sim_event_close(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	sim_lock_and_pass_time(d);
	if (sim_handle_owner(e) == d) {
		sim_handle_remove(e);
		if (e->next)
			e->next->previous = e->previous;
		if (e->previous)
			e->previous->next = e->next;
		else
			sim_opened(d)->events = e->next;
		event_stamp_release(e->latest);
		free(e);
	}
	sim_call_end(0);
}

static int sim_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = sim_op_begin(d, s, OP_RECORD, &status);
	if (!op)
		return sim_call_end(status);
	status = sim_check_event(d, e);
	struct event_stamp *stamp = status ? NULL : calloc(1, sizeof(*stamp));
	if (!status && !stamp)
		status = err_note(-ENOMEM, "sim:%u: record an event: out of memory", dev->index);
	if (!stamp)
		return sim_call_end(sim_op_queue(d, op, status));
	stamp->holders = 2;
	stamp->stream = s;
	op->stamp = stamp;
	status = sim_op_queue(d, op, 0);
	if (status) {
		event_stamp_release(stamp);
		return sim_call_end(status);
	}
	event_stamp_release(e->latest);
	e->latest = stamp;
	return sim_call_end(0);
}

static int note_never_recorded(struct sim_dev *d, const char *what)
{
	return err_note(-EINVAL, "sim:%u: %s an event that was never recorded", d->base.index,
			what);
}

/* As sim_call_begin(). */
static int begin_on_recorded(struct sim_dev *d, struct dev_event *e, const char *what)
{
	int status = sim_call_begin(d);
	if (!status)
		status = sim_check_any_event(d, e);
	return status || e->latest ? status : note_never_recorded(d, what);
}

static int sim_event_query(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int status = begin_on_recorded(d, e, "query");
	if (status)
		return sim_call_end(status);
	return sim_call_end(e->latest->done ? 0 : -EAGAIN);
}

static int sim_event_sync(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int status = begin_on_recorded(d, e, "synchronise");
	if (status)
		return sim_call_end(status);
	while (!e->latest->done)
		if (!sim_engine_step() && !e->latest->done)
			return sim_call_end(
				sim_note_deadlock(d, "synchronise an event", e->latest->stream));
	sim_engine_run(sim_clock.now_ns + d->model.host_sync_ns);
	return sim_call_end(0);
}

static int sim_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to,
				double *ns_p)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (!status)
		status = sim_check_any_event(d, from);
	if (!status)
		status = sim_check_any_event(d, to);
	if (status)
		return sim_call_end(status);
	if (!from->latest || !to->latest)
		return sim_call_end(note_never_recorded(d, "measure from or to"));
	if (!from->latest->done || !to->latest->done)
		return sim_call_end(-EAGAIN);
	*ns_p = to->latest->at_ns - from->latest->at_ns;
	if (to->latest->epoch_ns != from->latest->epoch_ns)
		*ns_p += (double)to->latest->epoch_ns - (double)from->latest->epoch_ns;
	return sim_call_end(0);
}

static int sim_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = sim_op_begin(d, s, OP_WAIT, &status);
	if (!op)
		return sim_call_end(status);
	status = sim_check_any_event(d, e);
	if (status)
		return sim_call_end(sim_op_queue(d, op, status));
	/* Without a record there is nothing to wait for, but it still takes a queue entry. */
	op->stamp = e->latest;
	if (op->stamp)
		op->stamp->holders++;
	return sim_call_end(sim_op_queue(d, op, 0));
}

/* ------------------------------------------------------------------ queueing */

/* Also empties the caches, and engines forget their streams. */
static void sim_reseed(struct dev *dev, uint64_t seed)
{
	struct sim_dev *d = sim_of(dev);
	sim_lock_and_pass_time(d);
	d->seed = d->model.seed + ((uint64_t)d->base.index << 54) + seed;
	d->serial = 0;
	d->cache.count = 0;
	d->cache.bytes = 0;
	sim_engines_forget(d);
	sim_clock_begin_epoch();
	sim_call_end(0);
}

static struct op *make_op(struct sim_dev *d, struct dev_stream *s, enum op_kind kind, int *status_p)
{
	struct op *op = sim_op_alloc(kind);
	if (!op) {
		*status_p = err_note(-ENOMEM, "sim:%u: queue an operation: out of memory",
				     d->base.index);
		return NULL;
	}
	op->kind = kind;
	op->stream = s;
	op->serial = d->serial++;
	op->stretch = op_stretch(d, op->serial);
	op->slow_down = 1;
	return op;
}

struct op *sim_op_begin(struct sim_dev *d, struct dev_stream *s, enum op_kind kind, int *status_p)
{
	*status_p = sim_call_begin_on_stream(d, s);
	return *status_p ? NULL : make_op(d, s, kind, status_p);
}

static bool is_every_nth(uint64_t count, uint64_t period) { return period && count % period == 0; }

int sim_op_queue(struct sim_dev *d, struct op *op, int status)
{
	if (!status)
		status = sim_op_check_links(d, op);
	if (status) {
		event_stamp_release(op->stamp);
		if (op->tracker)
			sim_tracker_release(op);
		free(op->work);
		free(op);
		return status;
	}
	for (unsigned i = 0; i < op->uses; i++)
		op->work->use[i]->users++;
	if (op->kind == OP_LAUNCH) {
		op->blocks_left = op->grid;
		op->fails = ++sim_opened(d)->launches == d->model.fail_launch_at;
		op->corrupts = is_every_nth(sim_opened(d)->launches, d->model.corrupt_launch_every);
	}
	if (op->kind == OP_COPY || op->type == &kernel_copy_type) {
		op->fails |= ++sim_opened(d)->copies == d->model.fail_copy_at;
		op->corrupts |= is_every_nth(sim_opened(d)->copies, d->model.corrupt_copy_every);
	}
	while (op->stream->queued >= d->model.max_queued) {
		if (!sim_engine_step() && op->stream->queued >= d->model.max_queued) {
			for (unsigned i = 0; i < op->uses; i++)
				op->work->use[i]->users--;
			return sim_op_queue(
				d, op,
				sim_note_deadlock(d, "queue an operation: the queue is full",
						  op->stream));
		}
	}
	sim_stream_enqueue(op);
	return 0;
}

static bool ranges_overlap(const char *a, const char *b, uint64_t bytes)
{
	return a < b ? (uint64_t)(b - a) < bytes : (uint64_t)(a - b) < bytes;
}

static int prepare_copy(struct sim_dev *d, struct op *op, void *dst, const void *src,
			uint64_t bytes)
{
	int status = op_use(d, op, dst, bytes, "copy to");
	if (!status)
		status = op_use(d, op, src, bytes, "copy from");
	if (!status && ranges_overlap(dst, src, bytes))
		status = err_note(-EINVAL, "sim:%u: copy %llu bytes: the ranges overlap",
				  d->base.index, (unsigned long long)bytes);
	op->dst = dst;
	op->src = src;
	op->bytes = bytes;
	if (!status) {
		op_traffic(op, 0, (double)bytes, true, PATH_MEMORY);
		op_traffic(op, 1, (double)bytes, false, PATH_MEMORY);
	}
	if (!status && op->kind == OP_LAUNCH) {
		op->type = &kernel_copy_type;
		op->grid = d->model.units;
		op->work->arg[0].pointer = dst;
		memcpy(&op->work->arg[1].pointer, &src, sizeof(src));
		op->work->arg[2].u64 = bytes;
		op->work->arg[3].u32 = 1;
	}
	op->tracking = &sim_tracking_of_copies;
	sim_op_slow_down(d, op, "engine");
	return status;
}

static struct op *begin_copy(struct sim_dev *d, struct dev_stream *s, int *status_p)
{
	return sim_op_begin(d, s, d->model.copy_engines ? OP_COPY : OP_LAUNCH, status_p);
}

static int sim_copy(struct dev *dev, struct dev_stream *s, void *dst, const void *src,
		    uint64_t bytes)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = begin_copy(d, s, &status);
	if (!op)
		return sim_call_end(status);
	return sim_call_end(sim_op_queue(d, op, prepare_copy(d, op, dst, src, bytes)));
}

/* Every copy is prepared before the first is queued, so an error leaves nothing queued. */
static int sim_copy_batch(struct dev *dev, struct dev_stream *s, size_t count, void *const *dsts,
			  const void *const *srcs, const uint64_t *bytes)
{
	struct sim_dev *d = sim_of(dev);
	struct op *ops[DEV_BATCH_MAX];
	size_t made = 0;
	int status = sim_call_begin_on_stream(d, s);
	if (!status)
		status = dev_check_batch(count, dsts, srcs, bytes);
	while (made < count && !status) {
		ops[made] = make_op(d, s, OP_COPY, &status);
		if (!ops[made])
			break;
		ops[made]->follows = made > 0;
		status = prepare_copy(d, ops[made], dsts[made], srcs[made], bytes[made]);
		made++;
	}
	int first = status;
	for (size_t i = 0; i < made; i++) {
		int queued = sim_op_queue(d, ops[i], first);
		first = first ? first : queued;
	}
	return sim_call_end(first);
}

static int prepare_addition(struct sim_dev *d, struct op *op, enum dev_type type)
{
	const uint32_t size = dev_type_bytes(type);
	if (!sim_alloc_adds(op->work->use[0]))
		return err_note(-ENOTSUP,
				"sim:%u: copy_add: the target's memory does not support adding",
				d->base.index);
	if ((uintptr_t)op->dst % size || (uintptr_t)op->src % size)
		return err_note(-EINVAL, "sim:%u: copy_add: an array is not aligned to %u bytes",
				d->base.index, size);
	op->adds = op->work->traffic[0].adds = true;
	op->element = type;
	return 0;
}

int sim_copy_add(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes,
		 enum dev_type type)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = begin_copy(d, s, &status);
	if (!op)
		return sim_call_end(status);
	status = prepare_copy(d, op, dst, src, bytes);
	if (!status)
		status = prepare_addition(d, op, type);
	return sim_call_end(sim_op_queue(d, op, status));
}

static int sim_fill(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = sim_op_begin(d, s, OP_FILL, &status);
	if (!op)
		return sim_call_end(status);
	status = op_use(d, op, dst, bytes, "fill");
	op->dst = dst;
	op->bytes = bytes;
	op->value = byte;
	if (!status)
		op_traffic(op, 0, (double)bytes, true, PATH_MEMORY);
	sim_op_slow_down(d, op, "fill");
	return sim_call_end(sim_op_queue(d, op, status));
}

static int sim_file_read(struct dev *dev, struct dev_stream *s, const struct dev_file *f,
			 uint64_t offset, void *dst, uint64_t bytes)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = sim_op_begin(d, s, OP_FILE_READ, &status);
	if (!op)
		return sim_call_end(status);
	status = op_use(d, op, dst, bytes, "read a file into");
	op->dst = dst;
	op->bytes = bytes;
	op->work->file = f->file;
	op->work->offset = offset;
	if (!status && op->work->use[0]->kind == DEV_MEM_DEVICE)
		op_traffic(op, 0, (double)bytes, true, PATH_MEMORY);
	return sim_call_end(sim_op_queue(d, op, status));
}

/* ------------------------------------------------------------------ values */

static int queue_value_op(struct sim_dev *d, struct dev_stream *s, enum op_kind kind, uint32_t *at,
			  uint32_t value)
{
	int status;
	struct op *op = sim_op_begin(d, s, kind, &status);
	if (!op)
		return status;
	if (!dev_can(&d->base, DEV_CAP_WAIT_VALUE))
		status = err_note(-ENOTSUP, "sim:%u: values are not supported", d->base.index);
	if (!status)
		status = op_use(d, op, at, sizeof(*at),
				kind == OP_WAIT_VALUE ? "wait for a value" : "write a value");
	if (!status && (uintptr_t)at % sizeof(*at))
		status = err_note(-EINVAL, "sim:%u: a value must be aligned to %zu bytes",
				  d->base.index, sizeof(*at));
	op->dst = (char *)at;
	op->value = value;
	return sim_op_queue(d, op, status);
}

static int sim_wait_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	return sim_call_end(queue_value_op(sim_of(dev), s, OP_WAIT_VALUE, at, value));
}

static int sim_write_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	return sim_call_end(queue_value_op(sim_of(dev), s, OP_WRITE_VALUE, at, value));
}

static int sim_post_value(struct dev *dev, uint32_t *at, uint32_t value)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (status)
		return sim_call_end(status);
	struct alloc *a = sim_memory_find(d, at, sizeof(*at), "post a value");
	if (!a)
		return sim_call_end(-EFAULT);
	if ((uintptr_t)at % sizeof(*at))
		return sim_call_end(err_note(-EINVAL,
					     "sim:%u: a value must be aligned to %zu bytes",
					     dev->index, sizeof(*at)));
	*at = value;
	sim_memory_changed(a);
	sim_memory_written();
	sim_engine_run(sim_clock.now_ns);
	return sim_call_end(0);
}

/* ------------------------------------------------------------------ launches */

static int sim_launch(struct dev *dev, struct dev_stream *s, struct dev_kernel *k,
		      const struct dev_launch *l)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = sim_op_begin(d, s, OP_LAUNCH, &status);
	if (!op)
		return sim_call_end(status);
	status = sim_check_kernel(d, k);
	if (!status)
		status = sim_units_claim(d, l->block, l->shared_bytes, &op->claim_bytes);
	if (!status && l->grid == 0)
		status = err_note(-EINVAL, "sim:%u: launch %s: the grid is 0", dev->index,
				  k->type->name);
	if (status)
		return sim_call_end(sim_op_queue(d, op, status));
	op->type = k->type;
	op->grid = l->grid;
	op->register_bytes = d->model.block_register_bytes;
	op->l1_bytes = d->model.l1_bytes;
	if (d->model.l1_divided && !l->prefer_cache)
		op->l1_bytes -= d->model.shared_per_unit_bytes;
	sim_op_slow_down(d, op, k->type->name);
	return sim_call_end(sim_op_queue(d, op, kernel_prepare(d, op, l->args)));
}

static int sim_gemm(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = sim_op_begin(d, s, OP_LAUNCH, &status);
	if (!op)
		return sim_call_end(status);
	if (!dev_can(dev, DEV_CAP_GEMM))
		status = err_note(-ENOTSUP, "sim:%u: gemm is not supported", dev->index);
	else if (!dev_can(dev, DEV_CAP_GEMM_TILED) && (g->shared_bytes || g->done || g->tile_k))
		status = err_note(
			-ENOTSUP,
			"sim:%u: shared_bytes, done and tile_k of a gemm are not supported on this "
			"device",
			dev->index);
	if (!status)
		status = sim_gemm_claims(d, g, &op->claim_bytes, &op->register_bytes);
	if (!status)
		status = sim_gemm_prepare(d, op, g);
	sim_op_slow_down(d, op, "gemm");
	return sim_call_end(sim_op_queue(d, op, status));
}

/* ------------------------------------------------------------------ the table */

const struct dev_ops sim_ops = {
	.name = "sim",
	.always_checked = true,
	.models = sim_model_names,
	.probe = sim_probe,
	.open = sim_open,
	.close = sim_close,
	.clock_ns = sim_clock_ns,
	.clock_rate = sim_clock_rate,
	.alloc = sim_alloc,
	.free = sim_free,
	.copy = sim_copy,
	.copy_batch = sim_copy_batch,
	.file_read = sim_file_read,
	.fill = sim_fill,
	.stream_open = sim_stream_open,
	.stream_close = sim_stream_close,
	.stream_sync = sim_stream_sync,
	.stream_query = sim_stream_query,
	.stream_units = sim_stream_units,
	.stream_wait = sim_stream_wait,
	.event_open = sim_event_open,
	.event_close = sim_event_close,
	.event_record = sim_event_record,
	.event_query = sim_event_query,
	.event_sync = sim_event_sync,
	.event_elapsed_ns = sim_event_elapsed_ns,
	.wait_value = sim_wait_value,
	.write_value = sim_write_value,
	.post_value = sim_post_value,
	.kernel_find = sim_kernel_find,
	.occupancy = sim_occupancy,
	.launch = sim_launch,
	.gemm = sim_gemm,
	.gemm_occupancy = sim_gemm_occupancy,
	.peer_enable = sim_peer_enable,
	.reseed = sim_reseed,
	.numa_nodes = sim_numa_nodes,
	.alloc_on_node = sim_alloc_on_node,
	.telemetry_read = sim_telemetry_read,
	.links_read = sim_links_read,
	.path_read = sim_path_read,
	.model_read = sim_model_read,
	.tracking = &sim_tracking_ops,
};
