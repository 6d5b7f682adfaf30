/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operands of a matrix product on a device, and the check that needs no second product.
 *
 * A, B are seeded random reals in [-1, 1), C starts as anything. For a random vector t, C t and A (B t) must agree:
 * O(n^2) against O(n^3), after BLIS' test suite. An entry of C t is a sum of m, n, k rounded products, so the largest
 * difference is taken relative to eps * sqrt(k * n) and must stay under PRODUCT_TOLERANCE of it.
 */
#ifndef GPUSIG_BENCH_PRODUCT_H
#define GPUSIG_BENCH_PRODUCT_H

#include "lib/bench.h"
#include "lib/shape.h"

/* Random rounding errors reach about 1; a wrong element of C reaches at least 1e4 in f32. */
#define PRODUCT_TOLERANCE 30.0

struct product {
	struct shape shape;
	enum dev_type type;
	uint64_t element_bytes;
	void *a, *b, *c;          /* on the device, row-major, unpadded */
	void *host_a, *host_b;    /* the same on the host */
};

/* Allocate and fill what the case then owns (lib/bench_own.h). -ENOMEM when it does not fit. */
int product_open(struct product *p, struct bench_case *c, const struct shape *shape, enum dev_type type);

/* The one that the case's axes `type`, `shape` and `mflop` (the limit of named shapes) name; and the facts it is known by. */
int product_open_axes(struct product *p, struct bench_case *c);
void product_facts(const struct product *p, struct bench_case *c);

/* The whole product, C = A B, or the piece [from, from+count) of a cut along M, N or K. A K piece with from > 0
 * adds to C. Ready for dev_gemm(). */
struct dev_gemm product_whole(const struct product *p);
struct dev_gemm product_piece(const struct product *p, enum shape_cut cut, uint32_t from, uint32_t count);

/* Enqueue on c->stream: C becomes what no product gives. */
int product_spoil(const struct product *p, struct bench_case *c);

/* Read C back and compare. 0, -EBADMSG with a text that names the worst row, or a device error. */
int product_check(const struct product *p, struct bench_case *c);

/* Words of the "type" axis, in the order of enum dev_type. */
extern const char *const product_types[];

#endif
