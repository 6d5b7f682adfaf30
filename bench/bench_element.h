/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elements of matrices in every type of enum dev_type.
 */
#ifndef GPUSIG_BENCH_ELEMENT_H
#define GPUSIG_BENCH_ELEMENT_H

#include "device/dev.h"

#include <stdint.h>

/* A factor for random reals from -1 to 1 that are to be stored in a type: 1, and what makes use
 * of all bits of integers and of f4. */
double element_unit(enum dev_type type);

/* Elements without their scales. */

/* Rounds to nearest, ties to even. Of integers the value must be one that the type has. */
void element_store(enum dev_type type, void *elements, uint64_t i, double value);

/* Exact. */
double element_load(enum dev_type type, const void *elements, uint64_t i);
void element_load_array(enum dev_type type, const void *elements, uint64_t first, size_t count,
			double *values);

/* Row-major, without gaps. With a period only so many elements are there, and repeat. */
struct element_matrix {
	enum dev_type type;
	const void *elements;
	uint32_t rows, columns;
	uint64_t period; /* 0: none */
	uint64_t first;  /* element of the period, or of all, that the matrix begins with */
};

double element_at(const struct element_matrix *x, uint32_t row, uint32_t column);

/* y += x t, or the transposed x times t, in double: t has x's columns (rows), y its rows (columns).
 */
void element_gemv(const struct element_matrix *x, bool transposed, const double *t, double *y);

#endif
