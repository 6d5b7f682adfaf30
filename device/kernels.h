/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels every backend has, found by name with dev_kernel_find(). This list is the contract;
 * a backend's own file is the implementation.
 *
 * Arguments are given in dev_launch.args in this order, each entry pointing at a value of the type
 * named. Any grid does all the work: blocks divide it evenly. Byte counts are multiples of
 * DEV_KERNEL_ALIGN and pointers are aligned to it. `reps` repeats the whole pass inside the kernel, so
 * that a small footprint is measured from cache and not as launch cost.
 *
 * name                arguments                                     work of the whole grid, per rep
 * ------------------  --------------------------------------------  ------------------------------------------
 * empty               -                                             nothing
 * read                const void *src, u64 bytes, u32 reps,          reads `bytes`; adds all 32-bit words up and
 *                     u32 *sink                                     atomically adds the sum of ONE pass to *sink
 * write, write_nt     void *dst, u64 bytes, u32 reps, u32 word       writes `bytes` of `word`
 * copy, copy_nt       void *dst, const void *src, u64 bytes,         reads `bytes`, writes `bytes`
 *                     u32 reps
 * triad, triad_nt     float *a, const float *b, const float *c,      a[i] = b[i] + scale*c[i]; `bytes` is the size
 *                     u64 bytes, u32 reps, float scale               of ONE array: 2 read, 1 written
 * reduce_add          float *dst, const float *src, u64 bytes,      dst[i] += src[i]; `bytes` is the size of ONE array:
 *                     u32 reps                                      2 read, 1 written; every rep adds again
 * chase               const u64 *ring, u64 bytes, u64 steps,        one thread of block 0 begins at `ring` and goes on,
 *                     u64 *out                                      `steps` times, to the address that is stored where it
 *                                                                   is, each load waiting for the one before; *out is
 *                                                                   the address where it ends. Entries are multiples of 8
 *                                                                   from `ring` to below ring + bytes, as the host writes
 *                                                                   them too; nothing checks that
 * fma_f32, fma_f64    void *out, u64 fmas                            `fmas` multiply-adds PER BLOCK (a multiple of
 *                                                                   DEV_FMA_QUANTUM), in registers; 2 flops each;
 *                                                                   writes one number per block to out, as float
 *                                                                   or double: finite, the same in every block
 * mma_f16, mma_bf16,  u32 *out, u64 fmas                             `fmas` multiply-adds PER BLOCK (a multiple of
 * mma_tf32, mma_f8                                                  DEV_MMA_QUANTUM) of units that multiply whole
 *                                                                   matrices, operands and f32 sums in registers;
 *                                                                   2 flops each; out[block] is fmas/16 modulo 2^32,
 *                                                                   as all sums add up to. Blocks of 128 or 256
 * wgmma_f16, ...      the same                                      the same, four warps together, with one operand
 *                                                                   in shared memory
 * hold                u32 *flag, u32 *arrived, u64 *start_ns,         each block stores its start time at
 *                     u64 timeout_ns                                start_ns[block], atomically adds 1 to *arrived,
 *                                                                   then occupies its slot until *flag != 0 or the
 *                                                                   time-out (then it atomically adds 1 to
 *                                                                   arrived[1], so `arrived` has 2 words)
 * stamp               u64 *start_ns                                  each block stores its start time at
 *                                                                   start_ns[block]
 * signal              u32 *flag, u32 value                          block 0 stores the value: whoever sees it (a waiting
 *                                                                   stream, the host, another device) sees all earlier
 *                                                                   work of the stream
 * await               const u32 *flag, u32 value, u32 *timed_out,   each block waits in its slot until *flag >= value or
 *                     u64 timeout_ns                                the time-out (then it atomically adds 1 to *timed_out)
 *
 * A device may lack mma_* and wgmma_*: props.mma_types and props.wgmma_types say which it has, and the others are -ENOENT.
 *
 * "_nt" uses non-temporal (streaming, evict-first) stores where the device has them; the plain name
 * uses ordinary stores. Times are those of dev_clock_ns(). `flag` of hold and await is set with
 * dev_post_value(), dev_write_value() or signal, or counted up by a product (dev_gemm.done). `hold` and `stamp` need their
 * memory to be reachable by the device; PINNED is simplest.
 */
#ifndef GPUSIG_KERNELS_H
#define GPUSIG_KERNELS_H

#define DEV_KERNEL_ALIGN 256u
#define DEV_FMA_QUANTUM 4096u
#define DEV_MMA_QUANTUM (1u << 27)
#define DEV_KERNEL_MAX_ARGS 8

#endif
