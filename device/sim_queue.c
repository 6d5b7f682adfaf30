/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/sim_ops.h"
#include "lib/err.h"

static int dead(struct sim_dev *d, const char *what, const struct dev_stream *s)
{
	const struct op *op = s ? s->head : NULL;
	if (op && op->kind == OP_WAIT_VALUE)
		return err_note(-EDEADLK, "sim:%u: %s: nothing scheduled will end the wait for value %u (it is %u)",
		                d->base.index, what, op->value, *(const uint32_t *)(const void *)op->dst);
	return err_note(-EDEADLK, "sim:%u: %s: nothing scheduled will end it", d->base.index, what);
}

/* ------------------------------------------------------------------ streams */

int sim_stream_open(struct dev *dev, int priority, struct dev_stream **s_p)
{
	struct sim_dev *d = sim_of(dev);
	int rc = sim_enter(d);
	if (rc)
		return sim_leave(rc);
	if (priority < dev->props.priority_low || priority > dev->props.priority_high)
		return sim_leave(err_note(-EINVAL, "sim:%u: open a stream: priority %d is outside %d to %d", dev->index, priority,
		                      dev->props.priority_low, dev->props.priority_high));
	struct dev_stream *s = calloc(1, sizeof(*s));
	if (!s || world_reserve(1)) {
		free(s);
		return sim_leave(err_note(-ENOMEM, "sim:%u: open a stream: no memory", dev->index));
	}
	s->dev = d;
	s->priority = priority;
	struct dev_stream **end = &d->streams;
	while (*end)
		end = &(*end)->next;
	*end = s;
	*s_p = s;
	return sim_leave(0);
}

/* A closed handle is kept for a while, so that using it is an error and not memory of something else. */
static void forget_oldest_stream(struct sim_dev *d)
{
	struct dev_stream **at = &d->streams;
	while (!(*at)->closed)
		at = &(*at)->next;
	struct dev_stream *s = *at;
	*at = s->next;
	free(s);
	d->closed_streams--;
}

void sim_stream_close(struct dev *dev, struct dev_stream *s)
{
	struct sim_dev *d = sim_of(dev);
	sim_pass_time(d);
	int rc = sim_check_stream(d, s);
	if (!rc) {
		if (s->head) {
			rc = -EBUSY;
			err_note(rc, "sim:%u: close a stream: %u operations were still queued and are lost", dev->index, s->queued);
		}
		world_cancel(s);
		s->closed = true;
		world_unreserve(1);
		if (++d->closed_streams > SIM_QUARANTINE)
			forget_oldest_stream(d);
	}
	/* Nothing can be returned here, so that the next operation must say it. */
	if (rc && !d->violation) {
		d->violation = rc;
		snprintf(d->violation_text, sizeof(d->violation_text), "%.159s", err_text());
	}
	sim_leave(0);
}

int sim_stream_sync(struct dev *dev, struct dev_stream *s)
{
	struct sim_dev *d = sim_of(dev);
	int rc = sim_enter_stream(d, s);
	if (rc)
		return sim_leave(rc);
	while (s->head)
		if (!world_step() && s->head)
			return sim_leave(dead(d, "synchronise a stream", s));
	world_run(sim_world.now_ns + d->model.host_sync_ns);
	rc = s->failed;
	s->failed = 0;
	return sim_leave(rc ? err_note(rc, "%s", s->failure) : 0);
}

/* ------------------------------------------------------------------ queueing */

/* Begins a call that queues: NULL, and the error in *rc_p, when the stream isn't one. Either way the lock is held. */
static struct op *op_begin(struct sim_dev *d, struct dev_stream *s, enum op_kind kind, int *rc_p)
{
	*rc_p = sim_enter_stream(d, s);
	if (*rc_p)
		return NULL;
	struct op *op = calloc(1, sizeof(*op));
	if (!op) {
		*rc_p = err_note(-ENOMEM, "sim:%u: queue an operation: no memory", d->base.index);
		return NULL;
	}
	op->kind = kind;
	op->stream = s;
	op->serial = d->serial++;
	op->stretch = op_stretch(d, op->serial);
	op->slow_down = 1;
	return op;
}

static void slow_down(const struct sim_dev *d, struct op *op, const char *what)
{
	for (uint32_t i = 0; i < d->model.slow_downs; i++)
		if (strcmp(d->model.slow_down[i].what, what) == 0)
			op->slow_down *= d->model.slow_down[i].factor;
}

static bool every(uint64_t count, uint64_t period) { return period && count % period == 0; }

/* With `rc` the operation is dropped and never was. */
static int op_queue(struct sim_dev *d, struct op *op, int rc)
{
	if (rc) {
		stamp_release(op->stamp);
		free(op);
		return rc;
	}
	for (unsigned i = 0; i < op->uses; i++)
		op->use[i]->users++;
	if (op->kind == OP_LAUNCH) {
		op->blocks_left = op->grid;
		op->fails = ++d->launches == d->model.fail_launch_at;
		op->corrupts = every(d->launches, d->model.corrupt_launch_every);
	}
	if (op->kind == OP_COPY || op->type == &kernel_copy_type) {
		op->fails |= ++d->copies == d->model.fail_copy_at;
		op->corrupts |= every(d->copies, d->model.corrupt_copy_every);
	}
	while (op->stream->queued >= d->model.max_queued) {
		if (!world_step() && op->stream->queued >= d->model.max_queued) {
			for (unsigned i = 0; i < op->uses; i++)
				op->use[i]->users--;
			return op_queue(d, op, dead(d, "queue an operation: the queue is full", op->stream));
		}
	}
	world_enqueue(op);
	return 0;
}

static bool overlap(const char *a, const char *b, uint64_t bytes)
{
	return a < b ? (uint64_t)(b - a) < bytes : (uint64_t)(a - b) < bytes;
}

int sim_copy(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes)
{
	struct sim_dev *d = sim_of(dev);
	int rc;
	struct op *op = op_begin(d, s, d->model.copy_engines ? OP_COPY : OP_LAUNCH, &rc);
	if (!op)
		return sim_leave(rc);
	rc = op_use(d, op, dst, bytes, "copy to", NULL);
	if (!rc)
		rc = op_use(d, op, src, bytes, "copy from", NULL);
	if (!rc && overlap(dst, src, bytes))
		rc = err_note(-EINVAL, "sim:%u: copy %llu bytes: the ranges overlap", dev->index, (unsigned long long)bytes);
	op->dst = dst;
	op->src = src;
	op->bytes = bytes;
	if (!rc && op->kind == OP_LAUNCH) {
		op->type = &kernel_copy_type;
		op->grid = d->model.units;
		op->arg[0].pointer = dst;
		memcpy(&op->arg[1].pointer, &src, sizeof(src));
		op->arg[2].u64 = bytes;
		op->arg[3].u32 = 1;
		op_traffic(op, op->use[0], (double)bytes, true, PATH_MEMORY);
		op_traffic(op, op->use[1], (double)bytes, false, PATH_MEMORY);
	}
	slow_down(d, op, "engine");
	return sim_leave(op_queue(d, op, rc));
}

int sim_fill(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	struct sim_dev *d = sim_of(dev);
	int rc;
	struct op *op = op_begin(d, s, OP_FILL, &rc);
	if (!op)
		return sim_leave(rc);
	rc = op_use(d, op, dst, bytes, "fill", NULL);
	op->dst = dst;
	op->bytes = bytes;
	op->value = byte;
	slow_down(d, op, "fill");
	return sim_leave(op_queue(d, op, rc));
}

/* ------------------------------------------------------------------ events */

int sim_event_open(struct dev *dev, struct dev_event **e_p)
{
	struct sim_dev *d = sim_of(dev);
	int rc = sim_enter(d);
	if (rc)
		return sim_leave(rc);
	struct dev_event *e = calloc(1, sizeof(*e));
	if (!e)
		return sim_leave(err_note(-ENOMEM, "sim:%u: open an event: no memory", dev->index));
	e->dev = d;
	e->next = d->events;
	d->events = e;
	*e_p = e;
	return sim_leave(0);
}

void sim_event_close(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	sim_pass_time(d);
	struct dev_event **at = &d->events;
	while (*at && *at != e)
		at = &(*at)->next;
	if (*at) {
		*at = e->next;
		stamp_release(e->latest);
		free(e);
	}
	sim_leave(0);
}

int sim_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int rc;
	struct op *op = op_begin(d, s, OP_RECORD, &rc);
	if (!op)
		return sim_leave(rc);
	rc = sim_check_event(d, e);
	struct stamp *stamp = rc ? NULL : calloc(1, sizeof(*stamp));
	if (!rc && !stamp)
		rc = err_note(-ENOMEM, "sim:%u: record an event: no memory", dev->index);
	if (!stamp)
		return sim_leave(op_queue(d, op, rc));
	stamp->holders = 2;
	stamp->stream = s;
	op->stamp = stamp;
	rc = op_queue(d, op, 0);
	if (rc) {
		stamp_release(stamp);
		return sim_leave(rc);
	}
	stamp_release(e->latest);
	e->latest = stamp;
	return sim_leave(0);
}

static int never(struct sim_dev *d, const char *what)
{
	return err_note(-EINVAL, "sim:%u: %s an event that was never recorded", d->base.index, what);
}

int sim_event_query(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int rc = sim_enter(d);
	if (!rc)
		rc = sim_check_any_event(d, e);
	if (rc)
		return sim_leave(rc);
	if (!e->latest)
		return sim_leave(never(d, "query"));
	return sim_leave(e->latest->done ? 0 : -EAGAIN);
}

int sim_event_sync(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int rc = sim_enter(d);
	if (!rc)
		rc = sim_check_any_event(d, e);
	if (rc)
		return sim_leave(rc);
	if (!e->latest)
		return sim_leave(never(d, "synchronise"));
	while (!e->latest->done)
		if (!world_step() && !e->latest->done)
			return sim_leave(dead(d, "synchronise an event", e->latest->stream));
	world_run(sim_world.now_ns + d->model.host_sync_ns);
	return sim_leave(0);
}

int sim_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to, double *ns_p)
{
	struct sim_dev *d = sim_of(dev);
	int rc = sim_enter(d);
	if (!rc)
		rc = sim_check_any_event(d, from);
	if (!rc)
		rc = sim_check_any_event(d, to);
	if (rc)
		return sim_leave(rc);
	if (!from->latest || !to->latest)
		return sim_leave(never(d, "measure from or to"));
	if (!from->latest->done || !to->latest->done)
		return sim_leave(-EAGAIN);
	*ns_p = to->latest->at_ns - from->latest->at_ns;
	return sim_leave(0);
}

int sim_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int rc;
	struct op *op = op_begin(d, s, OP_WAIT, &rc);
	if (!op)
		return sim_leave(rc);
	rc = sim_check_any_event(d, e);
	if (rc)
		return sim_leave(op_queue(d, op, rc));
	/* Never recorded: nothing to wait for, but an operation as any other. */
	op->stamp = e->latest;
	if (op->stamp)
		op->stamp->holders++;
	return sim_leave(op_queue(d, op, 0));
}

/* ------------------------------------------------------------------ values */

static int value_op(struct sim_dev *d, struct dev_stream *s, enum op_kind kind, uint32_t *at, uint32_t value)
{
	int rc;
	struct op *op = op_begin(d, s, kind, &rc);
	if (!op)
		return rc;
	if (!dev_can(&d->base, DEV_CAP_WAIT_VALUE))
		rc = err_note(-ENOTSUP, "sim:%u: values are not supported", d->base.index);
	if (!rc)
		rc = op_use(d, op, at, sizeof(*at), kind == OP_WAIT_VALUE ? "wait for a value" : "write a value", NULL);
	if (!rc && (uintptr_t)at % sizeof(*at))
		rc = err_note(-EINVAL, "sim:%u: a value must be aligned to %zu", d->base.index, sizeof(*at));
	op->dst = (char *)at;
	op->value = value;
	return op_queue(d, op, rc);
}

int sim_wait_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	return sim_leave(value_op(sim_of(dev), s, OP_WAIT_VALUE, at, value));
}

int sim_write_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	return sim_leave(value_op(sim_of(dev), s, OP_WRITE_VALUE, at, value));
}

int sim_post_value(struct dev *dev, uint32_t *at, uint32_t value)
{
	struct sim_dev *d = sim_of(dev);
	int rc = sim_enter(d);
	if (rc)
		return sim_leave(rc);
	if (!memory_find(d, at, sizeof(*at), "post a value"))
		return sim_leave(-EFAULT);
	if ((uintptr_t)at % sizeof(*at))
		return sim_leave(err_note(-EINVAL, "sim:%u: a value must be aligned to %zu", dev->index, sizeof(*at)));
	*at = value;
	world_written();
	world_run(sim_world.now_ns);
	return sim_leave(0);
}

/* ------------------------------------------------------------------ launches */

int sim_launch(struct dev *dev, struct dev_stream *s, struct dev_kernel *k, const struct dev_launch *l)
{
	struct sim_dev *d = sim_of(dev);
	int rc;
	struct op *op = op_begin(d, s, OP_LAUNCH, &rc);
	if (!op)
		return sim_leave(rc);
	rc = sim_check_kernel(d, k);
	if (!rc)
		rc = sim_check_block(d, l->block, l->shared_bytes, &op->claim_bytes);
	if (!rc && l->grid == 0)
		rc = err_note(-EINVAL, "sim:%u: launch %s: the grid is 0", dev->index, k->type->name);
	if (rc)
		return sim_leave(op_queue(d, op, rc));
	op->type = k->type;
	op->grid = l->grid;
	slow_down(d, op, k->type->name);
	return sim_leave(op_queue(d, op, kernel_prepare(d, op, l->args)));
}

int sim_gemm(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g)
{
	struct sim_dev *d = sim_of(dev);
	int rc;
	struct op *op = op_begin(d, s, OP_LAUNCH, &rc);
	if (!op)
		return sim_leave(rc);
	if (!dev_can(dev, DEV_CAP_GEMM))
		rc = err_note(-ENOTSUP, "sim:%u: gemm is not supported", dev->index);
	else if (!dev_can(dev, DEV_CAP_GEMM_TILED) && (g->shared_bytes || g->done))
		rc = err_note(-ENOTSUP, "sim:%u: blocks of a gemm can neither be shaped nor count here", dev->index);
	if (!rc)
		rc = sim_check_block(d, 0, g->shared_bytes, &op->claim_bytes);
	if (!rc)
		rc = gemm_prepare(d, op, g);
	slow_down(d, op, "gemm");
	return sim_leave(op_queue(d, op, rc));
}
