/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_queue.h"
#include "tests/fakes/engine/engine.h"

#include <stdlib.h>
#include <unistd.h>

struct fake_event {
	struct fake_object object;
	struct dev_event *host;
	bool timing, recorded;
	bool captured; /* its latest record is in a capture */
};

/* ------------------------------------------------------------------ hardware queues */

static struct fake_queue *open_queue(struct fake_gpu *g, int level)
{
	struct fake_queue *q = calloc(1, sizeof(*q));
	if (!q || host_stream_open(g->host, level, &q->host)) {
		free(q);
		return NULL;
	}
	q->level = level;
	q->next = g->queues;
	g->queues = q;
	return q;
}

/* A new one as long as there may be more, then the one with the fewest streams: the oldest of
 * those. */
static struct fake_queue *join_queue(struct fake_gpu *g, int level)
{
	struct fake_queue *least = NULL;
	unsigned count = 0;
	for (struct fake_queue *q = g->queues; q; q = q->next) {
		if (q->level != level || q->alone)
			continue;
		count++;
		least = !least || q->users <= least->users ? q : least;
	}
	if (count < fake_model.queues())
		least = open_queue(g, level);
	if (least)
		least->users++;
	return least;
}

static struct fake_queue *open_queue_on(struct fake_gpu *g, int level, uint32_t first,
					uint32_t count)
{
	struct fake_queue *q = open_queue(g, level);
	if (q) {
		q->alone = true;
		q->users = 1;
		host_stream_units(g->host, q->host, first, count);
	}
	return q;
}

static void leave_queue(struct fake_gpu *g, struct fake_queue *q)
{
	struct fake_queue **at = &g->queues;
	if (--q->users)
		return;
	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	host_stream_close(g->host, q->host);
	free(q);
}

void fake_queue_count(struct fake_stream *s) { s->last = ++s->queue->submitted; }

/* ------------------------------------------------------------------ streams */

/* Maps a vendor's priority to one of the host backend's three. */
static int host_priority(int priority)
{
	const int lowest = fake_model.priority_min, above = lowest - priority;
	if (above <= 0)
		return HOST_PRIORITY_LOW;
	return 2 * above > lowest - fake_model.priority_greatest ? HOST_PRIORITY_HIGH : 0;
}

/* Only other streams' later operations are left in its queue. */
static bool stream_is_idle(const struct fake_stream *s)
{
	uint64_t left = 0;
	host_lock();
	for (const struct host_op *op = s->queue->host->first; op; op = op->next)
		left++;
	host_unlock();
	return left <= s->queue->submitted - s->last;
}

static void delete_stream(struct fake_stream *s)
{
	leave_queue(s->object.gpu, s->queue);
	fake_object_delete(&s->object);
}

/* Frees streams that were destroyed while busy. Lock held. */
static void delete_closed_streams(struct fake_gpu *g)
{
	for (struct fake_object *o = g->objects, *next; o; o = next) {
		next = o->next;
		struct fake_stream *s =
			o->kind == FAKE_STREAM ? (struct fake_stream *)(void *)o : NULL;
		if (s && s->closed && !s->waiters && stream_is_idle(s))
			delete_stream(s);
	}
}

struct fake_stream *fake_stream_find(const void *handle)
{
	struct fake_stream *s = fake_object_find(handle, FAKE_STREAM);
	return s && !s->closed ? s : NULL;
}

int fake_stream_open_on(struct fake_gpu *g, int priority, uint32_t first, uint32_t count,
			void **stream_p)
{
	const int level = host_priority(priority);
	int status = FAKE_OUT_OF_MEMORY;
	fake_lock();
	delete_closed_streams(g);
	struct fake_stream *s = fake_object_new(g, FAKE_STREAM, sizeof(*s));
	if (s && (s->queue = count < fake_units(g) ? open_queue_on(g, level, first, count)
						   : join_queue(g, level)) != NULL) {
		s->last = s->queue->submitted;
		s->priority = priority;
		*stream_p = s;
		status = FAKE_OK;
	} else if (s) {
		fake_object_delete(&s->object);
	}
	fake_unlock();
	return status;
}

int fake_stream_open(struct fake_gpu *g, int priority, void **stream_p)
{
	return fake_stream_open_on(g, priority, 0, fake_units(g), stream_p);
}

int fake_stream_close(struct fake_gpu *g, void *stream)
{
	fake_lock();
	struct fake_stream *s = fake_stream_find(stream);
	if (s) {
		if (s->capture)
			fake_graph_free(s->capture);
		s->capture = NULL;
		s->closed = true;
		delete_closed_streams(s->object.gpu);
	}
	fake_unlock();
	return s ? FAKE_OK : FAKE_INVALID_HANDLE;
}

/* Finds the stream for a call that waits or queries, which captures forbid. Lock held. */
static int find_uncaptured_stream(void *stream, struct fake_stream **s_p)
{
	struct fake_stream *s = fake_stream_find(stream);
	if (!s)
		return FAKE_INVALID_HANDLE;
	if (s->capture) {
		s->capture_broken = true;
		return FAKE_CAPTURE_UNSUPPORTED;
	}
	*s_p = s;
	return fake_capture_refuses();
}

/* Lock held; released meanwhile. */
static void wait_until_idle(struct fake_stream *s)
{
	s->waiters++;
	while (s->queue->users > 1 && !stream_is_idle(s)) {
		fake_unlock();
		usleep(FAKE_POLL_US);
		fake_lock();
	}
	if (s->queue->users == 1) {
		fake_unlock();
		host_stream_sync(s->object.gpu->host, s->queue->host);
		fake_lock();
	}
	s->waiters--;
}

int fake_stream_sync(struct fake_gpu *g, void *stream)
{
	struct fake_stream *s;
	fake_lock();
	int status = find_uncaptured_stream(stream, &s);
	if (!status) {
		wait_until_idle(s);
		status = atomic_load(&s->object.gpu->fault);
	}
	fake_unlock();
	return status;
}

int fake_stream_query(struct fake_gpu *g, void *stream)
{
	struct fake_stream *s;
	fake_lock();
	int status = find_uncaptured_stream(stream, &s);
	if (!status &&
	    s->object.gpu != g) /* no manual documents a query in another device's context */
		status = FAKE_INVALID_CONTEXT;
	if (!status && !stream_is_idle(s))
		status = FAKE_NOT_READY;
	else if (!status)
		status = atomic_load(&s->object.gpu->fault);
	fake_unlock();
	return status;
}

static struct fake_stream *find_busy_stream(struct fake_gpu *g)
{
	for (struct fake_object *o = g->objects; o; o = o->next) {
		struct fake_stream *s =
			o->kind == FAKE_STREAM ? (struct fake_stream *)(void *)o : NULL;
		if (s && !stream_is_idle(s))
			return s;
	}
	return NULL;
}

int fake_gpu_sync(struct fake_gpu *g)
{
	struct fake_stream *busy;
	fake_lock();
	int status = fake_capture_refuses();
	while (!status && (busy = find_busy_stream(g)) != NULL)
		wait_until_idle(busy);
	fake_unlock();
	return status ? status : atomic_load(&g->fault);
}

void fake_queues_close(struct fake_gpu *g)
{
	for (struct fake_object *o = g->objects; o; o = o->next) {
		struct fake_stream *s =
			o->kind == FAKE_STREAM ? (struct fake_stream *)(void *)o : NULL;
		if (s && s->capture)
			fake_graph_free(s->capture);
	}
	for (struct fake_object *o = g->objects, *next; o; o = next) {
		next = o->next;
		if (o->kind == FAKE_STREAM)
			fake_object_delete(o);
	}
	while (g->queues) {
		struct fake_queue *q = g->queues;
		g->queues = q->next;
		/* Blocks that end meanwhile need the lock. */
		fake_unlock();
		host_stream_close(g->host, q->host);
		fake_lock();
		free(q);
	}
}

/* A value wait is two operations of the host backend, a write and a wait, and counts once. */
static uint64_t count_queued_ops(const struct fake_queue *q)
{
	uint64_t count = 0;
	host_lock();
	for (const struct host_op *op = q->host->first; op; op = op->next)
		count += !(op->kind == HOST_OP_WRITE_VALUE && op->next &&
			   op->next->kind == HOST_OP_WAIT_VALUE);
	host_unlock();
	return count;
}

int fake_queue_wait(struct fake_stream *s)
{
	struct fake_queue *q = s->queue;
	s->waiters++;
	while (!s->closed && !atomic_load(&s->object.gpu->fault) && q->queued >= fake_queue_max()) {
		q->queued = count_queued_ops(q);
		if (q->queued < fake_queue_max())
			break;
		s->object.gpu->queue_waiters++;
		fake_unlock();
		usleep(FAKE_POLL_US);
		fake_lock();
		s->object.gpu->queue_waiters--;
	}
	s->waiters--;
	q->queued++;
	return s->closed ? FAKE_INVALID_HANDLE : FAKE_OK;
}

/* ------------------------------------------------------------------ events */

int fake_event_open(struct fake_gpu *g, bool timing, void **event_p)
{
	int status = FAKE_OUT_OF_MEMORY;
	fake_lock();
	struct fake_event *e = fake_object_new(g, FAKE_EVENT, sizeof(*e));
	if (e && host_event_open(g->host, &e->host) == 0) {
		e->timing = timing;
		*event_p = e;
		status = FAKE_OK;
	} else if (e) {
		fake_object_delete(&e->object);
	}
	fake_unlock();
	return status;
}

int fake_event_close(struct fake_gpu *g, void *event)
{
	fake_lock();
	struct fake_event *e = fake_object_find(event, FAKE_EVENT);
	if (e) {
		host_event_close(e->object.gpu->host, e->host);
		fake_object_delete(&e->object);
	}
	fake_unlock();
	return e ? FAKE_OK : FAKE_INVALID_HANDLE;
}

static int record_on(struct fake_stream *s, struct dev_event *host)
{
	if (host_event_record(s->object.gpu->host, s->queue->host, host))
		return FAKE_OUT_OF_MEMORY;
	fake_queue_count(s);
	return FAKE_OK;
}

/* As host_stream_wait(), which does not tell whether it submitted an operation. */
static int wait_on(struct fake_stream *s, const struct dev_event *e)
{
	struct host_op *op;
	if (host_op_begin(s->queue->host, HOST_OP_WAIT_EVENT, &op))
		return FAKE_OUT_OF_MEMORY;
	if (!e->latest || e->latest->done) {
		host_op_abandon(op);
		return FAKE_OK;
	}
	op->stamp = e->latest;
	op->stamp->refs++;
	host_op_submit(op);
	fake_queue_count(s);
	return FAKE_OK;
}

/* The stream's next event is behind what other streams gave its engine. Lock held. */
static int follow_engine(struct fake_stream *s)
{
	struct fake_gpu *g = s->object.gpu;
	int status = FAKE_OK;
	for (struct fake_object *o = g->objects; !status && o; o = o->next) {
		struct fake_stream *other =
			o->kind == FAKE_STREAM ? (struct fake_stream *)(void *)o : NULL;
		struct dev_event *e = NULL;
		if (!other || other == s || other->engine != s->engine || stream_is_idle(other))
			continue;
		if (host_event_open(g->host, &e))
			return FAKE_OUT_OF_MEMORY;
		status = record_on(other, e);
		status = status ? status : wait_on(s, e);
		host_event_close(g->host, e);
	}
	return status;
}

int fake_event_record(struct fake_gpu *g, void *stream, void *event)
{
	int status = FAKE_INVALID_HANDLE;
	fake_lock();
	struct fake_event *e = fake_object_find(event, FAKE_EVENT);
	struct fake_stream *s = fake_stream_find(stream);
	if (e && s && e->object.gpu == s->object.gpu) {
		e->captured = s->capture != NULL;
		status = FAKE_OK;
		if (!s->capture)
			status = fake_queue_wait(s);
		if (!s->capture && !status && s->engine && fake_model.events_follow_engine)
			status = follow_engine(s);
		if (!s->capture && !status)
			status = record_on(s, e->host);
		e->recorded |= !s->capture && !status;
	}
	fake_unlock();
	return status;
}

/* Finds an event that the host may query. Lock held. */
static int find_queryable_event(void *event, struct fake_event **e_p)
{
	*e_p = fake_object_find(event, FAKE_EVENT);
	if (!*e_p)
		return FAKE_INVALID_HANDLE;
	return (*e_p)->captured ? FAKE_CAPTURED_EVENT : FAKE_OK;
}

int fake_event_query(struct fake_gpu *g, void *event)
{
	struct fake_event *e;
	fake_lock();
	int status = find_queryable_event(event, &e);
	if (!status && e->recorded && host_event_query(e->object.gpu->host, e->host))
		status = FAKE_NOT_READY;
	fake_unlock();
	return status;
}

int fake_event_sync(struct fake_gpu *g, void *event)
{
	struct fake_event *e;
	fake_lock();
	int status = find_queryable_event(event, &e);
	fake_unlock();
	if (!status && e->recorded)
		host_event_sync(e->object.gpu->host, e->host);
	return status ? status : atomic_load(&g->fault);
}

int fake_event_elapsed_ms(struct fake_gpu *g, void *from, void *to, float *ms_p)
{
	struct fake_event *first, *last;
	double ns = 0;
	fake_lock();
	int status = find_queryable_event(from, &first);
	if (!status)
		status = find_queryable_event(to, &last);
	if (!status && (first->object.gpu != last->object.gpu || !first->timing || !last->timing ||
			!first->recorded || !last->recorded))
		status = FAKE_INVALID_HANDLE;
	if (!status && host_event_elapsed_ns(first->object.gpu->host, first->host, last->host, &ns))
		status = FAKE_NOT_READY;
	fake_unlock();
	if (!status)
		*ms_p = (float)(ns / 1e6);
	return status;
}

int fake_stream_wait(struct fake_gpu *g, void *stream, void *event)
{
	int status = FAKE_INVALID_HANDLE;
	fake_lock();
	struct fake_event *e = fake_object_find(event, FAKE_EVENT);
	struct fake_stream *s = fake_stream_find(stream);
	if (e && s && !s->capture && !e->captured) {
		status = fake_queue_wait(s);
		if (!status)
			status = wait_on(s, e->host);
	} else if (e && s) {
		status = s->capture && e->captured ? FAKE_OK : FAKE_CAPTURE_ISOLATION;
	}
	fake_unlock();
	return status;
}
