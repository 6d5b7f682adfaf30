/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of device/kernels.h as gpusig_<name>, and what the GPU backend itself runs, for every vendor: below the
 * words of the next section this is C, with no template and no vendor in it. Compiled at open by NVRTC and HIPRTC, with built-ins
 * alone and no header; by clang -x hip, nvcc; and with GPUSIG_ON_CPU as C11 for the fake drivers of the tests.
 *
 *   u32 u64 i64                       unsigned int, unsigned and signed long long (on a CPU: of that size)
 *   words4 floats4 doubles2           16 bytes, with members x y z w
 *   KERNEL                            a function that the host launches, with at most 256 threads a block
 *   KERNEL_OF_TWO                     the same, with few enough registers for two blocks a unit
 *   DEVICE                            a function for kernels, always inlined
 *   SHARED                            a variable of the block, declared at the top of a kernel, not initialised
 *   UNROLL                            before a loop
 *   THREAD THREADS BLOCK BLOCKS       u32: which thread of how many in the block, which block of how many in the grid
 *   barrier()                         of the block; every thread calls it
 *   forget()                          the compiler knows nothing of memory any more: no load or store moves across
 *   opaque_u32(x) opaque_u64(x)       the compiler knows nothing of the variable's value any more, not even that it is the same
 *                                     in all threads
 *   load_at(address)                  u64: of memory of a device or of the host, at an address that is a u64
 *   store_streaming(at, value)        of 16 bytes that nobody reads soon; value is one of the three vectors
 *   atomic_add_u32(at, value)         relaxed, for this device; `at` may be SHARED
 *   atomic_add_system_u32(at, value)  relaxed, for the host and all devices
 *   load_system_u32(at)               acquire, from whoever stored it
 *   store_system_u32(at, value)       release, to the host and all devices
 *   store_system_u64(at, value)
 *   fence_system()                    what is stored before is seen before what is stored after
 *   pause_briefly()                   well under a microsecond
 *   ticks()                           u64: the device's timer, the same on all units
 *   cycles()                          u64: the unit's core clock, as far as CYCLES_MASK counts
 */
#if defined(GPUSIG_ON_CPU)

#include "tests/fakes/on_cpu.h"

#else

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define UNROLL _Pragma("unroll")

#if defined(__CUDACC__) && !defined(__HIP__)

typedef uint4 words4;
typedef float4 floats4;
typedef double2 doubles2;

#define KERNEL extern "C" __global__ __launch_bounds__(256) void
#define KERNEL_OF_TWO extern "C" __global__ __launch_bounds__(256, 2) void
#define DEVICE static __device__ __forceinline__
#define SHARED __shared__
#define THREAD threadIdx.x
#define THREADS blockDim.x
#define BLOCK blockIdx.x
#define BLOCKS gridDim.x
#define barrier() __syncthreads()
#define forget() asm volatile("" ::: "memory")
#define opaque_u32(x) asm volatile("" : "+r"(x))
#define opaque_u64(x) asm volatile("" : "+l"(x))
#define store_streaming(at, value) __stcs(at, value)
#define atomic_add_u32(at, value) ((void)atomicAdd(at, value))
#define atomic_add_system_u32(at, value) ((void)atomicAdd_system(at, value))
#define fence_system() __threadfence_system()
#define pause_briefly() __nanosleep(20)
#define CYCLES_MASK (~0ull)

/* An address that was itself loaded may be of any space to the compiler. */
DEVICE u64 load_at(u64 address)
{
	u64 value;
	asm volatile("ld.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
	return value;
}

DEVICE u32 load_system_u32(const u32 *at)
{
	u32 value;
	asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
	return value;
}

DEVICE void store_system_u32(u32 *at, u32 value)
{
	asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

DEVICE void store_system_u64(u64 *at, u64 value)
{
	asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

DEVICE u64 ticks(void)
{
	u64 now;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
	return now;
}

DEVICE u64 cycles(void)
{
	u64 now;
	asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
	return now;
}

#elif defined(__HIP__)

typedef u32 words4 __attribute__((ext_vector_type(4)));
typedef float floats4 __attribute__((ext_vector_type(4)));
typedef double doubles2 __attribute__((ext_vector_type(2)));

#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256))) void
/* A unit has four times 512 registers a lane, or more: they always fit. */
#define KERNEL_OF_TWO KERNEL
#define DEVICE static __attribute__((device, always_inline))
#define SHARED static __attribute__((shared))
#define THREAD ((u32)__builtin_amdgcn_workitem_id_x())
#define THREADS ((u32)__builtin_amdgcn_workgroup_size_x())
#define BLOCK ((u32)__builtin_amdgcn_workgroup_id_x())
#define BLOCKS ((u32)(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()))
#define forget() asm volatile("" ::: "memory")
#define opaque_u32(x) asm volatile("" : "+v"(x))
#define opaque_u64(x) asm volatile("" : "+v"(x))
#define load_at(address) (*(const __attribute__((address_space(1))) u64 *)(address))
#define store_streaming(at, value) __builtin_nontemporal_store(value, at)
#define atomic_add_u32(at, value) ((void)__hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))
#define atomic_add_system_u32(at, value) ((void)__hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM))
#define load_system_u32(at) __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM)
#define store_system_u32(at, value) __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM)
#define store_system_u64(at, value) __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM)
#define fence_system() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "")
#define pause_briefly() __builtin_amdgcn_s_sleep(1)

DEVICE void barrier(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#if defined(__GFX11__) || defined(__GFX12__)
#define ticks() ((u64)__builtin_amdgcn_s_sendmsg_rtnl(0x83))
#define cycles() ((u64)__builtin_readcyclecounter())
#else
#define ticks() ((u64)__builtin_amdgcn_s_memrealtime())
#define cycles() ((u64)__builtin_amdgcn_s_memtime())
#endif
/* The shader's counter has 20 bits there. */
#if defined(__GFX11__)
#define CYCLES_MASK 0xfffffull
#else
#define CYCLES_MASK (~0ull)
#endif

#else
#error "neither CUDA nor HIP, nor GPUSIG_ON_CPU"
#endif
#endif

/* ------------------------------------------------------------------ memory: 16 bytes a lane, several in flight */

/* A pass goes over `count` vectors in rounds of the whole grid, in which each block has a stretch of its own with so many
 * vectors a thread; what is left, less than a round, is spread over all threads: none has more than one above its share. */
#define IN_FLIGHT 8
#define PAIRS_IN_FLIGHT 4

DEVICE u64 grid_threads(void) { return (u64)BLOCKS * THREADS; }

/* Where this thread begins in a round, and in the rest. */
DEVICE u64 in_round(u32 vectors) { return (u64)BLOCK * THREADS * vectors + THREAD; }

DEVICE u64 in_grid(void) { return (u64)BLOCK * THREADS + THREAD; }

KERNEL gpusig_empty(void) { }

DEVICE u32 read_pass(const words4 *src, u64 count)
{
	const u64 step = grid_threads(), round = step * IN_FLIGHT;
	u64 base = 0;
	words4 v[IN_FLIGHT];
	u32 sum = 0;
	for (; base + round <= count; base += round) {
		const words4 *from = src + base + in_round(IN_FLIGHT);
		UNROLL
		for (u32 i = 0; i < IN_FLIGHT; i++)
			v[i] = from[i * THREADS];
		UNROLL
		for (u32 i = 0; i < IN_FLIGHT; i++)
			sum += v[i].x + v[i].y + v[i].z + v[i].w;
	}
	const u64 rest = base + in_grid();
	UNROLL
	for (u32 i = 0; i < IN_FLIGHT; i++)
		if (rest + i * step < count)
			v[i] = src[rest + i * step];
	UNROLL
	for (u32 i = 0; i < IN_FLIGHT; i++)
		if (rest + i * step < count)
			sum += v[i].x + v[i].y + v[i].z + v[i].w;
	return sum;
}

/* The sum that is wanted is the last pass's; that it is a difference keeps the passes before it from being dropped. */
KERNEL gpusig_read(const void *src, u64 bytes, u32 reps, u32 *sink)
{
	SHARED u32 block_sum;
	u32 total = 0, before = 0;
	if (THREAD == 0)
		block_sum = 0;
	barrier();
	for (u32 r = 0; r < reps; r++) {
		before = total;
		opaque_u32(before);
		total += read_pass((const words4 *)src, bytes / sizeof(words4));
		forget();
	}
	atomic_add_u32(&block_sum, total - before);
	barrier();
	if (THREAD == 0)
		atomic_add_u32(sink, block_sum);
}

DEVICE void put_words(words4 *at, words4 v, int streaming)
{
	if (streaming)
		store_streaming(at, v);
	else
		*at = v;
}

DEVICE void put_floats(floats4 *at, floats4 v, int streaming)
{
	if (streaming)
		store_streaming(at, v);
	else
		*at = v;
}

DEVICE void write_all(words4 *dst, u64 count, u32 reps, u32 word, int streaming)
{
	const u64 step = grid_threads(), round = step * IN_FLIGHT;
	words4 v;
	v.x = v.y = v.z = v.w = word;
	for (u32 rep = 0; rep < reps; rep++) {
		u64 base = 0;
		for (; base + round <= count; base += round) {
			words4 *to = dst + base + in_round(IN_FLIGHT);
			UNROLL
			for (u32 i = 0; i < IN_FLIGHT; i++)
				put_words(to + i * THREADS, v, streaming);
		}
		for (u64 i = base + in_grid(); i < count; i += step)
			put_words(dst + i, v, streaming);
		forget();
	}
}

KERNEL gpusig_write(void *dst, u64 bytes, u32 reps, u32 word)
{
	write_all((words4 *)dst, bytes / sizeof(words4), reps, word, 0);
}

KERNEL gpusig_write_nt(void *dst, u64 bytes, u32 reps, u32 word)
{
	write_all((words4 *)dst, bytes / sizeof(words4), reps, word, 1);
}

DEVICE void copy_pass(words4 *dst, const words4 *src, u64 count, int streaming)
{
	const u64 step = grid_threads(), round = step * IN_FLIGHT;
	u64 base = 0;
	words4 v[IN_FLIGHT];
	for (; base + round <= count; base += round) {
		const u64 start = base + in_round(IN_FLIGHT);
		UNROLL
		for (u32 i = 0; i < IN_FLIGHT; i++)
			v[i] = src[start + i * THREADS];
		UNROLL
		for (u32 i = 0; i < IN_FLIGHT; i++)
			put_words(dst + start + i * THREADS, v[i], streaming);
	}
	const u64 rest = base + in_grid();
	UNROLL
	for (u32 i = 0; i < IN_FLIGHT; i++)
		if (rest + i * step < count)
			v[i] = src[rest + i * step];
	UNROLL
	for (u32 i = 0; i < IN_FLIGHT; i++)
		if (rest + i * step < count)
			put_words(dst + rest + i * step, v[i], streaming);
}

KERNEL gpusig_copy(void *dst, const void *src, u64 bytes, u32 reps)
{
	for (u32 r = 0; r < reps; r++) {
		copy_pass((words4 *)dst, (const words4 *)src, bytes / sizeof(words4), 0);
		forget();
	}
}

KERNEL gpusig_copy_nt(void *dst, const void *src, u64 bytes, u32 reps)
{
	for (u32 r = 0; r < reps; r++) {
		copy_pass((words4 *)dst, (const words4 *)src, bytes / sizeof(words4), 1);
		forget();
	}
}

DEVICE floats4 multiply_add(floats4 x, float scale, floats4 y)
{
	floats4 sum;
	sum.x = x.x + scale * y.x;
	sum.y = x.y + scale * y.y;
	sum.z = x.z + scale * y.z;
	sum.w = x.w + scale * y.w;
	return sum;
}

DEVICE void triad_pass(floats4 *a, const floats4 *b, const floats4 *c, u64 count, float scale, int streaming)
{
	const u64 step = grid_threads(), round = step * PAIRS_IN_FLIGHT;
	u64 base = 0;
	floats4 x[PAIRS_IN_FLIGHT], y[PAIRS_IN_FLIGHT];
	for (; base + round <= count; base += round) {
		const u64 start = base + in_round(PAIRS_IN_FLIGHT);
		UNROLL
		for (u32 i = 0; i < PAIRS_IN_FLIGHT; i++) {
			x[i] = b[start + i * THREADS];
			y[i] = c[start + i * THREADS];
		}
		UNROLL
		for (u32 i = 0; i < PAIRS_IN_FLIGHT; i++)
			put_floats(a + start + i * THREADS, multiply_add(x[i], scale, y[i]), streaming);
	}
	const u64 rest = base + in_grid();
	UNROLL
	for (u32 i = 0; i < PAIRS_IN_FLIGHT; i++)
		if (rest + i * step < count) {
			x[i] = b[rest + i * step];
			y[i] = c[rest + i * step];
		}
	UNROLL
	for (u32 i = 0; i < PAIRS_IN_FLIGHT; i++)
		if (rest + i * step < count)
			put_floats(a + rest + i * step, multiply_add(x[i], scale, y[i]), streaming);
}

KERNEL gpusig_triad(float *a, const float *b, const float *c, u64 bytes, u32 reps, float scale)
{
	for (u32 r = 0; r < reps; r++) {
		triad_pass((floats4 *)a, (const floats4 *)b, (const floats4 *)c, bytes / sizeof(floats4), scale, 0);
		forget();
	}
}

KERNEL gpusig_triad_nt(float *a, const float *b, const float *c, u64 bytes, u32 reps, float scale)
{
	for (u32 r = 0; r < reps; r++) {
		triad_pass((floats4 *)a, (const floats4 *)b, (const floats4 *)c, bytes / sizeof(floats4), scale, 1);
		forget();
	}
}

/* A triad whose first operand is its result. */
KERNEL gpusig_reduce_add(float *dst, const float *src, u64 bytes, u32 reps)
{
	for (u32 r = 0; r < reps; r++) {
		triad_pass((floats4 *)dst, (const floats4 *)dst, (const floats4 *)src, bytes / sizeof(floats4), 1.0f, 0);
		forget();
	}
}

#define STEPS_A_ROUND 16

KERNEL gpusig_chase(const u64 *ring, u64 bytes, u64 steps, u64 *out)
{
	u64 at = (u64)ring, left = steps;
	(void)bytes;
	if (BLOCK || THREAD)
		return;
	/* What is the same in all threads would go through the scalar cache of devices that have one. */
	opaque_u64(at);
	for (; left >= STEPS_A_ROUND; left -= STEPS_A_ROUND) {
		UNROLL
		for (u32 i = 0; i < STEPS_A_ROUND; i++)
			at = load_at(at);
	}
	for (; left; left--)
		at = load_at(at);
	*out = at;
}

/* ------------------------------------------------------------------ time and signals, and what the backend runs for itself */

#include "device/kernels_time.inc"

/* ------------------------------------------------------------------ arithmetic, by type */

#define REAL float
#define VECTOR floats4
#define NAME(name) name##_f32
#include "device/kernels_real.inc"
#undef REAL
#undef VECTOR
#undef NAME

#define REAL double
#define VECTOR doubles2
#define NAME(name) name##_f64
#include "device/kernels_real.inc"

#include "device/kernels_mma.inc"
