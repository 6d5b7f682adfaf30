/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench_own.h"
#include "lib/bench_run.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>

enum kind { MEMORY, HOST, STREAM, EVENT, GATE };

struct own {
	enum kind kind;
	struct dev *dev;
	void *what;
};

int own_status(const struct bench_case *c) { return c->run->owned.status; }

int own_result(struct bench_case *c, int status)
{
	if (c->run->owned.status == 0)
		c->run->owned.status = status;
	return c->run->owned.status;
}

static int close_one(const struct own *o)
{
	switch (o->kind) {
	case MEMORY:
		return dev_free(o->dev, o->what);
	case STREAM:
		dev_stream_close(o->dev, o->what);
		return 0;
	case EVENT:
		dev_event_close(o->dev, o->what);
		return 0;
	case GATE:
		gate_close(o->what);
		return 0;
	case HOST:
		break;
	}
	free(o->what);
	return 0;
}

/* Room comes before the thing itself, so that what was opened is always known. */
static bool ready(struct bench_case *c)
{
	struct bench_owned *all = &c->run->owned;
	if (all->status == 0 && all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 32;
		struct own *grown = realloc(all->things, room * sizeof(*grown));
		if (grown) {
			all->things = grown;
			all->room = room;
		} else {
			own_result(c, err_note(-ENOMEM, "a list of %zu things that a case owns: out of memory", room));
		}
	}
	return all->status == 0;
}

static void *keep(struct bench_case *c, enum kind kind, struct dev *dev, void *what, int status)
{
	struct bench_owned *all = &c->run->owned;
	if (own_result(c, status))
		return NULL;
	all->things[all->count++] = (struct own){.kind = kind, .dev = dev, .what = what};
	return what;
}

void *own_memory_on(struct bench_case *c, struct dev *dev, enum dev_mem kind, uint64_t bytes)
{
	void *memory = NULL;
	if (!ready(c))
		return NULL;
	int status = dev_alloc(dev, kind, bytes, &memory);
	return keep(c, MEMORY, dev, memory, status);
}

void *own_memory(struct bench_case *c, enum dev_mem kind, uint64_t bytes) { return own_memory_on(c, c->dev, kind, bytes); }

void *own_host(struct bench_case *c, uint64_t bytes)
{
	if (!ready(c))
		return NULL;
	void *memory = malloc(bytes);
	int status = memory ? 0 : err_note(-ENOMEM, "%llu bytes of host memory: out of memory", (unsigned long long)bytes);
	return keep(c, HOST, NULL, memory, status);
}

struct dev_stream *own_stream_on(struct bench_case *c, struct dev *dev, int priority)
{
	struct dev_stream *stream = NULL;
	if (!ready(c))
		return NULL;
	int status = dev_stream_open(dev, priority, &stream);
	return keep(c, STREAM, dev, stream, status);
}

struct dev_stream *own_stream(struct bench_case *c, int priority) { return own_stream_on(c, c->dev, priority); }

struct dev_event *own_event(struct bench_case *c)
{
	struct dev_event *event = NULL;
	if (!ready(c))
		return NULL;
	int status = dev_event_open(c->dev, &event);
	return keep(c, EVENT, c->dev, event, status);
}

struct gate *own_gate(struct bench_case *c, uint64_t limit_ns)
{
	struct gate *gate = NULL;
	if (!ready(c))
		return NULL;
	int status = gate_open(c->dev, limit_ns, &gate);
	return keep(c, GATE, c->dev, gate, status);
}

struct dev_kernel *own_kernel(struct bench_case *c, const char *name)
{
	struct dev_kernel *kernel = NULL;
	if (own_status(c) == 0)
		own_result(c, dev_kernel_find(c->dev, name, &kernel));
	return kernel;
}

int own_sync(struct bench_run *r)
{
	int status = 0;
	for (size_t i = r->owned.count; i-- > 0;) {
		const struct own *o = &r->owned.things[i];
		int synced = o->kind == STREAM ? dev_stream_sync(o->dev, o->what) : 0;
		status = status ? status : synced;
	}
	return status;
}

int own_close(struct bench_run *r)
{
	int status = 0;
	while (r->owned.count) {
		int closed = close_one(&r->owned.things[--r->owned.count]);
		status = status ? status : closed;
	}
	r->owned.status = 0;
	return status;
}

void own_free(struct bench_run *r)
{
	own_close(r);
	free(r->owned.things);
	r->owned = (struct bench_owned){0};
}
