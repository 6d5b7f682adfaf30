/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/engine/engine.h"

#include <stdlib.h>
#include <string.h>

void fake_graph_free(struct fake_graph *graph)
{
	free(graph->ops);
	fake_object_delete(&graph->object);
}

bool fake_stream_is_capturing(const void *stream)
{
	fake_lock();
	const struct fake_stream *s = fake_stream_find(stream);
	const bool captured = s && s->capture;
	fake_unlock();
	return captured;
}

int fake_capture_refuses(void)
{
	struct fake_gpu *g;
	for (unsigned i = 0; (g = fake_gpu_at(i)) != NULL; i++) {
		for (struct fake_object *o = g->objects; o; o = o->next) {
			struct fake_stream *s =
				o->kind == FAKE_STREAM ? (struct fake_stream *)(void *)o : NULL;
			if (!s || !s->capture || s->capture_mode == FAKE_CAPTURE_RELAXED)
				continue;
			if (s->capture_mode == FAKE_CAPTURE_THREAD &&
			    !pthread_equal(s->capture_thread, pthread_self()))
				continue;
			s->capture_broken = true;
			return FAKE_CAPTURE_UNSUPPORTED;
		}
	}
	return FAKE_OK;
}

int fake_capture_begin(struct fake_gpu *g, void *stream, int mode)
{
	if (mode < FAKE_CAPTURE_GLOBAL || mode > FAKE_CAPTURE_RELAXED)
		return FAKE_INVALID_VALUE;
	fake_lock();
	struct fake_stream *s = fake_stream_find(stream);
	int status = !s ? FAKE_INVALID_HANDLE : s->capture ? FAKE_ILLEGAL_STATE : FAKE_OK;
	if (!status) {
		s->capture = fake_object_new(s->object.gpu, FAKE_GRAPH, sizeof(*s->capture));
		s->capture_mode = (enum fake_capture_mode)mode;
		s->capture_thread = pthread_self();
		s->capture_broken = false;
		status = s->capture ? FAKE_OK : FAKE_OUT_OF_MEMORY;
	}
	fake_unlock();
	return status;
}

int fake_capture_end(struct fake_gpu *g, void *stream, void **graph_p)
{
	fake_lock();
	struct fake_stream *s = fake_stream_find(stream);
	int status = !s ? FAKE_INVALID_HANDLE : !s->capture ? FAKE_ILLEGAL_STATE : FAKE_OK;
	if (!status && s->capture_mode != FAKE_CAPTURE_RELAXED &&
	    !pthread_equal(s->capture_thread, pthread_self()))
		status = FAKE_CAPTURE_WRONG_THREAD;
	if (!status) {
		*graph_p = s->capture;
		if (s->capture_broken) {
			fake_graph_free(s->capture);
			*graph_p = NULL;
			status = FAKE_CAPTURE_INVALIDATED;
		}
		s->capture = NULL;
	}
	fake_unlock();
	return status;
}

int fake_graph_instantiate(struct fake_gpu *g, void *graph, void **exec_p)
{
	int status = FAKE_INVALID_HANDLE;
	fake_lock();
	const struct fake_graph *from = fake_object_find(graph, FAKE_GRAPH);
	struct fake_graph *exec =
		from ? fake_object_new(from->object.gpu, FAKE_GRAPH_EXEC, sizeof(*exec)) : NULL;
	if (exec) {
		exec->count = exec->capacity = from->count;
		exec->ops = malloc((from->count + 1) * sizeof(*exec->ops));
		status = exec->ops ? FAKE_OK : FAKE_OUT_OF_MEMORY;
	}
	if (!status) {
		if (from->count)
			memcpy(exec->ops, from->ops, from->count * sizeof(*exec->ops));
		*exec_p = exec;
	} else if (exec) {
		fake_graph_free(exec);
	}
	fake_unlock();
	return status;
}

int fake_graph_launch(struct fake_gpu *g, void *exec, void *stream)
{
	fake_lock();
	const struct fake_graph *graph = fake_object_find(exec, FAKE_GRAPH_EXEC);
	struct fake_stream *s = fake_stream_find(stream);
	int status =
		graph && s && graph->object.gpu == s->object.gpu ? FAKE_OK : FAKE_INVALID_HANDLE;
	for (size_t i = 0; !status && i < graph->count; i++)
		status = fake_submit(s, &graph->ops[i]);
	fake_unlock();
	return status;
}

int fake_graph_close(struct fake_gpu *g, void *graph, enum fake_kind kind)
{
	fake_lock();
	struct fake_graph *found = fake_object_find(graph, kind);
	if (found)
		fake_graph_free(found);
	fake_unlock();
	return found ? FAKE_OK : FAKE_INVALID_HANDLE;
}
