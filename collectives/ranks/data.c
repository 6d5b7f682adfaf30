/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/data.h"
#include "lib/err.h"

#include <errno.h>
#include <stddef.h>

const char *const data_types[] = {"i32", "i64", "f32", "f64", NULL};
const char *const data_ops[] = {"sum", "max", NULL};

uint32_t data_bytes(enum data_type type) { return type == DATA_I32 || type == DATA_F32 ? 4 : 8; }

MPI_Datatype data_mpi_type(enum data_type type)
{
	switch (type) {
	case DATA_I32:
		return MPI_INT32_T;
	case DATA_I64:
		return MPI_INT64_T;
	case DATA_F32:
		return MPI_FLOAT;
	case DATA_F64:
		break;
	}
	return MPI_DOUBLE;
}

MPI_Op data_mpi_op(enum data_op op) { return op == DATA_SUM ? MPI_SUM : MPI_MAX; }

/* Finalizer of splitmix64. */
static uint64_t mix_bits(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static int64_t element_offset(uint64_t seed, uint64_t i)
{
	return (int64_t)(mix_bits(seed + i * 0x9e3779b97f4a7c15u) >> 56);
}
static int64_t element_factor(uint64_t seed, uint64_t i)
{
	return 1 + (int64_t)(mix_bits(seed + i * 0x9e3779b97f4a7c15u) % 3);
}
static int64_t rank_factor(uint64_t seed, int rank)
{
	return (int64_t)(mix_bits(seed ^ ~(uint64_t)rank * 0x9e3779b97f4a7c15u) >> 56);
}

static void store_element(void *at, enum data_type type, uint64_t i, int64_t value)
{
	switch (type) {
	case DATA_I32:
		((int32_t *)at)[i] = (int32_t)value;
		break;
	case DATA_I64:
		((int64_t *)at)[i] = value;
		break;
	case DATA_F32:
		((float *)at)[i] = (float)value;
		break;
	case DATA_F64:
		((double *)at)[i] = (double)value;
		break;
	}
}

static double load_element(const void *at, enum data_type type, uint64_t i)
{
	switch (type) {
	case DATA_I32:
		return ((const int32_t *)at)[i];
	case DATA_I64:
		return (double)((const int64_t *)at)[i];
	case DATA_F32:
		return (double)((const float *)at)[i];
	case DATA_F64:
		break;
	}
	return ((const double *)at)[i];
}

void data_fill(void *at, enum data_type type, uint64_t seed, int rank, uint64_t first,
	       uint64_t count)
{
	int64_t b = rank_factor(seed, rank);
	for (uint64_t i = 0; i < count; i++)
		store_element(at, type, i,
			      element_offset(seed, first + i) +
				      b * element_factor(seed, first + i));
}

/* Every element must be `times` a + b c. */
static int check_elements(const void *at, enum data_type type, uint64_t seed, int64_t times,
			  int64_t b, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		double expected = (double)(times * element_offset(seed, first + i) +
					   b * element_factor(seed, first + i));
		double found = load_element(at, type, i);
		if (!(found == expected))
			return err_note(-EBADMSG, "element %llu is %.17g, not %.17g",
					(unsigned long long)(first + i), found, expected);
	}
	return 0;
}

int data_check(const void *at, enum data_type type, enum data_op op, uint64_t seed, int ranks,
	       uint64_t first, uint64_t count)
{
	int64_t sum = 0, max = 0;
	for (int r = 0; r < ranks; r++) {
		int64_t b = rank_factor(seed, r);
		sum += b;
		max = b > max ? b : max;
	}
	return op == DATA_SUM ? check_elements(at, type, seed, ranks, sum, first, count)
			      : check_elements(at, type, seed, 1, max, first, count);
}

int data_check_copy(const void *at, enum data_type type, uint64_t seed, int rank, uint64_t first,
		    uint64_t count)
{
	return check_elements(at, type, seed, 1, rank_factor(seed, rank), first, count);
}
