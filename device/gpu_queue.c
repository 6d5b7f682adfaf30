/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_dev.h"

#include <errno.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ what is queued */

static int refuse_noting(const struct dev_stream *s, const char *what)
{
	return s->noting ? err_note(-ENOTSUP, "%s:%u: %s can't be noted in a graph", s->dev->vendor->name, s->dev->dev.index,
	                            what)
	                 : 0;
}

static int check_stream(const struct gpu_dev *d, const struct dev_stream *s)
{
	return s->dev == d ? 0 : err_note(-EINVAL, "%s:%u: the stream belongs to another device", d->vendor->name, d->dev.index);
}

int gpu_enqueue(struct gpu_dev *d, struct dev_stream *s, struct gpu_range *ranges, size_t count)
{
	int rc = gpu_enter(d);
	if (!rc)
		rc = check_stream(d, s);
	if (rc)
		return rc;
	gpu_lock();
	for (size_t i = 0; i < count && !rc; i++) {
		struct gpu_memory *m = gpu_memory_find(d, ranges[i].ptr, ranges[i].bytes, ranges[i].pageable);
		if (m && m->kind == DEV_MEM_PAGEABLE)
			rc = refuse_noting(s, "a copy of pageable memory");
		if (!rc)
			rc = m ? gpu_memory_use(m, s) : -EFAULT;
		ranges[i].found = m;
	}
	if (!rc && !s->noting)
		s->queued++;
	gpu_unlock();
	return rc;
}

static int add_wait(struct gpu_waits *w, struct gpu_pending wait)
{
	if (w->count == w->room) {
		size_t room = w->room ? 2 * w->room : 8;
		struct gpu_pending *at = realloc(w->at, room * sizeof(*at));
		if (!at)
			return err_note(-ENOMEM, "wait: out of memory");
		w->at = at;
		w->room = room;
	}
	w->at[w->count++] = wait;
	return 0;
}

int gpu_remember_value(struct dev_stream *s, uint32_t *at)
{
	gpu_lock();
	int rc = add_wait(s->noting ? &s->noting->waits : &s->waits, (struct gpu_pending){.op = s->queued, .at = at});
	gpu_unlock();
	return rc;
}

int gpu_remember_graph(struct dev_stream *s, const struct dev_graph *g)
{
	int rc = 0;
	gpu_lock();
	for (size_t i = 0; i < g->waits.count && !rc; i++)
		rc = add_wait(&s->waits, (struct gpu_pending){.op = s->queued, .at = g->waits.at[i].at});
	gpu_unlock();
	return rc;
}

static int remember_event(struct dev_stream *s, const struct dev_event *e)
{
	int rc = 0;
	gpu_lock();
	if (e->stream && e->stream != s && e->op > e->stream->done)
		rc = add_wait(&s->waits, (struct gpu_pending){.op = s->queued, .on = e->stream, .on_op = e->op});
	gpu_unlock();
	return rc;
}

/* All up to this operation is done. Lock held. */
static void done_up_to(struct dev_stream *s, uint64_t op)
{
	if (s->done < op)
		s->done = op;
	size_t kept = 0;
	for (size_t i = 0; i < s->waits.count; i++)
		if (s->waits.at[i].op > s->done)
			s->waits.at[kept++] = s->waits.at[i];
	s->waits.count = kept;
}

bool gpu_idle(struct gpu_dev *d)
{
	bool idle = true;
	gpu_lock();
	for (const struct dev_stream *s = d->streams; s && idle; s = s->next)
		idle = s->done == s->queued && !s->noting;
	gpu_unlock();
	return idle;
}

/* ------------------------------------------------------------------ streams */

/* The contract's priorities rise from 0, the vendors' fall to a negative number. */
static int priority_of_vendor(const struct gpu_dev *d, int priority) { return d->traits.priority_least - priority; }

int gpu_stream_open(struct dev *dev, int priority, struct dev_stream **s_p)
{
	struct gpu_dev *d = gpu_of(dev);
	const struct dev_props *p = &dev->props;
	if (priority < p->priority_low || priority > p->priority_high)
		return err_note(-EINVAL, "open a stream: priority %d is not in %d..%d", priority, p->priority_low, p->priority_high);
	int rc = gpu_enter(d);
	struct dev_stream *s = rc ? NULL : calloc(1, sizeof(*s));
	if (!s)
		return rc ? rc : err_note(-ENOMEM, "open a stream: out of memory");
	s->dev = d;
	rc = gpu_answer(d, d->driver->stream_open(priority_of_vendor(d, priority), &s->handle));
	if (rc) {
		free(s);
		return rc;
	}
	gpu_lock();
	s->next = d->streams;
	d->streams = s;
	gpu_unlock();
	*s_p = s;
	return 0;
}

/* Waits of other streams for this one have ended. Lock held. */
static void forget_waits_for(struct gpu_dev *d, const struct dev_stream *gone)
{
	for (struct dev_stream *s = d->streams; s; s = s->next)
		for (size_t i = 0; i < s->waits.count; i++)
			if (s->waits.at[i].on == gone)
				s->waits.at[i--] = s->waits.at[--s->waits.count];
}

/* Nothing of the stream is running. Lock held. */
static void drop(struct dev_stream *s)
{
	struct gpu_dev *d = s->dev;
	struct dev_stream **at = &d->streams;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	gpu_memory_forget(s);
	forget_waits_for(d, s); /* which may be closing, and in no list */
	for (struct gpu_dev *open = gpu_open_devices(); open; open = open->next)
		forget_waits_for(open, s);
	for (struct dev_event *e = d->events; e; e = e->next)
		if (e->stream == s)
			e->stream = NULL;
}

static void end(struct dev_stream *s)
{
	const struct gpu_driver *driver = s->dev->driver;
	driver->stream_close(s->handle);
	if (s->workspace)
		driver->free(s->workspace);
	free(s->waits.at);
	free(s);
}

/* A stream that still works, or of which nobody can say, stays until the device is closed: what it uses, and what it waits for,
 * must be known. */
void gpu_stream_close(struct dev *dev, struct dev_stream *s)
{
	struct gpu_dev *d = gpu_of(dev);
	bool works = gpu_enter(d) == 0;
	gpu_graph_abandon(s);
	bool busy = !works || d->driver->stream_query(s->handle) == -EAGAIN;
	gpu_lock();
	s->closed = true;
	if (!busy)
		drop(s);
	gpu_unlock();
	if (!busy)
		end(s);
}

int gpu_stream_sync(struct dev *dev, struct dev_stream *s)
{
	struct gpu_dev *d = gpu_of(dev);
	int rc = gpu_enter(d);
	if (!rc)
		rc = refuse_noting(s, "a wait of the host");
	if (rc)
		return rc;
	uint64_t op = s->queued;
	rc = gpu_answer(d, d->driver->stream_sync(s->handle));
	if (rc)
		return rc;
	gpu_lock();
	done_up_to(s, op);
	gpu_unlock();
	return 0;
}

int gpu_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct gpu_dev *d = gpu_of(dev);
	int rc = refuse_noting(s, "an event");
	if (!rc)
		rc = gpu_enqueue(d, s, NULL, 0);
	if (rc || !e->recorded)
		return rc;
	rc = remember_event(s, e);
	return rc ? rc : gpu_answer(d, d->driver->stream_wait(s->handle, e->handle));
}

/* ------------------------------------------------------------------ events */

int gpu_event_open(struct dev *dev, struct dev_event **e_p)
{
	struct gpu_dev *d = gpu_of(dev);
	int rc = gpu_enter(d);
	struct dev_event *e = rc ? NULL : calloc(1, sizeof(*e));
	if (!e)
		return rc ? rc : err_note(-ENOMEM, "open an event: out of memory");
	e->dev = d;
	rc = gpu_answer(d, d->driver->event_open(&e->handle));
	if (rc) {
		free(e);
		return rc;
	}
	gpu_lock();
	e->next = d->events;
	d->events = e;
	gpu_unlock();
	*e_p = e;
	return 0;
}

/* Vendors let an event go while records and waits of it are queued. */
void gpu_event_close(struct dev *dev, struct dev_event *e)
{
	struct gpu_dev *d = gpu_of(dev);
	gpu_lock();
	struct dev_event **at = &d->events;
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	gpu_unlock();
	gpu_enter(d);
	d->driver->event_close(e->handle);
	free(e);
}

int gpu_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct gpu_dev *d = gpu_of(dev);
	int rc = refuse_noting(s, "an event");
	if (!rc && e->dev != d)
		rc = err_note(-EINVAL, "%s:%u: the event belongs to another device", d->vendor->name, dev->index);
	if (!rc)
		rc = gpu_enqueue(d, s, NULL, 0);
	if (!rc)
		rc = gpu_answer(d, d->driver->event_record(s->handle, e->handle));
	if (rc)
		return rc;
	gpu_lock();
	e->recorded = true;
	e->stream = s;
	e->op = s->queued;
	gpu_unlock();
	return 0;
}

static int never_recorded(void) { return err_note(-EINVAL, "the event was never recorded"); }

static void was_seen(struct dev_event *e)
{
	gpu_lock();
	if (e->stream)
		done_up_to(e->stream, e->op);
	gpu_unlock();
}

int gpu_event_query(struct dev *dev, struct dev_event *e)
{
	struct gpu_dev *d = gpu_of(dev);
	if (!e->recorded)
		return never_recorded();
	int rc = gpu_enter(d);
	if (!rc)
		rc = gpu_answer(d, d->driver->event_query(e->handle));
	if (!rc)
		was_seen(e);
	return rc;
}

int gpu_event_sync(struct dev *dev, struct dev_event *e)
{
	struct gpu_dev *d = gpu_of(dev);
	if (!e->recorded)
		return never_recorded();
	int rc = gpu_enter(d);
	if (!rc)
		rc = gpu_answer(d, d->driver->event_sync(e->handle));
	if (!rc)
		was_seen(e);
	return rc;
}

int gpu_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to, double *ns_p)
{
	struct gpu_dev *d = gpu_of(dev);
	float ms = 0;
	if (!from->recorded || !to->recorded)
		return never_recorded();
	int rc = gpu_event_query(&from->dev->dev, from);
	if (!rc)
		rc = gpu_event_query(&to->dev->dev, to);
	if (!rc)
		rc = gpu_enter(d);
	if (!rc)
		rc = gpu_answer(d, d->driver->event_elapsed_ms(from->handle, to->handle, &ms));
	if (!rc)
		*ns_p = (double)ms * 1e6;
	return rc;
}

/* ------------------------------------------------------------------ closing */

/* A value that holds up this operation, or one that it waits for in another stream; each is given once. What an operation waits
 * for was enqueued before it, so this ends. Lock held. */
static uint32_t *take_value(struct dev_stream *s, uint64_t op, struct gpu_dev **owner_p)
{
	uint32_t *at = NULL;
	for (size_t i = 0; i < s->waits.count && !at; i++) {
		struct gpu_pending *wait = &s->waits.at[i];
		if (wait->op > op)
			continue;
		at = wait->at;
		if (at)
			*owner_p = s->dev;
		else if (wait->on)
			at = take_value(wait->on, wait->on_op, owner_p);
		if (at == wait->at)
			*wait = (struct gpu_pending){.op = wait->op};
	}
	return at;
}

/* Pinned memory needs no driver, which is of use where the device is lost and still works: who said so may have been wrong. */
static void let_go(struct gpu_dev *d, uint32_t *at)
{
	gpu_lock();
	const struct gpu_memory *m = gpu_memory_find(d, at, sizeof(*at), false);
	bool pinned = m && m->kind == DEV_MEM_PINNED;
	gpu_unlock();
	if (pinned)
		__atomic_store_n(at, DEV_VALUE_MAX, __ATOMIC_RELEASE);
	else
		gpu_post_value(&d->dev, at, DEV_VALUE_MAX);
}

/* What waits for a value that nobody will write any more goes on, on other devices too if this one waits for them. */
static void release(struct gpu_dev *d)
{
	for (struct dev_stream *s = d->streams; s; s = s->next) {
		struct gpu_dev *owner = NULL;
		uint32_t *at;
		do {
			gpu_lock();
			at = take_value(s, UINT64_MAX, &owner);
			gpu_unlock();
			if (at)
				let_go(owner, at);
		} while (at);
	}
}

void gpu_queue_close(struct gpu_dev *d)
{
	if (d->own)
		release(d);
	bool works = gpu_enter(d) == 0;
	for (struct dev_stream *s = d->streams, *next; s; s = next) {
		next = s->next;
		gpu_graph_abandon(s);
		if (works)
			d->driver->stream_sync(s->handle);
		gpu_lock();
		drop(s);
		gpu_unlock();
		end(s);
	}
	d->own = NULL;
	while (d->events)
		gpu_event_close(&d->dev, d->events);
}
