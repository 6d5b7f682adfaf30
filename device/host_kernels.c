/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host_kernels.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "device/host_lock.h"
#include "device/host_simd.h"
#include "lib/clock.h"
#include "lib/err.h"

static const struct host_simd *simd;

static const struct host_simd *set(void)
{
	const struct host_simd *now = __atomic_load_n(&simd, __ATOMIC_RELAXED);
	return now ? now : host_simd_best();
}

void host_kernels_use(const struct host_simd *s) { __atomic_store_n(&simd, s, __ATOMIC_RELAXED); }

/* ------------------------------------------------------------------ memory kernels */

struct part {
	uint64_t start, bytes;
};

static struct part part_of(const struct host_block *b, uint64_t bytes)
{
	const uint64_t quanta = bytes / DEV_KERNEL_ALIGN, each = quanta / b->grid, rest = quanta % b->grid;
	const uint64_t first = b->index * each + (b->index < rest ? b->index : rest);
	const uint64_t count = each + (b->index < rest ? 1 : 0);
	return (struct part){ .start = first * DEV_KERNEL_ALIGN, .bytes = count * DEV_KERNEL_ALIGN };
}

static int empty_run(const struct host_block *b)
{
	(void)b;
	return 0;
}

static int read_run(const struct host_block *b)
{
	const union host_arg *args = b->args;
	const struct part part = part_of(b, args[1].u64);
	const uint32_t sum = set()->read((const char *)args[0].pointer + part.start, part.bytes, args[2].u32);
	__atomic_fetch_add((uint32_t *)args[3].pointer, sum, __ATOMIC_RELAXED);
	return 0;
}

static int write_parts(const struct host_block *b, void (*write)(void *, uint64_t, uint32_t, uint32_t))
{
	const union host_arg *args = b->args;
	const struct part part = part_of(b, args[1].u64);
	write((char *)args[0].pointer + part.start, part.bytes, args[2].u32, args[3].u32);
	return 0;
}

static int write_run(const struct host_block *b) { return write_parts(b, set()->write); }
static int write_nt_run(const struct host_block *b) { return write_parts(b, set()->write_nt); }

static int copy_parts(const struct host_block *b, void (*copy)(void *, const void *, uint64_t, uint32_t))
{
	const union host_arg *args = b->args;
	const struct part part = part_of(b, args[2].u64);
	copy((char *)args[0].pointer + part.start, (const char *)args[1].pointer + part.start, part.bytes, args[3].u32);
	return 0;
}

static int copy_run(const struct host_block *b) { return copy_parts(b, set()->copy); }
static int copy_nt_run(const struct host_block *b) { return copy_parts(b, set()->copy_nt); }

static int triad_parts(const struct host_block *b,
                       void (*triad)(float *, const float *, const float *, uint64_t, uint32_t, float))
{
	const union host_arg *args = b->args;
	const struct part part = part_of(b, args[3].u64);
	const size_t first = part.start / sizeof(float);
	triad((float *)args[0].pointer + first, (const float *)args[1].pointer + first,
	      (const float *)args[2].pointer + first, part.bytes, args[4].u32, args[5].f32);
	return 0;
}

static int triad_run(const struct host_block *b) { return triad_parts(b, set()->triad); }
static int triad_nt_run(const struct host_block *b) { return triad_parts(b, set()->triad_nt); }

/* ------------------------------------------------------------------ arithmetic, time */

static int fma_f32_run(const struct host_block *b)
{
	const union host_arg *args = b->args;
	((float *)args[0].pointer)[b->index] = set()->fma_f32(args[1].u64);
	return 0;
}

static int fma_f64_run(const struct host_block *b)
{
	const union host_arg *args = b->args;
	((double *)args[0].pointer)[b->index] = set()->fma_f64(args[1].u64);
	return 0;
}

static int hold_run(const struct host_block *b)
{
	const union host_arg *args = b->args;
	const uint32_t *flag = args[0].pointer;
	uint32_t *arrived = args[1].pointer;
	const uint64_t start = clock_ns(), timeout = args[3].u64;
	__atomic_store_n((uint64_t *)args[2].pointer + b->index, start, __ATOMIC_RELEASE);
	__atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL);
	/* Other blocks, an engine or the host may need this core: a unit gives way when a block waits. */
	for (unsigned turn = 1; __atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0; turn++) {
		if (atomic_load_explicit(b->cancelled, memory_order_relaxed))
			return 0;
		host_pause();
		if (turn % 32)
			continue;
		sched_yield();
		if (clock_ns() - start < timeout)
			continue;
		__atomic_fetch_add(arrived + 1, 1, __ATOMIC_ACQ_REL);
		return 0;
	}
	return 0;
}

static int stamp_run(const struct host_block *b)
{
	const union host_arg *args = b->args;
	__atomic_store_n((uint64_t *)args[0].pointer + b->index, clock_ns(), __ATOMIC_RELEASE);
	return 0;
}

/* ------------------------------------------------------------------ the table */

#define POINTER sizeof(void *), HOST_EXTENT_BYTES, 0, false, false
#define RESULT(bytes) sizeof(void *), HOST_EXTENT_FIXED, bytes, false, false
#define PER_BLOCK(type) sizeof(void *), HOST_EXTENT_PER_BLOCK, sizeof(type), false, false
#define VALUE(type) sizeof(type), HOST_EXTENT_NONE, 0, false, false
#define BYTES sizeof(uint64_t), HOST_EXTENT_NONE, 0, true, false
#define FMAS sizeof(uint64_t), HOST_EXTENT_NONE, 0, false, true

#define WRITE_ARGS { { POINTER }, { BYTES }, { VALUE(uint32_t) }, { VALUE(uint32_t) } }
#define COPY_ARGS { { POINTER }, { POINTER }, { BYTES }, { VALUE(uint32_t) } }
#define TRIAD_ARGS { { POINTER }, { POINTER }, { POINTER }, { BYTES }, { VALUE(uint32_t) }, { VALUE(float) } }

static const struct dev_kernel kernels[] = {
	{ .name = "empty", .run = empty_run },
	{ .name = "read",
	  .parameters = { { POINTER }, { BYTES }, { VALUE(uint32_t) }, { RESULT(sizeof(uint32_t)) } },
	  .run = read_run },
	{ .name = "write", .parameters = WRITE_ARGS, .run = write_run },
	{ .name = "write_nt", .parameters = WRITE_ARGS, .run = write_nt_run },
	{ .name = "copy", .parameters = COPY_ARGS, .run = copy_run },
	{ .name = "copy_nt", .parameters = COPY_ARGS, .run = copy_nt_run },
	{ .name = "triad", .parameters = TRIAD_ARGS, .run = triad_run },
	{ .name = "triad_nt", .parameters = TRIAD_ARGS, .run = triad_nt_run },
	{ .name = "fma_f32", .parameters = { { PER_BLOCK(float) }, { FMAS } }, .run = fma_f32_run },
	{ .name = "fma_f64", .parameters = { { PER_BLOCK(double) }, { FMAS } }, .run = fma_f64_run },
	{ .name = "hold",
	  .parameters = { { RESULT(sizeof(uint32_t)) },
	                  { RESULT(2 * sizeof(uint32_t)) },
	                  { PER_BLOCK(uint64_t) },
	                  { VALUE(uint64_t) } },
	  .run = hold_run },
	{ .name = "stamp", .parameters = { { PER_BLOCK(uint64_t) } }, .run = stamp_run },
};

const struct dev_kernel *host_kernel_named(const char *name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	return NULL;
}

static int check(const struct dev_kernel *k, unsigned i, const union host_arg *arg)
{
	const struct host_parameter *p = &k->parameters[i];
	const uintptr_t at = p->extent ? (uintptr_t)arg->pointer : 0;
	const uint32_t align = p->extent == HOST_EXTENT_BYTES ? DEV_KERNEL_ALIGN
	                       : p->extent == HOST_EXTENT_PER_BLOCK ? p->each : p->extent ? 4 : 1;
	if (at % align)
		return err_note(-EINVAL, "launch %s: argument %u (%p) is not aligned to %u bytes", k->name, i, arg->pointer,
		                align);
	if (p->bytes && arg->u64 % DEV_KERNEL_ALIGN)
		return err_note(-EINVAL, "launch %s: %llu bytes are no multiple of %u", k->name,
		                (unsigned long long)arg->u64, DEV_KERNEL_ALIGN);
	if (p->fmas && arg->u64 % DEV_FMA_QUANTUM)
		return err_note(-EINVAL, "launch %s: %llu multiply-adds are no multiple of %u", k->name,
		                (unsigned long long)arg->u64, DEV_FMA_QUANTUM);
	return 0;
}

int host_kernel_args(const struct dev_kernel *k, const void *const *args, union host_arg *copies)
{
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS && k->parameters[i].size; i++) {
		if (!args || !args[i])
			return err_note(-EINVAL, "launch %s: argument %u is missing", k->name, i);
		memcpy(&copies[i], args[i], k->parameters[i].size);
		int rc = check(k, i, &copies[i]);
		if (rc)
			return rc;
	}
	return 0;
}

uint64_t host_kernel_extent(const struct dev_kernel *k, const union host_arg *args, unsigned i, uint32_t grid)
{
	const struct host_parameter *p = &k->parameters[i];
	switch (p->extent) {
	case HOST_EXTENT_NONE:
		break;
	case HOST_EXTENT_BYTES:
		for (unsigned j = 0; j < DEV_KERNEL_MAX_ARGS; j++)
			if (k->parameters[j].bytes)
				return args[j].u64;
		break;
	case HOST_EXTENT_FIXED:
		return p->each;
	case HOST_EXTENT_PER_BLOCK:
		return (uint64_t)p->each * grid;
	}
	return 0;
}
