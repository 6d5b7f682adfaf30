/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_command/commands.h"
#include "lib/err.h"

static int wait_for_all(struct bench_case *c)
{
	return TRY(c->status, dev_stream_sync(c->dev, c->stream));
}

static int copy_part(struct bench_case *c, size_t part)
{
	const struct copies *s = c->state;
	return TRY(c->status,
		   dev_copy(c->dev, c->stream, s->dsts[part], s->srcs[part], s->bytes[part]));
}

static int copy_back(struct bench_case *c, struct dev_stream *stream)
{
	const struct copies *s = c->state;
	return TRY(c->status, dev_copy(c->dev, stream, s->route.back_to.ptr, s->route.back_from.ptr,
				       s->bytes[0]));
}

static int copy_all(struct bench_case *c)
{
	const size_t count = ((struct copies *)c->state)->count;
	for (size_t i = 0; c->status == 0 && i < count; i++)
		copy_part(c, i);
	return c->status;
}

int copy_each(struct bench_case *c, long unused, uint64_t iterations)
{
	const size_t count = ((struct copies *)c->state)->count;
	for (uint64_t i = 0; c->status == 0 && i < iterations; i++) {
		copy_part(c, (size_t)(i % count));
		wait_for_all(c);
	}
	return c->status;
}

int copy_back_to_back(struct bench_case *c, long unused)
{
	copy_all(c);
	return wait_for_all(c);
}

int enqueue_batch(struct bench_case *c)
{
	const struct copies *s = c->state;
	return TRY(c->status,
		   dev_copy_batch(c->dev, c->stream, s->count, s->dsts, s->srcs, s->bytes));
}

int copy_batch(struct bench_case *c, long unused)
{
	enqueue_batch(c);
	return wait_for_all(c);
}

int enqueue_graph(struct bench_case *c)
{
	return TRY(c->status,
		   dev_graph_launch(c->dev, c->stream, ((struct copies *)c->state)->graph));
}

int launch_graph(struct bench_case *c, long unused)
{
	enqueue_graph(c);
	return wait_for_all(c);
}

int release_copies(struct bench_case *c, long unused)
{
	struct gate *gate = ((struct copies *)c->state)->gate;
	TRY(c->status, gate_shut(gate, c->dev, c->stream));
	copy_all(c);
	const uint64_t start = dev_clock_ns(c->dev);
	/* Whatever failed: what was queued must drain. */
	const int released = gate_release(gate), drained = dev_stream_sync(c->dev, c->stream);
	c->self_seconds += 1e-9 * (double)(dev_clock_ns(c->dev) - start);
	TRY(c->status, released);
	return TRY(c->status, drained);
}

int copy_both_ways(struct bench_case *c, long unused)
{
	struct copies *s = c->state;
	copy_part(c, 0);
	copy_back(c, s->back);
	wait_for_all(c);
	return TRY(c->status, dev_stream_sync(c->dev, s->back));
}

int copy_in_turns(struct bench_case *c, long unused)
{
	copy_part(c, 0);
	copy_back(c, c->stream);
	return wait_for_all(c);
}

int capture_copies(struct bench_case *c)
{
	struct copies *s = c->state;
	if (TRY(c->status, dev_graph_begin(c->dev, c->stream)))
		return c->status;
	copy_all(c);
	/* Also after a failure: otherwise the stream would keep capturing. */
	const int ended = dev_graph_end(c->dev, c->stream, &s->graph);
	return TRY(c->status, ended);
}
