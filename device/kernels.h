/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels every backend has, found by name with dev_kernel_find(). This is the contract; each
 * backend implements it. DEV_KERNELS below is the one list of them: docs/ADD-A-KERNEL.md.
 *
 * dev_launch.args holds one entry per argument, in this order; each points at a value of the type
 * named. Blocks divide the work evenly, so any grid does all of it. Byte counts are multiples of
 * DEV_KERNEL_ALIGN and pointers are aligned to it. `reps` repeats the whole pass inside the kernel:
 * a small footprint is then measured from cache and does not include the cost of a launch.
 *
 * Work of the whole grid, per rep:
 *
 * empty            ()
 *     Nothing.
 * read             (const void *src, u64 bytes, u32 reps, u32 *sink)
 *     Reads `bytes`, adds up all 32-bit words and atomically adds the sum of ONE pass to *sink.
 * write, write_nt  (void *dst, u64 bytes, u32 reps, u32 word)
 *     Writes `bytes` of `word`.
 * copy, copy_nt    (void *dst, const void *src, u64 bytes, u32 reps)
 *     Reads `bytes`, writes `bytes`.
 * triad, triad_nt  (float *a, const float *b, const float *c, u64 bytes, u32 reps, float scale)
 *     a[i] = b[i] + scale*c[i]; `bytes` is the size of ONE array: two are read, one is written.
 * copy_once, copy_once_nt    (void *dst, const void *src, u64 bytes)
 * triad_once, triad_once_nt  (float *a, const float *b, const float *c, u64 bytes, float scale)
 *     The same, one pass; for the grid of dev_pass_blocks().
 * reduce_add       (float *dst, const float *src, u64 bytes, u32 reps)
 *     dst[i] += src[i]; `bytes` is the size of ONE array: two are read, one is written. Every rep
 *     adds again.
 * reduce_add_bf16  (void *dst, const void *src, u64 bytes, u32 reps)
 *     The same of bf16, whose sums are rounded to nearest, ties to even, as C of a GEMM is.
 * attention_f32, attention_bf16  (float *part, const void *q, const void *k, const void *v,
 *                                 u64 bytes, u32 rows, u32 parts, u32 heads, u32 queries)
 *     Attention of queries to keys, whose results attention_merge adds up. A row of q, k or v has
 *     DEV_ATTENTION_DEPTH numbers, f32 or bf16. k and v have `bytes` each: the keys and the values
 *     of one head after the other. q has `rows` rows, the first rows/heads of head 0, and so on;
 *     `heads` divides `rows` and the keys. The n keys of a head are cut into `parts` parts, at
 *     most 65535, of which part p has the keys n*p/parts to n*(p+1)/parts, whole numbers. The rows
 *     of a head are those of `queries` queries, which divide them, one query after the other. The
 *     last query belongs to the last key, the one before to the key before, and so on, and a
 *     causal mask hides later keys: query i sees the first n - queries + i + 1. With one query
 *     nothing is masked. With the scores s = (q . k) log2(e) / sqrt(DEV_ATTENTION_DEPTH) of a row's
 *     products with the keys of a part that it sees, and the greatest of these, m,
 *     DEV_ATTENTION_PART numbers of each part of each row are written: the sums of 2^(s - m) v,
 *     then m, then the sum of 2^(s - m); two are unused. A part of which a row sees no keys has
 *     sums of 0. Arithmetic is in f32, without matrix units. Blocks have DEV_ATTENTION_THREADS
 *     threads; each takes DEV_ATTENTION_ROWS rows of a head at a time, and reads no key or value
 *     that none of these sees.
 * attention_merge  (float *out, const float *part, u32 rows, u32 parts)
 *     The results: rows of DEV_ATTENTION_DEPTH numbers, the mean of v weighted by 2^s.
 * softmax_f32, softmax_bf16      (void *x, u64 bytes, u32 columns, u32 of_query, u32 queries)
 *     Replaces every row of `columns` numbers, the keys, by the softmax of those that it sees,
 *     exp(x) over their sum of exp(x), and the others, which are not read, by 0. `of_query` rows
 *     of query 0 come first, and so on, those of the `queries` queries of a head, which see what
 *     they see in attention; then those of the next head. The array holds whole rows, fewer than
 *     2^32. Arithmetic is in f32.
 * chase            (const u64 *ring, u64 bytes, u64 steps, u64 *out)
 *     One thread of block 0 loads the address stored at `ring`, then the one stored there, and so
 *     on, `steps` times; each load waits for the one before. *out is the address it ends at. The
 *     host writes the entries: addresses from `ring` to below ring + bytes, multiples of 8. Nothing
 *     checks that.
 * fma_f32, fma_f64 (void *out, u64 fmas)
 *     `fmas` multiply-adds PER BLOCK (a multiple of DEV_FMA_QUANTUM) in registers; 2 flops each.
 *     Writes one number per block to out, as float or double: finite, the same for every block.
 * mma_f16, mma_bf16, mma_tf32, mma_f8, mma_i8 (u32 *out, u64 fmas)
 *     `fmas` multiply-adds PER BLOCK (a multiple of DEV_MMA_QUANTUM) on matrix units, with operands
 *     and sums in registers, f32, of i8 i32; 2 flops each, of i8 operations. out[block] is fmas/16
 *     modulo 2^32, the sum of all sums. A block has 128 or 256 threads.
 * wgmma_f16, wgmma_bf16, wgmma_tf32, wgmma_f8, wgmma_i8 (u32 *out, u64 fmas)
 *     The same by four warps together, with one operand in shared memory.
 * blocking_kernel  (u32 *flag, u32 *arrived, u64 *start_ns, u64 timeout_ns)
 *     Each block stores its start time at start_ns[block], atomically adds 1 to *arrived, then
 *     occupies its slot until *flag != 0 or until the time-out. On a time-out it atomically adds 1
 *     to arrived[1]: `arrived` has 2 words.
 * stamp            (u64 *start_ns)
 *     Each block stores its start time at start_ns[block].
 * signal           (u32 *flag, u32 value)
 *     Block 0 stores the value. Whoever sees it (a waiting stream, the host, another device) sees
 *     all earlier work of the stream.
 * await            (const u32 *flag, u32 value, u32 *timed_out, u64 timeout_ns)
 *     Each block waits in its slot until *flag >= value or until the time-out. On a time-out it
 *     atomically adds 1 to *timed_out.
 *
 * A device may lack mma_* and wgmma_*. props.mma_types and props.wgmma_types say which it has; to
 * find one it lacks is -ENOENT.
 *
 * "_nt" kernels use non-temporal (streaming, evict-first) stores where the device has them; the
 * others use ordinary stores. Times are those of dev_clock_ns(), as well as the device knows the
 * offset of its timer ("timer_offset_error" of dev_telemetry_read()); events measure an interval
 * without that error. The flag of blocking_kernel and
 * await is set with dev_post_value(), dev_write_value() or signal, or counted up by a GEMM
 * (dev_gemm.done). The device must be able to reach the memory that blocking_kernel and stamp use;
 * PINNED is simplest.
 */
#ifndef GPUSIG_KERNELS_H
#define GPUSIG_KERNELS_H

#define DEV_KERNEL_ALIGN 256u
#define DEV_FMA_QUANTUM 4096u
#define DEV_MMA_QUANTUM (1u << 27)
#define DEV_KERNEL_MAX_ARGS 9
#define DEV_ATTENTION_DEPTH 128u
#define DEV_ATTENTION_PART 132u
#define DEV_ATTENTION_ROWS 16u
#define DEV_ATTENTION_THREADS 256u

/* KERNEL(name, trait, (parameters)). Code that expands the list first defines these words.
 *
 *   PLAIN                   nothing special
 *   STREAMING               bypasses caches
 *   TIMED                   stamps times or times out by the device's clock
 *   WHOLE_BLOCKS            blocks have DEV_ATTENTION_THREADS threads
 *   MATRIX_UNITS            needs matrix units: host and sim lack it; blocks are multiples of 128
 *
 *   READS(type)             an array of `bytes`, read once per rep
 *   WRITES(type)            an array of `bytes`, written once per rep
 *   ADDS_TO(type)           an array of `bytes`, read and written once per rep
 *   WALKS(type)             an array of `bytes` whose addresses the kernel follows
 *   READS_ROWS(count, type)   `count` numbers of each row, read once
 *   WRITES_ROWS(count, type)  the same, written once
 *   READS_PARTS(count, type)  `count` numbers of each part of each row, read once
 *   WRITES_PARTS(count, type) the same, written once
 *   ROWS PARTS              u32: rows, parts of each row
 *   RESULT(type)            one word that holds the result
 *   RESULT_PER_BLOCK(type)  one result word per block
 *   FLAG(type)              one word to wait for
 *   WORDS(count, type)      words that kernel and host communicate by
 *   WORD_PER_BLOCK(type)    one such word per block
 *   BYTES REPS              u64 and u32: size of the arrays, passes over them
 *   FMAS(type) MMAS         u64: multiply-adds per block
 *   VALUE(type)             any other value
 *   NOTHING                 no parameter
 *
 * Fault injection corrupts the memory of WRITES..., ADDS_TO and RESULT parameters. */
#define DEV_KERNELS(KERNEL)                                                                        \
	KERNEL(empty, PLAIN, (NOTHING))                                                            \
	KERNEL(read, PLAIN, (READS(void), BYTES, REPS, RESULT(uint32_t)))                          \
	KERNEL(write, PLAIN, (WRITES(void), BYTES, REPS, VALUE(uint32_t)))                         \
	KERNEL(write_nt, STREAMING, (WRITES(void), BYTES, REPS, VALUE(uint32_t)))                  \
	KERNEL(copy, PLAIN, (WRITES(void), READS(void), BYTES, REPS))                              \
	KERNEL(copy_nt, STREAMING, (WRITES(void), READS(void), BYTES, REPS))                       \
	KERNEL(triad, PLAIN,                                                                       \
	       (WRITES(float), READS(float), READS(float), BYTES, REPS, VALUE(float)))             \
	KERNEL(triad_nt, STREAMING,                                                                \
	       (WRITES(float), READS(float), READS(float), BYTES, REPS, VALUE(float)))             \
	KERNEL(copy_once, PLAIN, (WRITES(void), READS(void), BYTES))                               \
	KERNEL(copy_once_nt, STREAMING, (WRITES(void), READS(void), BYTES))                        \
	KERNEL(triad_once, PLAIN,                                                                  \
	       (WRITES(float), READS(float), READS(float), BYTES, VALUE(float)))                   \
	KERNEL(triad_once_nt, STREAMING,                                                           \
	       (WRITES(float), READS(float), READS(float), BYTES, VALUE(float)))                   \
	KERNEL(reduce_add, PLAIN, (ADDS_TO(float), READS(float), BYTES, REPS))                     \
	KERNEL(reduce_add_bf16, PLAIN, (ADDS_TO(void), READS(void), BYTES, REPS))                  \
	KERNEL(attention_f32, WHOLE_BLOCKS,                                                        \
	       (WRITES_PARTS(DEV_ATTENTION_PART, float), READS_ROWS(DEV_ATTENTION_DEPTH, float),   \
		READS(void), READS(void), BYTES, ROWS, PARTS, VALUE(uint32_t), VALUE(uint32_t)))   \
	KERNEL(attention_bf16, WHOLE_BLOCKS,                                                       \
	       (WRITES_PARTS(DEV_ATTENTION_PART, float),                                           \
		READS_ROWS(DEV_ATTENTION_DEPTH, uint16_t), READS(void), READS(void), BYTES, ROWS,  \
		PARTS, VALUE(uint32_t), VALUE(uint32_t)))                                          \
	KERNEL(attention_merge, PLAIN,                                                             \
	       (WRITES_ROWS(DEV_ATTENTION_DEPTH, float), READS_PARTS(DEV_ATTENTION_PART, float),   \
		ROWS, PARTS))                                                                      \
	KERNEL(softmax_f32, PLAIN,                                                                 \
	       (ADDS_TO(float), BYTES, VALUE(uint32_t), VALUE(uint32_t), VALUE(uint32_t)))         \
	KERNEL(softmax_bf16, PLAIN,                                                                \
	       (ADDS_TO(uint16_t), BYTES, VALUE(uint32_t), VALUE(uint32_t), VALUE(uint32_t)))      \
	KERNEL(chase, PLAIN, (WALKS(uint64_t), BYTES, VALUE(uint64_t), RESULT(uint64_t)))          \
	KERNEL(fma_f32, PLAIN, (RESULT_PER_BLOCK(float), FMAS(float)))                             \
	KERNEL(fma_f64, PLAIN, (RESULT_PER_BLOCK(double), FMAS(double)))                           \
	KERNEL(mma_f16, MATRIX_UNITS, (RESULT_PER_BLOCK(uint32_t), MMAS))                          \
	KERNEL(mma_bf16, MATRIX_UNITS, (RESULT_PER_BLOCK(uint32_t), MMAS))                         \
	KERNEL(mma_tf32, MATRIX_UNITS, (RESULT_PER_BLOCK(uint32_t), MMAS))                         \
	KERNEL(mma_f8, MATRIX_UNITS, (RESULT_PER_BLOCK(uint32_t), MMAS))                           \
	KERNEL(mma_i8, MATRIX_UNITS, (RESULT_PER_BLOCK(uint32_t), MMAS))                           \
	KERNEL(wgmma_f16, MATRIX_UNITS, (RESULT_PER_BLOCK(uint32_t), MMAS))                        \
	KERNEL(wgmma_bf16, MATRIX_UNITS, (RESULT_PER_BLOCK(uint32_t), MMAS))                       \
	KERNEL(wgmma_tf32, MATRIX_UNITS, (RESULT_PER_BLOCK(uint32_t), MMAS))                       \
	KERNEL(wgmma_f8, MATRIX_UNITS, (RESULT_PER_BLOCK(uint32_t), MMAS))                         \
	KERNEL(wgmma_i8, MATRIX_UNITS, (RESULT_PER_BLOCK(uint32_t), MMAS))                         \
	KERNEL(blocking_kernel, TIMED,                                                             \
	       (FLAG(uint32_t), WORDS(2, uint32_t), WORD_PER_BLOCK(uint64_t), VALUE(uint64_t)))    \
	KERNEL(stamp, TIMED, (WORD_PER_BLOCK(uint64_t)))                                           \
	KERNEL(signal, PLAIN, (RESULT(uint32_t), VALUE(uint32_t)))                                 \
	KERNEL(await, TIMED, (FLAG(uint32_t), VALUE(uint32_t), RESULT(uint32_t), VALUE(uint64_t)))

#endif
