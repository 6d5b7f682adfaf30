/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The communication of one iteration: kernels with few blocks and no shared memory, like those of a
 * collective.
 *
 * On one device they are a STAND-IN. They move through the device's own memory what a collective of
 * this message moves there: all-to-all copies it (1 read, 1 write); allreduce copies it, as if it
 * arrived, and adds the device's own (2 more reads, 1 more write). No link is used. On several
 * devices they are the FIRST RANK'S SHARE of a direct exchange with the memory of the others:
 * all-to-all writes a part of the message to every peer; allreduce adds the peers' contributions to
 * its own part and writes the sum to every peer. The other ranks do not run: links carry the
 * traffic of one rank.
 *
 * Each begins with an empty kernel, so that it becomes ready after the next GEMM has its slots,
 * like a library's collective. Otherwise chance would decide which of the two starts first.
 */
#ifndef GPUSIG_COMM_LOAD_H
#define GPUSIG_COMM_LOAD_H

#include "bench/graph/bench_graph.h"

struct comm_load {
	/* Set by the caller. */
	bool all_to_all; /* else allreduce */
	uint64_t bytes;  /* of a message; a multiple of DEV_KERNEL_ALIGN */
	uint32_t blocks; /* of each kernel */
	/* Set by comm_load_open(). */
	size_t devices;
	const float *pattern;       /* of what peers contribute */
	char *inbox[DEV_MAX];       /* by device: where messages and sums of `bytes` arrive */
	char *contributed[DEV_MAX]; /* allreduce, by device: the peer's own message */
	float *sent, *found;        /* on the host, for a check */
};

/* Over the case's devices, which have peer access; the case owns what this opens. `pattern` is
 * PATTERN_BYTES of floats. Returns bench_status(). */
int comm_load_open(struct comm_load *load, struct bench_case *c, const float *pattern);

/* Adds the communication of the message at `from` to a lane of the first device; returns its last
 * node. With `start_ns`, a kernel writes the start time there. GEMMs then start with such a kernel
 * too, so one more empty kernel keeps the order. */
uint32_t comm_load_add(const struct comm_load *load, struct work_graph *g, uint32_t lane,
		       const char *from, uint64_t *start_ns);

/* Checks that what was sent from `from` arrived and is summed. */
int comm_load_check(const struct comm_load *load, struct bench_case *c, const char *from);

#endif
