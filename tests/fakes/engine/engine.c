/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/engine/engine.h"
#include "device/backends.h"
#include "device/host/host_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_BYTES ((uint64_t)1 << 30)
/* NVIDIA's drivers are reported to queue as much per stream. */
#define QUEUE_MAX 1024u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_gpu gpus[FAKE_GPUS_MAX] = {{.index = 0}, {.index = 1}, {.index = 2},
					      {.index = 3}, {.index = 4}, {.index = 5},
					      {.index = 6}, {.index = 7}};

void fake_lock(void) { pthread_mutex_lock(&lock); }
void fake_unlock(void) { pthread_mutex_unlock(&lock); }

/* ------------------------------------------------------------------ the environment */

static uint64_t env_u64(const char *name, uint64_t fallback)
{
	const char *text = getenv(name);
	return text && *text ? strtoull(text, NULL, 0) : fallback;
}

unsigned fake_gpu_count(void)
{
	const uint64_t count = env_u64("FAKE_GPUS", 2);
	return count < FAKE_GPUS_MAX ? (unsigned)count : FAKE_GPUS_MAX;
}

uint64_t fake_queue_max(void) { return env_u64("FAKE_QUEUE", QUEUE_MAX); }

uint64_t fake_memory_bytes(void) { return env_u64("FAKE_MEMORY_BYTES", MEMORY_BYTES); }

/* ------------------------------------------------------------------ results */

const struct fake_result_name *fake_result_name(int code)
{
	for (const struct fake_result_name *r = fake_model.results; r->name; r++)
		if (r->code == code)
			return r;
	return NULL;
}

int fake_result_by_name(const char *name)
{
	char *end;
	const long code = strtol(name, &end, 10);
	if (*name && *end == '\0')
		return (int)code;
	for (const struct fake_result_name *r = fake_model.results; r->name; r++)
		if (strcmp(r->name, name) == 0)
			return r->code;
	fprintf(stderr, "fake: FAKE_FAIL: unknown result '%s'\n", name);
	abort();
}

/* ------------------------------------------------------------------ objects */

void *fake_object_new(struct fake_gpu *g, enum fake_kind kind, size_t bytes)
{
	struct fake_object *o = calloc(1, bytes);
	if (!o)
		return NULL;
	o->kind = kind;
	o->gpu = g;
	o->next = g->objects;
	g->objects = o;
	return o;
}

void fake_object_delete(struct fake_object *object)
{
	struct fake_object **at = &object->gpu->objects;
	while (*at != object)
		at = &(*at)->next;
	*at = object->next;
	free(object);
}

void *fake_object_find(const void *handle, enum fake_kind kind)
{
	for (unsigned i = 0; i < FAKE_GPUS_MAX; i++)
		for (struct fake_object *o = gpus[i].objects; o; o = o->next)
			if (o == handle)
				return o->kind == kind ? o : NULL;
	return NULL;
}

/* ------------------------------------------------------------------ devices and contexts */

struct fake_gpu *fake_gpu_at(unsigned index)
{
	return index < fake_gpu_count() ? &gpus[index] : NULL;
}

uint32_t fake_units(const struct fake_gpu *g)
{
	int cores[CORES_MAX];
	size_t total = 1, first, count;
	host_cores("", cores, &total);
	host_cores_share(total, g->index, fake_gpu_count(), &first, &count);
	return (uint32_t)count;
}

int fake_peer_enable(struct fake_gpu *g, const struct fake_gpu *other)
{
	if (g == other)
		return FAKE_INVALID_DEVICE;
	fake_lock();
	const int status = g->peers[other->index] ? FAKE_PEER_ALREADY_ENABLED : FAKE_OK;
	g->peers[other->index] = true;
	fake_unlock();
	return status;
}

static int open_context(struct fake_gpu *g)
{
	const unsigned count = fake_gpu_count();
	if (atomic_load(&g->lost))
		return FAKE_DEVICE_UNAVAILABLE;
	if (host_ops.open(NULL, g->index, count, 0, &g->host))
		return FAKE_OUT_OF_MEMORY;
	int status = fake_arena_open(g);
	if (status) {
		host_ops.close(g->host);
		return status;
	}
	atomic_store(&g->fault, FAKE_OK);
	memset(g->peers, 0, sizeof(g->peers));
	return FAKE_OK;
}

int fake_context_retain(struct fake_gpu *g)
{
	fake_lock();
	int status = g->references ? FAKE_OK : open_context(g);
	g->references += status == FAKE_OK;
	fake_unlock();
	return status;
}

int fake_context_retain_once(struct fake_gpu *g)
{
	fake_lock();
	int status = g->references ? FAKE_OK : open_context(g);
	if (!status && !g->references)
		g->references = 1;
	fake_unlock();
	return status;
}

static void delete_remaining_objects(struct fake_gpu *g)
{
	while (g->objects) {
		if (g->objects->kind == FAKE_GRAPH || g->objects->kind == FAKE_GRAPH_EXEC)
			fake_graph_free((struct fake_graph *)(void *)g->objects);
		else
			fake_object_delete(g->objects);
	}
	while (g->launches) {
		struct fake_launch *l = g->launches;
		g->launches = l->next;
		free(l);
	}
}

static void close_context(struct fake_gpu *g)
{
	atomic_store(&g->fault, FAKE_CONTEXT_IS_DESTROYED);
	g->waits = NULL; /* closing the host device frees them */
	fake_queues_close(g);
	fake_unlock();
	host_ops.close(g->host);
	fake_lock();
	g->host = NULL;
	delete_remaining_objects(g);
	fake_arena_close(g);
}

int fake_context_release(struct fake_gpu *g)
{
	int status = FAKE_INVALID_CONTEXT;
	fake_lock();
	if (g->references) {
		status = FAKE_OK;
		if (g->references == 1)
			close_context(g);
		g->references--;
	}
	fake_unlock();
	return status;
}

int fake_context_status(struct fake_gpu *g)
{
	fake_lock();
	while (g->references && g->queue_waiters) {
		fake_unlock();
		usleep(FAKE_POLL_US);
		fake_lock();
	}
	const int status = g->references ? atomic_load(&g->fault) : FAKE_CONTEXT_IS_DESTROYED;
	fake_unlock();
	return status;
}

void fake_context_fail(struct fake_gpu *g, int result)
{
	int none = FAKE_OK;
	atomic_compare_exchange_strong(&g->fault, &none, result);
	if (result == FAKE_UNKNOWN)
		atomic_store(&g->lost, true);
}
