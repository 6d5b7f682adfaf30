/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operands of a matrix product on a device, and the check that needs no second product.
 *
 * A, B are seeded random reals in [-1, 1), rounded to the type; C starts as anything. For a random vector t, C t and A (B t)
 * must agree: O(n^2) against O(n^3), after BLIS' test suite.
 *
 * What rounding explains. An entry of C t is a sum of n entries of C, each a sum of k products, so all of it grows with
 * sqrt(k n). To that comes
 *   of sums, PRODUCT_TOLERANCE times eps of f32 (f64: of f64) times a growth: 1 + sqrt(k) / 16 where every addition rounds to
 *     nearest, for the error of a running sum grows with it; 1 + k / 64 for tf32, f16, bf16 and f8, since units that multiply
 *     tiles may cut off instead, k / 8 times or fewer and always towards zero;
 *   of fast accumulation, k / 32 times 2^-13: Ada and Hopper keep the sum of f8 products with 13 bits of mantissa and cut it off
 *     towards zero in every instruction, which takes 32 products ("around 14 bits" and errors of up to 2 % at k = 4096 in
 *     DeepSeek-V3, arXiv 2412.19437, 3.3.2; 13 bits in SageAttention2, arXiv 2411.10958). Without it the sum moves to f32 after
 *     every 128 products or so, and what is cut off stays below what C's own type loses;
 *   of C's own type, where it is narrower than the sums: eps of it (2^-10 for f16, 2^-7 for bf16) times the square root of how
 *     often an element is written. What rounding to nearest makes of it stays below a quarter of that.
 * A row of C that is none of A B is off by about 0.2 sqrt(k n), a wrong element by 0.2 sqrt(k). So one wrong element is found
 * in f32 and f64, and in tf32 up to some thousand columns; in f16 and bf16 some hundreds in a row are, or one that is far
 * too large, as everything is that nobody has written.
 */
#ifndef GPUSIG_BENCH_PRODUCT_H
#define GPUSIG_BENCH_PRODUCT_H

#include "lib/bench.h"
#include "lib/shape.h"

#define PRODUCT_TOLERANCE 30.0

struct product {
	struct shape shape;
	enum dev_type type;
	uint64_t element_bytes, result_bytes; /* of A and B, and of C */
	bool b_transposed;                    /* B is kept as n x k, as f8 wants it */
	bool fast_accumulation;               /* as struct dev_gemm has it; false until the caller sets it */
	void *a, *b, *c;                      /* on the device, row-major, unpadded */
	void *host_a, *host_b;                /* the same on the host */
};

/* In admit: can a product of the case's `type` and `shape` be had here? 0, -ENOTSUP, or -EINVAL where the two don't fit. */
int product_admit(const struct bench_case *c);

/* Allocate and fill what the case then owns (lib/bench_own.h). -ENOMEM when it does not fit. */
int product_open(struct product *p, struct bench_case *c, const struct shape *shape, enum dev_type type);

/* The one that the case's axes `type`, `shape` and `mflop` (the limit of named shapes) name; and the facts it is known by, which
 * are also how the device chose its library's algorithm, if dev_gemm_prepare() was called for the whole product. */
int product_open_axes(struct product *p, struct bench_case *c);
void product_facts(const struct product *p, struct bench_case *c);

/* Does the device multiply its type with fast accumulation as well? */
bool product_has_fast(const struct product *p, const struct dev *dev);

/* Has the side that is cut so many pieces? Of f8 all sides of each must be multiples of 16. */
bool product_divides(const struct product *p, enum shape_cut cut, uint32_t pieces);

/* The whole product, C = A B, or the piece [from, from+count) of a cut along M, N or K. A K piece with from > 0
 * adds to C. Ready for dev_gemm(). */
struct dev_gemm product_whole(const struct product *p);
struct dev_gemm product_piece(const struct product *p, enum shape_cut cut, uint32_t from, uint32_t count);

/* Enqueue on c->stream: C becomes what no product gives. */
int product_spoil(const struct product *p, struct bench_case *c);

/* Read C back and compare; each of its elements was written `writes` times, as by so many pieces of K. 0, -EBADMSG with a
 * text that names the worst row, or a device error. */
int product_check(const struct product *p, struct bench_case *c, uint32_t writes);

/* Does the device have units for products that a loop of multiply-adds does not use? Nobody says so; one that multiplies
 * narrow types is taken to, and to use them for any type. */
bool product_has_own_units(const struct dev *dev);

/* Words of the "type" axis, in the order of enum dev_type. */
extern const char *const product_types[];

#endif
