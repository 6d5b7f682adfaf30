/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_kernels.h"
#include "device/host/host_attention.h"
#include "device/host/host_lock.h"
#include "device/host/host_simd.h"
#include "lib/bf16.h"
#include "lib/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

static const struct host_simd *simd;

/* Relaxed: what it points at is constant. */
const struct host_simd *host_kernels_simd(void)
{
	const struct host_simd *now = __atomic_load_n(&simd, __ATOMIC_RELAXED);
	return now ? now : host_simd_best();
}

void host_kernels_use(const struct host_simd *s) { __atomic_store_n(&simd, s, __ATOMIC_RELAXED); }

/* ------------------------------------------------------------------ memory kernels */

struct byte_range {
	uint64_t start, bytes;
};

static struct byte_range block_range(const struct host_block *b, uint64_t bytes)
{
	const uint64_t quanta = bytes / DEV_KERNEL_ALIGN, each = quanta / b->grid,
		       rest = quanta % b->grid;
	const uint64_t first = b->index * each + (b->index < rest ? b->index : rest);
	const uint64_t count = each + (b->index < rest ? 1 : 0);
	return (struct byte_range){.start = first * DEV_KERNEL_ALIGN,
				   .bytes = count * DEV_KERNEL_ALIGN};
}

static const union kernel_arg *argument_of(const struct host_block *b, unsigned i)
{
	return (const union kernel_arg *)b->args + i;
}

static int empty_run(const struct host_block *b) { return 0; }

static int read_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	const struct byte_range part = block_range(b, args[1].u64);
	const uint32_t sum = host_kernels_simd()->read((const char *)args[0].pointer + part.start,
						       part.bytes, args[2].u32);
	/* Relaxed: it is read once the launch has ended. */
	__atomic_fetch_add((uint32_t *)args[3].pointer, sum, __ATOMIC_RELAXED);
	return 0;
}

static int write_block(const struct host_block *b,
		       void (*write)(void *, uint64_t, uint32_t, uint32_t))
{
	const union kernel_arg *args = b->args;
	const struct byte_range part = block_range(b, args[1].u64);
	write((char *)args[0].pointer + part.start, part.bytes, args[2].u32, args[3].u32);
	return 0;
}

static int write_run(const struct host_block *b)
{
	return write_block(b, host_kernels_simd()->write);
}
static int write_nt_run(const struct host_block *b)
{
	return write_block(b, host_kernels_simd()->write_nt);
}

static int copy_block(const struct host_block *b, uint32_t reps,
		      void (*copy)(void *, const void *, uint64_t, uint32_t))
{
	const union kernel_arg *args = b->args;
	const struct byte_range part = block_range(b, args[2].u64);
	copy((char *)args[0].pointer + part.start, (const char *)args[1].pointer + part.start,
	     part.bytes, reps);
	return 0;
}

static int copy_run(const struct host_block *b)
{
	return copy_block(b, argument_of(b, 3)->u32, host_kernels_simd()->copy);
}
static int copy_nt_run(const struct host_block *b)
{
	return copy_block(b, argument_of(b, 3)->u32, host_kernels_simd()->copy_nt);
}
static int copy_once_run(const struct host_block *b)
{
	return copy_block(b, 1, host_kernels_simd()->copy);
}
static int copy_once_nt_run(const struct host_block *b)
{
	return copy_block(b, 1, host_kernels_simd()->copy_nt);
}

static int triad_block(const struct host_block *b, uint32_t reps, float scale,
		       void (*triad)(float *, const float *, const float *, uint64_t, uint32_t,
				     float))
{
	const union kernel_arg *args = b->args;
	const struct byte_range part = block_range(b, args[3].u64);
	const size_t first = part.start / sizeof(float);
	triad((float *)args[0].pointer + first, (const float *)args[1].pointer + first,
	      (const float *)args[2].pointer + first, part.bytes, reps, scale);
	return 0;
}

static int triad_run(const struct host_block *b)
{
	return triad_block(b, argument_of(b, 4)->u32, argument_of(b, 5)->f32,
			   host_kernels_simd()->triad);
}
static int triad_nt_run(const struct host_block *b)
{
	return triad_block(b, argument_of(b, 4)->u32, argument_of(b, 5)->f32,
			   host_kernels_simd()->triad_nt);
}
static int triad_once_run(const struct host_block *b)
{
	return triad_block(b, 1, argument_of(b, 4)->f32, host_kernels_simd()->triad);
}
static int triad_once_nt_run(const struct host_block *b)
{
	return triad_block(b, 1, argument_of(b, 4)->f32, host_kernels_simd()->triad_nt);
}

/* A triad that overwrites its first operand. */
static int reduce_add_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	const struct byte_range part = block_range(b, args[2].u64);
	float *dst = (float *)args[0].pointer + part.start / sizeof(float);
	host_kernels_simd()->triad(dst, dst,
				   (const float *)args[1].pointer + part.start / sizeof(float),
				   part.bytes, args[3].u32, 1.0f);
	return 0;
}

static int reduce_add_bf16_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	const struct byte_range part = block_range(b, args[2].u64);
	uint16_t *dst = (uint16_t *)args[0].pointer + part.start / sizeof(uint16_t);
	const uint16_t *src = (const uint16_t *)args[1].pointer + part.start / sizeof(uint16_t);
	for (uint32_t rep = 0; rep < args[3].u32; rep++)
		for (uint64_t i = 0; i < part.bytes / sizeof(uint16_t); i++)
			dst[i] = bf16_encode(bf16_decode(dst[i]) + bf16_decode(src[i]));
	return 0;
}

/* ------------------------------------------------------------------ arithmetic, time */

static int fma_f32_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	((float *)args[0].pointer)[b->index] = host_kernels_simd()->fma_f32(args[1].u64);
	return 0;
}

static int fma_f64_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	((double *)args[0].pointer)[b->index] = host_kernels_simd()->fma_f64(args[1].u64);
	return 0;
}

/* Waits until *at >= value or the stream is closing. False: timed out. The acquire pairs with the
 * release of dev_post_value(), dev_write_value(), signal_run() or count_done(): what came before it
 * is visible to the block and to what follows in its stream. */
static bool poll_until(const struct host_block *b, const uint32_t *at, uint32_t value,
		       uint64_t start_ns, uint64_t timeout_ns)
{
	/* Other blocks, a copy engine or the host may need this core, so a waiting block yields it.
	 */
	for (unsigned turn = 1; __atomic_load_n(at, __ATOMIC_ACQUIRE) < value; turn++) {
		/* Relaxed: nothing more is read. */
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

static int blocking_kernel_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	const uint32_t *flag = args[0].pointer;
	uint32_t *arrived = args[1].pointer;
	const uint64_t start = clock_ns(), timeout = args[3].u64;
	__atomic_store_n((uint64_t *)args[2].pointer + b->index, start, __ATOMIC_RELAXED);
	/* Pairs with the acquire of a host that counts the blocks: the time above is visible. */
	__atomic_fetch_add(arrived, 1, __ATOMIC_RELEASE);
	/* Relaxed: a time-out announces nothing. */
	if (!poll_until(b, flag, 1, start, timeout))
		__atomic_fetch_add(arrived + 1, 1, __ATOMIC_RELAXED);
	return 0;
}

static int stamp_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	/* Relaxed: it is read once the launch has ended. */
	__atomic_store_n((uint64_t *)args[0].pointer + b->index, clock_ns(), __ATOMIC_RELAXED);
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
	/* Pairs with the acquire in poll_until() and value_reached(), or of a host that polls:
	 * earlier work of the stream is visible. */
	if (b->index == 0)
		__atomic_store_n((uint32_t *)args[0].pointer, args[1].u32, __ATOMIC_RELEASE);
	return 0;
}

static int await_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	/* Relaxed: a time-out announces nothing. */
	if (!poll_until(b, args[0].pointer, args[1].u32, clock_ns(), args[3].u64))
		__atomic_fetch_add((uint32_t *)args[2].pointer, 1, __ATOMIC_RELAXED);
	return 0;
}

/* ------------------------------------------------------------------ the table */

/* Expands the list of device/kernels.h: a kernel without its NAME_run() does not compile. */
#define PLAIN(kernel) kernel##_run
#define STREAMING(kernel) kernel##_run
#define TIMED(kernel) kernel##_run
#define WHOLE_BLOCKS(kernel) kernel##_run
#define MATRIX_UNITS(kernel) NULL
#define BODY(kernel, trait, parameters) [KERNEL_##kernel] = trait(kernel),

static const host_body bodies[KERNELS] = {DEV_KERNELS(BODY)};

static struct dev_kernel kernels[KERNELS];

host_body host_kernel_body(enum kernel_number kernel) { return bodies[kernel]; }

static void fill_kernels(void)
{
	size_t count;
	const struct kernel_signature *signatures = kernel_signatures(&count);
	for (size_t i = 0; i < count; i++) {
		kernels[i].signature = signatures[i];
		kernels[i].run = bodies[i];
	}
}

struct dev_kernel *host_kernel_named(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, fill_kernels);
	for (size_t i = 0; i < KERNELS; i++)
		if (kernels[i].run && strcmp(kernels[i].signature.name, name) == 0)
			return &kernels[i];
	return NULL;
}
