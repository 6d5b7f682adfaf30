/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_memory.h"
#include "device/host/host_lock.h"
#include "device/host/host_machine.h"
#include "lib/address_table.h"
#include "lib/cores.h"
#include "lib/err.h"
#include "lib/numa.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define SMALL_PAGE ((size_t)4096)
/* Below this, one thread touches the pages faster than others can be started. */
#define SHARE_MIN (16 * HUGE_PAGE)
#define MAX_TOUCHERS 256
/* This part of the available memory may be kept. */
#define KEPT_PART 16

/* Allocations; what was freed and is kept, without access, and its bytes. Guarded by the lock. */
static struct address_table live;
static struct host_memory *kept;
static uint64_t kept_bytes;

/* ------------------------------------------------------------------ touching */

struct touch_job {
	pthread_t thread;
	bool started;
	char *start;
	size_t bytes;
};

static void touch_pages(char *start, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0)
		return;
#endif
	for (size_t i = 0; i < bytes; i += SMALL_PAGE)
		((volatile char *)start)[i] = 0;
}

static void *run_touch_job(void *arg)
{
	const struct touch_job *s = arg;
	touch_pages(s->start, s->bytes);
	return NULL;
}

static void touch_on_cores(char *start, size_t bytes, const int *cores, size_t core_count)
{
	struct touch_job jobs[MAX_TOUCHERS] = {0};
	if (core_count > MAX_TOUCHERS)
		core_count = MAX_TOUCHERS;
	if (bytes < SHARE_MIN)
		core_count = 1;
	size_t at = 0;
	for (size_t i = 0; i < core_count; i++) {
		size_t end = i + 1 == core_count
				     ? bytes
				     : bytes / core_count * (i + 1) / HUGE_PAGE * HUGE_PAGE;
		jobs[i].start = start + at;
		jobs[i].bytes = end - at;
		at = end;
		if (core_count > 1)
			jobs[i].started = cores_thread_start(&jobs[i].thread, &cores[i], 1,
							     run_touch_job, &jobs[i]) == 0;
		if (!jobs[i].started)
			touch_pages(jobs[i].start, jobs[i].bytes);
	}
	for (size_t i = 0; i < core_count; i++)
		if (jobs[i].started)
			pthread_join(jobs[i].thread, NULL);
}

struct host_memory *host_memory_find(const void *ptr, uint64_t bytes)
{
	struct host_memory *m = address_table_below(&live, ptr);
	if (!m)
		return NULL;
	uint64_t offset = (uint64_t)((uintptr_t)ptr - (uintptr_t)m->start);
	return offset < m->bytes && bytes <= m->bytes - offset ? m : NULL;
}

/* ------------------------------------------------------------------ allocation */

/* An allocation of at least a huge page is aligned to one; else the kernel would grant none. */
static int map_pages(struct host_memory *m)
{
	const size_t align = m->bytes >= HUGE_PAGE ? HUGE_PAGE : SMALL_PAGE;
	m->map_bytes = (m->bytes + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE + (align - SMALL_PAGE);
	m->map = mmap(NULL, m->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (m->map == MAP_FAILED)
		return -ENOMEM;
	m->start = (char *)(((uintptr_t)m->map + align - 1) / align * align);
	if (align == HUGE_PAGE)
		madvise(m->start, m->bytes, MADV_HUGEPAGE);
	return 0;
}

static void unmap_memory(struct host_memory *m)
{
	munmap(m->map, m->map_bytes);
	free(m);
}

/* A list. Lock NOT held. */
static void unmap_all(struct host_memory *first)
{
	while (first) {
		struct host_memory *m = first;
		first = m->next;
		unmap_memory(m);
	}
}

/* Empty the list of kept memory and return it. Lock held. */
static struct host_memory *take_all_kept(void)
{
	struct host_memory *all = kept;
	kept = NULL;
	kept_bytes = 0;
	return all;
}

static void unmap_kept(void)
{
	host_lock();
	struct host_memory *all = take_all_kept();
	host_unlock();
	unmap_all(all);
}

static size_t page_bytes(uint64_t bytes)
{
	return (bytes + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE;
}

/* With as many pages, which were touched on the device's cores; or NULL. */
static struct host_memory *take_kept(const void *owner, enum dev_mem kind, uint64_t bytes)
{
	struct host_memory **at = &kept, *m;
	host_lock();
	while (*at && ((*at)->owner != owner || page_bytes((*at)->bytes) != page_bytes(bytes)))
		at = &(*at)->next;
	m = *at;
	if (m) {
		*at = m->next;
		kept_bytes -= m->bytes;
	}
	host_unlock();
	if (!m)
		return NULL;
	m->bytes = bytes;
	m->kind = kind;
	if (mprotect(m->map, m->map_bytes, PROT_READ | PROT_WRITE) == 0)
		return m;
	unmap_memory(m);
	return NULL;
}

/* Takes ownership. An access from now on is a fault, as of memory that is unmapped. */
static void keep_memory(struct host_memory *m)
{
	const uint64_t most = host_memory_available_bytes("") / KEPT_PART;
	if (!m->on_cores || m->bytes > most || mprotect(m->map, m->map_bytes, PROT_NONE) != 0) {
		unmap_memory(m);
		return;
	}
	host_lock();
	struct host_memory *too_much = kept_bytes + m->bytes > most ? take_all_kept() : NULL;
	m->next = kept;
	kept = m;
	kept_bytes += m->bytes;
	host_unlock();
	unmap_all(too_much);
}

/* Linux overcommits memory: refuse here what does not fit, or the kernel kills the process. */
static int check_size(uint64_t bytes)
{
	const uint64_t available = host_memory_available_bytes("");
	if (bytes == 0)
		return err_note(-EINVAL, "allocate memory: 0 bytes");
	if (bytes > SIZE_MAX / 2 || (available && bytes > available / 10 * 9))
		return err_note(
			-ENOMEM,
			"allocate %llu bytes: more than 90 %% of the %llu that are available",
			(unsigned long long)bytes, (unsigned long long)available);
	return 0;
}

static int note_no_memory(uint64_t bytes)
{
	return err_note(-ENOMEM, "allocate %llu bytes: out of memory", (unsigned long long)bytes);
}

static int check_and_map(struct host_memory *m)
{
	int status = check_size(m->bytes);
	return status == 0 && map_pages(m) != 0 ? note_no_memory(m->bytes) : status;
}

/* Mapped, not touched, not registered. NULL with a text. */
static struct host_memory *map_memory(const void *owner, enum dev_mem kind, uint64_t bytes,
				      int *status_p)
{
	struct host_memory *m = calloc(1, sizeof(*m));
	if (!m) {
		*status_p = note_no_memory(bytes);
		return NULL;
	}
	*m = (struct host_memory){.bytes = bytes, .kind = kind, .owner = owner};
	*status_p = check_and_map(m);
	if (*status_p == -ENOMEM) {
		unmap_kept();
		*status_p = check_and_map(m);
	}
	if (*status_p == 0)
		return m;
	free(m);
	return NULL;
}

/* Takes ownership; unmaps after an error. */
static int register_memory(struct host_memory *m, int status, void **ptr_p)
{
	if (status == 0) {
		host_lock();
		status = address_table_add(&live, m->start, m);
		host_unlock();
		status = status ? note_no_memory(m->bytes) : 0;
	}
	if (status == 0) {
		*ptr_p = m->start;
		return 0;
	}
	unmap_memory(m);
	return status;
}

int host_memory_alloc(const void *owner, const int *cores, size_t core_count, enum dev_mem kind,
		      uint64_t bytes, void **ptr_p)
{
	int status;
	struct host_memory *m = take_kept(owner, kind, bytes);
	if (m)
		return register_memory(m, 0, ptr_p);
	m = map_memory(owner, kind, bytes, &status);
	if (!m)
		return status;
	m->on_cores = true;
	touch_on_cores(m->start, page_bytes(bytes), cores, core_count);
	return register_memory(m, 0, ptr_p);
}

int host_memory_alloc_on_node(const void *owner, uint32_t node, uint64_t bytes, void **ptr_p)
{
	int status;
	struct host_memory *m = map_memory(owner, DEV_MEM_PINNED, bytes, &status);
	if (!m)
		return status;
	status = numa_bind(m->start, page_bytes(bytes), node);
	if (status == 0)
		touch_pages(m->start, page_bytes(bytes));
	if (status == 0)
		status = numa_verify(m->start, page_bytes(bytes), node);
	return register_memory(m, status, ptr_p);
}

int host_memory_free(const void *owner, void *ptr)
{
	int status = -EFAULT;
	host_lock();
	struct host_memory *m = address_table_find(&live, ptr);
	if (m && m->owner == owner) {
		address_table_remove(&live, ptr);
		status = 0;
	}
	host_unlock();
	if (status)
		return err_note(status, "free %p: no allocation of this device starts there", ptr);
	keep_memory(m);
	return 0;
}

void host_memory_close(const void *owner)
{
	host_lock();
	struct host_memory *all = take_all_kept();
	for (size_t i = live.count; i-- > 0;) {
		struct host_memory *m = live.at[i].item;
		if (m->owner != owner)
			continue;
		address_table_remove(&live, m->start);
		m->next = all;
		all = m;
	}
	host_unlock();
	unmap_all(all);
}
