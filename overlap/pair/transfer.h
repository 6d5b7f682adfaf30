/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transfer that runs concurrently with a GEMM: bytes that go up, down, within a device or to
 * its peer, or a collective among all devices.
 *
 *     up, down, local, peer   one message of the first device: from or to PINNED memory, within the
 *                             device, to the last device
 *     all-gather              every device sends its shard to every other one
 *     all-to-all              every device sends a different piece to every other one
 *     reduce-scatter          the same; then the kernel reduce_add, on each device, sums what
 *                             arrived and its own piece, with as many blocks as the copies have,
 *                             or on all units where copy engines copy
 *
 * Where memory holds less than is to be sent, the same messages are sent in several PASSES, one
 * after the other, so that the transfer is as long as one from larger buffers. A pass of
 * reduce-scatter begins when all devices have added what the one before brought.
 *
 * A device with several messages sends them concurrently, each in a lane of its own, to its
 * neighbour first. The sender also copies (push), by copy engine or by a kernel, whose blocks the
 * messages share.
 */
#ifndef GPUSIG_TRANSFER_H
#define GPUSIG_TRANSFER_H

#include "bench/copy_method.h"
#include "bench/graph/bench_graph.h"

enum transfer_kind {
	TRANSFER_UP,
	TRANSFER_DOWN,
	TRANSFER_LOCAL,
	TRANSFER_PEER,
	TRANSFER_ALL_GATHER,
	TRANSFER_REDUCE_SCATTER,
	TRANSFER_ALL_TO_ALL,
};

/* Names, in the order of the enum; NULL-terminated. */
extern const char *const transfer_kinds[];

/* Sizes are multiples of this. */
#define TRANSFER_ALIGN UINT64_C(4096)

/* As many bytes as are given (64M), or as take a multiple of the GEMM's time (0.5x). */
struct transfer_size {
	double multiple; /* 0: `bytes` is given */
	uint64_t bytes;
};

/* -EINVAL with a text that lists the valid forms. */
int transfer_size_parse(const char *word, struct transfer_size *size_p);
int transfer_size_accept(const char *word); /* for axis.accept: only checks */

struct message {
	char *from, *to;
	struct dev *target;
	const float *pattern; /* what `from` repeats */
	uint32_t blocks;      /* 0: an engine copies */
	uint32_t lane;        /* of all but a sender's first */
};

struct sender {
	struct dev *dev;
	float *pattern;
	char *own;            /* reduce-scatter: the piece that stays here */
	uint32_t copy_blocks; /* of all its messages together; 0: engines copy */
	uint32_t add_blocks;
};

struct transfer {
	enum transfer_kind kind;
	size_t senders, fan_out; /* fan_out: messages of each sender */
	struct sender sender[DEV_MAX];
	struct message *message; /* senders x fan_out */
	float *sum;              /* of the senders' patterns */
	uint64_t piece_bytes;    /* of a message in a pass */
	uint32_t passes;
	uint64_t capacity_bytes; /* of the buffers of a message */
};

/* In admit: 0 if the devices of the case support this, else the reason to skip the case. */
int transfer_admit(const struct bench_case *c, enum transfer_kind kind,
		   const struct copy_method *method);

/* In setup, for everything except buffers; enables peer access. The case owns everything
 * (bench/bench_alloc.h). Sender i is device i of `lanes`, which are those of the graphs. */
int transfer_open(struct transfer *t, struct bench_case *c, struct work_lanes *lanes,
		  enum transfer_kind kind, const struct copy_method *method);

/* In setup: a sender sends at most `bytes`, divided evenly among its messages and as few passes as
 * possible, each rounded down to TRANSFER_ALIGN, in graphs to which the transfer is added from now
 * on. Allocates new buffers when they are too small. -ENOMEM when they would take over a quarter of
 * a device's memory in `max_passes`. */
int transfer_resize(struct transfer *t, struct bench_case *c, uint64_t bytes, uint32_t max_passes);

/* The largest size that transfer_resize() accepts, and the most passes that queues hold beside
 * other work. */
uint64_t transfer_max_bytes(const struct transfer *t, uint32_t max_passes);
uint32_t transfer_max_passes(const struct transfer *t);

/* Bytes that one sender sends, in all passes. */
uint64_t transfer_bytes(const struct transfer *t);

/* Adds the transfer to a graph, what sender i does in lane[i] and the lanes of its further
 * messages, which lane[i] waits for: its end is that of all that sender i does. */
void transfer_add(const struct transfer *t, struct work_graph *g, const uint32_t *lane);

/* Enqueues on c->stream: overwrites everything that the transfer writes. */
int transfer_poison(const struct transfer *t, struct bench_case *c);

/* Checks what arrived. For a message over 64 MiB only 32 MiB at both ends are compared. 0,
 * -EBADMSG, or an error. */
int transfer_check(const struct transfer *t, struct bench_case *c);

#endif
