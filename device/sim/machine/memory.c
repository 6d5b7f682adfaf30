/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/machine/memory.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/narrow.h"
#include "lib/address_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN 4096u
#define POISON 0xa5
#define MAX_POISON_BYTES                                                                           \
	(4u << 20) /* at each end of a large allocation: touching a gigabyte takes long */

static struct address_table allocs;

static bool may_use(const struct sim_dev *d, const struct sim_dev *owner)
{
	for (unsigned i = 0; i < d->peers; i++)
		if (d->peer[i] == owner)
			return true;
	return d == owner;
}

struct alloc *sim_memory_find(struct sim_dev *d, const void *at, uint64_t bytes, const char *what)
{
	struct alloc *a = address_table_below(&allocs, at);
	uint64_t offset = a ? (uint64_t)((const char *)at - a->base) : 0;
	if (!a || offset >= a->bytes) {
		err_note(-EFAULT, "sim:%u: %s: %p is not in memory from dev_alloc()", d->base.index,
			 what, at);
		return NULL;
	}
	if (bytes > a->bytes - offset) {
		err_note(-EFAULT,
			 "sim:%u: %s: %llu bytes at offset %llu exceed an allocation of %llu bytes",
			 d->base.index, what, (unsigned long long)bytes, (unsigned long long)offset,
			 (unsigned long long)a->bytes);
		return NULL;
	}
	if (!may_use(d, a->dev)) {
		err_note(-EFAULT,
			 "sim:%u: %s: the memory belongs to sim:%u and dev_peer_enable() was not "
			 "called",
			 d->base.index, what, a->dev->base.index);
		return NULL;
	}
	return a;
}

static uint64_t *used_by(struct sim_dev *d, enum dev_mem kind)
{
	return kind == DEV_MEM_DEVICE ? &d->used_bytes : &d->used_host_bytes;
}

uint32_t sim_memory_users(const struct sim_dev *d)
{
	uint32_t users = 0;
	for (size_t i = 0; i < allocs.count; i++) {
		const struct alloc *a = allocs.at[i].item;
		users += a->dev == d ? a->users : 0;
	}
	return users;
}

bool sim_memory_moves(const struct sim_dev *d, uint64_t bytes)
{
	return d->model.data == SIM_DATA_REAL || bytes <= SIM_MOVED_BYTES;
}

static uint64_t versions;

void sim_memory_changed(struct alloc *a) { a->version = ++versions; }

void sim_memory_changed_by(const struct op *op)
{
	for (unsigned i = 0; i < op->uses; i++)
		if (!op->tiles || i >= 2)
			sim_memory_changed(op->work->use[i]);
}

static uint64_t padded_bytes(uint64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

/* NULL: there is none. Small pages: of a large one a stamp would make all of it resident. */
static void *map_addresses(uint64_t bytes)
{
	void *at = mmap(NULL, padded_bytes(bytes), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	madvise(at, padded_bytes(bytes), MADV_NOHUGEPAGE);
	return at;
}

static void poison_ends(char *at, uint64_t bytes)
{
	const uint64_t some = bytes < MAX_POISON_BYTES ? bytes : MAX_POISON_BYTES;
	memset(at, POISON, some);
	memset(at + bytes - some, POISON, some);
}

static void open_base(struct alloc *a)
{
	if (a->dev->model.data == SIM_DATA_NONE) {
		a->base = map_addresses(a->bytes);
		return;
	}
	a->base = aligned_alloc(ALIGN, padded_bytes(a->bytes));
	if (a->base)
		poison_ends(a->base, a->bytes);
}

static void close_base(const struct alloc *a)
{
	if (a->dev->model.data == SIM_DATA_REAL)
		free(a->base);
	else if (a->base)
		munmap(a->base, padded_bytes(a->bytes));
}

static void release_memory(struct alloc *a)
{
	address_table_remove(&allocs, a->base);
	*used_by(a->dev, a->kind) -= a->bytes;
	sim_cache_forget(a->dev, a->base, a->bytes);
	close_base(a);
	free(a);
}

uint32_t sim_near_node(const struct sim_dev *d) { return d->base.index % d->model.numa_nodes; }

int sim_memory_alloc(struct sim_dev *d, enum dev_mem kind, uint32_t node, uint64_t bytes,
		     void **ptr_p)
{
	if (bytes == 0 || (kind != DEV_MEM_DEVICE && kind != DEV_MEM_PINNED))
		return err_note(-EINVAL, "sim:%u: allocate %llu bytes of kind %d", d->base.index,
				(unsigned long long)bytes, (int)kind);
	uint64_t limit =
		kind == DEV_MEM_DEVICE ? d->model.memory_bytes : d->model.host_memory_bytes;
	if (++d->allocs == d->model.fail_alloc_at)
		return err_note(
			-ENOMEM, "sim:%u: allocate %llu bytes: fail_alloc_at = %llu of the model",
			d->base.index, (unsigned long long)bytes, (unsigned long long)d->allocs);
	if (bytes > limit - *used_by(d, kind))
		return err_note(
			-ENOMEM, "sim:%u: allocate %llu bytes of %s memory: %llu of %llu are free",
			d->base.index, (unsigned long long)bytes,
			kind == DEV_MEM_DEVICE ? "device" : "pinned",
			(unsigned long long)(limit - *used_by(d, kind)), (unsigned long long)limit);
	struct alloc *a = calloc(1, sizeof(*a));
	if (!a)
		return err_note(-ENOMEM, "sim:%u: allocate: out of memory", d->base.index);
	*a = (struct alloc){
		.bytes = bytes, .kind = kind, .node = node, .dev = d, .version = ++versions};
	open_base(a);
	if (!a->base || address_table_add(&allocs, a->base, a)) {
		close_base(a);
		free(a);
		return err_note(-ENOMEM, "sim:%u: allocate %llu bytes: this %s", d->base.index,
				(unsigned long long)bytes,
				d->model.data == SIM_DATA_NONE ? "process has no address space left"
							       : "machine is out of memory");
	}
	*used_by(d, kind) += bytes;
	*ptr_p = a->base;
	return 0;
}

int sim_memory_free(struct sim_dev *d, void *ptr)
{
	if (!ptr)
		return 0;
	struct alloc *a = address_table_find(&allocs, ptr);
	if (!a || a->dev != d)
		return err_note(-EFAULT,
				"sim:%u: free %p: no allocation of this device starts there",
				d->base.index, ptr);
	if (a->users)
		return err_note(-EBUSY,
				"sim:%u: free %llu bytes: %u queued operations still use them",
				d->base.index, (unsigned long long)a->bytes, a->users);
	if (a->trackers)
		return err_note(-EBUSY, "sim:%u: free %llu bytes: %u open trackers use them",
				d->base.index, (unsigned long long)a->bytes, a->trackers);
	release_memory(a);
	return 0;
}

void sim_memory_free_all(struct sim_dev *d)
{
	for (size_t i = allocs.count; i > 0; i--) {
		struct alloc *a = allocs.at[i - 1].item;
		if (a->dev == d)
			release_memory(a);
	}
}

/* ------------------------------------------------------------------ memory that adds
 * Element by element. Sums of f16 and bf16 are made in f32, which has more than twice their bits,
 * so double rounding is harmless. */

/* Narrow elements are added in parts of this many. */
#define PART 256u

static void add_f32(float *dst, const float *src, uint64_t elements)
{
	for (uint64_t i = 0; i < elements; i++)
		dst[i] += src[i];
}

static void add_f64(double *dst, const double *src, uint64_t elements)
{
	for (uint64_t i = 0; i < elements; i++)
		dst[i] += src[i];
}

/* Unsigned, so that sums may wrap. */
static void add_i32(uint32_t *dst, const uint32_t *src, uint64_t elements)
{
	for (uint64_t i = 0; i < elements; i++)
		dst[i] += src[i];
}

static void add_narrow(enum dev_type type, char *dst, const char *src, uint64_t elements)
{
	const uint64_t size = dev_type_bytes(type);
	float sum[PART], added[PART];
	for (uint64_t at = 0; at < elements; at += PART) {
		const uint32_t part = elements - at < PART ? (uint32_t)(elements - at) : PART;
		sim_narrow_decode(type, dst + at * size, part, sum);
		sim_narrow_decode(type, src + at * size, part, added);
		add_f32(sum, added, part);
		sim_narrow_round(type, sum, part, dst + at * size);
	}
}

void sim_memory_add(enum dev_type type, void *dst, const void *src, uint64_t elements)
{
	assert(dev_types[type].result == type);
	if (type == DEV_F64)
		add_f64(dst, src, elements);
	else if (type == DEV_F32)
		add_f32(dst, src, elements);
	else if (type == DEV_I32)
		add_i32(dst, src, elements);
	else
		add_narrow(type, dst, src, elements);
}
