/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The primitives of device/gpu/kernels/kernels.cu (see there) on a CPU. One CPU thread runs all
 * threads of a block, one after the other from barrier to barrier (tests/fakes/engine/fibers.c). A
 * variable that the block shares is therefore a thread-local one.
 */
#ifndef FAKES_ON_CPU_H
#define FAKES_ON_CPU_H

#include "tests/fakes/engine/fibers.h"

#include <math.h>
#include <sched.h>
#include <stdint.h>

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

typedef struct {
	_Alignas(16) u32 x;
	u32 y, z, w;
} words4;

typedef struct {
	_Alignas(16) float x;
	float y, z, w;
} floats4;

typedef struct {
	_Alignas(16) double x;
	double y;
} doubles2;

/* tests/fakes/kernel_table.awk looks for these two in the source, so they stay unexpanded for it.
 */
#ifndef FAKE_KERNEL_TABLE
#define KERNEL static void
#define SHARED static _Thread_local
#endif
#define KERNEL_TWO_PER_UNIT KERNEL
#define DEVICE static inline __attribute__((always_inline))
#define UNROLL
#define ROLLED
#define THREAD fake_here.thread
#define THREADS fake_here.threads
#define BLOCK fake_here.block
#define BLOCKS fake_here.blocks
#define CYCLES_MASK (~(u64)0)

#define barrier() fake_barrier()
#define ticks() fake_ticks()
#define cycles() fake_cycles()
#define pause_briefly() ((void)sched_yield())
#define compiler_barrier() __asm__ volatile("" ::: "memory")
#define opaque_u32(x) __asm__ volatile("" : "+r"(x))
#define opaque_u64(x) __asm__ volatile("" : "+r"(x))
#define exp2_f32(x) exp2f(x)
#define load_at(address) (*(const u64 *)(uintptr_t)(address))
#define store_streaming(at, value) ((void)(*(at) = (value)))
#define atomic_add_u32(at, value) ((void)__atomic_fetch_add(at, value, __ATOMIC_RELAXED))
/* The thread sanitizer does not understand fences, so the operation after a fence orders. */
#define atomic_count_u32(at, value) ((void)__atomic_fetch_add(at, value, __ATOMIC_ACQ_REL))
#define atomic_add_real(at, value)                                                                 \
	_Generic((at), float * : atomic_add_f32, double * : atomic_add_f64)(at, value)
#define store_system_u32(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)
#define store_system_u64(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)
#if defined(__SANITIZE_THREAD__)
#define fence_system() ((void)0)
#else
#define fence_system() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

DEVICE void atomic_add_f32(float *at, float value)
{
	float old, sum;
	__atomic_load(at, &old, __ATOMIC_RELAXED);
	do
		sum = old + value;
	while (!__atomic_compare_exchange(at, &old, &sum, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

DEVICE void atomic_add_f64(double *at, double value)
{
	double old, sum;
	__atomic_load(at, &old, __ATOMIC_RELAXED);
	do
		sum = old + value;
	while (!__atomic_compare_exchange(at, &old, &sum, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* A polling kernel yields: with fewer cores than slots, it may hold the core its peer needs. */
DEVICE u32 load_system_u32(const u32 *at)
{
	static _Thread_local unsigned loads;
	if (++loads % 64 == 0)
		sched_yield();
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

#endif
