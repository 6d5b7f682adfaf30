/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host_kernels.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "device/host_lock.h"
#include "device/host_simd.h"
#include "lib/clock.h"

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
	const union kernel_arg *args = b->args;
	const struct part part = part_of(b, args[1].u64);
	const uint32_t sum = set()->read((const char *)args[0].pointer + part.start, part.bytes, args[2].u32);
	__atomic_fetch_add((uint32_t *)args[3].pointer, sum, __ATOMIC_RELAXED);
	return 0;
}

static int write_parts(const struct host_block *b, void (*write)(void *, uint64_t, uint32_t, uint32_t))
{
	const union kernel_arg *args = b->args;
	const struct part part = part_of(b, args[1].u64);
	write((char *)args[0].pointer + part.start, part.bytes, args[2].u32, args[3].u32);
	return 0;
}

static int write_run(const struct host_block *b) { return write_parts(b, set()->write); }
static int write_nt_run(const struct host_block *b) { return write_parts(b, set()->write_nt); }

static int copy_parts(const struct host_block *b, void (*copy)(void *, const void *, uint64_t, uint32_t))
{
	const union kernel_arg *args = b->args;
	const struct part part = part_of(b, args[2].u64);
	copy((char *)args[0].pointer + part.start, (const char *)args[1].pointer + part.start, part.bytes, args[3].u32);
	return 0;
}

static int copy_run(const struct host_block *b) { return copy_parts(b, set()->copy); }
static int copy_nt_run(const struct host_block *b) { return copy_parts(b, set()->copy_nt); }

static int triad_parts(const struct host_block *b,
                       void (*triad)(float *, const float *, const float *, uint64_t, uint32_t, float))
{
	const union kernel_arg *args = b->args;
	const struct part part = part_of(b, args[3].u64);
	const size_t first = part.start / sizeof(float);
	triad((float *)args[0].pointer + first, (const float *)args[1].pointer + first,
	      (const float *)args[2].pointer + first, part.bytes, args[4].u32, args[5].f32);
	return 0;
}

static int triad_run(const struct host_block *b) { return triad_parts(b, set()->triad); }
static int triad_nt_run(const struct host_block *b) { return triad_parts(b, set()->triad_nt); }

/* A triad whose first operand is its result. */
static int reduce_add_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	const struct part part = part_of(b, args[2].u64);
	float *dst = (float *)args[0].pointer + part.start / sizeof(float);
	set()->triad(dst, dst, (const float *)args[1].pointer + part.start / sizeof(float), part.bytes, args[3].u32, 1.0f);
	return 0;
}

/* ------------------------------------------------------------------ arithmetic, time */

static int fma_f32_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	((float *)args[0].pointer)[b->index] = set()->fma_f32(args[1].u64);
	return 0;
}

static int fma_f64_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	((double *)args[0].pointer)[b->index] = set()->fma_f64(args[1].u64);
	return 0;
}

/* Until *at >= value; false when that took longer than the time-out. */
static bool poll_until(const struct host_block *b, const uint32_t *at, uint32_t value, uint64_t start_ns, uint64_t timeout_ns)
{
	/* Other blocks, an engine or the host may need this core: a unit gives way when a block waits. */
	for (unsigned turn = 1; __atomic_load_n(at, __ATOMIC_ACQUIRE) < value; turn++) {
		if (atomic_load_explicit(b->cancelled, memory_order_relaxed))
			return true;
		host_pause();
		if (turn % 32)
			continue;
		sched_yield();
		if (clock_ns() - start_ns >= timeout_ns)
			return false;
	}
	return true;
}

static int hold_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	const uint32_t *flag = args[0].pointer;
	uint32_t *arrived = args[1].pointer;
	const uint64_t start = clock_ns(), timeout = args[3].u64;
	__atomic_store_n((uint64_t *)args[2].pointer + b->index, start, __ATOMIC_RELEASE);
	__atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL);
	if (!poll_until(b, flag, 1, start, timeout))
		__atomic_fetch_add(arrived + 1, 1, __ATOMIC_ACQ_REL);
	return 0;
}

static int stamp_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	__atomic_store_n((uint64_t *)args[0].pointer + b->index, clock_ns(), __ATOMIC_RELEASE);
	return 0;
}

/* ------------------------------------------------------------------ chase, signals */

static int chase_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	const void *at = args[0].pointer;
	if (b->index)
		return 0;
	for (uint64_t step = 0; step < args[2].u64; step++)
		at = *(const void *const *)at;
	*(uint64_t *)args[3].pointer = (uintptr_t)at;
	return 0;
}

static int signal_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	if (b->index == 0)
		__atomic_store_n((uint32_t *)args[0].pointer, args[1].u32, __ATOMIC_RELEASE);
	return 0;
}

static int await_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	if (!poll_until(b, args[0].pointer, args[1].u32, clock_ns(), args[3].u64))
		__atomic_fetch_add((uint32_t *)args[2].pointer, 1, __ATOMIC_ACQ_REL);
	return 0;
}

/* ------------------------------------------------------------------ the table */

static const struct {
	const char *name;
	int (*run)(const struct host_block *b);
} bodies[] = {
	{ "empty", empty_run },       { "read", read_run },       { "write", write_run },           { "write_nt", write_nt_run },
	{ "copy", copy_run },         { "copy_nt", copy_nt_run }, { "triad", triad_run },           { "triad_nt", triad_nt_run },
	{ "fma_f32", fma_f32_run },   { "fma_f64", fma_f64_run }, { "reduce_add", reduce_add_run }, { "chase", chase_run },
	{ "hold", hold_run },         { "stamp", stamp_run },     { "signal", signal_run },         { "await", await_run },
};

#define KERNELS (sizeof(bodies) / sizeof(bodies[0]))

static struct dev_kernel kernels[KERNELS];

static void fill_kernels(void)
{
	for (size_t i = 0; i < KERNELS; i++) {
		kernels[i].signature = *kernel_signature_named(bodies[i].name);
		kernels[i].run = bodies[i].run;
	}
}

struct dev_kernel *host_kernel_named(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, fill_kernels);
	for (size_t i = 0; i < KERNELS; i++)
		if (strcmp(kernels[i].signature.name, name) == 0)
			return &kernels[i];
	return NULL;
}
