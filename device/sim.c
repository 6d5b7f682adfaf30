/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/backends.h"
#include "device/sim_world.h"
#include "lib/err.h"

#define BLOCK_THREADS 256u
#define MOST_BLOCK_THREADS 1024u
#define CLOCK_RATE_NS 1e6

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct sim_dev *of(struct dev *dev) { return (struct sim_dev *)(void *)dev; }

/* ------------------------------------------------------------------ every call */

static int leave(int rc)
{
	pthread_mutex_unlock(&lock);
	return rc;
}

static void pass_time(struct sim_dev *d)
{
	pthread_mutex_lock(&lock);
	world_run(sim_world.now_ns + d->model.host_call_ns);
}

/* Takes the lock also when it fails. */
static int enter(struct sim_dev *d)
{
	pass_time(d);
	int rc = d->violation;
	d->violation = 0;
	return rc ? err_note(rc, "%s", d->violation_text) : 0;
}

static int bad_handle(struct sim_dev *d, const char *what)
{
	return err_note(-EINVAL, "sim:%u: not an open %s of this device", d->base.index, what);
}

static int check_stream(struct sim_dev *d, const struct dev_stream *s)
{
	for (const struct dev_stream *open = d->streams; open; open = open->next)
		if (open == s && !s->closed)
			return 0;
	return bad_handle(d, "stream");
}

static int check_event(struct sim_dev *d, const struct dev_event *e)
{
	for (const struct dev_event *open = d->events; open; open = open->next)
		if (open == e && !e->closed)
			return 0;
	return bad_handle(d, "event");
}

/* Events may be waited for from any simulated device: all share one clock. */
static int check_any_event(struct sim_dev *d, const struct dev_event *e)
{
	for (struct sim_dev *any = sim_world.devs; any; any = any->next)
		if (check_event(any, e) == 0)
			return 0;
	return bad_handle(d, "event");
}

static int enter_stream(struct sim_dev *d, struct dev_stream *s)
{
	int rc = enter(d);
	return rc ? rc : check_stream(d, s);
}

static int dead(struct sim_dev *d, const char *what, const struct dev_stream *s)
{
	const struct op *op = s ? s->head : NULL;
	if (op && op->kind == OP_WAIT_VALUE)
		return err_note(-EDEADLK, "sim:%u: %s: nothing scheduled will end the wait for value %u (it is %u)",
		                d->base.index, what, op->value, *(const uint32_t *)(const void *)op->dst);
	return err_note(-EDEADLK, "sim:%u: %s: nothing scheduled will end it", d->base.index, what);
}

/* ------------------------------------------------------------------ devices */

static int sim_probe(unsigned *count_p)
{
	*count_p = DEV_MAX;
	return 0;
}

static void resource_set(struct resource *r, double per_second, bool measures)
{
	memset(r, 0, sizeof(*r));
	r->capacity = per_second * 1e-9;
	r->measures = measures;
}

static void set_resources(struct sim_dev *d)
{
	const struct sim_model *m = &d->model;
	resource_set(&d->memory, m->memory_bandwidth, true);
	resource_set(&d->llc, m->llc_bandwidth, true);
	resource_set(&d->link_up, m->link_up_bandwidth, false);
	resource_set(&d->link_down, m->link_down_bandwidth, false);
	resource_set(&d->peer_in, m->peer_bandwidth, false);
	resource_set(&d->peer_out, m->peer_bandwidth, false);
	for (uint32_t i = 0; i < m->units; i++) {
		/* compute is in ns of the unit, so that work of both types shares it */
		resource_set(&d->unit[i].compute, 1e9, true);
		resource_set(&d->unit[i].load_store, m->unit_bandwidth, false);
	}
	if (!sim_world.devs)
		resource_set(&sim_world.host_memory, m->host_bandwidth, true);
}

static void set_props(struct sim_dev *d)
{
	struct dev_props *p = &d->base.props;
	const struct sim_model *m = &d->model;
	snprintf(p->name, sizeof(p->name), "simulated device (%s)", m->name);
	snprintf(p->blas, sizeof(p->blas), "sim, tiles of %u", m->gemm_tile);
	p->caps = DEV_CAP_VIRTUAL_TIME | DEV_CAP_GEMM | DEV_CAP_WAIT_VALUE | DEV_CAP_PEER | DEV_CAP_CLOCK_RATE;
	p->caps |= m->copy_engines ? DEV_CAP_COPY_ENGINE : 0;
	p->caps |= m->priorities > 1 ? DEV_CAP_PRIORITY : 0;
	p->caps |= m->shared_per_unit_bytes ? DEV_CAP_OCCUPANCY : 0;
	p->caps &= ~m->lacks;
	p->units = m->units;
	p->slots_per_unit = m->slots_per_unit;
	p->copy_engines = m->copy_engines;
	p->block_threads = BLOCK_THREADS;
	double enough = ceil(1 / m->block_share);
	p->busy_blocks = m->units * (enough < m->slots_per_unit ? (uint32_t)enough : m->slots_per_unit);
	p->max_queued = m->max_queued;
	p->memory_bytes = m->memory_bytes;
	p->shared_per_unit_bytes = m->shared_per_unit_bytes;
	p->shared_per_block_bytes = m->shared_per_block_bytes;
	p->shared_granularity_bytes = m->shared_granularity_bytes;
	p->l1_bytes = m->l1_bytes;
	p->llc_bytes = m->llc_bytes;
	p->priority_low = m->priorities > 1 ? -1 : 0;
	p->priority_high = m->priorities > 1 ? 1 : 0;
}

/* What a model lacks must not work by accident either. */
static void apply_lacks(struct sim_model *m)
{
	if (m->lacks & DEV_CAP_COPY_ENGINE)
		m->copy_engines = 0;
	if (m->lacks & DEV_CAP_PRIORITY)
		m->priorities = 1;
	if (m->lacks & DEV_CAP_OCCUPANCY)
		m->shared_per_unit_bytes = m->shared_per_block_bytes = 0;
}

static int sim_open(const char *model, unsigned index, unsigned count, uint32_t want, struct dev **dev_p)
{
	(void)count;
	(void)want;
	struct sim_dev *d = calloc(1, sizeof(*d));
	if (!d)
		return err_note(-ENOMEM, "sim:%u: open: no memory", index);
	d->base.ops = &sim_ops;
	d->base.index = index;
	int rc = sim_model_load(model, &d->model);
	if (rc)
		goto free_dev;
	apply_lacks(&d->model);
	d->unit = calloc(d->model.units, sizeof(*d->unit));
	if (!d->unit) {
		rc = err_note(-ENOMEM, "sim:%u: open: no memory", index);
		goto free_dev;
	}
	pthread_mutex_lock(&lock);
	size_t slots = (size_t)d->model.units * d->model.slots_per_unit;
	rc = world_reserve(slots);
	if (rc) {
		rc = err_note(rc, "sim:%u: open: no memory for %zu slots", index, slots);
		goto unlock;
	}
	set_resources(d);
	set_props(d);
	d->kernels = kernels_fill(d->kernel, SIM_KERNELS);
	struct rng r;
	rng_seed(&r, d->model.seed + ((uint64_t)index << 54), UINT64_MAX);
	d->open_factor = exp(d->model.open_sigma * rng_normal(&r) - d->model.open_sigma * d->model.open_sigma / 2);
	struct sim_dev **end = &sim_world.devs;
	while (*end)
		end = &(*end)->next;
	*end = d;
	pthread_mutex_unlock(&lock);
	*dev_p = &d->base;
	return 0;
unlock:
	pthread_mutex_unlock(&lock);
	free(d->unit);
free_dev:
	free(d);
	return rc;
}

/* Work of others that uses this device's memory can't go on. */
static void fail_users(struct sim_dev *gone, struct sim_dev *d)
{
	for (struct dev_stream *s = d->streams; s; s = s->next) {
		bool uses = false;
		for (const struct op *op = s->head; op; op = op->next)
			for (unsigned i = 0; i < op->uses; i++)
				uses |= op->use[i]->dev == gone;
		if (!uses)
			continue;
		world_cancel(s);
		s->failed = -EFAULT;
		snprintf(s->failure, sizeof(s->failure), "sim:%u: queued work used memory of sim:%u, which was closed",
		         d->base.index, gone->base.index);
	}
	for (unsigned i = 0; i < d->peers; i++)
		if (d->peer[i] == gone)
			d->peer[i--] = d->peer[--d->peers];
}

static void sim_close(struct dev *dev)
{
	struct sim_dev *d = of(dev);
	pthread_mutex_lock(&lock);
	size_t streams = 0;
	for (struct dev_stream *s = d->streams; s; s = s->next, streams++)
		world_cancel(s);
	for (struct sim_dev *other = sim_world.devs; other; other = other->next)
		if (other != d)
			fail_users(d, other);
	while (d->streams) {
		struct dev_stream *s = d->streams;
		d->streams = s->next;
		free(s);
	}
	while (d->events) {
		struct dev_event *e = d->events;
		d->events = e->next;
		stamp_release(e->latest);
		free(e);
	}
	memory_free_all(d);
	struct sim_dev **at = &sim_world.devs;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	world_unreserve((size_t)d->model.units * d->model.slots_per_unit + streams - d->closed_streams);
	free(d->unit);
	free(d);
	pthread_mutex_unlock(&lock);
}

static uint64_t sim_clock_ns(struct dev *dev)
{
	pthread_mutex_lock(&lock);
	world_run(sim_world.now_ns + of(dev)->model.host_clock_ns);
	uint64_t now_ns = (uint64_t)sim_world.now_ns;
	pthread_mutex_unlock(&lock);
	return now_ns;
}

static int sim_clock_rate(struct dev *dev, double *hz_p)
{
	struct sim_dev *d = of(dev);
	if (!dev_can(dev, DEV_CAP_CLOCK_RATE))
		return err_note(-ENOTSUP, "sim:%u: clock_rate is not supported", dev->index);
	int rc = enter(d);
	if (!rc) {
		world_run(sim_world.now_ns + CLOCK_RATE_NS);
		*hz_p = d->model.clock_hz / op_stretch(d, d->serial++);
	}
	return leave(rc);
}

static int sim_peer_enable(struct dev *dev, struct dev *other)
{
	struct sim_dev *a = of(dev), *b = of(other);
	if (!dev_can(dev, DEV_CAP_PEER) || !dev_can(other, DEV_CAP_PEER))
		return err_note(-ENOTSUP, "sim:%u: peer access is not supported", dev->index);
	int rc = enter(a);
	for (unsigned i = 0; i < a->peers && !rc; i++)
		if (a->peer[i] == b)
			return leave(0);
	if (rc || a == b)
		return leave(rc);
	if (a->peers == SIM_PEERS || b->peers == SIM_PEERS)
		return leave(err_note(-ENOMEM, "sim:%u: more than %d peers", dev->index, SIM_PEERS));
	a->peer[a->peers++] = b;
	b->peer[b->peers++] = a;
	return leave(0);
}

/* ------------------------------------------------------------------ memory */

static int sim_alloc(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	int rc = enter(of(dev));
	return leave(rc ? rc : memory_alloc(of(dev), kind, bytes, ptr_p));
}

static int sim_free(struct dev *dev, void *ptr)
{
	int rc = enter(of(dev));
	return leave(rc ? rc : memory_free(of(dev), ptr));
}

/* ------------------------------------------------------------------ streams */

static int sim_stream_open(struct dev *dev, int priority, struct dev_stream **s_p)
{
	struct sim_dev *d = of(dev);
	int rc = enter(d);
	if (rc)
		return leave(rc);
	if (priority < dev->props.priority_low || priority > dev->props.priority_high)
		return leave(err_note(-EINVAL, "sim:%u: open a stream: priority %d is outside %d to %d", dev->index, priority,
		                      dev->props.priority_low, dev->props.priority_high));
	struct dev_stream *s = calloc(1, sizeof(*s));
	if (!s || world_reserve(1)) {
		free(s);
		return leave(err_note(-ENOMEM, "sim:%u: open a stream: no memory", dev->index));
	}
	s->dev = d;
	s->priority = priority;
	struct dev_stream **end = &d->streams;
	while (*end)
		end = &(*end)->next;
	*end = s;
	*s_p = s;
	return leave(0);
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

static void sim_stream_close(struct dev *dev, struct dev_stream *s)
{
	struct sim_dev *d = of(dev);
	pass_time(d);
	int rc = check_stream(d, s);
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
	leave(0);
}

static int sim_stream_sync(struct dev *dev, struct dev_stream *s)
{
	struct sim_dev *d = of(dev);
	int rc = enter_stream(d, s);
	if (rc)
		return leave(rc);
	while (s->head)
		if (!world_step() && s->head)
			return leave(dead(d, "synchronise a stream", s));
	world_run(sim_world.now_ns + d->model.host_sync_ns);
	rc = s->failed;
	s->failed = 0;
	return leave(rc ? err_note(rc, "%s", s->failure) : 0);
}

/* ------------------------------------------------------------------ queueing */

static int op_new(struct sim_dev *d, struct dev_stream *s, enum op_kind kind, struct op **op_p)
{
	struct op *op = calloc(1, sizeof(*op));
	if (!op)
		return err_note(-ENOMEM, "sim:%u: queue an operation: no memory", d->base.index);
	op->kind = kind;
	op->stream = s;
	op->serial = d->serial++;
	op->stretch = op_stretch(d, op->serial);
	op->slow_down = 1;
	*op_p = op;
	return 0;
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

static int sim_copy(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes)
{
	struct sim_dev *d = of(dev);
	struct op *op;
	int rc = enter_stream(d, s);
	if (!rc)
		rc = op_new(d, s, d->model.copy_engines ? OP_COPY : OP_LAUNCH, &op);
	if (rc)
		return leave(rc);
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
	return leave(op_queue(d, op, rc));
}

static int sim_fill(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	struct sim_dev *d = of(dev);
	struct op *op;
	int rc = enter_stream(d, s);
	if (!rc)
		rc = op_new(d, s, OP_FILL, &op);
	if (rc)
		return leave(rc);
	rc = op_use(d, op, dst, bytes, "fill", NULL);
	op->dst = dst;
	op->bytes = bytes;
	op->value = byte;
	slow_down(d, op, "fill");
	return leave(op_queue(d, op, rc));
}

/* ------------------------------------------------------------------ events */

static int sim_event_open(struct dev *dev, struct dev_event **e_p)
{
	struct sim_dev *d = of(dev);
	int rc = enter(d);
	if (rc)
		return leave(rc);
	struct dev_event *e = calloc(1, sizeof(*e));
	if (!e)
		return leave(err_note(-ENOMEM, "sim:%u: open an event: no memory", dev->index));
	e->dev = d;
	e->next = d->events;
	d->events = e;
	*e_p = e;
	return leave(0);
}

static void sim_event_close(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = of(dev);
	pass_time(d);
	struct dev_event **at = &d->events;
	while (*at && *at != e)
		at = &(*at)->next;
	if (*at) {
		*at = e->next;
		stamp_release(e->latest);
		free(e);
	}
	leave(0);
}

static int sim_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct sim_dev *d = of(dev);
	struct op *op;
	int rc = enter_stream(d, s);
	if (!rc)
		rc = check_event(d, e);
	if (!rc)
		rc = op_new(d, s, OP_RECORD, &op);
	if (rc)
		return leave(rc);
	struct stamp *stamp = calloc(1, sizeof(*stamp));
	if (!stamp)
		return leave(op_queue(d, op, err_note(-ENOMEM, "sim:%u: record an event: no memory", dev->index)));
	stamp->holders = 2;
	stamp->stream = s;
	op->stamp = stamp;
	rc = op_queue(d, op, 0);
	if (rc) {
		stamp_release(stamp);
		return leave(rc);
	}
	stamp_release(e->latest);
	e->latest = stamp;
	return leave(0);
}

static int never(struct sim_dev *d, const char *what)
{
	return err_note(-EINVAL, "sim:%u: %s an event that was never recorded", d->base.index, what);
}

static int sim_event_query(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = of(dev);
	int rc = enter(d);
	if (!rc)
		rc = check_any_event(d, e);
	if (rc)
		return leave(rc);
	if (!e->latest)
		return leave(never(d, "query"));
	return leave(e->latest->done ? 0 : -EAGAIN);
}

static int sim_event_sync(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = of(dev);
	int rc = enter(d);
	if (!rc)
		rc = check_any_event(d, e);
	if (rc)
		return leave(rc);
	if (!e->latest)
		return leave(never(d, "synchronise"));
	while (!e->latest->done)
		if (!world_step() && !e->latest->done)
			return leave(dead(d, "synchronise an event", e->latest->stream));
	world_run(sim_world.now_ns + d->model.host_sync_ns);
	return leave(0);
}

static int sim_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to, double *ns_p)
{
	struct sim_dev *d = of(dev);
	int rc = enter(d);
	if (!rc)
		rc = check_any_event(d, from);
	if (!rc)
		rc = check_any_event(d, to);
	if (rc)
		return leave(rc);
	if (!from->latest || !to->latest)
		return leave(never(d, "measure from or to"));
	if (!from->latest->done || !to->latest->done)
		return leave(-EAGAIN);
	*ns_p = to->latest->at_ns - from->latest->at_ns;
	return leave(0);
}

static int sim_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct sim_dev *d = of(dev);
	struct op *op;
	int rc = enter_stream(d, s);
	if (!rc)
		rc = check_any_event(d, e);
	if (rc || !e->latest)
		return leave(rc);
	rc = op_new(d, s, OP_WAIT, &op);
	if (rc)
		return leave(rc);
	op->stamp = e->latest;
	op->stamp->holders++;
	return leave(op_queue(d, op, 0));
}

/* ------------------------------------------------------------------ values */

static int value_op(struct sim_dev *d, struct dev_stream *s, enum op_kind kind, uint32_t *at, uint32_t value)
{
	struct op *op;
	if (!dev_can(&d->base, DEV_CAP_WAIT_VALUE))
		return err_note(-ENOTSUP, "sim:%u: values are not supported", d->base.index);
	int rc = op_new(d, s, kind, &op);
	if (rc)
		return rc;
	rc = op_use(d, op, at, sizeof(*at), kind == OP_WAIT_VALUE ? "wait for a value" : "write a value", NULL);
	if (!rc && (uintptr_t)at % sizeof(*at))
		rc = err_note(-EINVAL, "sim:%u: a value must be aligned to %zu", d->base.index, sizeof(*at));
	op->dst = (char *)at;
	op->value = value;
	return op_queue(d, op, rc);
}

static int sim_wait_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	int rc = enter_stream(of(dev), s);
	return leave(rc ? rc : value_op(of(dev), s, OP_WAIT_VALUE, at, value));
}

static int sim_write_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	int rc = enter_stream(of(dev), s);
	return leave(rc ? rc : value_op(of(dev), s, OP_WRITE_VALUE, at, value));
}

static int sim_post_value(struct dev *dev, uint32_t *at, uint32_t value)
{
	struct sim_dev *d = of(dev);
	int rc = enter(d);
	if (rc)
		return leave(rc);
	if (!memory_find(d, at, sizeof(*at), "post a value"))
		return leave(-EFAULT);
	if ((uintptr_t)at % sizeof(*at))
		return leave(err_note(-EINVAL, "sim:%u: a value must be aligned to %zu", dev->index, sizeof(*at)));
	*at = value;
	world_written();
	world_run(sim_world.now_ns);
	return leave(0);
}

/* ------------------------------------------------------------------ kernels */

static int sim_kernel_find(struct dev *dev, const char *name, struct dev_kernel **k_p)
{
	struct sim_dev *d = of(dev);
	for (size_t i = 0; i < d->kernels; i++) {
		if (strcmp(d->kernel[i].type->name, name) == 0) {
			*k_p = &d->kernel[i];
			return 0;
		}
	}
	return err_note(-ENOENT, "sim:%u: there is no kernel '%s'", dev->index, name);
}

static int check_kernel(struct sim_dev *d, const struct dev_kernel *k)
{
	for (size_t i = 0; i < d->kernels; i++)
		if (k == &d->kernel[i])
			return 0;
	return bad_handle(d, "kernel");
}

static int check_block(struct sim_dev *d, uint32_t block, uint64_t shared_bytes, uint64_t *claim_p)
{
	const struct sim_model *m = &d->model;
	if (block > MOST_BLOCK_THREADS)
		return err_note(-EINVAL, "sim:%u: a block of %u threads; at most %u", d->base.index, block, MOST_BLOCK_THREADS);
	if (shared_bytes > m->shared_per_block_bytes)
		return err_note(-EINVAL, "sim:%u: a block with %llu bytes of shared memory; at most %llu", d->base.index,
		                (unsigned long long)shared_bytes, (unsigned long long)m->shared_per_block_bytes);
	uint64_t granularity = m->shared_granularity_bytes;
	*claim_p = (shared_bytes + granularity - 1) / granularity * granularity;
	if (*claim_p > m->shared_per_unit_bytes)
		return err_note(-EINVAL, "sim:%u: a block claims %llu bytes of shared memory; a unit has %llu", d->base.index,
		                (unsigned long long)*claim_p, (unsigned long long)m->shared_per_unit_bytes);
	return 0;
}

static int sim_occupancy(struct dev *dev, struct dev_kernel *k, uint32_t block, uint64_t shared_bytes, uint32_t *blocks_p)
{
	struct sim_dev *d = of(dev);
	uint64_t claim;
	int rc = check_kernel(d, k);
	if (!rc)
		rc = check_block(d, block, shared_bytes, &claim);
	if (rc)
		return rc;
	uint64_t fit = claim ? d->model.shared_per_unit_bytes / claim : UINT64_MAX;
	*blocks_p = fit < d->model.slots_per_unit ? (uint32_t)fit : d->model.slots_per_unit;
	return 0;
}

static int sim_launch(struct dev *dev, struct dev_stream *s, struct dev_kernel *k, const struct dev_launch *l)
{
	struct sim_dev *d = of(dev);
	struct op *op;
	uint64_t claim;
	int rc = enter_stream(d, s);
	if (!rc)
		rc = check_kernel(d, k);
	if (!rc)
		rc = check_block(d, l->block, l->shared_bytes, &claim);
	if (!rc && l->grid == 0)
		rc = err_note(-EINVAL, "sim:%u: launch %s: the grid is 0", dev->index, k->type->name);
	if (!rc)
		rc = op_new(d, s, OP_LAUNCH, &op);
	if (rc)
		return leave(rc);
	op->type = k->type;
	op->grid = l->grid;
	op->claim_bytes = claim;
	slow_down(d, op, k->type->name);
	return leave(op_queue(d, op, kernel_prepare(d, op, l->args)));
}

static int sim_gemm(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g)
{
	struct sim_dev *d = of(dev);
	struct op *op;
	uint64_t claim;
	if (!dev_can(dev, DEV_CAP_GEMM))
		return err_note(-ENOTSUP, "sim:%u: gemm is not supported", dev->index);
	int rc = enter_stream(d, s);
	if (!rc)
		rc = check_block(d, 0, g->shared_bytes, &claim);
	if (!rc)
		rc = op_new(d, s, OP_LAUNCH, &op);
	if (rc)
		return leave(rc);
	op->claim_bytes = claim;
	slow_down(d, op, "gemm");
	return leave(op_queue(d, op, gemm_prepare(d, op, g)));
}

const struct dev_ops sim_ops = {
	.name = "sim",
	.probe = sim_probe,
	.open = sim_open,
	.close = sim_close,
	.clock_ns = sim_clock_ns,
	.clock_rate = sim_clock_rate,
	.alloc = sim_alloc,
	.free = sim_free,
	.copy = sim_copy,
	.fill = sim_fill,
	.stream_open = sim_stream_open,
	.stream_close = sim_stream_close,
	.stream_sync = sim_stream_sync,
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
	.peer_enable = sim_peer_enable,
};
