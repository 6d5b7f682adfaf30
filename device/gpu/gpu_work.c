/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_dev.h"

#include <errno.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ copies and fills */

static enum gpu_copy_direction copy_direction(const struct gpu_memory *to,
					      const struct gpu_memory *from)
{
	bool to_device = to->kind == DEV_MEM_DEVICE, from_device = from->kind == DEV_MEM_DEVICE;
	if (to_device && from_device)
		return to->owner->ordinal == from->owner->ordinal ? GPU_COPY_LOCAL : GPU_COPY_PEER;
	return to_device ? GPU_COPY_UP : from_device ? GPU_COPY_DOWN : GPU_COPY_WITHIN_HOST;
}

/* -EFAULT: an end lies in no allocation, so the direction is not known. */
static int find_ends(const struct dev_stream *s, const void *dst, const void *src, uint64_t bytes,
		     enum gpu_copy_direction *direction_p)
{
	gpu_lock();
	const struct gpu_memory *to = gpu_memory_find(s->dev, dst, bytes),
				*from = to ? gpu_memory_find(s->dev, src, bytes) : NULL;
	const bool pageable =
		from && (to->kind == DEV_MEM_PAGEABLE || from->kind == DEV_MEM_PAGEABLE);
	if (from)
		*direction_p = copy_direction(to, from);
	gpu_unlock();
	if (!from)
		return -EFAULT;
	return pageable ? gpu_refuse_capture(s, "a copy of pageable memory") : 0;
}

int gpu_copy(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes)
{
	struct gpu_dev *d = gpu_of(dev);
	enum gpu_copy_direction direction;
	int status = gpu_ctx_use(d);
	if (!status)
		status = find_ends(s, dst, src, bytes, &direction);
	if (!status)
		status = gpu_enqueue(d, s);
	return status ? status
		      : gpu_check(d, d->driver->copy(s->handle, dst, src, bytes, direction,
						     s->capturing != NULL));
}

int gpu_copy_batch(struct dev *dev, struct dev_stream *s, size_t count, void *const *dsts,
		   const void *const *srcs, const uint64_t *bytes)
{
	struct gpu_dev *d = gpu_of(dev);
	size_t sizes[DEV_BATCH_MAX];
	/* CUDA refuses a batch while a stream is captured, and AMD's runtime would run it at once,
	 * outside the graph. */
	int status = gpu_refuse_capture(s, "a batch of copies");
	for (size_t i = 0; i < count && !status; i++)
		sizes[i] = bytes[i];
	if (!status)
		status = gpu_enqueue(d, s);
	return status ? status
		      : gpu_check(d, d->driver->copy_batch(s->handle, count, dsts, srcs, sizes));
}

int gpu_fill(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	struct gpu_dev *d = gpu_of(dev);
	int status = gpu_enqueue(d, s);
	return status ? status : gpu_check(d, d->driver->fill(s->handle, dst, byte, bytes));
}

/* ------------------------------------------------------------------ values */

/* AMD's runtime would run them immediately, outside the graph. */
static int check_value_capture(const struct gpu_dev *d, const struct dev_stream *s)
{
	if (!s->capturing || !d->traits.value_takes_slot)
		return 0;
	return err_note(-ENOTSUP, "%s:%u: values cannot be captured in a graph", d->vendor->name,
			d->dev.index);
}

int gpu_wait_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	struct gpu_dev *d = gpu_of(dev);
	if (!dev_can(dev, DEV_CAP_WAIT_VALUE))
		return err_note(-ENOTSUP, "%s:%u: waiting for values is not supported",
				d->vendor->name, dev->index);
	int status = check_value_capture(d, s);
	if (!status)
		status = gpu_enqueue(d, s);
	if (!status)
		status = gpu_record_value_wait(s, at);
	return status ? status : gpu_check(d, d->driver->wait_value(s->handle, at, value));
}

int gpu_write_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	struct gpu_dev *d = gpu_of(dev);
	if (!dev_can(dev, DEV_CAP_WAIT_VALUE))
		return err_note(-ENOTSUP, "%s:%u: writing values is not supported", d->vendor->name,
				dev->index);
	int status = check_value_capture(d, s);
	if (!status)
		status = gpu_enqueue(d, s);
	return status ? status : gpu_check(d, d->driver->write_value(s->handle, at, value));
}

/* The host cannot write device memory, so an internal stream writes it, concurrent with queued
 * work. A copy engine would need no slot on AMD, but its writes bypass a cache from which a
 * polling block may read. */
int gpu_post_value(struct dev *dev, uint32_t *at, uint32_t value)
{
	struct gpu_dev *d = gpu_of(dev);
	int status = gpu_ctx_use(d);
	if (status)
		return status;
	gpu_lock();
	const struct gpu_memory *m = gpu_memory_find(d, at, sizeof(*at));
	bool pinned = m && m->kind == DEV_MEM_PINNED;
	status = m ? 0 : -EFAULT;
	gpu_unlock();
	if (pinned)
		__atomic_store_n(at, value, __ATOMIC_RELEASE);
	if (status || pinned)
		return status;
	status = gpu_check(d, d->driver->write_value(d->internal_stream->handle, at, value));
	return status ? status : gpu_check(d, d->driver->stream_sync(d->internal_stream->handle));
}

/* ------------------------------------------------------------------ graphs */

static void destroy_graph(struct dev_graph *g)
{
	free(g->waits.list);
	free(g);
}

int gpu_graph_begin(struct dev *dev, struct dev_stream *s)
{
	struct gpu_dev *d = gpu_of(dev);
	if (s->capturing)
		return err_note(-EINVAL, "%s:%u: the stream is already being captured",
				d->vendor->name, dev->index);
	struct dev_graph *g = calloc(1, sizeof(*g));
	if (!g)
		return err_note(-ENOMEM, "begin a graph: out of memory");
	g->dev = d;
	int status = gpu_ctx_use(d);
	if (!status)
		status = gpu_check(d, d->driver->capture_begin(s->handle));
	if (status) {
		free(g);
		return status;
	}
	gpu_lock();
	s->capturing = g;
	gpu_unlock();
	return 0;
}

int gpu_graph_end(struct dev *dev, struct dev_stream *s, struct dev_graph **g_p)
{
	struct gpu_dev *d = gpu_of(dev);
	struct dev_graph *g = s->capturing;
	if (!g)
		return err_note(-EINVAL, "%s:%u: the stream is not being captured", d->vendor->name,
				dev->index);
	int status = gpu_ctx_use(d);
	if (!status)
		status = gpu_check(d, d->driver->capture_end(s->handle, &g->handle));
	gpu_lock();
	s->capturing = NULL;
	if (!status) {
		g->next = d->graphs;
		d->graphs = g;
	}
	gpu_unlock();
	if (status)
		destroy_graph(g);
	else
		*g_p = g;
	return status;
}

void gpu_capture_discard(struct dev_stream *s)
{
	struct dev_graph *g = s->capturing;
	if (!g)
		return;
	if (s->dev->driver->capture_end(s->handle, &g->handle) == 0)
		s->dev->driver->graph_close(g->handle);
	gpu_lock();
	s->capturing = NULL;
	gpu_unlock();
	destroy_graph(g);
}

int gpu_graph_launch(struct dev *dev, struct dev_stream *s, struct dev_graph *g)
{
	struct gpu_dev *d = gpu_of(dev);
	if (s->capturing)
		return err_note(-ENOTSUP, "%s:%u: a graph launch cannot be captured in a graph",
				d->vendor->name, dev->index);
	int status = gpu_enqueue(d, s);
	if (!status)
		status = gpu_record_graph_waits(s, g);
	return status ? status : gpu_check(d, d->driver->graph_launch(s->handle, g->handle));
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
	gpu_ctx_use(d);
	d->driver->graph_close(g->handle);
	destroy_graph(g);
}

void gpu_graphs_close(struct gpu_dev *d)
{
	while (d->graphs)
		gpu_graph_close(&d->dev, d->graphs);
}
