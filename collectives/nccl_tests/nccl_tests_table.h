/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Results of a collective as nccl-tests 2.19.6 prints them (its src/util.cu), for parsers of that
 * table: --format nccl-tests. Rows are collected and printed at the end, one algorithm a table.
 *
 * These programs measure either in place or out of place. What was measured is in the first group
 * of columns, under its name; the other group has N/A. time is the median of the samples, in us,
 * and a line of the table says whether the calls are in it; algbw is bytes of the whole vector /
 * time and busbw that times 2 (p-1)/p for an allreduce and (p-1)/p for the others, in 1e9 byte/s,
 * as there. A size that leaves no element has a row of 0 bytes and 0 GB/s; nothing ran, so its time
 * is N/A. #wrong is 0 where results were checked and N/A where they were not; then "Out of bounds
 * values" is N/A, and "not checked" unless a simulated device has no data. What failed, was skipped
 * or is invalid has no row but a line that begins with '#' and has the reason; such a line with the
 * size of a row says why not to trust it fully. A wrong result makes "Out of bounds values" 1
 * FAILED.
 */
#ifndef GPUSIG_NCCL_TESTS_TABLE_H
#define GPUSIG_NCCL_TESTS_TABLE_H

#include "bench/bench.h"

#define NCCL_TESTS_FORMAT "nccl-tests"

/* The case that a row is of. */
struct nccl_tests_point {
	uint64_t asked;        /* the size that `bytes` was rounded down from */
	uint64_t bytes;        /* of the whole vector */
	uint64_t count;        /* elements that a call names: of the vector, or of a rank's part */
	const char *type, *op; /* words of this suite, "f32"; op NULL: nothing is reduced */
	bool in_place;
	char shape[64]; /* what else makes it another algorithm, such as "4x2"; "": nothing */
};

/* A rank: where it is, and its device. */
struct nccl_tests_rank {
	char host[64], bus[32], name[96];
	int process;
	unsigned device;
};

/* A program's description of itself. */
struct nccl_tests_source {
	const struct bench *bench;
	bool twice; /* an allreduce, whose bytes pass a rank's port twice */
	void (*describe)(const struct bench_case *c, struct nccl_tests_point *p);
	/* `count` ranks, which the caller frees. 0 or an error with a text. */
	int (*list_ranks)(const struct bench_case *c, struct nccl_tests_rank **ranks_p,
			  size_t *count_p);
	/* The variant that is timed as there, as rows of so many calls after one that does not
	 * count, out of place; the calls of the others are enqueued before what is timed. NULL:
	 * there is none. */
	const char *row_variant;
	unsigned row_calls;
	bool one_device; /* a process has one device; else it has them all */
	bool simulated;  /* the ranks are; whether devices are is known later */
};

/* This process, with vectors in host memory; with a device, of which a simulated one is in no
 * process. */
struct nccl_tests_rank nccl_tests_rank_here(void);
struct nccl_tests_rank nccl_tests_rank_of(const struct dev *dev);

struct nccl_tests_row;

/* Starts as {.source = ...}. */
struct nccl_tests_table {
	struct nccl_tests_source source;
	struct nccl_tests_row *rows;
	size_t count, capacity;
	struct nccl_tests_rank *ranks; /* when it is printed */
	size_t rank_count, left_out;
	bool simulated, interrupted;
	bool time_only; /* simulated without data, so that there is nothing to check */
};

/* The format, for struct bench; it holds the table. */
struct bench_format nccl_tests_format(struct nccl_tests_table *table);
void nccl_tests_table_free(struct nccl_tests_table *table);

#endif
