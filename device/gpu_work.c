/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_dev.h"

#include <errno.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ copies and fills */

static enum gpu_direction direction(const struct gpu_memory *to, const struct gpu_memory *from)
{
	bool to_device = to->kind == DEV_MEM_DEVICE, from_device = from->kind == DEV_MEM_DEVICE;
	if (to_device && from_device)
		return to->owner->ordinal == from->owner->ordinal ? GPU_LOCAL : GPU_PEER;
	return to_device ? GPU_UP : from_device ? GPU_DOWN : GPU_WITHIN_HOST;
}

int gpu_copy(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes)
{
	struct gpu_dev *d = gpu_of(dev);
	uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;
	struct gpu_range ends[] = {{.ptr = dst, .bytes = bytes, .pageable = true}, {.ptr = src, .bytes = bytes, .pageable = true}};
	if ((to < from ? from - to : to - from) < bytes)
		return err_note(-EINVAL, "copy %llu bytes: source and destination overlap", (unsigned long long)bytes);
	int rc = gpu_enqueue(d, s, ends, 2);
	if (rc)
		return rc;
	const enum gpu_direction way = direction(ends[0].found, ends[1].found);
	return gpu_answer(d, d->driver->copy(s->handle, dst, src, bytes, way, s->noting != NULL));
}

int gpu_fill(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	struct gpu_dev *d = gpu_of(dev);
	struct gpu_range range = {.ptr = dst, .bytes = bytes};
	int rc = gpu_enqueue(d, s, &range, 1);
	return rc ? rc : gpu_answer(d, d->driver->fill(s->handle, dst, byte, bytes));
}

/* ------------------------------------------------------------------ values */

static int check_aligned(const uint32_t *at)
{
	return (uintptr_t)at % sizeof(*at) ? err_note(-EINVAL, "value at %p: not aligned to 4 bytes", (const void *)at) : 0;
}

/* AMD's runtime would run them at once, beside the graph. */
static int check_noted(const struct gpu_dev *d, const struct dev_stream *s)
{
	if (!s->noting || !d->traits.value_takes_slot)
		return 0;
	return err_note(-ENOTSUP, "%s:%u: values cannot be captured in a graph", d->vendor->name, d->dev.index);
}

int gpu_wait_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	struct gpu_dev *d = gpu_of(dev);
	struct gpu_range range = {.ptr = at, .bytes = sizeof(*at)};
	if (!dev_can(dev, DEV_CAP_WAIT_VALUE))
		return err_note(-ENOTSUP, "%s:%u: streams can't wait for values", d->vendor->name, dev->index);
	int rc = check_aligned(at);
	if (!rc)
		rc = check_noted(d, s);
	if (!rc)
		rc = gpu_enqueue(d, s, &range, 1);
	if (!rc)
		rc = gpu_remember_value(s, at);
	return rc ? rc : gpu_answer(d, d->driver->wait_value(s->handle, at, value));
}

int gpu_write_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	struct gpu_dev *d = gpu_of(dev);
	struct gpu_range range = {.ptr = at, .bytes = sizeof(*at)};
	if (!dev_can(dev, DEV_CAP_WAIT_VALUE))
		return err_note(-ENOTSUP, "%s:%u: streams can't write values", d->vendor->name, dev->index);
	int rc = check_aligned(at);
	if (!rc)
		rc = check_noted(d, s);
	if (!rc)
		rc = gpu_enqueue(d, s, &range, 1);
	return rc ? rc : gpu_answer(d, d->driver->write_value(s->handle, at, value));
}

/* Device memory is out of the host's reach: a stream of our own writes it, beside what is queued elsewhere. Not a copy engine,
 * though it would need no slot on AMD: what it writes goes past a cache that a polling block may read from. */
int gpu_post_value(struct dev *dev, uint32_t *at, uint32_t value)
{
	struct gpu_dev *d = gpu_of(dev);
	int rc = check_aligned(at);
	if (!rc)
		rc = gpu_enter(d);
	if (rc)
		return rc;
	gpu_lock();
	const struct gpu_memory *m = gpu_memory_find(d, at, sizeof(*at), false);
	bool pinned = m && m->kind == DEV_MEM_PINNED;
	rc = m ? 0 : -EFAULT;
	gpu_unlock();
	if (pinned)
		__atomic_store_n(at, value, __ATOMIC_RELEASE);
	if (rc || pinned)
		return rc;
	rc = gpu_answer(d, d->driver->write_value(d->own->handle, at, value));
	return rc ? rc : gpu_answer(d, d->driver->stream_sync(d->own->handle));
}

/* ------------------------------------------------------------------ graphs */

static void forget_uses(struct dev_graph *g)
{
	gpu_lock();
	for (size_t i = 0; i < g->use_count; i++)
		g->uses[i]->graphs--;
	gpu_unlock();
	free(g->uses);
	free(g->waits.at);
	free(g);
}

int gpu_graph_begin(struct dev *dev, struct dev_stream *s)
{
	struct gpu_dev *d = gpu_of(dev);
	if (s->noting)
		return err_note(-EINVAL, "%s:%u: the stream is being noted already", d->vendor->name, dev->index);
	struct dev_graph *g = calloc(1, sizeof(*g));
	if (!g)
		return err_note(-ENOMEM, "begin a graph: out of memory");
	g->dev = d;
	int rc = gpu_enter(d);
	if (!rc)
		rc = gpu_answer(d, d->driver->capture_begin(s->handle));
	if (rc) {
		free(g);
		return rc;
	}
	gpu_lock();
	s->noting = g;
	gpu_unlock();
	return 0;
}

int gpu_graph_end(struct dev *dev, struct dev_stream *s, struct dev_graph **g_p)
{
	struct gpu_dev *d = gpu_of(dev);
	struct dev_graph *g = s->noting;
	if (!g)
		return err_note(-EINVAL, "%s:%u: the stream is not being noted", d->vendor->name, dev->index);
	int rc = gpu_enter(d);
	if (!rc)
		rc = gpu_answer(d, d->driver->capture_end(s->handle, &g->handle));
	gpu_lock();
	s->noting = NULL;
	if (!rc) {
		g->next = d->graphs;
		d->graphs = g;
	}
	gpu_unlock();
	if (rc)
		forget_uses(g);
	else
		*g_p = g;
	return rc;
}

void gpu_graph_abandon(struct dev_stream *s)
{
	struct dev_graph *g = s->noting;
	if (!g)
		return;
	if (s->dev->driver->capture_end(s->handle, &g->handle) == 0)
		s->dev->driver->graph_close(g->handle);
	gpu_lock();
	s->noting = NULL;
	gpu_unlock();
	forget_uses(g);
}

int gpu_graph_launch(struct dev *dev, struct dev_stream *s, struct dev_graph *g)
{
	struct gpu_dev *d = gpu_of(dev);
	if (g->dev != d)
		return err_note(-EINVAL, "%s:%u: the graph belongs to another device", d->vendor->name, dev->index);
	if (s->noting)
		return err_note(-ENOTSUP, "%s:%u: a graph can't be noted in a graph", d->vendor->name, dev->index);
	int rc = gpu_enqueue(d, s, NULL, 0);
	if (!rc)
		rc = gpu_remember_graph(s, g);
	return rc ? rc : gpu_answer(d, d->driver->graph_launch(s->handle, g->handle));
}

void gpu_graph_close(struct dev *dev, struct dev_graph *g)
{
	struct gpu_dev *d = gpu_of(dev);
	gpu_lock();
	struct dev_graph **at = &d->graphs;
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	gpu_unlock();
	gpu_enter(d);
	d->driver->graph_close(g->handle);
	forget_uses(g);
}

void gpu_graphs_close(struct gpu_dev *d)
{
	while (d->graphs)
		gpu_graph_close(&d->dev, d->graphs);
}
