/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/host_lock.h"
#include "device/host_machine.h"
#include "lib/err.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define SMALL_PAGE ((size_t)4096)
/* Below this, one thread touches the pages sooner than others can be started. */
#define SHARE_MIN (16 * HUGE_PAGE)
#define MAX_TOUCHERS 256

/* Allocations by address, ascending. Guarded by the lock. */
static struct {
	struct host_memory **at;
	size_t count, room;
} live;

/* ------------------------------------------------------------------ touching */

struct share {
	pthread_t thread;
	bool started;
	char *start;
	size_t bytes;
};

static void touch(char *start, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0)
		return;
#endif
	for (size_t i = 0; i < bytes; i += SMALL_PAGE)
		((volatile char *)start)[i] = 0;
}

static void *touch_share(void *arg)
{
	const struct share *s = arg;
	touch(s->start, s->bytes);
	return NULL;
}

static void touch_all(char *start, size_t bytes, const int *cores, size_t core_count)
{
	struct share shares[MAX_TOUCHERS] = {0};
	if (core_count > MAX_TOUCHERS)
		core_count = MAX_TOUCHERS;
	if (bytes < SHARE_MIN)
		core_count = 1;
	size_t at = 0;
	for (size_t i = 0; i < core_count; i++) {
		size_t end = i + 1 == core_count ? bytes : bytes / core_count * (i + 1) / HUGE_PAGE * HUGE_PAGE;
		shares[i].start = start + at;
		shares[i].bytes = end - at;
		at = end;
		if (core_count > 1)
			shares[i].started =
				host_thread_start(&shares[i].thread, &cores[i], 1, touch_share, &shares[i]) == 0;
		if (!shares[i].started)
			touch(shares[i].start, shares[i].bytes);
	}
	for (size_t i = 0; i < core_count; i++)
		if (shares[i].started)
			pthread_join(shares[i].thread, NULL);
}

/* ------------------------------------------------------------------ the table */

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

static int enter(struct host_memory *m)
{
	if (live.count == live.room) {
		size_t room = live.room ? 2 * live.room : 64;
		struct host_memory **at = realloc(live.at, room * sizeof(struct host_memory *));
		if (!at)
			return -ENOMEM;
		live.at = at;
		live.room = room;
	}
	size_t i = above(m->start);
	memmove(live.at + i + 1, live.at + i, (live.count - i) * sizeof(struct host_memory *));
	live.at[i] = m;
	live.count++;
	return 0;
}

static void leave(size_t i)
{
	live.count--;
	memmove(live.at + i, live.at + i + 1, (live.count - i) * sizeof(struct host_memory *));
	if (live.count == 0) {
		free(live.at);
		live.at = NULL;
		live.room = 0;
	}
}

struct host_memory *host_memory_find(const void *ptr, uint64_t bytes)
{
	size_t i = above(ptr);
	if (i == 0)
		return NULL;
	struct host_memory *m = live.at[i - 1];
	uint64_t offset = (uint64_t)((uintptr_t)ptr - (uintptr_t)m->start);
	return offset < m->bytes && bytes <= m->bytes - offset ? m : NULL;
}

/* ------------------------------------------------------------------ allocation */

/* Mapped at a multiple of a huge page when it holds one, else the kernel grants none. */
static int map(struct host_memory *m)
{
	const size_t align = m->bytes >= HUGE_PAGE ? HUGE_PAGE : SMALL_PAGE;
	m->map_bytes = (m->bytes + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE + (align - SMALL_PAGE);
	m->map = mmap(NULL, m->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->map == MAP_FAILED)
		return -ENOMEM;
	m->start = (char *)(((uintptr_t)m->map + align - 1) / align * align);
	if (align == HUGE_PAGE)
		madvise(m->start, m->bytes, MADV_HUGEPAGE);
	return 0;
}

int host_memory_alloc(const void *owner, const int *cores, size_t core_count, enum dev_mem kind, uint64_t bytes,
		      void **ptr_p)
{
	if (bytes == 0)
		return err_note(-EINVAL, "allocate memory: 0 bytes");
	/* Memory is overcommitted: what does not fit must be refused here, or the kernel kills the process. */
	const uint64_t available = host_memory_available_bytes();
	if (bytes > SIZE_MAX / 2 || (available && bytes > available / 10 * 9))
		return err_note(-ENOMEM, "allocate %llu bytes: more than 90 %% of the %llu that are available",
				(unsigned long long)bytes, (unsigned long long)available);
	struct host_memory *m = calloc(1, sizeof(*m));
	if (!m)
		return err_note(-ENOMEM, "allocate %llu bytes: out of memory", (unsigned long long)bytes);
	m->bytes = bytes;
	m->kind = kind;
	m->owner = owner;
	if (map(m))
		goto free_m;
	touch_all(m->start, (bytes + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE, cores, core_count);
	host_lock();
	int rc = enter(m);
	host_unlock();
	if (rc)
		goto unmap;
	*ptr_p = m->start;
	return 0;
unmap:
	munmap(m->map, m->map_bytes);
free_m:
	free(m);
	return err_note(-ENOMEM, "allocate %llu bytes: out of memory", (unsigned long long)bytes);
}

int host_memory_free(const void *owner, void *ptr)
{
	int rc = -EFAULT;
	host_lock();
	size_t i = above(ptr);
	struct host_memory *m = i ? live.at[i - 1] : NULL;
	if (m && m->start == ptr && m->owner == owner)
		rc = m->refs ? -EBUSY : 0;
	if (!rc)
		leave(i - 1);
	host_unlock();
	if (rc == -EFAULT)
		return err_note(rc, "free %p: no allocation of this device starts there", ptr);
	if (rc)
		return err_note(rc, "free %p: queued work still uses it", ptr);
	munmap(m->map, m->map_bytes);
	free(m);
	return 0;
}

void host_memory_release(struct host_memory *m)
{
	if (--m->refs == 0 && m->dead)
		free(m);
}

void host_memory_close(const void *owner)
{
	host_lock();
	for (size_t i = live.count; i-- > 0;) {
		struct host_memory *m = live.at[i];
		if (m->owner != owner)
			continue;
		leave(i);
		m->dead = true;
		m->refs++;
		while (m->running) {
			host_unlock();
			usleep(100);
			host_lock();
		}
		munmap(m->map, m->map_bytes);
		host_memory_release(m);
		i = live.count;
	}
	host_unlock();
}
