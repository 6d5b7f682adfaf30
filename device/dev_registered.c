/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev_registered.h"
#include "lib/vec.h"

#include <errno.h>
#include <stdlib.h>

static struct memory_use *find_use(struct registered_memory *m, const struct registered *stream)
{
	for (size_t i = 0; i < m->use_count; i++)
		if (m->uses[i].stream == stream)
			return &m->uses[i];
	return NULL;
}

/* An entry for another stream; reuses the entry of a stream whose work is done. */
static struct memory_use *add_use(struct registered_memory *m)
{
	for (size_t i = 0; i < m->use_count; i++)
		if (m->uses[i].operation <= m->uses[i].stream->done)
			return &m->uses[i];
	struct memory_use *grown =
		vec_grow(m->uses, m->use_count, &m->use_capacity, sizeof(*grown));
	if (!grown)
		return NULL;
	m->uses = grown;
	return &m->uses[m->use_count++];
}

static int add_graph_use(struct registered *graph, struct registered_memory *m)
{
	for (size_t i = 0; i < graph->use_count; i++)
		if (graph->uses[i] == m)
			return 0;
	struct registered_memory **grown =
		vec_grow(graph->uses, graph->use_count, &graph->use_capacity,
			 sizeof(struct registered_memory *));
	if (!grown)
		return err_note(-ENOMEM, "capture an operation: out of memory");
	graph->uses = grown;
	graph->uses[graph->use_count++] = m;
	m->graph_count++;
	return 0;
}

int registered_memory_use(struct registered_memory *m, struct registered *stream)
{
	if (stream->capturing)
		return add_graph_use(stream->capturing, m);
	struct memory_use *use = find_use(m, stream);
	if (!use)
		use = add_use(m);
	if (!use)
		return err_note(-ENOMEM, "enqueue: out of memory");
	*use = (struct memory_use){.stream = stream, .operation = stream->queued + 1};
	return 0;
}

bool registered_stream_busy(struct registered *stream)
{
	if (stream->done == stream->queued)
		return false;
	if (!stream->handle || stream->capturing)
		return true;
	if (stream->dev->checks->inner->stream_query(stream->dev, stream->handle) == -EAGAIN)
		return true;
	stream->done = stream->queued;
	return false;
}

bool registered_memory_in_use(const struct registered_memory *m)
{
	bool used = m->graph_count > 0;
	for (size_t i = 0; i < m->use_count && !used; i++)
		used = m->uses[i].operation > m->uses[i].stream->done &&
		       registered_stream_busy(m->uses[i].stream);
	return used;
}

void registered_graph_free(struct registered *graph)
{
	for (size_t i = 0; graph && i < graph->use_count; i++)
		graph->uses[i]->graph_count--;
	if (graph)
		free(graph->uses);
	free(graph);
}

void registered_graph_forget(struct registered *graph, const struct registered_memory *m)
{
	for (size_t i = 0; graph && i < graph->use_count; i++)
		if (graph->uses[i] == m)
			graph->uses[i--] = graph->uses[--graph->use_count];
}

void registered_stream_free(struct registered *stream, const struct address_table *memory)
{
	for (size_t i = 0; i < memory->count; i++) {
		struct registered_memory *m = memory->at[i].item;
		struct memory_use *use = find_use(m, stream);
		if (use)
			*use = m->uses[--m->use_count];
	}
	free(stream);
}
