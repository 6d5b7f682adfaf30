/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/backends.h"
#include "device/host/host_queue.h"
#include "tests/fakes/engine/engine.h"
#include "tests/fakes/kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#define WAITS_MAX 4096u

/* A stream that waits for a value. When the stream reaches the wait it stores 1 to
 * `stream_arrived`; then it waits until `go` is 1. */
struct fake_value_wait {
	uint32_t stream_arrived, go;
	bool taken;
	uint32_t *at, value;
};

/* ------------------------------------------------------------------ values */

static bool polling;

/* A kernel may store the word with a plain store, as on a GPU. ThreadSanitizer would call that a
 * race, so it does not see this load. */
__attribute__((noinline, no_sanitize("thread"))) static uint32_t load_unseen(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

bool fake_value_is_reached(uint32_t *at, uint32_t value)
{
	const bool reached = (int32_t)(load_unseen(at) - value) >= 0;
#if defined(__SANITIZE_THREAD__)
	__tsan_acquire(at);
#endif
	return reached;
}

/* Releases the waits whose value is reached. Are any waits left? Lock held. */
static bool poll_waits(struct fake_gpu *g)
{
	bool left = false;
	if (!g || !g->waits)
		return false;
	for (unsigned i = 0; i < WAITS_MAX; i++) {
		struct fake_value_wait *w = &g->waits[i];
		if (!w->taken)
			continue;
		left = true;
		if (!__atomic_load_n(&w->stream_arrived, __ATOMIC_ACQUIRE) ||
		    !(atomic_load(&g->fault) || fake_value_is_reached(w->at, w->value)))
			continue;
		host_lock();
		__atomic_store_n(&w->go, 1, __ATOMIC_RELEASE);
		host_queue_progress(0);
		host_unlock();
		w->taken = false;
	}
	return left;
}

/* A GPU polls memory in hardware; here a thread polls while a stream waits. */
static void *poll_waits_thread(void *arg)
{
	bool left = true;
	while (left) {
		usleep(FAKE_POLL_US);
		fake_lock();
		left = false;
		for (unsigned i = 0; i < FAKE_GPUS_MAX; i++)
			left |= poll_waits(fake_gpu_at(i));
		polling = left;
		fake_unlock();
	}
	return NULL;
}

static int start_polling(void)
{
	pthread_t thread;
	if (polling)
		return FAKE_OK;
	if (pthread_create(&thread, NULL, poll_waits_thread, NULL))
		return FAKE_OUT_OF_MEMORY;
	pthread_detach(thread);
	polling = true;
	return FAKE_OK;
}

/* The words that host streams wait for go with the host device. */
static struct fake_value_wait *find_free_wait(struct fake_gpu *g)
{
	void *memory = NULL;
	if (!g->waits && host_ops.alloc(g->host, DEV_MEM_PINNED,
					WAITS_MAX * sizeof(struct fake_value_wait), &memory))
		return NULL;
	if (memory)
		g->waits = memset(memory, 0, WAITS_MAX * sizeof(struct fake_value_wait));
	for (unsigned i = 0; i < WAITS_MAX; i++)
		if (!g->waits[i].taken)
			return &g->waits[i];
	return NULL;
}

/* ------------------------------------------------------------------ enqueueing on the host backend
 */

static int run_host_value_op(struct fake_stream *s, enum host_op_kind kind, uint32_t *at,
			     uint32_t value)
{
	struct host_op *op;
	if (host_op_begin(s->queue->host, kind, &op))
		return FAKE_OUT_OF_MEMORY;
	op->value.at = at;
	op->value.value = value;
	host_op_submit(op);
	fake_queue_count(s);
	return FAKE_OK;
}

static int run_wait(struct fake_stream *s, const struct fake_op *o)
{
	struct fake_value_wait *w = find_free_wait(s->object.gpu);
	if (!w)
		return FAKE_OUT_OF_MEMORY;
	*w = (struct fake_value_wait){.at = o->value.at, .value = o->value.value};
	int status = start_polling();
	if (!status)
		status = run_host_value_op(s, HOST_OP_WRITE_VALUE, &w->stream_arrived, 1);
	if (!status)
		status = run_host_value_op(s, HOST_OP_WAIT_VALUE, &w->go, 1);
	w->taken = !status;
	return status;
}

/* One engine for each direction, the first one for all else; or where streams have affinity the
 * stream's own, an engine that no other stream has. A stream that gets none goes with those of its
 * direction. Lock held. */
static uint32_t choose_engine(struct fake_stream *s, const struct fake_op *o)
{
	const uint32_t by_direction = o->copy.engine == FAKE_ENGINE_DOWN;
	bool taken[1 + HOST_ENGINES] = {true};
	if (!fake_model.engine_affinity || o->copy.engine == FAKE_NO_ENGINE)
		return by_direction;
	for (struct fake_object *at = s->object.gpu->objects; at; at = at->next)
		if (at->kind == FAKE_STREAM)
			taken[((struct fake_stream *)(void *)at)->own_engine] = true;
	for (uint32_t i = 1; i <= HOST_ENGINES && !s->own_engine; i++)
		s->own_engine = taken[i] ? 0 : i;
	return s->own_engine ? s->own_engine - 1 : by_direction;
}

static int run_copy(struct fake_stream *s, const struct fake_op *o)
{
	struct host_op *op;
	if (host_op_begin(s->queue->host, HOST_OP_COPY, &op))
		return FAKE_OUT_OF_MEMORY;
	op->copy.work = (struct host_copy){.dst = o->copy.dst,
					   .src = o->kind == FAKE_OP_COPY ? o->copy.src : NULL,
					   .bytes = o->copy.bytes,
					   .byte = o->copy.byte};
	op->copy.work.client = fake_model.engines_stay ? s : NULL;
	op->copy.engine = choose_engine(s, o);
	host_op_submit(op);
	fake_queue_count(s);
	s->engine = o->copy.engine;
	return FAKE_OK;
}

/* Applies FAKE_KERNEL_FAIL and FAKE_LOST to the next launch. */
static int injected_fault(const struct fake_work_item *item)
{
	static unsigned long launches;
	const char *kernel = getenv("FAKE_KERNEL_FAIL"), *lost = getenv("FAKE_LOST");
	launches += !fake_is_drivers_own(item);
	if (lost && *lost && launches > strtoul(lost, NULL, 10))
		return FAKE_UNKNOWN;
	return kernel && item->kernel && strcmp(kernel, item->kernel->name) == 0
		       ? FAKE_LAUNCH_FAILED
		       : FAKE_OK;
}

static int run_launch(struct fake_stream *s, const struct fake_op *o)
{
	struct fake_gpu *g = s->object.gpu;
	struct fake_launch *l = calloc(1, sizeof(*l));
	struct host_op *op;
	if (!l)
		return FAKE_OUT_OF_MEMORY;
	if (host_op_begin(s->queue->host, HOST_OP_LAUNCH, &op)) {
		free(l);
		return FAKE_OUT_OF_MEMORY;
	}
	l->gpu = g;
	l->fault = injected_fault(&o->launch);
	l->item = o->launch;
	l->next = g->launches;
	l->link = &g->launches;
	if (l->next)
		l->next->link = &l->next;
	g->launches = l;
	op->launch.args[0].pointer = l;
	op->launch.work.run = fake_launch_block;
	op->launch.work.grid = l->item.grid;
	op->launch.work.claim_bytes = l->item.claim_bytes;
	host_op_submit(op);
	fake_queue_count(s);
	s->engine = FAKE_NO_ENGINE;
	return FAKE_OK;
}

static int run_op(struct fake_stream *s, const struct fake_op *o)
{
	struct fake_op blocks;
	if (fake_model.values_take_slots && (o->kind == FAKE_OP_WAIT || o->kind == FAKE_OP_WRITE)) {
		fake_value_block(s->object.gpu, o, &blocks);
		return run_launch(s, &blocks);
	}
	if (o->kind == FAKE_OP_COPY && o->copy.by_kernel) {
		fake_copy_blocks(o, &blocks);
		return run_launch(s, &blocks);
	}
	switch (o->kind) {
	case FAKE_OP_COPY:
	case FAKE_OP_FILL:
		return run_copy(s, o);
	case FAKE_OP_WAIT:
		return run_wait(s, o);
	case FAKE_OP_WRITE:
		return run_host_value_op(s, HOST_OP_WRITE_VALUE, o->value.at, o->value.value);
	case FAKE_OP_LAUNCH:
		break;
	}
	return run_launch(s, o);
}

static int capture_op(struct fake_graph *graph, const struct fake_op *o)
{
	if (graph->count == graph->capacity) {
		const size_t capacity = graph->capacity ? 2 * graph->capacity : 16;
		struct fake_op *ops = realloc(graph->ops, capacity * sizeof(*ops));
		if (!ops)
			return FAKE_OUT_OF_MEMORY;
		graph->ops = ops;
		graph->capacity = capacity;
	}
	graph->ops[graph->count++] = *o;
	return FAKE_OK;
}

int fake_submit(struct fake_stream *s, const struct fake_op *op)
{
	const bool value = op->kind == FAKE_OP_WAIT || op->kind == FAKE_OP_WRITE;
	if (s->capture && !(value && fake_model.values_take_slots))
		return capture_op(s->capture, op);
	int status = fake_queue_wait(s);
	return status ? status : run_op(s, op);
}

/* ------------------------------------------------------------------ operations of the driver's API
 */

static int submit_to_handle(void *stream, const struct fake_op *op)
{
	fake_lock();
	struct fake_stream *s = fake_stream_find(stream);
	int status = s ? fake_submit(s, op) : FAKE_INVALID_HANDLE;
	fake_unlock();
	return status;
}

static int copy_by(struct fake_gpu *g, bool kernel, void *stream, void *dst, const void *src,
		   uint64_t bytes)
{
	struct fake_op op = {.kind = FAKE_OP_COPY,
			     .copy = {.dst = dst, .src = src, .bytes = bytes, .by_kernel = kernel}};
	fake_lock();
	const enum fake_memory_kind to = fake_memory_kind_of(dst, bytes),
				    from = fake_memory_kind_of(src, bytes);
	struct fake_stream *s = fake_stream_find(stream);
	const bool pageable = to == FAKE_PAGEABLE_MEMORY || from == FAKE_PAGEABLE_MEMORY;
	const bool by_caller = pageable || (to != FAKE_DEVICE_MEMORY && from != FAKE_DEVICE_MEMORY);
	int status = s ? FAKE_OK : FAKE_INVALID_HANDLE;
	if (!status && (to == FAKE_UNALLOCATED || from == FAKE_UNALLOCATED || !dst || !src))
		status = FAKE_INVALID_VALUE;
	const bool captured = s && s->capture;
	if (!status && pageable && captured) {
		s->capture_broken = true;
		status = FAKE_CAPTURE_UNSUPPORTED;
	}
	if ((to == FAKE_DEVICE_MEMORY) != (from == FAKE_DEVICE_MEMORY))
		op.copy.engine = to == FAKE_DEVICE_MEMORY ? FAKE_ENGINE_UP : FAKE_ENGINE_DOWN;
	if (!status && bytes)
		status = fake_submit(s, &op);
	fake_unlock();
	return !status && by_caller && !captured ? fake_stream_sync(g, stream) : status;
}

int fake_copy(struct fake_gpu *g, void *stream, void *dst, const void *src, uint64_t bytes)
{
	return copy_by(g, false, stream, dst, src, bytes);
}

int fake_copy_by_kernel(struct fake_gpu *g, void *stream, void *dst, const void *src,
			uint64_t bytes)
{
	return copy_by(g, true, stream, dst, src, bytes);
}

int fake_fill(struct fake_gpu *g, void *stream, void *dst, uint8_t byte, uint64_t bytes)
{
	const struct fake_op op = {.kind = FAKE_OP_FILL,
				   .copy = {.dst = dst, .bytes = bytes, .byte = byte}};
	fake_lock();
	const enum fake_memory_kind place = fake_memory_kind_of(dst, bytes);
	fake_unlock();
	if (place == FAKE_UNALLOCATED || place == FAKE_PAGEABLE_MEMORY)
		return FAKE_INVALID_VALUE;
	return bytes ? submit_to_handle(stream, &op) : FAKE_OK;
}

static int submit_value_op(enum fake_op_kind kind, void *stream, uint32_t *at, uint32_t value)
{
	const struct fake_op op = {.kind = kind, .value = {.at = at, .value = value}};
	fake_lock();
	const enum fake_memory_kind place = fake_memory_kind_of(at, sizeof(*at));
	fake_unlock();
	if ((uintptr_t)at % sizeof(*at) || place == FAKE_UNALLOCATED ||
	    place == FAKE_PAGEABLE_MEMORY)
		return FAKE_INVALID_VALUE;
	return submit_to_handle(stream, &op);
}

int fake_wait_value(struct fake_gpu *g, void *stream, uint32_t *at, uint32_t value)
{
	return submit_value_op(FAKE_OP_WAIT, stream, at, value);
}

int fake_write_value(struct fake_gpu *g, void *stream, uint32_t *at, uint32_t value)
{
	return submit_value_op(FAKE_OP_WRITE, stream, at, value);
}

int fake_value_write(void *stream, uint32_t *at, uint32_t value)
{
	return submit_value_op(FAKE_OP_WRITE, stream, at, value);
}

int fake_value_wait(void *stream, uint32_t *at, uint32_t value)
{
	return submit_value_op(FAKE_OP_WAIT, stream, at, value);
}
