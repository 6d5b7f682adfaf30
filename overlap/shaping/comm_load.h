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

#include "bench/bench.h"

enum comm_load_kind { COMM_LOAD_ALLREDUCE, COMM_LOAD_ALL_TO_ALL };

enum { COMM_LOAD_MAX_DEVICES = 8 };
/* Maximum operations of one communication. */
#define COMM_LOAD_MAX_OPERATIONS (2u * COMM_LOAD_MAX_DEVICES + 2)

struct comm_load {
	enum comm_load_kind kind;
	struct dev *dev;
	size_t devices;
	uint64_t bytes;
	uint32_t blocks;
	struct dev_kernel *empty, *copy, *copy_nt, *add;
	char *arrived;                            /* result on the first device */
	char *inbox[COMM_LOAD_MAX_DEVICES];       /* on the others; [0] is `arrived` */
	char *contributed[COMM_LOAD_MAX_DEVICES]; /* allreduce: what the others contribute */
	const float *pattern;                     /* that fills it */
};

/* For messages of `bytes`, a multiple of DEV_KERNEL_ALIGN, and grids of `blocks` thread blocks on
 * the case's devices; the case owns what this opens. `pattern` is PATTERN_BYTES of floats. -ENOTSUP
 * where devices lack peer access. */
int comm_load_open(struct comm_load *load, struct bench_case *c, enum comm_load_kind kind,
		   uint64_t bytes, uint32_t blocks, const float *pattern);

/* Enqueues the communication of the message at `from`. With `start_ns` a first kernel writes its
 * start time there; GEMMs then start with a stamp too, so one more empty kernel keeps the order. */
int comm_load_send(const struct comm_load *load, struct dev_stream *stream, const char *from,
		   struct dev_kernel *stamp, uint64_t *start_ns);

/* Enqueues on c->stream: overwrites what arrived. Then checks that what was sent from `from`
 * arrived and is summed. */
int comm_load_poison(const struct comm_load *load, struct bench_case *c);
int comm_load_check(const struct comm_load *load, struct bench_case *c, const char *from);

/* A description of this communication. */
const char *comm_load_label(const struct comm_load *load);

#endif
