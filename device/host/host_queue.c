/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_queue.h"
#include "device/host/host_pool.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct host_pool ops = {.item_bytes = (sizeof(struct host_op) + 63) / 64 * 64};
static struct host_pool stamps = {.item_bytes = (sizeof(struct host_event_stamp) + 63) / 64 * 64};
static size_t streams_open, events_open;

static struct dev_stream *ready_first, *ready_last;
static struct dev_stream *value_waiting;
static struct host_dev *dispatch_list;

/* ------------------------------------------------------------------ starting and completing */

/* A waiter lives on the stack of a thread that may return as soon as host_wake() has posted its
 * semaphore, so nothing touches it afterwards. A thread that polls sees `done` earlier, but takes
 * the lock before it returns. */
static void wake_waiters(struct host_waiter **list)
{
	while (*list) {
		struct host_waiter *w = *list;
		*list = w->next;
		/* Pairs with the acquire in waiter_is_done(): the work is visible. */
		atomic_store_explicit(&w->done, true, memory_order_release);
		host_wake(&w->sleeper);
	}
}

static void mark_ready(struct dev_stream *s)
{
	if (s->in_ready_list)
		return;
	s->in_ready_list = true;
	s->next_ready = NULL;
	if (ready_first)
		ready_last->next_ready = s;
	else
		ready_first = s;
	ready_last = s;
}

/* Remove the first operation of a stream, which is done or dropped. */
static void complete_first(struct dev_stream *s)
{
	struct host_op *op = s->first;
	if (op->kind == HOST_OP_RECORD || op->kind == HOST_OP_WAIT_EVENT)
		host_event_stamp_drop(op->stamp);
	if (op->kind == HOST_OP_COPY)
		free(op->copy.work.rest);
	s->first = op->next;
	s->busy = false;
	host_pool_give(&ops, op);
}

static void complete_stamp(struct dev_stream *s, struct host_event_stamp *r, uint64_t now_ns)
{
	if (now_ns == 0)
		now_ns = clock_ns();
	if (now_ns > s->last_ns)
		s->last_ns = now_ns;
	r->stamp_ns = s->last_ns;
	r->done = true;
	wake_waiters(&r->waiters);
	while (r->streams) {
		struct dev_stream *other = r->streams;
		r->streams = other->next_waiting;
		complete_first(other);
		mark_ready(other);
	}
}

/* Pairs with the release in signal_run(), count_done() and wherever else a word is written without
 * the lock: the stream's next operation sees the work before it. */
static bool value_reached(const struct host_op *op)
{
	return __atomic_load_n(op->value.at, __ATOMIC_ACQUIRE) >= op->value.value;
}

static void complete_value_waits(void)
{
	for (struct dev_stream **at = &value_waiting; *at;) {
		struct dev_stream *s = *at;
		if (!value_reached(s->first)) {
			at = &s->next_waiting;
			continue;
		}
		*at = s->next_waiting;
		complete_first(s);
		mark_ready(s);
	}
}

static void fail_stream(struct dev_stream *s, int code, const char *why)
{
	if (s->failure)
		return;
	s->failure = code;
	text_fit(s->why, sizeof(s->why), "%s", why);
}

static void mark_for_dispatch(struct host_dev *d)
{
	if (d->dispatch)
		return;
	d->dispatch = true;
	d->next_dispatch = dispatch_list;
	dispatch_list = d;
}

/* Start the first operation of a stream. True: it is in progress or waits. False: it is done. */
static bool start_first(struct dev_stream *s, uint64_t now_ns)
{
	struct host_op *op = s->first;
	if (op->kind == HOST_OP_RECORD) {
		complete_stamp(s, op->stamp, now_ns);
		return false;
	}
	if (s->failure)
		return false;
	if (op->orphaned) {
		fail_stream(s, -EFAULT, "queued work uses memory of a device that was closed");
		return false;
	}
	switch (op->kind) {
	case HOST_OP_COPY:
		host_units_copy(&s->dev->units, op->copy.engine, &op->copy.work);
		return true;
	case HOST_OP_LAUNCH:
		host_units_launch(&s->dev->units, &op->launch.work);
		mark_for_dispatch(s->dev);
		return true;
	case HOST_OP_WAIT_EVENT:
		if (op->stamp->done)
			return false;
		s->next_waiting = op->stamp->streams;
		op->stamp->streams = s;
		return true;
	case HOST_OP_WAIT_VALUE:
		if (value_reached(op))
			return false;
		s->next_waiting = value_waiting;
		value_waiting = s;
		return true;
	case HOST_OP_WRITE_VALUE:
		/* Pairs with the acquire in poll_until(): earlier work of the stream is visible. */
		__atomic_store_n(op->value.at, op->value.value, __ATOMIC_RELEASE);
		complete_value_waits();
		return false;
	case HOST_OP_RECORD:
		break;
	}
	return false;
}

static void advance_stream(struct dev_stream *s, uint64_t now_ns)
{
	while (s->first && !s->busy) {
		s->busy = start_first(s, now_ns);
		if (!s->busy)
			complete_first(s);
	}
	if (!s->first)
		wake_waiters(&s->waiters);
}

void host_queue_progress(uint64_t now_ns)
{
	complete_value_waits();
	while (ready_first) {
		struct dev_stream *s = ready_first;
		ready_first = s->next_ready;
		s->in_ready_list = false;
		advance_stream(s, now_ns);
	}
	while (dispatch_list) {
		struct host_dev *d = dispatch_list;
		dispatch_list = d->next_dispatch;
		d->dispatch = false;
		host_units_dispatch(&d->units);
	}
}

static void complete_op(struct host_op *op, uint64_t end_ns)
{
	struct dev_stream *s = op->stream;
	if (end_ns > s->last_ns)
		s->last_ns = end_ns;
	complete_first(s);
	mark_ready(s);
}

void host_queue_launch_ended(struct host_launch *l)
{
	struct host_op *op =
		(struct host_op *)(void *)((char *)l - offsetof(struct host_op, launch.work));
	if (l->failure)
		fail_stream(op->stream, l->failure, "a block of a launch failed");
	complete_op(op, l->end_ns);
}

void host_queue_copy_ended(struct host_copy *c, uint64_t end_ns)
{
	complete_op((struct host_op *)(void *)((char *)c - offsetof(struct host_op, copy.work)),
		    end_ns);
}

/* ------------------------------------------------------------------ pools */

int host_queue_resize(int streams, int events)
{
	const size_t want_streams = streams_open + (size_t)streams,
		     want_events = events_open + (size_t)events;
	int status = host_pool_reserve(&ops, want_streams * HOST_MAX_QUEUED);
	if (!status)
		status = host_pool_reserve(&stamps, want_streams * HOST_MAX_QUEUED + want_events);
	if (status)
		return err_note(status, "open a stream or an event: out of memory");
	streams_open = want_streams;
	events_open = want_events;
	return 0;
}

struct host_event_stamp *host_event_stamp_take(void)
{
	struct host_event_stamp *r = host_pool_take(&stamps);
	if (r)
		r->refs = 1;
	return r;
}

void host_event_stamp_drop(struct host_event_stamp *r)
{
	if (r && --r->refs == 0)
		host_pool_give(&stamps, r);
}

/* ------------------------------------------------------------------ enqueueing */

int host_op_begin(struct dev_stream *s, enum host_op_kind kind, struct host_op **op_p)
{
	host_lock();
	struct host_op *op = host_pool_take(&ops);
	if (!op) {
		host_unlock();
		return err_note(-ENOMEM, "enqueue: out of memory");
	}
	op->kind = kind;
	op->stream = s;
	*op_p = op;
	return 0;
}

void host_op_use(struct host_op *op, const void *ptr)
{
	int i = 0;
	while (op->uses[i])
		i++;
	op->uses[i] = ptr;
}

void host_op_submit(struct host_op *op)
{
	struct dev_stream *s = op->stream;
	if (op->kind == HOST_OP_LAUNCH) {
		op->launch.work.args = &op->launch.args;
		op->launch.work.cancelled = &s->cancelled;
		op->launch.work.level = s->level;
		op->launch.work.first_unit = s->first_unit;
		op->launch.work.units = s->units;
	}
	if (s->first)
		s->last->next = op;
	else
		s->first = op;
	s->last = op;
	if (!s->busy) {
		mark_ready(s);
		host_queue_progress(0);
	}
	host_unlock();
}

void host_op_abandon(struct host_op *op)
{
	host_pool_give(&ops, op);
	host_unlock();
}

/* ------------------------------------------------------------------ closing */

static void stop_waiting(struct dev_stream *s)
{
	if (!s->busy ||
	    (s->first->kind != HOST_OP_WAIT_EVENT && s->first->kind != HOST_OP_WAIT_VALUE))
		return;
	struct dev_stream **at =
		s->first->kind == HOST_OP_WAIT_EVENT ? &s->first->stamp->streams : &value_waiting;
	while (*at && *at != s)
		at = &(*at)->next_waiting;
	if (*at)
		*at = s->next_waiting;
	complete_first(s);
	mark_ready(s);
}

void host_stream_cancel(struct dev_stream *s)
{
	/* Relaxed: poll_until() stops by it and reads nothing more. */
	atomic_store_explicit(&s->cancelled, true, memory_order_relaxed);
	fail_stream(s, -ECANCELED, "the stream was closed");
	stop_waiting(s);
	host_queue_progress(0);
}

static bool is_memory_of(const void *ptr, const struct host_dev *d)
{
	const struct host_memory *m = host_memory_find(ptr, 0);
	return m && m->owner == d;
}

static bool uses_memory_of(const struct host_op *op, const struct host_dev *d)
{
	bool uses = false;
	for (int i = 0; i < HOST_OP_USES && op->uses[i] && !uses; i++)
		uses = is_memory_of(op->uses[i], d);
	const size_t rest = op->kind == HOST_OP_COPY ? op->copy.work.rest_count : 0;
	for (size_t i = 0; i < rest && !uses; i++)
		uses = is_memory_of(op->copy.work.rest[i].dst, d) ||
		       is_memory_of(op->copy.work.rest[i].src, d);
	return uses;
}

/* Work of the stream that uses memory of a device that closes fails when it is to start, and waits
 * for values there fail now, for nobody can write them any more. True: such work is running. */
static bool orphan_stream(struct dev_stream *s, const struct host_dev *d)
{
	if (s->busy && s->first->kind == HOST_OP_WAIT_VALUE && uses_memory_of(s->first, d)) {
		fail_stream(s, -EFAULT,
			    "the stream waits for a value in memory of a device that was closed");
		stop_waiting(s);
	}
	struct host_op *op = s->first;
	const bool running = s->busy && uses_memory_of(op, d);
	for (op = s->busy ? op->next : op; op; op = op->next)
		op->orphaned |= uses_memory_of(op, d);
	return running;
}

/* Returns once no work of other devices uses memory of this one. */
static void orphan_users(const struct host_dev *d)
{
	bool running;
	do {
		running = false;
		host_lock();
		for (unsigned id = 0; id < HOST_MAX_OPEN; id++) {
			struct host_dev *other = host_open_device(id);
			for (struct dev_stream *s = other && other != d ? other->streams : NULL; s;
			     s = s->next)
				running |= orphan_stream(s, d);
		}
		host_queue_progress(0);
		host_unlock();
		if (running)
			usleep(100);
	} while (running);
}

void host_queue_close(struct host_dev *d)
{
	host_lock();
	for (struct dev_stream *s = d->streams; s; s = s->next)
		host_stream_cancel(s);
	host_unlock();
	orphan_users(d);
	while (d->streams)
		host_stream_close(&d->dev, d->streams);
	while (d->events)
		host_event_close(&d->dev, d->events);
	host_lock();
	if (streams_open == 0 && events_open == 0) {
		host_pool_clear(&ops);
		host_pool_clear(&stamps);
	}
	host_unlock();
}
