/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operands of a GEMM on a device, and a check that needs no second GEMM.
 *
 * A and B are seeded random reals in [-1, 1), rounded to the type, or integers of which all bits
 * are random; C starts as anything. For a
 * random vector t, C t and A (B t) must agree: O(n^2) operations against O(n^3), after BLIS' test
 * suite. It is computed on the host, from what was drawn there.
 *
 * Types with scales get random ones: half, once or twice what brings their elements to [-1, 1), so
 * that the scale of another block is mostly a wrong one.
 *
 * A host draws much more slowly than a GPU multiplies, so a larger operand repeats its first
 * BENCH_GEMM_PERIOD elements. That is a prime, so that neither rows nor columns repeat below so
 * many of them, and all that is said of the check below holds. What it can't see is an operand that
 * was read a multiple of the period from its place. With scales the period is BENCH_SCALED_PERIOD,
 * whole blocks: rows of k elements repeat after the prime 8191 of them, or fewer if k has it as a
 * factor.
 *
 * How much rounding explains. An entry of C t is a sum of n entries of C, each a sum of k products,
 * so every error below grows with sqrt(k n). The errors are
 *
 * - of the sums: GEMM_TOLERANCE times eps of f32 (f64: of f64) times a growth. The growth is
 *   1 + sqrt(k) / 16 where every addition rounds to nearest, for the error of a running sum grows
 *   with it. It is 1 + k / 64 for tf32, f16, bf16 and f8: units that multiply tiles may truncate
 *   instead, at most k / 8 times and always towards zero.
 * - of fast accumulation: k / 32 times 2^-13. Ada and Hopper keep the sum of f8 products with 13
 *   bits of mantissa and truncate it in every instruction, which takes 32 products ("around 14
 *   bits" and errors of up to 2 % at k = 4096 in DeepSeek-V3, arXiv 2412.19437, 3.3.2; 13 bits in
 *   SageAttention2, arXiv 2411.10958). Without it the sum moves to f32 after every 128 products or
 *   so, and the truncation stays below what C's own type loses.
 * - of C's own type, where it is narrower than the sums: its eps (2^-10 for f16, 2^-7 for bf16)
 *   times the square root of how often an element is written. Rounding to nearest stays below a
 *   quarter of that.
 *
 * Of integers nothing is rounded. t is then of odd integers, no sum of which exceeds 2^53 while k n
 * is below 2^32, and the two vectors must be the same: one wrong element is found whatever it is.
 *
 * A row of C that does not belong to A B is off by about 0.2 sqrt(k n), one wrong element by 0.2
 * sqrt(k). So the check finds one wrong element in f32 and f64, and in tf32 up to some thousand
 * columns. In f16 and bf16 it finds some hundreds in a row, or one that is far too large, as every
 * element is that was never written.
 *
 * Exact operands, in f32: the seven multiples of 1/4 from -3/4 to 3/4. A product is a multiple of
 * 1/16 and at most 9/16, so a sum of at most GEMM_EXACT_TERMS products, of one GEMM or of many,
 * is below 2^24 sixteenths: no addition rounds, in whatever order. Sums of results can then be
 * compared bit for bit. Values with so few bits may cost less power than random ones.
 */
#ifndef GPUSIG_BENCH_GEMM_H
#define GPUSIG_BENCH_GEMM_H

#include "bench/bench_element.h"
#include "bench/graph/rotation.h"
#include "bench/shape.h"

#define BENCH_GEMM_PERIOD UINT64_C(262139)
#define BENCH_SCALED_PERIOD (UINT64_C(32) * 8191)
#define GEMM_TOLERANCE 30.0
#define GEMM_EXACT_TERMS ((1u << 24) / 9)

#define BENCH_TYPE_HELP "element type; main: bf16 on GPUs that support it, else f32"

/* The axes of a GEMM, which bench_gemm_admit() and bench_gemm_open_axes() read: rows of a program's
 * `axes`. The arguments are the lists: .quick = "g1,g5", .full = ... BENCH_PLAIN_TYPES is of
 * programs that take no type but floats, BENCH_TILED_TYPES of those whose GEMMs are `tiled`, too.
 */
#define BENCH_TYPES_OF(set, ...)                                                                   \
	{                                                                                          \
		.name = "type", .help = BENCH_TYPE_HELP, .kind = AXIS_WORD,                        \
		.words = dev_type_names, .types = (set), __VA_ARGS__                               \
	}
#define BENCH_GEMM_TYPES(...) BENCH_TYPES_OF(AXIS_GEMM_TYPES, __VA_ARGS__)
#define BENCH_PLAIN_TYPES(...) BENCH_TYPES_OF(AXIS_PLAIN_TYPES, __VA_ARGS__)
#define BENCH_TILED_TYPES(...) BENCH_TYPES_OF(AXIS_TILED_TYPES, __VA_ARGS__)
#define BENCH_GEMM_SHAPES(...)                                                                     \
	{                                                                                          \
		.name = "shape", .help = "nSIDE, MxNxK, or square, g1..g16 scaled",                \
		.kind = AXIS_WORD, .accept = shape_accept, __VA_ARGS__                             \
	}
#define BENCH_GEMM_WEIGHTS(...)                                                                    \
	{                                                                                          \
		.name = "weights", .help = "NxK: columns of C, and rows of B", .kind = AXIS_WORD,  \
		.accept = bench_gemm_accept_weights, __VA_ARGS__                                   \
	}
#define BENCH_GEMM_MFLOP(...)                                                                      \
	{                                                                                          \
		.name = "mflop", .kind = AXIS_COUNT,                                               \
		.help = "square, g1..g16 are scaled to at most this many million flops, and on a " \
			"GPU to 50 ms; 0: not scaled",                                             \
		__VA_ARGS__                                                                        \
	}

/* Two sizes at which a GEMM is limited by different things. Arithmetic: the smallest square, of 512
 * times a power of two, with at least two tiles of 128 x 128 for every unit. Memory: two rows of
 * such tiles for every unit, only 32 columns, and an A of twice the last-level cache (64 MiB where
 * that is unknown), but at most an eighth of memory. */
struct shape bench_gemm_arithmetic_bound(const struct dev_props *p);
struct shape bench_gemm_memory_bound(const struct dev_props *p, enum dev_type type);

struct bench_gemm {
	struct dev *dev;
	struct shape shape;
	enum dev_type type;
	uint64_t element_bytes, result_bytes; /* of an element of A and B, 0: less than one; of C */
	uint64_t a_bytes, b_bytes, c_bytes, a_scale_bytes, b_scale_bytes;
	bool b_transposed;         /* B is stored as n x k, as f8 requires */
	bool fast_accumulation;    /* as in struct dev_gemm; false until the caller sets it */
	bool exact;                /* the operands are */
	void *a, *b, *c;           /* on the device, row-major, unpadded */
	void *a_scales, *b_scales; /* of the types that have them */
	/* The values of A and B as they are stored, times their scales; without elements where
	 * there are no results. */
	struct element_matrix host_a, host_b;
	uint32_t groups, group_rows[DEV_GEMM_GROUPS]; /* as in struct dev_gemm; B has them all */
};

/* The case's axes `type`, `shape` and `mflop`: the limit of named shapes, together with what takes
 * a GPU 50 ms by its rate for sizing. */
int bench_gemm_shape(const struct bench_case *c, struct shape *shape_p);

/* The shape of so many rows by these weights, NxK, at least DEV_KERNEL_ALIGN elements. -EINVAL with
 * a text. */
int bench_gemm_weights(const char *weights, uint32_t rows, struct shape *shape_p);
int bench_gemm_accept_weights(const char *weights);

/* In admit: 0, or -ENOTSUP: this device, or this program, has no GEMM of the case's `type`. */
int bench_gemm_admit_type(const struct bench_case *c);

/* In admit: whether the device supports a GEMM of the case's `type` and `shape`, or this shape. 0,
 * -ENOTSUP, or -EINVAL where type and shape exclude each other. */
int bench_gemm_admit(const struct bench_case *c);
int bench_gemm_admit_shape(const struct bench_case *c, const struct shape *s);

/* Allocate and fill the operands on a device; the case then owns them (bench/bench_alloc.h).
 * -ENOMEM when they do not fit. */
int bench_gemm_open(struct bench_gemm *p, struct bench_case *c, struct dev *dev,
		    const struct shape *shape, enum dev_type type);
/* The same; in f32 the operands are exact. */
int bench_gemm_open_exact(struct bench_gemm *p, struct bench_case *c, struct dev *dev,
			  const struct shape *shape, enum dev_type type);

/* The same with a matrix of B for each of these groups of rows; m of the shape is their sum.
 * bench_gemm_group() is the GEMM of one of them, which has rows, bench_gemm_ungrouped() that of all
 * rows by the first matrix. */
int bench_gemm_open_groups(struct bench_gemm *p, struct bench_case *c, struct dev *dev,
			   const struct shape *shape, enum dev_type type, const uint32_t *rows,
			   uint32_t groups);
struct bench_gemm bench_gemm_group(const struct bench_gemm *p, uint32_t group);
struct bench_gemm bench_gemm_ungrouped(const struct bench_gemm *p);

/* One more operand on p->dev, of type p->type, which has no scales, as bench_gemm_open() fills A
 * and B: `rows` x `columns`, whose values are *values_p, without elements where there are no
 * results. The case owns it. NULL after an error of the case. */
void *bench_gemm_operand(const struct bench_gemm *p, struct bench_case *c, uint32_t rows,
			 uint32_t columns, struct element_matrix *values_p);

/* bench_gemm_open_axes() takes the shape of bench_gemm_shape(). bench_gemm_facts() records the
 * shape and, if dev_gemm_prepare() was called for the whole GEMM, how the device chose its
 * library's algorithm. */
int bench_gemm_open_axes(struct bench_gemm *p, struct bench_case *c, struct dev *dev);
void bench_gemm_facts(const struct bench_gemm *p, struct bench_case *c);

/* True if the device supports fast accumulation for this type as well. */
bool bench_gemm_has_fast(const struct bench_gemm *p, const struct dev *dev);

/* True if the cut side divides into so many pieces. Every side of every piece must be a multiple of
 * the type's; with scales, which would have to be laid out for each piece, there is only one. */
bool bench_gemm_divides(const struct bench_gemm *p, enum shape_cut cut, uint32_t pieces);

/* The whole GEMM, C = A B, or the piece [from, from+count) of a cut along M, N or K. A K piece
 * with from > 0 adds to C. Ready for dev_gemm(). */
struct dev_gemm bench_gemm_whole(const struct bench_gemm *p);
struct dev_gemm bench_gemm_piece(const struct bench_gemm *p, enum shape_cut cut, uint32_t from,
				 uint32_t count);

/* Cold operands for dev_gemm() of the whole and of pieces. In setup: opens the sets; or turns off
 * the variants that need them (bench_variants_skip()), and *r_p stays NULL: where the operands
 * exceed the last-level cache, so that warm ones are hardly in it either, where the GEMM takes so
 * long that loading them would not show, and where sets are not possible. Does nothing where all of
 * them are off. In body: the operands in the next set. */
int bench_gemm_rotate(const struct bench_gemm *p, struct bench_case *c, uint64_t variants,
		      struct rotation **r_p);
struct bench_gemm bench_gemm_next(const struct bench_gemm *p, struct rotation *r);

/* Work of the whole GEMM `times` times: flops, or of integers ops. Name of its rate. */
void bench_gemm_work(const struct bench_gemm *p, double times, struct bench_model *m);
const char *bench_gemm_rate(enum dev_type type);

/* Enqueue on c->stream: fill C, on whichever device, with a value that no GEMM produces. */
int bench_gemm_poison(const struct bench_gemm *p, struct bench_case *c);

/* Read C back and compare. Each element was written `writes` times, once per piece of K. 0,
 * -EBADMSG with a text that names the worst row, or a device error. */
int bench_gemm_check(const struct bench_gemm *p, struct bench_case *c, uint32_t writes);

#endif
