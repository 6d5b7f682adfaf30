/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMM shapes, C (m x n) = A (m x k) B (k x n), by name:
 *
 *     n1024          a square
 *     512x4096x1024  M x N x K
 *     square         8192 x 8192 x 8192, scaled as g1 .. g16 are
 *     g1 .. g16      the shapes of FiCCO (arXiv 2512.10236, as in ROCm/iris), scaled down with
 *                    M:N:K kept: all three are divided by the smallest power of two that brings
 *                    2MNK to at most the given flops (by 512 at most, the largest divisor that
 *                    leaves every dimension whole); 0: not scaled
 *
 * g1/g2, g5/g6 and g7/g8 are control pairs: equal work and traffic, M and K exchanged.
 */
#ifndef GPUSIG_SHAPE_H
#define GPUSIG_SHAPE_H

#include <stdint.h>

struct shape {
	uint32_t m, n, k;
	uint32_t scale; /* divisor of a named shape; 1 otherwise */
};

/* -EINVAL with a text that lists what exists; -ERANGE for a dimension of 0 or above 2^24. */
int shape_parse(const char *text, double max_flops, struct shape *shape_p);

/* For an axis' `accept`: whether this is a shape. */
int shape_accept(const char *text);

double shape_flops(const struct shape *s);

/* Elements that a GEMM without any cache reads and writes, whole and cut into `pieces` (traffic
 * of FiCCO's M, N and K cuts): M: MK + kKN + MN; N: kMK + KN + MN; K: MK + KN + (2k-1)MN. */
enum shape_cut { SHAPE_CUT_M, SHAPE_CUT_N, SHAPE_CUT_K };
double shape_traffic(const struct shape *s, enum shape_cut cut, uint32_t pieces);

#endif
