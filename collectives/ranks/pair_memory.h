/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between the ranks of a pair: windows of messages with known contents, in host memory or
 * in the memory of each rank's device.
 *
 * A window is `window` messages of `bytes`, all under way at once. Every message has contents of
 * its own, which name the rank that sent it and its place in the window, so one that is lost,
 * doubled or delivered elsewhere is found.
 *
 * Device memory. Where the MPI library takes it (device_vectors.h) it gets it. Elsewhere each
 * window is staged: copied to pinned host memory, sent, received in pinned host memory, copied to
 * the device, one after the other.
 *
 * Errors. The first error of a device is kept, and messages are still exchanged, because the other
 * rank waits for them; pair_memory_result() returns it. An MPI error ends the job.
 */
#ifndef GPUSIG_PAIR_MEMORY_H
#define GPUSIG_PAIR_MEMORY_H

#include "collectives/ranks/device_vectors.h"

#include <mpi.h>
#include <stdint.h>

/* The message of a ping-pong. */
#define PAIR_LATENCY_BYTES 8u

struct pair_memory {
	uint64_t bytes;
	uint32_t window;
	struct device_vectors vectors; /* dev NULL: host memory */
	char *out, *in;                /* what MPI is given */
	uint32_t *pattern;             /* twice, so that contents may begin anywhere in it */
	char *expected, *received;     /* one message, for checks */
	MPI_Request *requests;
};

/* The bytes of a message: a multiple of 8, as a round trip needs. */
uint64_t pair_memory_bytes(uint64_t size);

/* Leader, before it is opened: -ENOTSUP where a message has no byte, or more than 1 GiB, -ENOMEM
 * where the ranks of its host need more than `dev` has, if that is the host. */
int pair_memory_admit(const struct dev *dev, uint64_t size, uint64_t window);

/* `dev` NULL: host memory. All memory is touched and what is sent is filled. Close it also after an
 * error. -ENOMEM. */
int pair_memory_open(struct pair_memory *m, struct dev *dev, uint64_t bytes, uint32_t window,
		     uint64_t seed);
void pair_memory_close(struct pair_memory *m);

/* One window to or from a peer; the receiver tells the sender when it has all of it. */
void pair_memory_send(struct pair_memory *m, int peer);
void pair_memory_receive(struct pair_memory *m, int peer);
/* A window in each direction at once. */
void pair_memory_exchange(struct pair_memory *m, int peer);
/* PAIR_LATENCY_BYTES to the peer and back; the peer answers with its own. */
void pair_memory_ping(struct pair_memory *m, int peer);
void pair_memory_pong(struct pair_memory *m, int peer);

/* Makes wrong what was received. */
void pair_memory_poison(struct pair_memory *m);

/* Compares the first `bytes` of the first `messages` with what `peer` sends. -EBADMSG with a text,
 * or the error of a device. */
int pair_memory_check(struct pair_memory *m, int peer, uint32_t messages, uint64_t bytes);

/* The first error of the device since the last call, or 0. */
int pair_memory_result(struct pair_memory *m);

#endif
