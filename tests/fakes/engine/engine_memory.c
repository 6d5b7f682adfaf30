/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device's memory is one memfd, mapped shared, from which allocations take whole pages. So
 * another process can map an allocation too. With the address sanitizer, unallocated memory is
 * poisoned. */
#include "tests/fakes/engine/engine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define poison_range(start, bytes) ASAN_POISON_MEMORY_REGION(start, bytes)
#define unpoison_range(start, bytes) ASAN_UNPOISON_MEMORY_REGION(start, bytes)
#else
#define poison_range(start, bytes) ((void)(start), (void)(bytes))
#define unpoison_range(start, bytes) ((void)(start), (void)(bytes))
#endif

#define PAGE ((uint64_t)4096)
/* New memory is filled with this, up to a limit for speed, so that nobody relies on zeros. */
#define UNDEFINED_BYTE 0xa5
#define UNDEFINED_BYTES ((uint64_t)1 << 20)
#define IPC_WORD 0x46414b4549504331u

struct fake_region {
	struct fake_region *next;
	char *start;
	uint64_t bytes;
};

struct ipc_handle {
	uint64_t word, offset, bytes;
	pid_t process;
	int file;
	unsigned gpu;
};
_Static_assert(sizeof(struct ipc_handle) <= FAKE_IPC_BYTES, "an IPC handle fits");

static uint64_t round_up_to_pages(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

/* ------------------------------------------------------------------ the arena */

int fake_arena_open(struct fake_gpu *g)
{
	g->arena_bytes = round_up_to_pages(fake_memory_bytes());
	g->arena_file = memfd_create("fake GPU memory", MFD_CLOEXEC);
	if (g->arena_file < 0)
		return FAKE_OUT_OF_MEMORY;
	if (ftruncate(g->arena_file, (off_t)g->arena_bytes) == 0)
		g->arena = mmap(NULL, g->arena_bytes, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_NORESERVE, g->arena_file, 0);
	else
		g->arena = MAP_FAILED;
	if (g->arena == MAP_FAILED) {
		close(g->arena_file);
		return FAKE_OUT_OF_MEMORY;
	}
	poison_range(g->arena, g->arena_bytes);
	return FAKE_OK;
}

static void remove_first_region(struct fake_region **list)
{
	struct fake_region *r = *list;
	*list = r->next;
	free(r);
}

void fake_arena_close(struct fake_gpu *g)
{
	while (g->regions)
		remove_first_region(&g->regions);
	while (g->pinned) {
		free(g->pinned->start);
		remove_first_region(&g->pinned);
	}
	while (g->registered)
		remove_first_region(&g->registered);
	while (g->imported) {
		munmap(g->imported->start, round_up_to_pages(g->imported->bytes));
		remove_first_region(&g->imported);
	}
	unpoison_range(g->arena, g->arena_bytes);
	munmap(g->arena, g->arena_bytes);
	close(g->arena_file);
}

static int add_region(struct fake_region **at, char *start, uint64_t bytes)
{
	struct fake_region *r = malloc(sizeof(*r));
	if (!r)
		return FAKE_OUT_OF_MEMORY;
	*r = (struct fake_region){.next = *at, .start = start, .bytes = bytes};
	*at = r;
	return FAKE_OK;
}

/* The link to the region that starts at `ptr`, or the last link, to NULL. */
static struct fake_region **region_starting_at(struct fake_region **list, const void *ptr)
{
	while (*list && (*list)->start != ptr)
		list = &(*list)->next;
	return list;
}

static const struct fake_region *region_containing(const struct fake_region *r, const char *ptr)
{
	while (r && (ptr < r->start || ptr >= r->start + r->bytes))
		r = r->next;
	return r;
}

int fake_alloc(struct fake_gpu *g, uint64_t bytes, void **ptr_p)
{
	if (bytes == 0 || !ptr_p)
		return FAKE_INVALID_VALUE;
	int status = fake_gpu_sync(g);
	fake_lock();
	struct fake_region **at = &g->regions;
	char *start = g->arena;
	while (!status && *at && (uint64_t)((*at)->start - start) < round_up_to_pages(bytes)) {
		start = (*at)->start + round_up_to_pages((*at)->bytes);
		at = &(*at)->next;
	}
	if (!status && (bytes > g->arena_bytes ||
			(uint64_t)(g->arena + g->arena_bytes - start) < round_up_to_pages(bytes)))
		status = FAKE_OUT_OF_MEMORY;
	if (!status)
		status = add_region(at, start, bytes);
	if (!status) {
		unpoison_range(start, bytes);
		memset(start, UNDEFINED_BYTE, bytes < UNDEFINED_BYTES ? bytes : UNDEFINED_BYTES);
		*ptr_p = start;
	}
	fake_unlock();
	return status;
}

int fake_free(struct fake_gpu *g, void *ptr)
{
	if (!ptr)
		return FAKE_OK;
	fake_lock();
	int status = fake_capture_refuses();
	if (!status && !*region_starting_at(&g->regions, ptr))
		status = FAKE_INVALID_VALUE;
	fake_unlock();
	if (!status)
		status = fake_gpu_sync(g);
	if (status)
		return status;
	fake_lock();
	struct fake_region **at = region_starting_at(&g->regions, ptr);
	const uint64_t bytes = round_up_to_pages((*at)->bytes);
	poison_range(ptr, bytes);
	madvise(ptr, bytes, MADV_REMOVE);
	remove_first_region(at);
	fake_unlock();
	return FAKE_OK;
}

int fake_allocate(unsigned device, size_t bytes, void **ptr_p)
{
	struct fake_gpu *g = fake_gpu_at(device);
	int status = g ? fake_context_status(g) : FAKE_INVALID_DEVICE;
	return status ? status : fake_alloc(g, bytes, ptr_p);
}

int fake_release(unsigned device, void *ptr)
{
	struct fake_gpu *g = fake_gpu_at(device);
	int status = g ? fake_context_status(g) : FAKE_INVALID_DEVICE;
	return status ? status : fake_free(g, ptr);
}

int fake_memory_info(struct fake_gpu *g, uint64_t *free_p, uint64_t *total_p)
{
	fake_lock();
	*total_p = *free_p = g->arena_bytes;
	for (const struct fake_region *r = g->regions; r; r = r->next)
		*free_p -= round_up_to_pages(r->bytes);
	fake_unlock();
	return FAKE_OK;
}

/* ------------------------------------------------------------------ pinned memory, kinds of memory
 */

int fake_alloc_pinned(struct fake_gpu *g, uint64_t bytes, void **ptr_p)
{
	char *start = NULL;
	if (bytes == 0 || !ptr_p)
		return FAKE_INVALID_VALUE;
	int status = fake_gpu_sync(g);
	fake_lock();
	if (!status && (bytes > SIZE_MAX / 2 || posix_memalign((void **)&start, PAGE, bytes)))
		status = FAKE_OUT_OF_MEMORY;
	if (!status)
		status = add_region(&g->pinned, start, bytes);
	if (!status) {
		memset(start, UNDEFINED_BYTE, bytes < UNDEFINED_BYTES ? bytes : UNDEFINED_BYTES);
		*ptr_p = start;
	}
	fake_unlock();
	return status;
}

int fake_free_pinned(struct fake_gpu *g, void *ptr)
{
	if (!ptr)
		return FAKE_OK;
	int status = fake_gpu_sync(g);
	if (status)
		return status;
	fake_lock();
	status = FAKE_INVALID_VALUE;
	for (unsigned i = 0; i < FAKE_GPUS_MAX && status; i++) {
		struct fake_gpu *owner = fake_gpu_at(i);
		struct fake_region **at = owner ? region_starting_at(&owner->pinned, ptr) : NULL;
		if (!at || !*at)
			continue;
		free(ptr);
		remove_first_region(at);
		status = FAKE_OK;
	}
	fake_unlock();
	return status;
}

static bool is_mapped(char *start, uint64_t bytes)
{
	return msync((void *)((uintptr_t)start / PAGE * PAGE), bytes, MS_ASYNC) == 0;
}

int fake_pin(struct fake_gpu *g, void *ptr, uint64_t bytes)
{
	char *start = ptr;
	if (bytes == 0 || !ptr || bytes > SIZE_MAX / 2 || !is_mapped(start, bytes))
		return FAKE_INVALID_VALUE;
	int status = fake_gpu_sync(g);
	fake_lock();
	for (uint64_t at = 0; !status && at < bytes; at += PAGE)
		if (fake_memory_kind_of(start + at, 1) != FAKE_PAGEABLE_MEMORY)
			status = FAKE_ALREADY_PINNED;
	if (!status)
		status = add_region(&g->registered, start, bytes);
	fake_unlock();
	return status;
}

int fake_unpin(struct fake_gpu *g, void *ptr)
{
	int status = fake_gpu_sync(g);
	if (status)
		return status;
	fake_lock();
	status = FAKE_NOT_PINNED;
	for (unsigned i = 0; i < FAKE_GPUS_MAX && status; i++) {
		struct fake_gpu *owner = fake_gpu_at(i);
		struct fake_region **at =
			owner ? region_starting_at(&owner->registered, ptr) : NULL;
		if (!at || !*at)
			continue;
		remove_first_region(at);
		status = FAKE_OK;
	}
	fake_unlock();
	return status;
}

int fake_pinned_address(void *ptr)
{
	fake_lock();
	enum fake_memory_kind kind = fake_memory_kind_of(ptr, 1);
	fake_unlock();
	return kind == FAKE_PINNED_MEMORY ? FAKE_OK : FAKE_INVALID_VALUE;
}

enum fake_memory_kind fake_memory_kind_of(const void *ptr, uint64_t bytes)
{
	struct fake_gpu *g;
	for (unsigned i = 0; (g = fake_gpu_at(i)) != NULL; i++) {
		if (!g->references)
			continue;
		const struct fake_region *device = region_containing(g->regions, ptr),
					 *allocated = region_containing(g->pinned, ptr),
					 *pinned = allocated
							   ? allocated
							   : region_containing(g->registered, ptr);
		const struct fake_region *r = device   ? device
					      : pinned ? pinned
						       : region_containing(g->imported, ptr);
		if (r && bytes > (uint64_t)(r->start + r->bytes - (const char *)ptr))
			return FAKE_UNALLOCATED;
		if (r)
			return r == pinned ? FAKE_PINNED_MEMORY : FAKE_DEVICE_MEMORY;
		if ((const char *)ptr >= g->arena && (const char *)ptr < g->arena + g->arena_bytes)
			return FAKE_UNALLOCATED;
	}
	return FAKE_PAGEABLE_MEMORY;
}

const struct fake_gpu *fake_memory_owner(const void *ptr)
{
	const struct fake_gpu *g, *owner = NULL;
	fake_lock();
	for (unsigned i = 0; !owner && (g = fake_gpu_at(i)) != NULL; i++)
		if (g->references &&
		    (region_containing(g->regions, ptr) || region_containing(g->imported, ptr)))
			owner = g;
	fake_unlock();
	return owner;
}

/* ------------------------------------------------------------------ other processes */

int fake_ipc_export(struct fake_gpu *g, void *ptr, void *handle)
{
	int status = FAKE_INVALID_VALUE;
	fake_lock();
	const struct fake_region *r = region_containing(g->regions, ptr);
	if (r) {
		const struct ipc_handle h = {.word = IPC_WORD,
					     .offset = (uint64_t)(r->start - g->arena),
					     .bytes = r->bytes,
					     .process = getpid(),
					     .file = g->arena_file,
					     .gpu = g->index};
		memset(handle, 0, FAKE_IPC_BYTES);
		memcpy(handle, &h, sizeof(h));
		status = FAKE_OK;
	}
	fake_unlock();
	return status;
}

static void *map_ipc_handle(const struct ipc_handle *h)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)h->process, h->file);
	int file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return MAP_FAILED;
	void *start = mmap(NULL, round_up_to_pages(h->bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
			   file, (off_t)h->offset);
	close(file);
	return start;
}

int fake_ipc_import(struct fake_gpu *g, const void *handle, void **ptr_p)
{
	struct ipc_handle h;
	memcpy(&h, handle, sizeof(h));
	if (h.word != IPC_WORD || h.gpu != g->index)
		return FAKE_INVALID_VALUE;
	/* Drivers refuse a handle that their own process exported. */
	if (h.process == getpid() && !getenv("FAKE_IPC_SELF"))
		return FAKE_INVALID_CONTEXT;
	void *start = map_ipc_handle(&h);
	if (start == MAP_FAILED)
		return FAKE_INVALID_VALUE;
	fake_lock();
	int status = add_region(&g->imported, start, h.bytes);
	fake_unlock();
	if (status)
		munmap(start, round_up_to_pages(h.bytes));
	else
		*ptr_p = start;
	return status;
}

int fake_ipc_close(struct fake_gpu *g, void *ptr)
{
	int status = fake_gpu_sync(g);
	if (status)
		return status;
	fake_lock();
	struct fake_region **at = region_starting_at(&g->imported, ptr);
	if (*at) {
		munmap((*at)->start, round_up_to_pages((*at)->bytes));
		remove_first_region(at);
	} else {
		status = FAKE_INVALID_VALUE;
	}
	fake_unlock();
	return status;
}
