/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_dev.h"
#include "lib/address_table.h"
#include "lib/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Allocations of all devices, sorted by address. Guarded by the lock. */
static struct address_table live;

/* ------------------------------------------------------------------ the registry */

static bool has_access(const struct gpu_dev *d, const struct gpu_dev *owner)
{
	bool found = d == owner;
	for (size_t i = 0; i < d->peer_count && !found; i++)
		found = d->peers[i] == owner;
	return found;
}

struct gpu_memory *gpu_memory_find(struct gpu_dev *d, const void *ptr, uint64_t bytes,
				   bool pageable)
{
	struct gpu_memory *m = address_table_below(&live, ptr);
	uint64_t offset = m ? (uint64_t)((uintptr_t)ptr - (uintptr_t)m->start) : 0;
	if (!m || offset >= m->bytes || bytes > m->bytes - offset) {
		err_note(-EFAULT, "%s:%u: %llu bytes at %p are not inside one allocation",
			 d->vendor->name, d->dev.index, (unsigned long long)bytes, ptr);
		return NULL;
	}
	if (!has_access(d, m->owner)) {
		err_note(-EFAULT, "%s:%u: %p belongs to %s:%u; peer access is not enabled",
			 d->vendor->name, d->dev.index, ptr, m->owner->vendor->name,
			 m->owner->dev.index);
		return NULL;
	}
	if (m->kind == DEV_MEM_PAGEABLE && !pageable) {
		err_note(-EFAULT, "%s:%u: %p is pageable memory, which only copies may use",
			 d->vendor->name, d->dev.index, ptr);
		return NULL;
	}
	return m;
}

/* ------------------------------------------------------------------ uses by streams and graphs */

static struct gpu_use *find_use(struct gpu_memory *m, const struct dev_stream *s)
{
	for (size_t i = 0; i < m->use_count; i++)
		if (m->uses[i].stream == s)
			return &m->uses[i];
	return NULL;
}

/* An entry for another stream; reuses the entry of a stream whose work is done. */
static struct gpu_use *add_use(struct gpu_memory *m)
{
	for (size_t i = 0; i < m->use_count; i++)
		if (m->uses[i].op <= m->uses[i].stream->done)
			return &m->uses[i];
	struct gpu_use *uses = vec_grow(m->uses, m->use_count, &m->use_capacity, sizeof(*uses));
	if (!uses)
		return NULL;
	m->uses = uses;
	return &m->uses[m->use_count++];
}

static int graph_add_use(struct dev_graph *g, struct gpu_memory *m)
{
	for (size_t i = 0; i < g->use_count; i++)
		if (g->uses[i] == m)
			return 0;
	struct gpu_memory **uses =
		vec_grow(g->uses, g->use_count, &g->use_capacity, sizeof(struct gpu_memory *));
	if (!uses)
		return err_note(-ENOMEM, "capture an operation: out of memory");
	g->uses = uses;
	g->uses[g->use_count++] = m;
	m->graph_count++;
	return 0;
}

int gpu_memory_use(struct gpu_memory *m, struct dev_stream *s)
{
	if (s->capturing)
		return graph_add_use(s->capturing, m);
	struct gpu_use *use = find_use(m, s);
	if (!use)
		use = add_use(m);
	if (!use)
		return err_note(-ENOMEM, "enqueue: out of memory");
	*use = (struct gpu_use){.stream = s, .op = s->queued + 1};
	return 0;
}

void gpu_memory_forget(const struct dev_stream *s)
{
	for (size_t i = 0; i < live.count; i++) {
		struct gpu_memory *m = live.at[i].item;
		struct gpu_use *use = find_use(m, s);
		if (use)
			*use = m->uses[--m->use_count];
	}
}

/* Where our numbers do not tell, asks the driver, with each stream's own context. The lock is
 * held, since a query does not wait. */
static bool in_use(const struct gpu_memory *m)
{
	if (m->graph_count)
		return true;
	for (size_t i = 0; i < m->use_count; i++) {
		struct dev_stream *s = m->uses[i].stream;
		if (m->uses[i].op <= s->done)
			continue;
		if (s->capturing || gpu_ctx_make_current(s->dev) ||
		    s->dev->driver->stream_query(s->handle) == -EAGAIN)
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
		return err_note(-ENOMEM, "allocate %llu bytes: out of memory",
				(unsigned long long)bytes);
	void *ptr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ptr == MAP_FAILED)
		return err_note(-ENOMEM, "allocate %llu bytes of pageable memory: out of memory",
				(unsigned long long)bytes);
	/* A page that was never written maps the kernel's zero page, which is read faster than
	 * memory. */
	for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)
		((volatile char *)ptr)[at] = 0;
	*ptr_p = ptr;
	return 0;
}

/* At most 90 % of the free device memory is given out; the rest is left for others. */
static int check_capacity(struct gpu_dev *d, enum dev_mem kind, uint64_t bytes)
{
	uint64_t available = d->traits.memory_bytes;
	int status =
		kind == DEV_MEM_DEVICE ? gpu_check(d, d->driver->memory_free_bytes(&available)) : 0;
	if (status)
		return status;
	uint64_t limit = kind == DEV_MEM_DEVICE ? available / 10 * 9 : UINT64_C(1) << 46;
	if (bytes > limit)
		return err_note(
			-ENOMEM,
			"%s:%u: allocate %llu bytes: the limit is %llu; %llu bytes are free",
			d->vendor->name, d->dev.index, (unsigned long long)bytes,
			(unsigned long long)limit, (unsigned long long)available);
	return 0;
}

static int driver_alloc(struct gpu_dev *d, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	switch (kind) {
	case DEV_MEM_DEVICE:
		return gpu_check(d, d->driver->alloc(bytes, ptr_p));
	case DEV_MEM_PINNED:
		return gpu_check(d, d->driver->alloc_pinned(bytes, ptr_p));
	case DEV_MEM_PAGEABLE:
		return alloc_pageable(bytes, ptr_p);
	}
	return err_note(-EINVAL, "allocate memory: unknown kind %d", (int)kind);
}

static int release_memory(const struct gpu_memory *m)
{
	const struct gpu_driver *driver = m->owner->driver;
	if (m->imported)
		return gpu_check(m->owner, driver->ipc_close(m->start));
	if (m->kind == DEV_MEM_DEVICE)
		return gpu_check(m->owner, driver->free(m->start));
	if (m->kind == DEV_MEM_PINNED)
		return gpu_check(m->owner, driver->free_pinned(m->start));
	munmap(m->start, m->bytes);
	return 0;
}

/* Takes ownership of the memory that *m describes; frees it on failure. */
static int register_memory(const struct gpu_memory *m)
{
	struct gpu_memory *kept = malloc(sizeof(*kept));
	int status = kept ? 0 : -ENOMEM;
	if (!status) {
		*kept = *m;
		gpu_lock();
		status = address_table_add(&live, kept->start, kept);
		gpu_unlock();
	}
	if (!status)
		return 0;
	release_memory(m);
	free(kept);
	return err_note(status, "allocate %llu bytes: out of memory", (unsigned long long)m->bytes);
}

int gpu_alloc(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	struct gpu_dev *d = gpu_of(dev);
	void *ptr = NULL;
	if (bytes == 0)
		return err_note(-EINVAL, "allocate memory: 0 bytes");
	int status = gpu_ctx_use(d);
	if (!status)
		status = check_capacity(d, kind, bytes);
	if (!status)
		status = driver_alloc(d, kind, bytes, &ptr);
	if (status)
		return status;
	status = register_memory(
		&(struct gpu_memory){.start = ptr, .bytes = bytes, .kind = kind, .owner = d});
	if (status)
		return status;
	gpu_time_refresh(d);
	*ptr_p = ptr;
	return 0;
}

int gpu_free(struct dev *dev, void *ptr)
{
	struct gpu_dev *d = gpu_of(dev);
	int status = ptr ? gpu_ctx_use(d) : 0;
	if (status || !ptr)
		return status;
	gpu_lock();
	struct gpu_memory *m = address_table_find(&live, ptr);
	if (!m || m->owner != d)
		status = -EFAULT;
	else if (in_use(m))
		status = -EBUSY;
	else
		address_table_remove(&live, ptr);
	gpu_unlock();
	if (status == -EFAULT)
		return err_note(status, "free %p: not the start of an allocation of this device",
				ptr);
	if (status)
		return err_note(status, "free %p: queued work or a graph still uses it", ptr);
	gpu_ctx_make_current(d); /* in_use() may have switched to another device's context */
	status = release_memory(m);
	free(m->uses);
	free(m);
	return status;
}

static struct gpu_memory *registry_take_one(const struct gpu_dev *d)
{
	struct gpu_memory *taken = NULL;
	gpu_lock();
	for (size_t i = live.count; i-- > 0 && !taken;) {
		struct gpu_memory *m = live.at[i].item;
		if (m->owner == d)
			taken = address_table_remove(&live, m->start);
	}
	gpu_unlock();
	return taken;
}

void gpu_memory_close(struct gpu_dev *d)
{
	for (struct gpu_memory *m = registry_take_one(d); m; m = registry_take_one(d)) {
		release_memory(m);
		free(m->uses);
		free(m);
	}
}

/* ------------------------------------------------------------------ other processes, other devices
 */

int gpu_ipc_export(struct dev *dev, void *ptr, struct dev_ipc *handle_p)
{
	struct gpu_dev *d = gpu_of(dev);
	int status = gpu_ctx_use(d);
	if (status)
		return status;
	gpu_lock();
	struct gpu_memory *m = gpu_memory_find(d, ptr, 1, false);
	if (!m)
		status = -EFAULT;
	else if (m->start != ptr || m->kind != DEV_MEM_DEVICE || m->imported)
		status = err_note(
			-EINVAL,
			"export %p: not the start of device memory that this process allocated",
			ptr);
	gpu_unlock();
	return status ? status : gpu_check(d, d->driver->ipc_export(ptr, handle_p));
}

int gpu_ipc_import(struct dev *dev, const struct dev_ipc *handle, uint64_t bytes, void **ptr_p)
{
	struct gpu_dev *d = gpu_of(dev);
	void *ptr = NULL;
	if (bytes == 0)
		return err_note(-EINVAL, "import memory: 0 bytes");
	int status = gpu_ctx_use(d);
	if (!status)
		status = gpu_check(d, d->driver->ipc_import(handle, &ptr));
	if (!status)
		status = register_memory(&(struct gpu_memory){.start = ptr,
							      .bytes = bytes,
							      .kind = DEV_MEM_DEVICE,
							      .owner = d,
							      .imported = true});
	if (!status)
		*ptr_p = ptr;
	return status;
}

/* Gives d access to the memory of the other device, in the driver only. */
static int enable_access(struct gpu_dev *d, struct gpu_dev *other)
{
	bool can = false;
	int status = gpu_ctx_use(d);
	/* A device that is open twice has access to itself. */
	if (status || d->ordinal == other->ordinal)
		return status;
	status = gpu_check(d, d->driver->peer_can(d->ordinal, other->ordinal, &can));
	if (!status && !can)
		status = err_note(-ENOTSUP, "%s:%u has no peer access to the memory of %s:%u",
				  d->vendor->name, d->dev.index, other->vendor->name,
				  other->dev.index);
	return status ? status
		      : gpu_check(d, d->driver->peer_enable(other->ordinal, other->context));
}

static int add_peer(struct gpu_dev *d, struct gpu_dev *other)
{
	if (has_access(d, other))
		return 0;
	if (d->peer_count == DEV_MAX)
		return err_note(-EMFILE, "%s:%u: more than %d peers", d->vendor->name, d->dev.index,
				DEV_MAX);
	d->peers[d->peer_count++] = other;
	return 0;
}

int gpu_peer_enable(struct dev *dev, struct dev *other)
{
	struct gpu_dev *d = gpu_of(dev), *o = gpu_of(other);
	int status = enable_access(d, o);
	if (!status)
		status = enable_access(o, d);
	if (status)
		return status;
	gpu_lock();
	status = add_peer(d, o);
	if (!status)
		status = add_peer(o, d);
	gpu_unlock();
	return status;
}
