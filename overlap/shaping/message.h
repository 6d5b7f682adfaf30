/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The communication of one iteration: kernels of few blocks and no shared memory, as a collective's are.
 *
 * On one device they are a STAND-IN, which moves through the device's own memory what a collective of this message moves
 * there: all-to-all copies it (1 read, 1 write); allreduce copies it, as if it arrived, and adds one's own (2 more read, 1
 * more written). No link is used. On several devices they are the FIRST RANK'S SHARE of a direct exchange with memory of the
 * others: all-to-all writes a part of the message to every peer; allreduce adds the peers' contributions to its own part and
 * writes the sum to every peer. The other ranks do not run: links carry one rank's traffic.
 *
 * Each begins with an empty kernel, so that it gets ready after the next product has its slots, as a library's collective
 * does. Otherwise it would be chance which of the two comes first.
 */
#ifndef GPUSIG_SHAPING_MESSAGE_H
#define GPUSIG_SHAPING_MESSAGE_H

#include "lib/bench.h"

enum message_kind { MESSAGE_ALLREDUCE, MESSAGE_ALL_TO_ALL };

enum { MESSAGE_DEVICES_MOST = 8 };
/* Operations of one communication at most. */
#define MESSAGE_OPERATIONS (2u * MESSAGE_DEVICES_MOST + 2)

struct message {
	enum message_kind kind;
	struct dev *dev;
	size_t devices;
	uint64_t bytes;
	uint32_t blocks;
	struct dev_kernel *empty, *copy, *copy_nt, *add;
	char *arrived;                           /* of the first device */
	char *inbox[MESSAGE_DEVICES_MOST];       /* of the others; 0 is `arrived` */
	char *contributed[MESSAGE_DEVICES_MOST]; /* allreduce: what the others add */
	const float *tile;                       /* of which that is made */
};

/* For messages of so many bytes, a multiple of DEV_KERNEL_ALIGN, by grids of so many blocks on the case's devices; the case owns
 * what this opens. `tile` is TILE_BYTES of reals. -ENOTSUP where devices have no peers. */
int message_open(struct message *m, struct bench_case *c, enum message_kind kind, uint64_t bytes, uint32_t blocks,
                 const float *tile);

/* Enqueue the communication of the message at `from`. With `start_ns` a first block stamps its start there; products begin
 * with a stamp then too, so one more empty kernel keeps the order. */
int message_send(const struct message *m, struct dev_stream *stream, const char *from, struct dev_kernel *stamp,
                 uint64_t *start_ns);

/* Enqueue on c->stream: what arrived becomes wrong. Then: did what was sent from `from` arrive, and is it summed up? */
int message_spoil(const struct message *m, struct bench_case *c);
int message_check(const struct message *m, struct bench_case *c, const char *from);

/* What this communication is, in words. */
const char *message_label(const struct message *m);

#endif
