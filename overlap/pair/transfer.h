/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What runs beside a product: bytes that go up, down, within a device or to its peer, or a collective among all devices.
 *
 *     up, down, local, peer   one message of the first device: from or to PINNED memory, within the device, to the last device
 *     all-gather              every device sends its shard to every other one
 *     all-to-all              every device sends another piece to every other one
 *     reduce-scatter          the same, and the kernel reduce_add sums up, on each device, what arrived and its own piece: with
 *                             as many blocks as move, with an engine on every unit
 *
 * A device with several messages sends them side by side, each in a stream (a lane) of its own, to its neighbour first. They are
 * pushed: who sends also copies, by engine or by a kernel, whose blocks the messages share.
 */
#ifndef GPUSIG_PAIR_TRANSFER_H
#define GPUSIG_PAIR_TRANSFER_H

#include "lib/bench.h"

enum transfer_kind {
	TRANSFER_UP,
	TRANSFER_DOWN,
	TRANSFER_LOCAL,
	TRANSFER_PEER,
	TRANSFER_ALL_GATHER,
	TRANSFER_REDUCE_SCATTER,
	TRANSFER_ALL_TO_ALL,
};

/* Their words, in order. */
extern const char *const transfer_kinds[];

/* Sizes are multiples of it. */
#define TRANSFER_ALIGN UINT64_C(4096)

/* engine; kernel: enough blocks for every unit; kernel:N: N blocks; kernel:units/N: a block on each N-th unit. */
struct mover {
	bool engine;
	uint32_t blocks, part; /* 0: not given */
};

/* -EINVAL with a text that lists what exists. */
int mover_parse(const char *word, struct mover *mover_p);

/* Blocks of all copies of a device together; 0 for an engine. */
uint32_t mover_blocks(const struct mover *mover, struct dev *dev, struct dev_kernel *kernel);

struct message {
	char *from, *to;
	struct dev *target;
	const float *tile; /* what `from` repeats */
};

struct sender {
	struct dev *dev;
	struct dev_stream **lane;  /* of the messages after the first */
	struct dev_event **joined; /* their ends */
	struct dev_event *fork, *sent;
	struct dev_kernel *copy, *add;
	char *own; /* reduce-scatter: the piece that stays here */
};

struct transfer {
	enum transfer_kind kind;
	struct mover mover;
	size_t senders, lanes;    /* lanes: messages of each sender */
	struct sender *sender;
	struct message *message;  /* senders x lanes */
	float **tile, *sum;       /* one for every sender; of all of them */
	uint64_t piece_bytes;     /* of a message */
	uint64_t room_bytes;      /* that a message may have */
};

/* In admit: can the devices of the case do this? 0, or the reason to skip it. */
int transfer_admit(const struct bench_case *c, enum transfer_kind kind, const struct mover *mover);

/* In setup, for everything but buffers; makes the devices peers. The case owns all of it (lib/bench_own.h). */
int transfer_open(struct transfer *t, struct bench_case *c, enum transfer_kind kind, const struct mover *mover);

/* In setup: a sender sends at most `bytes` from now on, divided evenly among its messages and rounded down to TRANSFER_ALIGN for
 * each. Buffers that are too small are opened anew. -ENOMEM when they would take over a quarter of a device's memory. */
int transfer_resize(struct transfer *t, struct bench_case *c, uint64_t bytes);

/* The most that transfer_resize() takes. */
uint64_t transfer_most_bytes(const struct transfer *t);

/* What one sender sends. */
uint64_t transfer_bytes(const struct transfer *t);

/* Enqueue on streams[i] of sender i. */
int transfer_enqueue(struct transfer *t, struct dev_stream *const *streams);

/* Enqueue on streams[i]: everything that sender i writes elsewhere becomes wrong. */
int transfer_spoil(const struct transfer *t, struct dev_stream *const *streams);

/* Is everything where it should be? Of a message of over 64 MiB both ends of 32 are
 * compared. 0, -EBADMSG, or an error. */
int transfer_check(const struct transfer *t);

/* The case as another of its devices has it: what is opened for it is of that device, and the case's all the same. */
struct bench_case transfer_case_on(const struct bench_case *c, struct dev *dev);

#endif
