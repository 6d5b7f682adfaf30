/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/engine.h"

#include <unistd.h>

#include "device/host_queue.h"


struct fake_event {
	struct fake_object object;
	struct dev_event *host;
	bool timing, recorded;
	bool captured; /* its latest record is in a graph to be */
};

/* ------------------------------------------------------------------ streams */

/* The host backend has three levels. */
static int level_of(int priority)
{
	const int least = fake_model.priority_least, above = least - priority;
	if (above <= 0)
		return HOST_PRIORITY_LOW;
	return 2 * above > least - fake_model.priority_greatest ? HOST_PRIORITY_HIGH : 0;
}

static bool is_idle(const struct fake_stream *s)
{
	host_lock();
	const bool idle = !s->host->first;
	host_unlock();
	return idle;
}

static void delete_stream(struct fake_stream *s)
{
	host_stream_close(s->object.gpu->host, s->host);
	fake_delete(&s->object);
}

/* What was destroyed while it was busy. Lock held. */
static void delete_closed(struct fake_gpu *g)
{
	for (struct fake_object *o = g->objects, *next; o; o = next) {
		next = o->next;
		struct fake_stream *s = o->kind == FAKE_STREAM ? (struct fake_stream *)(void *)o : NULL;
		if (s && s->closed && !s->waiting && is_idle(s))
			delete_stream(s);
	}
}

struct fake_stream *fake_stream_of(const void *handle)
{
	struct fake_stream *s = fake_find(handle, FAKE_STREAM);
	return s && !s->closed ? s : NULL;
}

int fake_stream_open(struct fake_gpu *g, int priority, void **stream_p)
{
	int rc = FAKE_OUT_OF_MEMORY;
	fake_lock();
	delete_closed(g);
	struct fake_stream *s = fake_new(g, FAKE_STREAM, sizeof(*s));
	if (s && host_stream_open(g->host, level_of(priority), &s->host) == 0) {
		s->priority = priority;
		*stream_p = s;
		rc = FAKE_OK;
	} else if (s) {
		fake_delete(&s->object);
	}
	fake_unlock();
	return rc;
}

int fake_stream_close(struct fake_gpu *g, void *stream)
{
	(void)g;
	fake_lock();
	struct fake_stream *s = fake_stream_of(stream);
	if (s) {
		if (s->capture)
			fake_graph_free(s->capture);
		s->capture = NULL;
		s->closed = true;
		delete_closed(s->object.gpu);
	}
	fake_unlock();
	return s ? FAKE_OK : FAKE_INVALID_HANDLE;
}

/* The stream of a call that waits or asks; not while it captures. Lock held. */
static int settled(void *stream, struct fake_stream **s_p)
{
	struct fake_stream *s = fake_stream_of(stream);
	if (!s)
		return FAKE_INVALID_HANDLE;
	if (s->capture) {
		s->capture_broken = true;
		return FAKE_CAPTURE_UNSUPPORTED;
	}
	*s_p = s;
	return fake_capture_forbids();
}

/* Lock held; released meanwhile. */
static void await_idle(struct fake_stream *s)
{
	s->waiting++;
	fake_unlock();
	host_stream_sync(s->object.gpu->host, s->host);
	fake_lock();
	s->waiting--;
}

int fake_stream_sync(struct fake_gpu *g, void *stream)
{
	struct fake_stream *s;
	(void)g;
	fake_lock();
	int rc = settled(stream, &s);
	if (!rc) {
		await_idle(s);
		rc = atomic_load(&s->object.gpu->fault);
	}
	fake_unlock();
	return rc;
}

int fake_stream_query(struct fake_gpu *g, void *stream)
{
	struct fake_stream *s;
	fake_lock();
	int rc = settled(stream, &s);
	if (!rc && s->object.gpu != g) /* no manual promises an answer in another device's context */
		rc = FAKE_INVALID_CONTEXT;
	if (!rc && !is_idle(s))
		rc = FAKE_NOT_READY;
	else if (!rc)
		rc = atomic_load(&s->object.gpu->fault);
	fake_unlock();
	return rc;
}

static struct fake_stream *busy_stream(struct fake_gpu *g)
{
	for (struct fake_object *o = g->objects; o; o = o->next) {
		struct fake_stream *s = o->kind == FAKE_STREAM ? (struct fake_stream *)(void *)o : NULL;
		if (s && !is_idle(s))
			return s;
	}
	return NULL;
}

int fake_gpu_sync(struct fake_gpu *g)
{
	struct fake_stream *busy;
	fake_lock();
	int rc = fake_capture_forbids();
	while (!rc && (busy = busy_stream(g)) != NULL)
		await_idle(busy);
	fake_unlock();
	return rc ? rc : atomic_load(&g->fault);
}

void fake_queues_close(struct fake_gpu *g)
{
	for (struct fake_object *o = g->objects; o; o = o->next) {
		struct fake_stream *s = o->kind == FAKE_STREAM ? (struct fake_stream *)(void *)o : NULL;
		if (s && s->capture)
			fake_graph_free(s->capture);
	}
	for (struct fake_object *o = g->objects; o;) {
		struct fake_stream *s = o->kind == FAKE_STREAM ? (struct fake_stream *)(void *)o : NULL;
		if (!s) {
			o = o->next;
			continue;
		}
		/* Blocks that end meanwhile take the lock. */
		struct dev_stream *host = s->host;
		fake_delete(o);
		fake_unlock();
		host_stream_close(g->host, host);
		fake_lock();
		o = g->objects;
	}
}

/* A value waited for is two operations of the host backend, one after the other: the first says that the stream came so far. */
static uint64_t length(const struct fake_stream *s)
{
	uint64_t count = 0;
	host_lock();
	for (const struct host_op *op = s->host->first; op; op = op->next)
		count += !(op->kind == HOST_OP_WRITE_VALUE && op->next && op->next->kind == HOST_OP_WAIT_VALUE);
	host_unlock();
	return count;
}

int fake_queue_wait(struct fake_stream *s)
{
	s->waiting++;
	while (!s->closed && !atomic_load(&s->object.gpu->fault) && s->given >= fake_queue_most()) {
		s->given = length(s);
		if (s->given < fake_queue_most())
			break;
		s->object.gpu->full++;
		fake_unlock();
		usleep(FAKE_POLL_US);
		fake_lock();
		s->object.gpu->full--;
	}
	s->waiting--;
	s->given++;
	return s->closed ? FAKE_INVALID_HANDLE : FAKE_OK;
}

/* ------------------------------------------------------------------ events */

int fake_event_open(struct fake_gpu *g, bool timing, void **event_p)
{
	int rc = FAKE_OUT_OF_MEMORY;
	fake_lock();
	struct fake_event *e = fake_new(g, FAKE_EVENT, sizeof(*e));
	if (e && host_event_open(g->host, &e->host) == 0) {
		e->timing = timing;
		*event_p = e;
		rc = FAKE_OK;
	} else if (e) {
		fake_delete(&e->object);
	}
	fake_unlock();
	return rc;
}

int fake_event_close(struct fake_gpu *g, void *event)
{
	(void)g;
	fake_lock();
	struct fake_event *e = fake_find(event, FAKE_EVENT);
	if (e) {
		host_event_close(e->object.gpu->host, e->host);
		fake_delete(&e->object);
	}
	fake_unlock();
	return e ? FAKE_OK : FAKE_INVALID_HANDLE;
}

int fake_event_record(struct fake_gpu *g, void *stream, void *event)
{
	int rc = FAKE_INVALID_HANDLE;
	(void)g;
	fake_lock();
	struct fake_event *e = fake_find(event, FAKE_EVENT);
	struct fake_stream *s = fake_stream_of(stream);
	if (e && s && e->object.gpu == s->object.gpu) {
		e->captured = s->capture != NULL;
		rc = FAKE_OK;
		if (!s->capture)
			rc = fake_queue_wait(s);
		if (!s->capture && !rc)
			rc = host_event_record(s->object.gpu->host, s->host, e->host) ? FAKE_OUT_OF_MEMORY : FAKE_OK;
		e->recorded |= !s->capture && !rc;
	}
	fake_unlock();
	return rc;
}

/* An event of which the host may ask. Lock held. */
static int askable(void *event, struct fake_event **e_p)
{
	*e_p = fake_find(event, FAKE_EVENT);
	if (!*e_p)
		return FAKE_INVALID_HANDLE;
	return (*e_p)->captured ? FAKE_CAPTURED_EVENT : FAKE_OK;
}

int fake_event_query(struct fake_gpu *g, void *event)
{
	struct fake_event *e;
	(void)g;
	fake_lock();
	int rc = askable(event, &e);
	if (!rc && e->recorded && host_event_query(e->object.gpu->host, e->host))
		rc = FAKE_NOT_READY;
	fake_unlock();
	return rc;
}

int fake_event_sync(struct fake_gpu *g, void *event)
{
	struct fake_event *e;
	fake_lock();
	int rc = askable(event, &e);
	fake_unlock();
	if (!rc && e->recorded)
		host_event_sync(e->object.gpu->host, e->host);
	return rc ? rc : atomic_load(&g->fault);
}

int fake_event_elapsed_ms(struct fake_gpu *g, void *from, void *to, float *ms_p)
{
	struct fake_event *first, *last;
	double ns = 0;
	(void)g;
	fake_lock();
	int rc = askable(from, &first);
	if (!rc)
		rc = askable(to, &last);
	if (!rc && (first->object.gpu != last->object.gpu || !first->timing || !last->timing || !first->recorded ||
	            !last->recorded))
		rc = FAKE_INVALID_HANDLE;
	if (!rc && host_event_elapsed_ns(first->object.gpu->host, first->host, last->host, &ns))
		rc = FAKE_NOT_READY;
	fake_unlock();
	if (!rc)
		*ms_p = (float)(ns / 1e6);
	return rc;
}

int fake_stream_wait(struct fake_gpu *g, void *stream, void *event)
{
	int rc = FAKE_INVALID_HANDLE;
	(void)g;
	fake_lock();
	struct fake_event *e = fake_find(event, FAKE_EVENT);
	struct fake_stream *s = fake_stream_of(stream);
	if (e && s && !s->capture && !e->captured) {
		rc = fake_queue_wait(s);
		if (!rc)
			rc = host_stream_wait(s->object.gpu->host, s->host, e->host) ? FAKE_OUT_OF_MEMORY : FAKE_OK;
	} else if (e && s) {
		rc = s->capture && e->captured ? FAKE_OK : FAKE_CAPTURE_ISOLATION;
	}
	fake_unlock();
	return rc;
}
