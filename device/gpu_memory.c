/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_dev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Allocations of all devices by address, ascending. Guarded by the lock. */
static struct {
	struct gpu_memory **at;
	size_t count, room;
} live;

/* ------------------------------------------------------------------ the registry */

/* Index of the first allocation that starts above `ptr`. */
static size_t above(const void *ptr)
{
	size_t low = 0, high = live.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if ((uintptr_t)live.at[middle]->start <= (uintptr_t)ptr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int enter(struct gpu_memory *m)
{
	if (live.count == live.room) {
		size_t room = live.room ? 2 * live.room : 64;
		struct gpu_memory **at = realloc(live.at, room * sizeof(struct gpu_memory *));
		if (!at)
			return -ENOMEM;
		live.at = at;
		live.room = room;
	}
	size_t i = above(m->start);
	memmove(live.at + i + 1, live.at + i, (live.count - i) * sizeof(struct gpu_memory *));
	live.at[i] = m;
	live.count++;
	return 0;
}

static void leave(size_t i)
{
	live.count--;
	memmove(live.at + i, live.at + i + 1, (live.count - i) * sizeof(struct gpu_memory *));
	if (live.count == 0) {
		free(live.at);
		live.at = NULL;
		live.room = 0;
	}
}

static bool reaches(const struct gpu_dev *d, const struct gpu_dev *owner)
{
	bool found = d == owner;
	for (size_t i = 0; i < d->peer_count && !found; i++)
		found = d->peers[i] == owner;
	return found;
}

struct gpu_memory *gpu_memory_find(struct gpu_dev *d, const void *ptr, uint64_t bytes, bool pageable)
{
	size_t i = above(ptr);
	struct gpu_memory *m = i ? live.at[i - 1] : NULL;
	uint64_t offset = m ? (uint64_t)((uintptr_t)ptr - (uintptr_t)m->start) : 0;
	if (!m || offset >= m->bytes || bytes > m->bytes - offset) {
		err_note(-EFAULT, "%s:%u: %llu bytes at %p are not inside one allocation", d->vendor->name, d->dev.index,
		         (unsigned long long)bytes, ptr);
		return NULL;
	}
	if (!reaches(d, m->owner)) {
		err_note(-EFAULT, "%s:%u: %p belongs to %s:%u, without peer access", d->vendor->name, d->dev.index, ptr,
		         m->owner->vendor->name, m->owner->dev.index);
		return NULL;
	}
	if (m->kind == DEV_MEM_PAGEABLE && !pageable) {
		err_note(-EFAULT, "%s:%u: %p is pageable memory, which only copies reach", d->vendor->name, d->dev.index, ptr);
		return NULL;
	}
	return m;
}

/* ------------------------------------------------------------------ who uses what */

static struct gpu_use *use_of(struct gpu_memory *m, const struct dev_stream *s)
{
	for (size_t i = 0; i < m->use_count; i++)
		if (m->uses[i].stream == s)
			return &m->uses[i];
	return NULL;
}

/* A place for another stream, that of one which is done if there is any. */
static struct gpu_use *new_use(struct gpu_memory *m)
{
	for (size_t i = 0; i < m->use_count; i++)
		if (m->uses[i].op <= m->uses[i].stream->done)
			return &m->uses[i];
	if (m->use_count == m->use_room) {
		size_t room = m->use_room ? 2 * m->use_room : 4;
		struct gpu_use *uses = realloc(m->uses, room * sizeof(*uses));
		if (!uses)
			return NULL;
		m->uses = uses;
		m->use_room = room;
	}
	return &m->uses[m->use_count++];
}

static int note(struct dev_graph *g, struct gpu_memory *m)
{
	for (size_t i = 0; i < g->use_count; i++)
		if (g->uses[i] == m)
			return 0;
	if (g->use_count == g->use_room) {
		size_t room = g->use_room ? 2 * g->use_room : 8;
		struct gpu_memory **uses = realloc(g->uses, room * sizeof(struct gpu_memory *));
		if (!uses)
			return err_note(-ENOMEM, "note an operation: out of memory");
		g->uses = uses;
		g->use_room = room;
	}
	g->uses[g->use_count++] = m;
	m->graphs++;
	return 0;
}

int gpu_memory_use(struct gpu_memory *m, struct dev_stream *s)
{
	if (s->noting)
		return note(s->noting, m);
	struct gpu_use *use = use_of(m, s);
	if (!use)
		use = new_use(m);
	if (!use)
		return err_note(-ENOMEM, "enqueue: out of memory");
	*use = (struct gpu_use){.stream = s, .op = s->queued + 1};
	return 0;
}

void gpu_memory_forget(const struct dev_stream *s)
{
	for (size_t i = 0; i < live.count; i++) {
		struct gpu_use *use = use_of(live.at[i], s);
		if (use)
			*use = live.at[i]->uses[--live.at[i]->use_count];
	}
}

/* Asks the driver, each stream in its own device's context, where our numbers don't tell. Lock held: a query does not wait. */
static bool in_use(const struct gpu_memory *m)
{
	if (m->graphs)
		return true;
	for (size_t i = 0; i < m->use_count; i++) {
		struct dev_stream *s = m->uses[i].stream;
		if (m->uses[i].op <= s->done)
			continue;
		if (s->noting || gpu_context_use(s->dev) || s->dev->driver->stream_query(s->handle) == -EAGAIN)
			return true;
		s->done = s->queued;
	}
	return false;
}

/* ------------------------------------------------------------------ allocating */

#define PAGE_BYTES UINT64_C(4096)

static int alloc_pageable(uint64_t bytes, void **ptr_p)
{
	if (bytes > UINT64_MAX - PAGE_BYTES)
		return err_note(-ENOMEM, "allocate %llu bytes: out of memory", (unsigned long long)bytes);
	void *ptr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ptr == MAP_FAILED)
		return err_note(-ENOMEM, "allocate %llu bytes of pageable memory: out of memory", (unsigned long long)bytes);
	/* A page that was never written is the kernel's page of zeros, which is read faster than memory. */
	for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)
		((volatile char *)ptr)[at] = 0;
	*ptr_p = ptr;
	return 0;
}

/* Device memory is left for others: at most 90 % of what is free. */
static int check_room(struct gpu_dev *d, enum dev_mem kind, uint64_t bytes)
{
	uint64_t available = d->traits.memory_bytes;
	int rc = kind == DEV_MEM_DEVICE ? gpu_answer(d, d->driver->memory_free_bytes(&available)) : 0;
	if (rc)
		return rc;
	uint64_t most = kind == DEV_MEM_DEVICE ? available / 10 * 9 : UINT64_C(1) << 46;
	if (bytes > most)
		return err_note(-ENOMEM, "%s:%u: allocate %llu bytes: at most %llu of %llu free ones are given", d->vendor->name,
		                d->dev.index, (unsigned long long)bytes, (unsigned long long)most,
		                (unsigned long long)available);
	return 0;
}

static int driver_alloc(struct gpu_dev *d, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	switch (kind) {
	case DEV_MEM_DEVICE:
		return gpu_answer(d, d->driver->alloc(bytes, ptr_p));
	case DEV_MEM_PINNED:
		return gpu_answer(d, d->driver->alloc_pinned(bytes, ptr_p));
	case DEV_MEM_PAGEABLE:
		return alloc_pageable(bytes, ptr_p);
	}
	return err_note(-EINVAL, "allocate memory: there is no kind %d", (int)kind);
}

static int give_back(const struct gpu_memory *m)
{
	const struct gpu_driver *driver = m->owner->driver;
	if (m->imported)
		return gpu_answer(m->owner, driver->ipc_close(m->start));
	if (m->kind == DEV_MEM_DEVICE)
		return gpu_answer(m->owner, driver->free(m->start));
	if (m->kind == DEV_MEM_PINNED)
		return gpu_answer(m->owner, driver->free_pinned(m->start));
	munmap(m->start, m->bytes);
	return 0;
}

/* Takes over what *m describes, also when it fails. */
static int keep(const struct gpu_memory *m)
{
	struct gpu_memory *kept = malloc(sizeof(*kept));
	int rc = kept ? 0 : -ENOMEM;
	if (!rc) {
		*kept = *m;
		gpu_lock();
		rc = enter(kept);
		gpu_unlock();
	}
	if (!rc)
		return 0;
	give_back(m);
	free(kept);
	return err_note(rc, "allocate %llu bytes: out of memory", (unsigned long long)m->bytes);
}

int gpu_alloc(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	struct gpu_dev *d = gpu_of(dev);
	void *ptr = NULL;
	if (bytes == 0)
		return err_note(-EINVAL, "allocate memory: 0 bytes");
	int rc = gpu_enter(d);
	if (!rc)
		rc = check_room(d, kind, bytes);
	if (!rc)
		rc = driver_alloc(d, kind, bytes, &ptr);
	if (rc)
		return rc;
	rc = keep(&(struct gpu_memory){.start = ptr, .bytes = bytes, .kind = kind, .owner = d});
	if (rc)
		return rc;
	gpu_time_refresh(d);
	*ptr_p = ptr;
	return 0;
}

int gpu_free(struct dev *dev, void *ptr)
{
	struct gpu_dev *d = gpu_of(dev);
	int rc = ptr ? gpu_enter(d) : 0;
	if (rc || !ptr)
		return rc;
	gpu_lock();
	size_t i = above(ptr);
	struct gpu_memory *m = i ? live.at[i - 1] : NULL;
	if (!m || m->start != ptr || m->owner != d)
		rc = -EFAULT;
	else if (in_use(m))
		rc = -EBUSY;
	else
		leave(i - 1);
	gpu_unlock();
	if (rc == -EFAULT)
		return err_note(rc, "free %p: no allocation of this device starts there", ptr);
	if (rc)
		return err_note(rc, "free %p: queued work or a graph still uses it", ptr);
	gpu_context_use(d); /* another device's streams may have been asked */
	rc = give_back(m);
	free(m->uses);
	free(m);
	return rc;
}

static struct gpu_memory *take_any(const struct gpu_dev *d)
{
	struct gpu_memory *taken = NULL;
	gpu_lock();
	for (size_t i = live.count; i-- > 0 && !taken;) {
		if (live.at[i]->owner != d)
			continue;
		taken = live.at[i];
		leave(i);
	}
	gpu_unlock();
	return taken;
}

void gpu_memory_close(struct gpu_dev *d)
{
	for (struct gpu_memory *m = take_any(d); m; m = take_any(d)) {
		give_back(m);
		free(m->uses);
		free(m);
	}
}

/* ------------------------------------------------------------------ other processes, other devices */

int gpu_ipc_export(struct dev *dev, void *ptr, struct dev_ipc *handle_p)
{
	struct gpu_dev *d = gpu_of(dev);
	int rc = gpu_enter(d);
	if (rc)
		return rc;
	gpu_lock();
	struct gpu_memory *m = gpu_memory_find(d, ptr, 1, false);
	if (!m)
		rc = -EFAULT;
	else if (m->start != ptr || m->kind != DEV_MEM_DEVICE || m->imported)
		rc = err_note(-EINVAL, "export %p: it is not the beginning of device memory of this process", ptr);
	gpu_unlock();
	return rc ? rc : gpu_answer(d, d->driver->ipc_export(ptr, handle_p));
}

int gpu_ipc_import(struct dev *dev, const struct dev_ipc *handle, uint64_t bytes, void **ptr_p)
{
	struct gpu_dev *d = gpu_of(dev);
	void *ptr = NULL;
	if (bytes == 0)
		return err_note(-EINVAL, "import memory: 0 bytes");
	int rc = gpu_enter(d);
	if (!rc)
		rc = gpu_answer(d, d->driver->ipc_import(handle, &ptr));
	if (!rc)
		rc = keep(&(struct gpu_memory){
			.start = ptr, .bytes = bytes, .kind = DEV_MEM_DEVICE, .owner = d, .imported = true});
	if (!rc)
		*ptr_p = ptr;
	return rc;
}

/* Access of one to the memory of the other, in the driver and then here. */
static int let(struct gpu_dev *d, struct gpu_dev *other)
{
	bool can = false;
	int rc = gpu_enter(d);
	/* A device opened twice reaches itself. */
	if (rc || d->ordinal == other->ordinal)
		return rc;
	rc = gpu_answer(d, d->driver->peer_can(d->ordinal, other->ordinal, &can));
	if (!rc && !can)
		rc = err_note(-ENOTSUP, "%s:%u can't reach the memory of %s:%u", d->vendor->name, d->dev.index,
		              other->vendor->name, other->dev.index);
	return rc ? rc : gpu_answer(d, d->driver->peer_enable(other->ordinal, other->context));
}

static int add_peer(struct gpu_dev *d, struct gpu_dev *other)
{
	if (reaches(d, other))
		return 0;
	if (d->peer_count == DEV_MAX)
		return err_note(-EMFILE, "%s:%u: more than %d peers", d->vendor->name, d->dev.index, DEV_MAX);
	d->peers[d->peer_count++] = other;
	return 0;
}

int gpu_peer_enable(struct dev *dev, struct dev *other)
{
	struct gpu_dev *d = gpu_of(dev), *o = gpu_of(other);
	int rc = let(d, o);
	if (!rc)
		rc = let(o, d);
	if (rc)
		return rc;
	gpu_lock();
	rc = add_peer(d, o);
	if (!rc)
		rc = add_peer(o, d);
	gpu_unlock();
	return rc;
}
