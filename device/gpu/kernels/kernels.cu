/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of device/kernels.h as gpusig_<name>, and those that the GPU backend runs for itself, for every vendor. This is C
 * over the primitives of kernels_portability.inc: no template, no vendor. NVRTC and HIPRTC compile it at open, with built-ins and
 * without any header; clang -x hip and nvcc compile it too; with GPUSIG_ON_CPU it is C11, for the fake drivers of the tests.
 *
 *   u16 u32 u64 i64                   unsigned short, unsigned int, unsigned and signed long long (on a CPU: types of that size)
 *   words4 floats4 doubles2           vectors of 16 bytes with members x y z w
 *   KERNEL                            a function that the host launches, with at most 256 threads a block
 *   KERNEL_TWO_PER_UNIT               the same, with few enough registers for two blocks a unit
 *   DEVICE                            a function for kernels, always inlined
 *   SHARED                            a variable shared by the block, declared at the top of a kernel, not initialised
 *   UNROLL                            unrolls the loop that follows
 *   THREAD THREADS BLOCK BLOCKS       u32: index of the thread, threads per block, index of the block, blocks of the grid
 *   barrier()                         waits for all threads of the block; every thread must call it
 *   compiler_barrier()                the compiler moves no load or store across it
 *   opaque_u32(x) opaque_u64(x)       the compiler forgets the variable's value, and whether it is the same in all threads
 *   load_at(address)                  u64: loads from device or host memory; the address is a u64
 *   store_streaming(at, value)        stores one of the three vectors, which nobody reads soon
 *   atomic_add_u32(at, value)         relaxed, within this device; `at` may be SHARED
 *   atomic_count_u32(at, value)       relaxed, among the threads of this device; the host and streams see it in the end, and with it
 *                                     the stores before an earlier fence_system()
 *   atomic_add_real(at, value)        relaxed, among all devices that add to that memory (gpu.h); of float or double
 *   load_system_u32(at)               acquire, among the host and all devices
 *   store_system_u32(at, value)       release, among the host and all devices
 *   store_system_u64(at, value)       the same
 *   fence_system()                    orders earlier stores before later ones, among the host and all devices
 *   pause_briefly()                   sleeps for well under a microsecond
 *   exp2_f32(x)                       2^x, within 2^-21 of it; 0 if that is below 2^-126
 *   ticks()                           u64: the device's timer, the same on all units
 *   cycles()                          u64: the unit's core clock; the bits of CYCLES_MASK are valid
 */
#include "device/gpu/kernels/kernels_portability.inc"

#include "device/gpu/kernels/kernels_memory.inc"

#include "device/gpu/kernels/kernels_time.inc"

#define REAL float
#define VECTOR floats4
#define NAME(name) name##_f32
#include "device/gpu/kernels/kernels_real.inc"
#undef REAL
#undef VECTOR
#undef NAME

#define REAL double
#define VECTOR doubles2
#define NAME(name) name##_f64
#include "device/gpu/kernels/kernels_real.inc"

#undef REAL
#undef VECTOR
#undef NAME

/* Four steps of k: four rows of A, `pitch` vectors apart, and four of B. The barrier keeps the compiler from loading the next
 * ones early, which would take the registers of further blocks. */
#define TILE 64
DEVICE void multiply_textbook(const floats4 *a, u32 pitch, const floats4 *b, float (*sum)[4])
{
	union lanes_f32 rows[4], columns;
	compiler_barrier();
	UNROLL
	for (u32 i = 0; i < 4; i++)
		rows[i].vector = a[i * pitch];
	UNROLL
	for (u32 step = 0; step < 4; step++) {
		columns.vector = b[step * (TILE / 4)];
		UNROLL
		for (u32 i = 0; i < 16; i++)
			sum[i / 4][i % 4] += rows[i / 4].each[step] * columns.each[i % 4];
	}
}

#define DEPTH 32
#define NAME(name) name##_32
#include "device/gpu/kernels/kernels_textbook.inc"
#undef DEPTH
#undef NAME

#define DEPTH 64
#define NAME(name) name##_64
#include "device/gpu/kernels/kernels_textbook.inc"
#undef DEPTH
#undef NAME

DEVICE float as_float(u32 bits)
{
	union {
		u32 bits;
		float number;
	} as;
	as.bits = bits;
	return as.number;
}

#include "device/gpu/kernels/kernels_attention.inc"

#include "device/gpu/kernels/kernels_mma.inc"
