/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elements of matrices in every type of enum dev_type.
 */
#ifndef GPUSIG_BENCH_ELEMENT_H
#define GPUSIG_BENCH_ELEMENT_H

#include "device/dev.h"

#include <stdint.h>

/* Rounds to nearest, ties to even. */
void element_store(enum dev_type type, void *elements, uint64_t i, double value);

/* Exact. */
double element_load(enum dev_type type, const void *elements, uint64_t i);

/* Row-major, without gaps. */
struct element_matrix {
	enum dev_type type;
	const void *elements;
	uint32_t rows, columns;
};

/* y += x t, or the transposed x times t, in double: t has x's columns (rows), y its rows (columns).
 */
void element_gemv(const struct element_matrix *x, bool transposed, const double *t, double *y);

#endif
