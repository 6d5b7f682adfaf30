/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_dev.h"
#include "lib/vec.h"

#include <errno.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ enqueued operations */

int gpu_refuse_capture(const struct dev_stream *s, const char *what)
{
	return s->capturing ? err_note(-ENOTSUP, "%s:%u: %s cannot be captured in a graph",
				       s->dev->vendor->name, s->dev->dev.index, what)
			    : 0;
}

int gpu_enqueue(struct gpu_dev *d, struct dev_stream *s)
{
	int status = gpu_ctx_use(d);
	if (!status && !s->capturing)
		atomic_store_explicit(&s->queued,
				      atomic_load_explicit(&s->queued, memory_order_relaxed) + 1,
				      memory_order_relaxed);
	return status;
}

static int add_wait(struct gpu_waits *w, struct gpu_pending wait)
{
	struct gpu_pending *list = vec_grow(w->list, w->count, &w->capacity, sizeof(*list));
	if (!list)
		return err_note(-ENOMEM, "wait: out of memory");
	w->list = list;
	w->list[w->count++] = wait;
	return 0;
}

int gpu_record_value_wait(struct dev_stream *s, uint32_t *at)
{
	gpu_lock();
	int status = add_wait(s->capturing ? &s->capturing->waits : &s->waits,
			      (struct gpu_pending){.op = s->queued, .value = at});
	gpu_unlock();
	return status;
}

int gpu_record_graph_waits(struct dev_stream *s, const struct dev_graph *g)
{
	int status = 0;
	gpu_lock();
	for (size_t i = 0; i < g->waits.count && !status; i++)
		status = add_wait(&s->waits, (struct gpu_pending){.op = s->queued,
								  .value = g->waits.list[i].value});
	gpu_unlock();
	return status;
}

static int record_event_wait(struct dev_stream *s, const struct dev_event *e)
{
	int status = 0;
	gpu_lock();
	if (e->stream && e->stream != s && e->op > e->stream->done)
		status = add_wait(&s->waits, (struct gpu_pending){.op = s->queued,
								  .stream = e->stream,
								  .stream_op = e->op});
	gpu_unlock();
	return status;
}

/* All operations up to this one are done. Lock held. */
static void mark_done_up_to(struct dev_stream *s, uint64_t op)
{
	if (s->done < op)
		s->done = op;
	size_t kept = 0;
	for (size_t i = 0; i < s->waits.count; i++)
		if (s->waits.list[i].op > s->done)
			s->waits.list[kept++] = s->waits.list[i];
	s->waits.count = kept;
}

bool gpu_idle(struct gpu_dev *d)
{
	bool idle = true;
	gpu_lock();
	for (const struct dev_stream *s = d->streams; s && idle; s = s->next)
		idle = s->done == s->queued && !s->capturing;
	gpu_unlock();
	return idle;
}

/* ------------------------------------------------------------------ streams */

/* Priorities of dev.h rise from 0; the vendors' fall to a negative number. */
static int priority_of_vendor(const struct gpu_dev *d, int priority)
{
	return d->traits.priority_lowest - priority;
}

int gpu_stream_open(struct dev *dev, int priority, struct dev_stream **s_p)
{
	struct gpu_dev *d = gpu_of(dev);
	const struct dev_props *p = &dev->props;
	if (priority < p->priority_low || priority > p->priority_high)
		return err_note(-EINVAL, "open a stream: priority %d is not in %d..%d", priority,
				p->priority_low, p->priority_high);
	int status = gpu_ctx_use(d);
	struct dev_stream *s = status ? NULL : calloc(1, sizeof(*s));
	if (!s)
		return status ? status : err_note(-ENOMEM, "open a stream: out of memory");
	s->dev = d;
	s->priority = priority_of_vendor(d, priority);
	status = gpu_check(d, d->driver->stream_open(s->priority, &s->handle));
	if (status) {
		free(s);
		return status;
	}
	gpu_lock();
	s->next = d->streams;
	d->streams = s;
	gpu_unlock();
	*s_p = s;
	return 0;
}

/* Other streams no longer wait for this one. Lock held. */
static void forget_waits_for(struct gpu_dev *d, const struct dev_stream *gone)
{
	for (struct dev_stream *s = d->streams; s; s = s->next)
		for (size_t i = 0; i < s->waits.count; i++)
			if (s->waits.list[i].stream == gone)
				s->waits.list[i--] = s->waits.list[--s->waits.count];
}

/* Removes an idle stream from all lists. Lock held. */
static void unlink_stream(struct dev_stream *s)
{
	struct gpu_dev *d = s->dev;
	struct dev_stream **at = &d->streams;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	forget_waits_for(d, s); /* a closing device is in no list */
	for (struct gpu_dev *open = gpu_open_devices(); open; open = open->next)
		forget_waits_for(open, s);
	for (struct dev_event *e = d->events; e; e = e->next)
		if (e->stream == s)
			e->stream = NULL;
}

static void destroy_stream(struct dev_stream *s)
{
	struct gpu_dev *d = s->dev;
	const struct gpu_driver *driver = d->driver;
	driver->stream_close(s->handle);
	if (s->blas_state && gpu_ctx_use(d) == 0)
		d->vendor->blas->stream_close(d->blas, s->blas_state);
	if (s->workspace)
		driver->free(s->workspace);
	free(s->waits.list);
	free(s);
}

/* A stream with unfinished work, or of unknown state, stays until the device is closed: the values
 * that it waits for must be known. */
void gpu_stream_close(struct dev *dev, struct dev_stream *s)
{
	struct gpu_dev *d = gpu_of(dev);
	bool usable = gpu_ctx_use(d) == 0;
	gpu_capture_discard(s);
	bool busy = !usable || d->driver->stream_query(s->handle) == -EAGAIN;
	gpu_lock();
	s->closed = true;
	if (!busy)
		unlink_stream(s);
	gpu_unlock();
	if (!busy)
		destroy_stream(s);
}

/* Replaces the stream of the vendor: what that may use is settled when it is created. */
int gpu_stream_units(struct dev *dev, struct dev_stream *s, uint32_t first, uint32_t count)
{
	struct gpu_dev *d = gpu_of(dev);
	const uint32_t step = d->traits.unit_step;
	const struct gpu_part part = {first, count, dev->props.units};
	void *handle = NULL;
	int status = gpu_ctx_use(d);
	if (!status)
		status = gpu_stream_query(dev, s);
	if (status == -EAGAIN)
		return err_note(-EBUSY, "%s:%u: stream_units: the stream has work", d->vendor->name,
				dev->index);
	if (!status && (first % step || (count % step && first + count < part.units)))
		return err_note(-ENOTSUP,
				"stream_units: units %u to %u: this device divides its %u at "
				"multiples of %u",
				first, first + count - 1, part.units, step);
	if (!status)
		status = gpu_check(d, count == part.units
					      ? d->driver->stream_open(s->priority, &handle)
					      : d->driver->stream_open_on(d->ordinal, s->priority,
									  &part, &handle));
	if (status)
		return status;
	status = gpu_check(d, d->driver->stream_close(s->handle));
	s->handle = handle;
	return status;
}

int gpu_stream_sync(struct dev *dev, struct dev_stream *s)
{
	struct gpu_dev *d = gpu_of(dev);
	int status = gpu_ctx_use(d);
	if (!status)
		status = gpu_refuse_capture(s, "a wait of the host");
	if (status)
		return status;
	uint64_t op = s->queued;
	status = gpu_check(d, d->driver->stream_sync(s->handle));
	if (status)
		return status;
	gpu_lock();
	mark_done_up_to(s, op);
	gpu_unlock();
	return 0;
}

int gpu_stream_query(struct dev *dev, struct dev_stream *s)
{
	struct gpu_dev *d = gpu_of(dev);
	if (s->capturing)
		return -EAGAIN;
	int status = gpu_ctx_use(d);
	return status ? status : gpu_check(d, d->driver->stream_query(s->handle));
}

int gpu_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct gpu_dev *d = gpu_of(dev);
	int status = gpu_refuse_capture(s, "an event");
	if (!status)
		status = gpu_enqueue(d, s);
	if (status || !e->recorded)
		return status;
	status = record_event_wait(s, e);
	return status ? status : gpu_check(d, d->driver->stream_wait(s->handle, e->handle));
}

/* ------------------------------------------------------------------ events */

int gpu_event_open(struct dev *dev, struct dev_event **e_p)
{
	struct gpu_dev *d = gpu_of(dev);
	int status = gpu_ctx_use(d);
	struct dev_event *e = status ? NULL : calloc(1, sizeof(*e));
	if (!e)
		return status ? status : err_note(-ENOMEM, "open an event: out of memory");
	e->dev = d;
	status = gpu_check(d, d->driver->event_open(&e->handle));
	if (status) {
		free(e);
		return status;
	}
	gpu_lock();
	e->next = d->events;
	d->events = e;
	gpu_unlock();
	*e_p = e;
	return 0;
}

/* The vendors allow closing an event while records and waits of it are queued. */
void gpu_event_close(struct dev *dev, struct dev_event *e)
{
	struct gpu_dev *d = gpu_of(dev);
	gpu_lock();
	struct dev_event **at = &d->events;
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	gpu_unlock();
	gpu_ctx_use(d);
	d->driver->event_close(e->handle);
	free(e);
}

int gpu_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct gpu_dev *d = gpu_of(dev);
	int status = gpu_refuse_capture(s, "an event");
	if (!status)
		status = gpu_enqueue(d, s);
	if (!status)
		status = gpu_check(d, d->driver->event_record(s->handle, e->handle));
	if (status)
		return status;
	gpu_lock();
	e->recorded = true;
	e->stream = s;
	e->op = s->queued;
	gpu_unlock();
	return 0;
}

static int note_never_recorded(void) { return err_note(-EINVAL, "the event was never recorded"); }

static void mark_event_complete(struct dev_event *e)
{
	gpu_lock();
	if (e->stream)
		mark_done_up_to(e->stream, e->op);
	gpu_unlock();
}

int gpu_event_query(struct dev *dev, struct dev_event *e)
{
	struct gpu_dev *d = gpu_of(dev);
	if (!e->recorded)
		return note_never_recorded();
	int status = gpu_ctx_use(d);
	if (!status)
		status = gpu_check(d, d->driver->event_query(e->handle));
	if (!status)
		mark_event_complete(e);
	return status;
}

int gpu_event_sync(struct dev *dev, struct dev_event *e)
{
	struct gpu_dev *d = gpu_of(dev);
	if (!e->recorded)
		return note_never_recorded();
	int status = gpu_ctx_use(d);
	if (!status)
		status = gpu_check(d, d->driver->event_sync(e->handle));
	if (!status)
		mark_event_complete(e);
	return status;
}

int gpu_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to,
			 double *ns_p)
{
	struct gpu_dev *d = gpu_of(dev);
	float ms = 0;
	if (!from->recorded || !to->recorded)
		return note_never_recorded();
	int status = gpu_event_query(&from->dev->dev, from);
	if (!status)
		status = gpu_event_query(&to->dev->dev, to);
	if (!status)
		status = gpu_ctx_use(d);
	if (!status)
		status = gpu_check(d, d->driver->event_elapsed_ms(from->handle, to->handle, &ms));
	if (!status)
		*ns_p = (double)ms * 1e6;
	return status;
}

/* ------------------------------------------------------------------ closing */

/* A value that holds up this operation, directly or through an operation of another stream; each
 * value is returned once. An operation waits only for operations enqueued before it, so the
 * recursion ends. Lock held. */
static uint32_t *take_value(struct dev_stream *s, uint64_t op, struct gpu_dev **owner_p)
{
	uint32_t *at = NULL;
	for (size_t i = 0; i < s->waits.count && !at; i++) {
		struct gpu_pending *wait = &s->waits.list[i];
		if (wait->op > op)
			continue;
		at = wait->value;
		if (at)
			*owner_p = s->dev;
		else if (wait->stream)
			at = take_value(wait->stream, wait->stream_op, owner_p);
		if (at == wait->value)
			*wait = (struct gpu_pending){.op = wait->op};
	}
	return at;
}

/* Writes the value that a stream waits for. Pinned memory is written without the driver: a
 * device marked as lost may still be running. */
static void satisfy_value_wait(struct gpu_dev *d, uint32_t *at)
{
	gpu_lock();
	const struct gpu_memory *m = gpu_memory_find(d, at, sizeof(*at));
	bool pinned = m && m->kind == DEV_MEM_PINNED;
	gpu_unlock();
	if (pinned)
		__atomic_store_n(at, DEV_VALUE_MAX, __ATOMIC_RELEASE);
	else
		gpu_post_value(&d->dev, at, DEV_VALUE_MAX);
}

void gpu_queue_release(struct gpu_dev *d)
{
	for (struct dev_stream *s = d->streams; s; s = s->next) {
		struct gpu_dev *owner = NULL;
		uint32_t *at;
		do {
			gpu_lock();
			at = take_value(s, UINT64_MAX, &owner);
			gpu_unlock();
			if (at)
				satisfy_value_wait(owner, at);
		} while (at);
	}
}

void gpu_queue_drain(struct gpu_dev *d)
{
	bool usable = gpu_ctx_use(d) == 0;
	for (struct dev_stream *s = d->streams; s; s = s->next) {
		gpu_capture_discard(s);
		if (usable)
			d->driver->stream_sync(s->handle);
	}
}

void gpu_queue_close(struct gpu_dev *d)
{
	if (d->internal_stream)
		gpu_queue_release(d);
	gpu_queue_drain(d);
	for (struct dev_stream *s = d->streams, *next; s; s = next) {
		next = s->next;
		gpu_lock();
		unlink_stream(s);
		gpu_unlock();
		destroy_stream(s);
	}
	d->internal_stream = NULL;
	while (d->events)
		gpu_event_close(&d->dev, d->events);
}
