/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The size of the transfer that runs concurrently with a GEMM: bytes (64M), or as many bytes as
 * take a multiple of the GEMM's time (0.5x).
 */
#ifndef GPUSIG_TRANSFER_SIZE_H
#define GPUSIG_TRANSFER_SIZE_H

#include "overlap/pair/pair_run.h"

struct transfer_size {
	double multiple; /* of the GEMM's time; 0: `bytes` is given */
	uint64_t bytes;
};

/* -EINVAL with a text that lists the valid forms. */
int transfer_size_parse(const char *word, struct transfer_size *size_p);
int transfer_size_accept(const char *word); /* for axis.accept: only checks */

/* In setup, after pair_run_open(): resizes the transfer. A multiple is found by trials of each side
 * alone, until it is off by a tenth at most; it is smaller when memory does not suffice. */
int transfer_size_choose(const struct transfer_size *a, struct pair_run *r, struct bench_case *c);

#endif
