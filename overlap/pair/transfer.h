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
 * A device with several messages sends them concurrently, each in a stream (a lane) of its own, to
 * its neighbour first. The sender also copies (push), by copy engine or by a kernel, whose blocks
 * the messages share.
 */
#ifndef GPUSIG_TRANSFER_H
#define GPUSIG_TRANSFER_H

#include "bench/bench.h"
#include "bench/copy_method.h"

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

struct message {
	char *from, *to;
	struct dev *target;
	const float *pattern; /* what `from` repeats */
};

struct sender {
	struct dev *dev;
	struct dev_stream **lane;  /* streams of the messages after the first */
	struct dev_event **joined; /* the ends of these messages */
	struct dev_event *fork, *sent;
	struct dev_kernel *copy, *add;
	uint32_t copy_blocks, add_blocks; /* of all messages together; 0: engines copy */
	char *own;                        /* reduce-scatter: the piece that stays here */
};

struct transfer {
	enum transfer_kind kind;
	struct copy_method method;
	size_t senders, lanes; /* lanes: messages of each sender */
	struct sender *sender;
	struct message *message; /* senders x lanes */
	float **pattern, *sum;   /* a pattern for every sender; the sum of all of them */
	uint64_t piece_bytes;    /* of a message */
	uint64_t capacity_bytes; /* of the buffers of a message */
};

/* In admit: 0 if the devices of the case support this, else the reason to skip the case. */
int transfer_admit(const struct bench_case *c, enum transfer_kind kind,
		   const struct copy_method *method);

/* In setup, for everything except buffers; enables peer access. The case owns everything
 * (bench/bench_alloc.h). */
int transfer_open(struct transfer *t, struct bench_case *c, enum transfer_kind kind,
		  const struct copy_method *method);

/* In setup: from now on a sender sends at most `bytes`, divided evenly among its messages, each
 * rounded down to TRANSFER_ALIGN. Allocates new buffers when they are too small. -ENOMEM when they
 * would take over a quarter of a device's memory. */
int transfer_resize(struct transfer *t, struct bench_case *c, uint64_t bytes);

/* The largest size that transfer_resize() accepts. */
uint64_t transfer_max_bytes(const struct transfer *t);

/* Bytes that one sender sends. */
uint64_t transfer_bytes(const struct transfer *t);

/* Enqueues on streams[i] of sender i. */
int transfer_enqueue(struct transfer *t, struct dev_stream *const *streams);

/* Enqueues on streams[i]: overwrites everything that sender i writes to other memory. */
int transfer_poison(const struct transfer *t, struct dev_stream *const *streams);

/* Checks what arrived. For a message over 64 MiB only 32 MiB at both ends are compared. 0,
 * -EBADMSG, or an error. */
int transfer_check(const struct transfer *t);

/* A copy of the case with another of its devices: resources opened with it are on that device, and
 * the original case owns them. */
struct bench_case transfer_case_on(const struct bench_case *c, struct dev *dev);

#endif
