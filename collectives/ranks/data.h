/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element types and operations of collectives, and data with an exact result for any order of
 * additions: element i of rank r is a(i) + b(r) c(i) with small random integers. The sum over p
 * ranks is p a(i) + c(i) sum b, and the maximum is a(i) + c(i) max b. Sums stay below 2^24 up to
 * 16384 ranks, so they are exact in f32 too. A lost or doubled contribution, or a chunk in the
 * wrong place, changes them.
 */
#ifndef GPUSIG_DATA_H
#define GPUSIG_DATA_H

#include <mpi.h>
#include <stdint.h>

enum data_type { DATA_I32, DATA_I64, DATA_F32, DATA_F64 };
enum data_op { DATA_SUM, DATA_MAX };

/* For axes; indexed by the enums, NULL at the end. */
extern const char *const data_types[];
extern const char *const data_ops[];

uint32_t data_bytes(enum data_type type); /* of one element */
MPI_Datatype data_mpi_type(enum data_type type);
MPI_Op data_mpi_op(enum data_op op);

/* Writes elements [first, first + count) of this rank's contribution. */
void data_fill(void *at, enum data_type type, uint64_t seed, int rank, uint64_t first,
	       uint64_t count);

/* Compares `count` elements at `at` with the result over `ranks` ranks, from element `first` on.
 * -EBADMSG with a text that names the element and both values. */
int data_check(const void *at, enum data_type type, enum data_op op, uint64_t seed, int ranks,
	       uint64_t first, uint64_t count);

/* The same for data that was not reduced: compares with `rank`'s contribution. */
int data_check_copy(const void *at, enum data_type type, uint64_t seed, int rank, uint64_t first,
		    uint64_t count);

#endif
