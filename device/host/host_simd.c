/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_simd.h"

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "device/kernels.h"

/* -O2 does not unroll loops of constant trip count; accumulators would then live in memory. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Keeps the compiler from merging passes, and from replacing a store loop by memset or memcpy,
 * which select store instructions by size. */
#define KEEP_LOOP() __asm__ volatile("" : : : "memory")

typedef float quad __attribute__((vector_size(16)));

#define QUANTUM DEV_KERNEL_ALIGN
#define CACHE_LINE 64
/* More than any first-level cache holds; about what a second-level cache holds. */
#define NEAR_BYTES ((uint64_t)64 << 10)
#define FAR_BYTES ((uint64_t)1 << 20)

#if defined(__x86_64__)
#define KEEP(vector) __asm__ volatile("" : "+v"(vector))
#define FENCE() _mm_sfence()

#define ISA(name) name##_avx512
#define NAME "avx512"
#define TARGET __attribute__((target("avx512f")))
#define WIDTH 64
#define CHAINS 16
#define STREAM(p, v) _mm512_stream_si512((void *)(p), (__m512i)(v))
#define FMA_F32(x, y, z) ((FLOATS)_mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(z)))
#define FMA_F64(x, y, z) ((DOUBLES)_mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(z)))
#include "device/host/host_simd.inc"

#define ISA(name) name##_avx2
#define NAME "avx2"
#define TARGET __attribute__((target("avx2,fma")))
#define WIDTH 32
/* Two constants and the accumulators share 16 registers, so at most 12 chains fit. 4096 is not a
 * multiple of 12*8, so 8. */
#define CHAINS 8
#define STREAM(p, v) _mm256_stream_si256((__m256i *)(p), (__m256i)(v))
#define FMA_F32(x, y, z) ((FLOATS)_mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(z)))
#define FMA_F64(x, y, z) ((DOUBLES)_mm256_fmadd_pd((__m256d)(x), (__m256d)(y), (__m256d)(z)))
#include "device/host/host_simd.inc"

#define PORTABLE_STREAM(p, v) _mm_stream_si128((__m128i *)(p), (__m128i)(v))
#else
#define KEEP(vector) __asm__ volatile("" : : "m"(vector))
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define PORTABLE_STREAM(p, v) (*(WORDS *)(void *)(p) = (v))
#endif

#define ISA(name) name##_portable
#define NAME "portable"
#if defined(__clang__) || defined(__x86_64__)
#define TARGET
#else
/* In ISO C mode GCC fuses multiply-adds only on request. */
#define TARGET __attribute__((optimize("fp-contract=fast")))
#endif
#define WIDTH 16
#define CHAINS 8
#define STREAM(p, v) PORTABLE_STREAM(p, v)
#define FMA_F32(x, y, z) ((x) * (y) + (z))
#define FMA_F64(x, y, z) ((x) * (y) + (z))
#include "device/host/host_simd.inc"

const struct host_simd *host_simd_at(size_t i)
{
	const struct host_simd *usable[3];
	size_t count = 0;
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f"))
		usable[count++] = &table_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		usable[count++] = &table_avx2;
#endif
	usable[count++] = &table_portable;
	return i < count ? usable[i] : NULL;
}

const struct host_simd *host_simd_best(void) { return host_simd_at(0); }
