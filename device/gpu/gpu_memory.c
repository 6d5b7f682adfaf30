/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_dev.h"
#include "device/gpu/nccl.h"
#include "lib/address_table.h"
#include "lib/clock.h"
#include "lib/numa.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Allocations of all devices, sorted by address. Guarded by the lock. */
static struct address_table live;

/* ------------------------------------------------------------------ the table */

struct gpu_memory *gpu_memory_find(const struct gpu_dev *d, const void *ptr, uint64_t bytes)
{
	struct gpu_memory *m = address_table_below(&live, ptr);
	uint64_t offset = m ? (uint64_t)((uintptr_t)ptr - (uintptr_t)m->start) : 0;
	if (m && offset < m->bytes && bytes <= m->bytes - offset)
		return m;
	err_note(-EFAULT, "%s:%u: %llu bytes at %p are not inside one allocation", d->vendor->name,
		 d->dev.index, (unsigned long long)bytes, ptr);
	return NULL;
}

/* ------------------------------------------------------------------ allocating */

#define PAGE_BYTES UINT64_C(4096)

/* NULL with the text of -ENOMEM. */
static void *map_pages(uint64_t bytes)
{
	void *ptr = bytes > UINT64_MAX - PAGE_BYTES ? MAP_FAILED
						    : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ptr != MAP_FAILED)
		return ptr;
	err_note(-ENOMEM, "allocate %llu bytes of host memory: out of memory",
		 (unsigned long long)bytes);
	return NULL;
}

/* A page that was never written maps the kernel's zero page, which is read faster than memory. */
static void touch_pages(void *start, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)
		((volatile char *)start)[at] = 0;
}

static int alloc_pageable(uint64_t bytes, void **ptr_p)
{
	void *ptr = map_pages(bytes);
	if (!ptr)
		return -ENOMEM;
	touch_pages(ptr, bytes);
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

static int driver_free(struct gpu_dev *d, enum dev_mem kind, void *ptr)
{
	switch (kind) {
	case DEV_MEM_DEVICE:
		return gpu_check(d, d->driver->free(ptr));
	case DEV_MEM_PINNED:
		return gpu_check(d, d->driver->free_pinned(ptr));
	case DEV_MEM_PAGEABLE:
		break;
	}
	return 0;
}

/* The alignment that dev_alloc() promises. The vendors' own runtimes give it; another runtime of
 * the same interface may give less, and is then asked for more bytes. */
#define ALIGNMENT_BYTES UINT64_C(256)

static bool is_aligned(const void *ptr) { return (uintptr_t)ptr % ALIGNMENT_BYTES == 0; }

static int alloc_aligned(struct gpu_dev *d, struct gpu_memory *m)
{
	int status = driver_alloc(d, m->kind, m->bytes, &m->given);
	if (!status && !is_aligned(m->given)) {
		status = driver_free(d, m->kind, m->given);
		if (!status)
			status =
				driver_alloc(d, m->kind, m->bytes + ALIGNMENT_BYTES - 1, &m->given);
	}
	if (!status)
		m->start = (char *)m->given + (0 - (uintptr_t)m->given) % ALIGNMENT_BYTES;
	return status;
}

static int give_back(const struct gpu_memory *m)
{
	const struct gpu_driver *driver = m->owner->driver;
	if (m->imported)
		return gpu_check(m->owner, driver->ipc_close(m->start));
	if (m->library) {
		int status = nccl_memory_free(m->library, m->given);
		gpu_ctx_forget();
		return status;
	}
	if (m->kind == DEV_MEM_DEVICE || (m->kind == DEV_MEM_PINNED && !m->mapped))
		return driver_free(m->owner, m->kind, m->given);
	int status = m->kind == DEV_MEM_PINNED ? gpu_check(m->owner, driver->unpin(m->start)) : 0;
	munmap(m->start, m->bytes);
	return status;
}

static int release_memory(const struct gpu_memory *m)
{
	struct err_first first = {0};
	if (m->takes_files)
		err_keep(&first, gpu_files_forget(m));
	err_keep(&first, give_back(m));
	return err_kept(&first);
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

size_t gpu_numa_nodes(struct dev *dev, uint32_t *nodes, size_t capacity)
{
	return numa_nodes(nodes, capacity);
}

/* Pages are placed before the driver pins them, which would place them itself. */
int gpu_alloc_on_node(struct dev *dev, uint32_t node, uint64_t bytes, void **ptr_p)
{
	struct gpu_dev *d = gpu_of(dev);
	struct gpu_memory m = {.bytes = bytes, .kind = DEV_MEM_PINNED, .owner = d, .mapped = true};
	if (bytes == 0)
		return err_note(-EINVAL, "allocate memory: 0 bytes");
	int status = gpu_ctx_use(d);
	if (!status)
		status = check_capacity(d, DEV_MEM_PINNED, bytes);
	if (status)
		return status;
	m.start = map_pages(bytes);
	if (!m.start)
		return -ENOMEM;
	status = numa_bind(m.start, bytes, node);
	if (!status) {
		touch_pages(m.start, bytes);
		status = numa_verify(m.start, bytes, node);
	}
	if (!status)
		status = gpu_check(d, d->driver->pin(m.start, bytes));
	if (status) {
		munmap(m.start, bytes);
		return status;
	}
	status = register_memory(&m);
	if (status)
		return status;
	gpu_time_refresh(d);
	*ptr_p = m.start;
	return 0;
}

static int alloc_by_library(struct gpu_memory *m)
{
	int status = nccl_memory_alloc(m->library, m->bytes, &m->given);
	gpu_ctx_forget();
	m->start = m->given;
	return status;
}

/* By its library where it has one. */
static int alloc_memory(struct gpu_dev *d, struct gpu_memory *m, void **ptr_p)
{
	if (m->bytes == 0)
		return err_note(-EINVAL, "allocate memory: 0 bytes");
	int status = gpu_ctx_use(d);
	if (!status)
		status = check_capacity(d, m->kind, m->bytes);
	if (!status)
		status = m->library ? alloc_by_library(m) : alloc_aligned(d, m);
	if (!status)
		status = register_memory(m);
	if (status)
		return status;
	gpu_time_refresh(d);
	*ptr_p = m->start;
	return 0;
}

int gpu_alloc(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	struct gpu_dev *d = gpu_of(dev);
	struct gpu_memory m = {.bytes = bytes, .kind = kind, .owner = d};
	if (kind == DEV_MEM_PINNED && d->far_node >= 0)
		return gpu_alloc_on_node(dev, (uint32_t)d->far_node, bytes, ptr_p);
	return alloc_memory(d, &m, ptr_p);
}

int gpu_alloc_for_comm(struct gpu_dev *d, const struct nccl *library, uint64_t bytes, void **ptr_p)
{
	struct gpu_memory m = {.bytes = bytes,
			       .kind = DEV_MEM_DEVICE,
			       .owner = d,
			       .of_comm = true,
			       .library = library};
	return alloc_memory(d, &m, ptr_p);
}

static int free_memory(struct gpu_dev *d, void *ptr, bool of_comm)
{
	int status = gpu_ctx_use(d);
	if (status)
		return status;
	gpu_lock();
	struct gpu_memory *m = address_table_find(&live, ptr);
	if (!m || m->owner != d || m->of_comm != of_comm)
		status = -EFAULT;
	else
		address_table_remove(&live, ptr);
	gpu_unlock();
	if (status)
		return err_note(status, "free %p: not the start of an allocation of this device",
				ptr);
	status = release_memory(m);
	free(m);
	return status;
}

int gpu_free(struct dev *dev, void *ptr) { return ptr ? free_memory(gpu_of(dev), ptr, false) : 0; }

int gpu_free_for_comm(struct gpu_dev *d, void *ptr) { return free_memory(d, ptr, true); }

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
	const struct gpu_memory *m = gpu_memory_find(d, ptr, 1);
	if (!m)
		status = -EFAULT;
	else if (m->start != ptr || m->kind != DEV_MEM_DEVICE || m->imported)
		status = err_note(
			-EINVAL,
			"export %p: not the start of device memory that this process allocated",
			ptr);
	else if (m->given != ptr)
		status = err_note(-ENOTSUP, "export %p: the driver gave memory that is not aligned",
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

static int record_adding(struct gpu_dev *d, const struct gpu_dev *other)
{
	bool adds = false;
	int status = d->driver->peer_adds
			     ? gpu_check(d, d->driver->peer_adds(d->ordinal, other->ordinal, &adds))
			     : 0;
	if (status || !adds)
		return status;
	gpu_lock();
	d->adds_to |= UINT64_C(1) << other->ordinal;
	gpu_unlock();
	return 0;
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
	if (!status)
		status = gpu_check(d, d->driver->peer_enable(other->ordinal, other->context));
	return status ? status : record_adding(d, other);
}

/* If an IOMMU or the switches' access control gets in the way, drivers grant access all the same,
 * and a copy over PCIe never ends. */
#define FIRST_COPY_BYTES 4096u
#define FIRST_COPY_LIMIT_NS UINT64_C(2000000000)

static int wait_for_first_copy(struct gpu_dev *d, struct dev_stream *s)
{
	const uint64_t since_ns = clock_ns();
	int status;
	while ((status = gpu_stream_query(&d->dev, s)) == -EAGAIN &&
	       clock_ns() - since_ns < FIRST_COPY_LIMIT_NS)
		sched_yield();
	return status;
}

static int give_up(struct gpu_dev *d, struct gpu_dev *other)
{
	d->hangs = other->hangs = true;
	const int status = err_note(
		-EIO,
		"a copy of %u bytes from %s:%u to %s:%u did not end within %.0f s, though "
		"the driver grants access: is an IOMMU, or access control (ACS) of PCIe, on?",
		FIRST_COPY_BYTES, d->vendor->name, d->dev.index, other->vendor->name,
		other->dev.index, 1e-9 * (double)FIRST_COPY_LIMIT_NS);
	gpu_check(other, status);
	return gpu_check(d, status);
}

static int copy_first(struct gpu_dev *d, struct gpu_dev *other, struct dev_stream *s)
{
	void *from = NULL, *to = NULL;
	int status = gpu_alloc(&d->dev, DEV_MEM_DEVICE, FIRST_COPY_BYTES, &from);
	if (!status)
		status = gpu_alloc(&other->dev, DEV_MEM_DEVICE, FIRST_COPY_BYTES, &to);
	if (!status)
		status = gpu_copy(&d->dev, s, to, from, FIRST_COPY_BYTES);
	if (!status)
		status = wait_for_first_copy(d, s);
	if (status == -EAGAIN)
		return give_up(d, other);
	struct err_first first = {0};
	err_keep(&first, status);
	err_keep(&first, gpu_free(&d->dev, from));
	err_keep(&first, gpu_free(&other->dev, to));
	return err_kept(&first);
}

/* Later calls do nothing. */
static int try_first_copy(struct gpu_dev *d, struct gpu_dev *other)
{
	const uint64_t bit = UINT64_C(1) << other->ordinal;
	struct dev_stream *s = NULL;
	gpu_lock();
	const bool copied = d->ordinal == other->ordinal || d->copied_to & bit;
	gpu_unlock();
	if (copied)
		return 0;
	int status = gpu_stream_open(&d->dev, d->dev.props.priority_normal, &s);
	if (status)
		return status;
	status = copy_first(d, other, s);
	if (!d->hangs)
		gpu_stream_close(&d->dev, s);
	gpu_lock();
	d->copied_to |= status ? 0 : bit;
	gpu_unlock();
	return status;
}

int gpu_peer_enable(struct dev *dev, struct dev *other)
{
	struct gpu_dev *d = gpu_of(dev), *o = gpu_of(other);
	int status = enable_access(d, o);
	if (!status)
		status = enable_access(o, d);
	if (!status)
		status = try_first_copy(d, o);
	return status ? status : try_first_copy(o, d);
}
